// libyaml's events to Json. Recursion is bounded by JsonLimits, expansion of aliases by
// kMaxCopied*.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <yaml.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/yaml.h"
#include "json/yaml_scalars.h"

namespace yard {

namespace {

constexpr size_t kMaxCopiedNodes = 1'000'000;
constexpr size_t kMaxCopiedBytes = 10 * 1024 * 1024;
constexpr size_t kMaxDuplicates = 100;
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxShownLine = 160;

struct Position {
  size_t line = 0;  // both count from 0, in characters
  size_t column = 0;
};

Position position_of(const yaml_mark_t& mark) {
  return {mark.line, mark.column};
}

// The text of one line, by YAML 1.1's breaks as far as editors show them.
std::string_view line_text(std::string_view text, size_t line) {
  size_t start = 0;
  auto line_end = [&] { return std::min(text.find_first_of("\r\n", start), text.size()); };
  for (; line > 0; --line) {
    size_t end = line_end();
    if (end == text.size()) return {};
    start = end + (text.substr(end, 2) == "\r\n" ? 2 : 1);
  }
  return text.substr(start, line_end() - start);
}

size_t character_size(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80)
    ++size;
  return size;
}

// The line and, under it, a caret: tabs stay tabs and wide characters count double, so that it
// stands under the place in a terminal. Only the neighbourhood of the place in a very long line.
std::string line_with_caret(std::string_view line, size_t column) {
  size_t skipped = column > kMaxShownLine / 2 ? column - kMaxShownLine / 2 : 0;
  std::string shown;
  std::string under;
  size_t index = 0;
  for (; !line.empty() && index < skipped + kMaxShownLine; ++index) {
    std::string_view character = line.substr(0, character_size(line));
    line.remove_prefix(character.size());
    if (index < skipped) continue;
    bool is_control = static_cast<unsigned char>(character[0]) < 0x20 || character[0] == 0x7f;
    if (character == "\t") {
      shown += '\t';
    } else if (is_control || !is_valid_utf8(character)) {
      shown += '?';
    } else {
      shown += character;
    }
    if (index >= column) continue;
    if (character == "\t") {
      under += '\t';
    } else {
      under.append(static_cast<size_t>(std::max(is_control ? 1 : display_width(character), 0)),
                   ' ');
    }
  }
  return fmt::format("{}\n{}^", shown, under);
}

Error yaml_error(std::string_view text, Position at, std::string_view message) {
  return error(Reason::BadRequest,
               fmt::format("line {}, column {}: {}\n{}", at.line + 1, at.column + 1, message,
                           line_with_caret(line_text(text, at.line), at.column)));
}

Position position_of_byte(std::string_view text, size_t offset) {
  Position at;
  size_t end = std::min(offset, text.size());
  for (size_t i = 0; i < end; ++i) {
    if (text[i] == '\n') {
      at = {at.line + 1, 0};
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++at.column;
    }
  }
  return at;
}

// What libyaml says, in words for the person who wrote the file.
std::string syntax_message(const yaml_parser_t& parser, std::string_view text) {
  std::string_view problem = parser.problem == nullptr ? "cannot be read" : parser.problem;
  std::string_view line = line_text(text, parser.problem_mark.line);
  if (problem == "found character that cannot start any token") {
    std::string_view rest = line.substr(std::min(parser.problem_mark.column, line.size()));
    bool is_tab = rest.substr(0, 1) == "\t";
    if (is_tab) return "found a tab where only spaces may indent";
  }
  if (parser.context == nullptr) return std::string(problem);
  if (parser.context_mark.line == parser.problem_mark.line) {
    return fmt::format("{} ({})", problem, parser.context);
  }
  return fmt::format("{} ({} that begins at line {})", problem, parser.context,
                     parser.context_mark.line + 1);
}

struct Event {
  yaml_event_t raw{};
  Event() = default;
  Event(Event&& other) noexcept : raw(other.raw) { other.raw = {}; }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event& operator=(Event&&) = delete;
  ~Event() { yaml_event_delete(&raw); }
};

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

struct Size {
  size_t nodes = 0;
  size_t bytes = 0;
  int depth = 0;
};

Size size_of(const Json& value) {
  Size size{1, 0, 0};
  auto add = [&size](const Json& child) {
    Size inner = size_of(child);
    size.nodes += inner.nodes;
    size.bytes += inner.bytes;
    size.depth = std::max(size.depth, inner.depth);
  };
  if (const JsonObject* object = value.if_object()) {
    for (const auto& member : *object) {
      size.bytes += member.key().size();
      add(member.value());
    }
    ++size.depth;
  } else if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array)
      add(item);
    ++size.depth;
  } else if (value.is_string()) {
    size.bytes = value.get_string().size();
  }
  return size;
}

