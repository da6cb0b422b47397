// Text to Json over Boost.JSON's SAX parser. The good path builds the tree and counts keys, no
// more; what is only asked of bad input (which key came twice, where the error stands) is found by
// a second look.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <unordered_set>

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include "json/json.h"
#include "json/json_error.h"

namespace yard {

namespace {

namespace bj = boost::json;

// Boost 1.81 reads doubles up to one unit off; std::from_chars is exact. Infinite means "too
// large".
double exact_double(double approximate, std::string_view digits) {
  double exact = 0;
  auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), exact);
  if (problem == std::errc()) return exact;
  return std::fabs(approximate) > 1 ? HUGE_VAL
                                    : 0.0;  // out of range: too large, or too small to tell from 0
}

// The events a handler may ignore.
struct QuietHandler {
  static constexpr size_t max_object_size = bj::object::max_size();
  static constexpr size_t max_array_size = bj::array::max_size();
  static constexpr size_t max_key_size = bj::string::max_size();
  static constexpr size_t max_string_size = bj::string::max_size();

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code&) { return true; }
  bool on_array_begin(bj::error_code&) { return true; }
  bool on_string_part(bj::string_view, size_t, bj::error_code&) { return true; }
  bool on_number_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }
};

struct TreeHandler : QuietHandler {
  bj::value_stack stack;
  size_t key_count = 0;

  bool on_object_end(size_t size, bj::error_code&) { return stack.push_object(size), true; }
  bool on_array_end(size_t size, bj::error_code&) { return stack.push_array(size), true; }
  bool on_key_part(bj::string_view text, size_t, bj::error_code&) {
    return stack.push_chars(text), true;
  }
  bool on_key(bj::string_view text, size_t, bj::error_code&) {
    ++key_count;
    return stack.push_key(text), true;
  }
  bool on_string_part(bj::string_view text, size_t, bj::error_code&) {
    return stack.push_chars(text), true;
  }
  bool on_string(bj::string_view text, size_t, bj::error_code&) {
    return stack.push_string(text), true;
  }
  bool on_int64(int64_t number, bj::string_view, bj::error_code&) {
    return stack.push_int64(number), true;
  }
  bool on_uint64(uint64_t number, bj::string_view, bj::error_code&) {
    return stack.push_uint64(number), true;
  }
  bool on_double(double number, bj::string_view digits, bj::error_code& problem) {
    number = exact_double(number, {digits.data(), digits.size()});
    if (std::isinf(number)) {
      problem = bj::error::exponent_overflow;
      return false;
    }
    return stack.push_double(number), true;
  }
  bool on_bool(bool value, bj::error_code&) { return stack.push_bool(value), true; }
  bool on_null(bj::error_code&) { return stack.push_null(), true; }
};

// Walks a text known to be good and writes down the path of each key that its object had already.
// Bounded in number and length, for a body of nothing but repeats under a very long key.
struct DuplicateHandler : QuietHandler {
  static constexpr size_t kMaxFound = 100;
  static constexpr size_t kMaxPathBytes = 1024;

  struct Level {
    bool is_array = false;
    size_t index = 0;
    size_t path_size = 0;  // the path up to this container
    std::unordered_set<std::string> keys;
  };
  std::vector<Level> levels;
  std::string path;
  std::string key;
  std::vector<std::string> found;

  bool open(bool is_array) {
    begin_value();
    levels.push_back({is_array, 0, path.size(), {}});
    return true;
  }
  bool close() {
    path.resize(levels.back().path_size);
    levels.pop_back();
    return true;
  }
  // The path of an array's item is known when the item begins; a member's when its key is read.
  bool begin_value() {
    if (levels.empty() || !levels.back().is_array) return true;
    path.resize(levels.back().path_size);
    path += fmt::format("[{}]", levels.back().index++);
    return true;
  }
  bool on_object_begin(bj::error_code&) { return open(false); }
  bool on_array_begin(bj::error_code&) { return open(true); }
  bool on_object_end(size_t, bj::error_code&) { return close(); }
  bool on_array_end(size_t, bj::error_code&) { return close(); }
  bool on_key_part(bj::string_view text, size_t, bj::error_code&) {
    key.append(text.data(), text.size());
    return true;
  }
  bool on_key(bj::string_view text, size_t, bj::error_code&) {
    key.append(text.data(), text.size());
    Level& level = levels.back();
    path.resize(level.path_size);
    if (!path.empty()) path += '.';
    path += key;
    bool is_new = level.keys.insert(std::move(key)).second;
    key.clear();
    if (!is_new && found.size() < kMaxFound) note_duplicate();
    return true;
  }
  void note_duplicate() {
    std::string shown = path.size() <= kMaxPathBytes ? path : path.substr(0, kMaxPathBytes) + "...";
    if (std::find(found.begin(), found.end(), shown) == found.end()) found.push_back(shown);
  }
  bool on_string(bj::string_view, size_t, bj::error_code&) { return begin_value(); }
  bool on_int64(int64_t, bj::string_view, bj::error_code&) { return begin_value(); }
  bool on_uint64(uint64_t, bj::string_view, bj::error_code&) { return begin_value(); }
  bool on_double(double, bj::string_view, bj::error_code&) { return begin_value(); }
  bool on_bool(bool, bj::error_code&) { return begin_value(); }
  bool on_null(bj::error_code&) { return begin_value(); }
};

