// Any bytes: what parses, prints; what was printed parses again to an equal tree and prints the
// same.

#include <cstddef>
#include <cstdint>

#include "base/strings.h"
#include "json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace yard;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Result<ParsedJson> first = parse_json(text);
  if (!first) {
    check(first.error().reason == Reason::BadRequest, "bad bytes are a bad request");
    check(is_valid_utf8(first.error().message), "an error is text");
    return 0;
  }
  std::string printed = to_text(first->value);
  check(is_valid_utf8(printed), "JSON is UTF-8");
  Result<ParsedJson> second = parse_json(printed);
  check(second.has_value(), "what was printed parses");
  check(second->duplicate_fields.empty(), "a tree has no duplicates");
  check(equal(first->value, second->value), "the trees are equal");
  check(to_text(second->value) == printed, "printing is stable");
  Result<ParsedJson> third = parse_json(to_pretty_text(first->value));
  check(third.has_value() && equal(first->value, third->value), "pretty text is the same tree");
  return 0;
}