class Reader {
 public:
  Reader(std::string_view text, const JsonLimits& limits, DuplicateKeys duplicates)
      : text_(text), limits_(limits), refuses_duplicates_(duplicates == DuplicateKeys::Refused) {
    check(yaml_parser_initialize(&parser_) != 0, "libyaml has memory");
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  Result<std::vector<YamlDocument>> read_stream() {
    std::vector<YamlDocument> documents;
    while (true) {
      Event event = TRY(next_event());
      if (event.raw.type == YAML_STREAM_END_EVENT) return documents;
      if (event.raw.type != YAML_DOCUMENT_START_EVENT) continue;
      anchors_.clear();
      duplicates_.clear();
      path_.clear();
      Event root = TRY(next_event());
      Json value = TRY(read_node(root, 0));
      if (value.is_null()) continue;
      documents.push_back({{std::move(value), std::move(duplicates_)},
                           static_cast<int>(root.raw.start_mark.line) + 1});
      duplicates_.clear();
    }
  }

  std::vector<RepeatedKey> repeated() && { return std::move(repeated_); }

 private:
  struct Anchor {
    bool is_finished = false;
    Json value;
    Size size;
  };

  Error failure(const Event& event, std::string_view message) const {
    return yaml_error(text_, position_of(event.raw.start_mark), message);
  }

  Result<Event> next_event() {
    Event event;
    if (yaml_parser_parse(&parser_, &event.raw) != 0) return event;
    if (parser_.error == YAML_READER_ERROR) {
      return yaml_error(text_, position_of_byte(text_, parser_.problem_offset), parser_.problem);
    }
    if (parser_.error == YAML_MEMORY_ERROR) {
      return error(Reason::InternalError, "out of memory while reading YAML");
    }
    return yaml_error(text_, position_of(parser_.problem_mark), syntax_message(parser_, text_));
  }

  Result<Json> read_node(const Event& event, int depth) {
    switch (event.raw.type) {
      case YAML_ALIAS_EVENT: return alias_value(event, depth);
      case YAML_SCALAR_EVENT: {
        std::string anchor = open_anchor(event.raw.data.scalar.anchor);
        Json value = TRY(scalar_value(event));
        if (value.is_double() && !std::isfinite(value.get_double())) {
          return failure(event, "JSON has no infinite numbers and no NaN");
        }
        value = whole_as_integer(std::move(value));
        return close_anchor(event, anchor, std::move(value));
      }
      case YAML_SEQUENCE_START_EVENT: {
        std::string anchor = open_anchor(event.raw.data.sequence_start.anchor);
        Json value = TRY(read_sequence(event, depth));
        return close_anchor(event, anchor, std::move(value));
      }
      case YAML_MAPPING_START_EVENT: {
        std::string anchor = open_anchor(event.raw.data.mapping_start.anchor);
        Json value = TRY(read_mapping(event, depth));
        return close_anchor(event, anchor, std::move(value));
      }
      default: return failure(event, "expected a value");
    }
  }

  Result<Json> scalar_value(const Event& event) {
    const auto& scalar = event.raw.data.scalar;
    std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    if (scalar.tag != nullptr) {
      Result<Json> value = tagged_scalar(view(scalar.tag), text);
      if (!value) return failure(event, value.error().message);
      return value;
    }
    if (scalar.style == YAML_PLAIN_SCALAR_STYLE) return plain_scalar(text);
    return Json(text);
  }

  Result<Json> read_sequence(const Event& start, int depth) {
    if (depth >= limits_.max_depth) return too_deep(start);
    JsonArray array;
    size_t path_size = path_.size();
    while (true) {
      Event event = TRY(next_event());
      if (event.raw.type == YAML_SEQUENCE_END_EVENT) break;
      path_ += fmt::format("[{}]", array.size());
      Json item = TRY(read_node(event, depth + 1));
      path_.resize(path_size);
      array.push_back(std::move(item));
    }
    return Json(std::move(array));
  }

  Result<Json> read_mapping(const Event& start, int depth) {
    if (depth >= limits_.max_depth) return too_deep(start);
    JsonObject object;
    std::set<std::string, std::less<>> merged;  // keys that came by << may be written once more
    size_t path_size = path_.size();
    while (true) {
      Event key_event = TRY(next_event());
      if (key_event.raw.type == YAML_MAPPING_END_EVENT) break;
      if (is_merge(key_event)) {
        TRY(merge_into(object, merged, depth));
        continue;
      }
      std::string key = TRY(read_key(key_event));
      if (!path_.empty()) path_ += '.';
      path_ += key;
      bool is_new = merged.erase(key) > 0 || !object.contains(key);
      if (!is_new && refuses_duplicates_) {
        return failure(key_event, fmt::format("the key {} is written twice", quoted(key)));
      }
      if (!is_new) note_duplicate(key_event, key);
      Event value_event = TRY(next_event());
      Json value = TRY(read_node(value_event, depth + 1));
      object.insert_or_assign(key, std::move(value));
      path_.resize(path_size);
    }
    return Json(std::move(object));
  }

  Result<std::string> read_key(const Event& event) {
    Json key;
    if (event.raw.type == YAML_SCALAR_EVENT) {
      std::string anchor = open_anchor(event.raw.data.scalar.anchor);
      key = TRY(scalar_value(event));
      TRY(close_anchor(event, anchor, key));
    } else if (event.raw.type == YAML_ALIAS_EVENT) {
      key = TRY(alias_value(event, 0));
    } else {
      return failure(event, "a key cannot be a list or a map");
    }
    if (key.is_structured()) return failure(event, "a key cannot be a list or a map");
    if (key.is_null()) return failure(event, "a key cannot be null");
    return key_text(key);
  }

  static bool is_merge(const Event& event) {
    if (event.raw.type != YAML_SCALAR_EVENT) return false;
    const auto& scalar = event.raw.data.scalar;
    if (view(scalar.tag) == "tag:yaml.org,2002:merge") return true;
    return scalar.tag == nullptr && scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           view(scalar.value) == "<<";
  }

  // In the order of the text, as go-yaml v2 does: a << after a key overrides it. In a list the
  // first wins.
  Result<void> merge_into(JsonObject& object, std::set<std::string, std::less<>>& merged,
                          int depth) {
    Event event = TRY(next_event());
    size_t path_size = path_.size();
    path_ += path_.empty() ? "<<" : ".<<";
    Json value = TRY(read_node(event, depth));
    path_.resize(path_size);
    auto merge_one = [&](JsonObject& source) {
      for (auto& member : source) {
        merged.emplace(member.key().data(), member.key().size());
        object.insert_or_assign(member.key(), std::move(member.value()));
      }
    };
    if (JsonObject* source = value.if_object()) {
      merge_one(*source);
      return {};
    }
    JsonArray* sources = value.if_array();
    bool are_maps =
        sources != nullptr && std::all_of(sources->begin(), sources->end(),
                                          [](const Json& item) { return item.is_object(); });
    if (!are_maps) return failure(event, "<< needs a map or a list of maps");
    for (size_t i = sources->size(); i > 0; --i)
      merge_one((*sources)[i - 1].get_object());
    return {};
  }

  Error too_deep(const Event& event) const {
    return failure(event, fmt::format("nested deeper than {} levels", limits_.max_depth));
  }

  std::string open_anchor(const yaml_char_t* name) {
    std::string anchor(view(name));
    if (!anchor.empty()) anchors_[anchor] = Anchor{};
    return anchor;
  }

  Result<Json> close_anchor(const Event& event, const std::string& name, Json value) {
    if (name.empty()) return value;
    Size size = size_of(value);
    TRY(spend(event, size));
    anchors_[name] = {true, value, size};
    return value;
  }

  Result<Json> alias_value(const Event& event, int depth) {
    std::string name(view(event.raw.data.alias.anchor));
    auto found = anchors_.find(name);
    if (found == anchors_.end()) return failure(event, fmt::format("unknown anchor '{}'", name));
    const Anchor& anchor = found->second;
    if (!anchor.is_finished) {
      return failure(event, fmt::format("anchor '{}' contains itself", name));
    }
    if (depth + anchor.size.depth > limits_.max_depth) return too_deep(event);
    TRY(spend(event, anchor.size));
    return Json(anchor.value);
  }

  // Every copy counts, of an anchored value when it is kept and of an alias when it is read.
  Result<void> spend(const Event& event, const Size& size) {
    copied_nodes_ += size.nodes;
    copied_bytes_ += size.bytes;
    if (copied_nodes_ <= kMaxCopiedNodes && copied_bytes_ <= kMaxCopiedBytes) return {};
    return failure(event, fmt::format("anchors and aliases expand to more than {} values or {} MiB",
                                      kMaxCopiedNodes, kMaxCopiedBytes >> 20));
  }

  void note_duplicate(const Event& event, const std::string& key) {
    if (repeated_.size() < kMaxDuplicates)
      repeated_.push_back({static_cast<int>(event.raw.start_mark.line) + 1, key});
    if (duplicates_.size() >= kMaxDuplicates) return;
    std::string shown =
        path_.size() <= kMaxPathBytes ? path_ : path_.substr(0, kMaxPathBytes) + "...";
    if (std::find(duplicates_.begin(), duplicates_.end(), shown) == duplicates_.end()) {
      duplicates_.push_back(std::move(shown));
    }
  }

  std::string_view text_;
  const JsonLimits& limits_;
  bool refuses_duplicates_;
  yaml_parser_t parser_;
  std::map<std::string, Anchor> anchors_;
  size_t copied_nodes_ = 0;
  size_t copied_bytes_ = 0;
  std::string path_;
  std::vector<std::string> duplicates_;
  std::vector<RepeatedKey> repeated_;
};

}  // namespace

Result<std::vector<YamlDocument>> parse_yaml(std::string_view text, const JsonLimits& limits,
                                             DuplicateKeys duplicates) {
  // JSON first, as kubectl does: YAML's scanner refuses some of it (surrogate pairs, tabs).
  size_t start = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (text.substr(start, 1) == "{") {
    Result<ParsedJson> parsed = parse_json(text, limits);
    // Refused duplicates are left to the reader below, which knows their place.
    if (parsed && (duplicates == DuplicateKeys::Noted || parsed->duplicate_fields.empty())) {
      int line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + start, '\n'));
      std::vector<YamlDocument> documents;
      documents.push_back({std::move(*parsed), line});
      return documents;
    }
  }
  return Reader(text, limits, duplicates).read_stream();
}

std::vector<RepeatedKey> repeated_yaml_keys(std::string_view text, const JsonLimits& limits) {
  Reader reader(text, limits, DuplicateKeys::Noted);
  if (!reader.read_stream()) return {};
  return std::move(reader).repeated();
}

}  // namespace yard