bj::parse_options options_for(const JsonLimits& limits) {
  bj::parse_options options;
  options.max_depth = static_cast<size_t>(std::max(limits.max_depth, 0));
  return options;
}

std::vector<std::string> duplicate_fields(std::string_view text, const JsonLimits& limits) {
  bj::basic_parser<DuplicateHandler> parser(options_for(limits));
  bj::error_code ignored;  // the text was read once without one
  parser.write_some(false, text.data(), text.size(), ignored);
  return std::move(parser.handler().found);
}

size_t count_keys(const Json& value) {
  size_t count = 0;
  if (const JsonObject* object = value.if_object()) {
    count = object->size();
    for (const auto& member : *object) {
      if (member.value().is_structured()) count += count_keys(member.value());
    }
  } else if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) {
      if (item.is_structured()) count += count_keys(item);
    }
  }
  return count;
}

// One parser a thread, so that its stack of pending values is allocated once; a large body's is
// given back.
class ThreadParser {
 public:
  static constexpr size_t kLargeText = 256 * 1024;

  explicit ThreadParser(const JsonLimits& limits) : parser_(options_for(limits)) {}

  Result<ParsedJson> parse(std::string_view text, const JsonLimits& limits, JsonMemory memory) {
    TreeHandler& handler = parser_.handler();
    parser_.reset();
    handler.stack.reset(std::move(memory));
    handler.key_count = 0;
    bj::error_code problem;
    size_t consumed = parser_.write_some(false, text.data(), text.size(), problem);
    if (!problem && consumed < text.size()) problem = bj::error::extra_data;
    if (problem) {
      handler.stack.reset({});
      return json_error(text, consumed, problem, limits.max_depth);
    }
    // Constructed, not assigned: an assignment would copy the tree out of its memory.
    ParsedJson parsed{handler.stack.release(), {}};
    handler.stack.reset({});
    if (count_keys(parsed.value) != handler.key_count) {
      parsed.duplicate_fields = duplicate_fields(text, limits);
    }
    return parsed;
  }

 private:
  bj::basic_parser<TreeHandler> parser_;
};

}  // namespace

namespace {

constexpr size_t kArenaBytes = 64 * 1024;
struct ArenaBuffer {
  std::unique_ptr<unsigned char[]> bytes;
  bool taken = false;
};
thread_local ArenaBuffer arena_buffer;

// The thread's buffer, unless an arena further up the stack has it.
bool take_arena_buffer() {
  if (arena_buffer.taken) return false;
  if (arena_buffer.bytes == nullptr) arena_buffer.bytes.reset(new unsigned char[kArenaBytes]);
  arena_buffer.taken = true;
  return true;
}

}  // namespace

JsonArena::JsonArena()
    : owns_buffer_(take_arena_buffer()),
      resource_(owns_buffer_ ? arena_buffer.bytes.get() : nullptr, owns_buffer_ ? kArenaBytes : 0) {}

JsonArena::~JsonArena() {
  if (owns_buffer_) arena_buffer.taken = false;
}

Result<ParsedJson> parse_json(std::string_view text, const JsonLimits& limits, JsonMemory memory) {
  if (text.size() > ThreadParser::kLargeText || limits.max_depth != JsonLimits{}.max_depth) {
    return ThreadParser(limits).parse(text, limits, std::move(memory));
  }
  thread_local ThreadParser parser(JsonLimits{});
  return parser.parse(text, limits, std::move(memory));
}

}  // namespace yard
