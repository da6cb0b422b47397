// Any bytes: reading never crashes, and what was read comes back from its own YAML.

#include <cstddef>
#include <cstdint>

#include "base/strings.h"
#include "json/yaml.h"

namespace {

void check_round_trip(const yard::Json& value) {
  using namespace yard;
  Result<std::vector<YamlDocument>> again = parse_yaml(to_yaml(value));
  check(again.has_value(), "what was printed parses");
  check(again->size() == 1, "one document stays one");
  check(again->front().parsed.duplicate_fields.empty(), "a tree has no duplicates");
  check(equal(value, again->front().parsed.value), "the trees are equal");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace yard;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (Result<std::vector<YamlDocument>> documents = parse_yaml(text)) {
    for (const YamlDocument& document : *documents)
      check_round_trip(document.parsed.value);
  } else {
    check(is_valid_utf8(documents.error().message), "an error is text");
  }
  if (is_valid_utf8(text)) {
    JsonObject object;
    object[text] = Json(text);
    check_round_trip(object);
  }
  return 0;
}
