#pragma once
// The Json tree and the bytes it is read from and written to. Trees live only while a verb runs: a
// stored object is its encoded bytes (api/object.h).

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace yard {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

using JsonMemory = boost::json::storage_ptr;  // where a tree's nodes live; the heap when empty

// Memory for the trees of one verb: taken from a buffer the thread keeps, given back all at once, so a tree of a
// hundred nodes costs neither a hundred allocations nor as many frees. No tree made in it may outlive it: what
// leaves is a copy on the heap (on_heap).
class JsonArena {
 public:
  JsonArena();
  ~JsonArena();
  JsonArena(const JsonArena&) = delete;
  JsonArena& operator=(const JsonArena&) = delete;
  JsonMemory memory() { return JsonMemory(&resource_); }

 private:
  bool owns_buffer_;
  boost::json::monotonic_resource resource_;
};
inline Json on_heap(const Json& tree) { return Json(tree, JsonMemory()); }

struct JsonLimits {
  int max_depth = 512;  // deeper bodies are refused with BadRequest, never recursed into
};

// What a client wrote, and what was wrong with it in a way that need not be fatal.
struct ParsedJson {
  Json value;
  // Paths of keys written twice (`data.a`, `spec.containers[0].name`); the last value wins.
  std::vector<std::string> duplicate_fields;
};

// RFC 8259, whole input, valid UTF-8 only, keeps int64, uint64 and double apart. Errors are
// BadRequest and name line and column.
Result<ParsedJson> parse_json(std::string_view text, const JsonLimits& limits = {},
                              JsonMemory memory = {});

std::string to_text(const Json& value);                 // compact
void append_text(std::string& out, const Json& value);  // compact, onto the end of `out`
void append_quoted(std::string& out, std::string_view text);  // one JSON string, with its quotes
std::string to_pretty_text(const Json& value);          // two spaces, as `?pretty=true` prints

// Deep equality where 1, 1u and 1.0 are one number. (Boost.JSON 1.81's own == copies deeply.)
bool equal(const Json& left, const Json& right);

// Member access that never throws: null when a step is missing or of another type.
const Json* find(const Json& value, std::string_view key);
Json* find(Json& value, std::string_view key);
const Json* find_path(const Json& value, std::initializer_list<std::string_view> keys);
Json* find_path(Json& value, std::initializer_list<std::string_view> keys);
// The same with a default: the text/number/bool there, or the given one.
std::string_view text_at(const Json& value, std::initializer_list<std::string_view> keys,
                         std::string_view otherwise = "");
int64_t int_at(const Json& value, std::initializer_list<std::string_view> keys, int64_t otherwise = 0);
bool bool_at(const Json& value, std::initializer_list<std::string_view> keys, bool otherwise = false);
// The object under `key`, made empty where missing, null or of another type.
JsonObject& object_at(JsonObject& parent, std::string_view key);

}  // namespace yard
