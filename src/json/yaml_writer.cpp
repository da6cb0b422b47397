// Json to YAML through libyaml's emitter, laid out as `kubectl -o yaml` prints: lists not indented
// under their key, lines folded at 80, `|` for texts of several lines.

#include <algorithm>
#include <vector>
#include <yaml.h>

#include "base/strings.h"
#include "json/yaml.h"
#include "json/yaml_scalars.h"

namespace yard {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view digits_from(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end]))
    ++end;
  return text.substr(at, end - at);
}

// By value and then by length, without ever making a number of it: a key may have any number of
// digits.
int compare_digits(std::string_view left, std::string_view right) {
  auto value = [](std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  };
  std::string_view left_value = value(left);
  std::string_view right_value = value(right);
  if (left_value.size() != right_value.size())
    return left_value.size() < right_value.size() ? -1 : 1;
  if (int order = left_value.compare(right_value)) return order;
  if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
  return 0;
}

// The order people expect of names: a2 before a10, signs before letters (go-yaml's).
bool comes_before(std::string_view left, std::string_view right) {
  size_t common = std::min(left.size(), right.size());
  size_t at = static_cast<size_t>(
      std::mismatch(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(common), right.begin())
          .first -
      left.begin());
  if (at == common) return left.size() < right.size();
  bool left_is_letter = is_letter(left[at]);
  bool right_is_letter = is_letter(right[at]);
  if (left_is_letter != right_is_letter) {
    bool after_digit = at > 0 && is_digit(left[at - 1]);
    return after_digit ? left_is_letter : right_is_letter;
  }
  bool in_number = is_digit(left[at]) || is_digit(right[at]);
  if (!left_is_letter && in_number) {
    size_t start = at;
    while (start > 0 && is_digit(left[start - 1]))
      --start;
    std::string_view left_digits = digits_from(left, start);
    std::string_view right_digits = digits_from(right, start);
    if (int order = compare_digits(left_digits, right_digits)) return order < 0;
  }
  return static_cast<unsigned char>(left[at]) < static_cast<unsigned char>(right[at]);
}

// Bytes that block and plain styles would lose or that a reader may take for a line break.
bool needs_escapes(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f) return true;
    if (byte < 0xc2) continue;
    std::string_view rest = text.substr(i);
    bool is_control = byte == 0xc2 && rest.size() > 1 && static_cast<unsigned char>(rest[1]) < 0xa0;
    if (is_control || rest.starts_with("\u2028") || rest.starts_with("\u2029") ||
        rest.starts_with("\uFEFF")) {
      return true;
    }
  }
  return false;
}

std::string with_replacement_characters(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t size = 1;
    while (size < 4 && i + size < text.size() &&
           (static_cast<unsigned char>(text[i + size]) & 0xc0) == 0x80) {
      ++size;
    }
    bool is_good = is_valid_utf8(text.substr(i, size));
    if (is_good) {
      out += text.substr(i, size);
    } else {
      out += "\uFFFD";
    }
    i += is_good ? size : 1;
  }
  return out;
}

class Writer {
 public:
  Writer() {
    check(yaml_emitter_initialize(&emitter_) != 0, "libyaml has memory");
    yaml_emitter_set_output(&emitter_, append_bytes, &out_);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_width(&emitter_, 80);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { yaml_emitter_delete(&emitter_); }

  std::string write(const Json& value) {
    yaml_event_t event;
    emit(yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), event);
    emit(yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1), event);
    write_value(value);
    emit(yaml_document_end_event_initialize(&event, 1), event);
    emit(yaml_stream_end_event_initialize(&event), event);
    // libyaml 0.2.5 closes a document whose last text keeps its empty lines; kubectl prints no such
    // line.
    constexpr std::string_view kDocumentEnd = "\n...\n";
    if (value.is_structured() && out_.ends_with(kDocumentEnd)) out_.resize(out_.size() - 4);
    return std::move(out_);
  }

 private:
  static int append_bytes(void* out, unsigned char* bytes, size_t size) {
    static_cast<std::string*>(out)->append(reinterpret_cast<char*>(bytes), size);
    return 1;
  }

  void emit(int is_ready, yaml_event_t& event) {
    check(is_ready != 0, "libyaml makes the event");
    check(yaml_emitter_emit(&emitter_, &event) != 0, "libyaml writes the event");
  }

  void write_value(const Json& value) {
    if (const JsonObject* object = value.if_object()) {
      write_object(*object);
    } else if (const JsonArray* array = value.if_array()) {
      write_array(*array);
    } else if (value.is_string()) {
      write_string({value.get_string().data(), value.get_string().size()}, false);
    } else if (value.is_double()) {
      std::string text = to_text(value);
      bool is_whole = text.find_first_of(".e") == std::string::npos;
      write_scalar(is_whole ? text : short_float(value.get_double()), YAML_PLAIN_SCALAR_STYLE);
    } else {
      write_scalar(to_text(value), YAML_PLAIN_SCALAR_STYLE);
    }
  }

  void write_object(const JsonObject& object) {
    using Member = JsonObject::value_type;
    std::vector<const Member*> members;
    members.reserve(object.size());
    for (const Member& member : object)
      members.push_back(&member);
    std::sort(members.begin(), members.end(), [](const Member* left, const Member* right) {
      return comes_before({left->key().data(), left->key().size()},
                          {right->key().data(), right->key().size()});
    });
    yaml_event_t event;
    yaml_mapping_style_t style =
        object.empty() ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE;
    emit(yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, style), event);
    for (const Member* member : members) {
      write_string({member->key().data(), member->key().size()}, true);
      write_value(member->value());
    }
    emit(yaml_mapping_end_event_initialize(&event), event);
  }

  void write_array(const JsonArray& array) {
    yaml_event_t event;
    yaml_sequence_style_t style =
        array.empty() ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE;
    emit(yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, style), event);
    for (const Json& item : array)
      write_value(item);
    emit(yaml_sequence_end_event_initialize(&event), event);
  }

  void write_string(std::string_view text, bool is_key) {
    std::string repaired;
    if (!is_valid_utf8(text)) text = repaired = with_replacement_characters(text);
    write_scalar(text, string_style(text, is_key));
  }

  // libyaml itself falls back to quotes where a style cannot carry the text (`a: b`, `#x`).
  static yaml_scalar_style_t string_style(std::string_view text, bool is_key) {
    bool is_merge_key = is_key && text == "<<";
    if (is_merge_key || needs_escapes(text)) return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (text.find('\n') != std::string_view::npos) {
      return YAML_LITERAL_SCALAR_STYLE;
    }
    return reads_as_other_type(text) ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE;
  }

  void write_scalar(std::string_view text, yaml_scalar_style_t style) {
    yaml_event_t event;
    const auto* bytes = reinterpret_cast<const yaml_char_t*>(text.data());
    emit(yaml_scalar_event_initialize(&event, nullptr, nullptr, bytes,
                                      static_cast<int>(text.size()), 1, 1, style),
         event);
  }

  yaml_emitter_t emitter_;
  std::string out_;
};

}  // namespace

std::string to_yaml(const Json& value) {
  return Writer().write(value);
}

}  // namespace yard
