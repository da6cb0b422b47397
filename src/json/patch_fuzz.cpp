// Two JSON texts with a zero byte between: a document and a patch for it. Nothing may crash, a
// refused patch leaves the document alone, and a merge patch applied twice changes nothing more.

#include <cstddef>
#include <cstdint>

#include "json/patch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace yard;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t middle = text.find('\0');
  if (middle == std::string_view::npos) return 0;
  Result<ParsedJson> document = parse_json(text.substr(0, middle));
  Result<ParsedJson> patch = parse_json(text.substr(middle + 1));
  if (!document || !patch) return 0;

  Json target = document->value;
  if (!apply_json_patch(target, patch->value)) {
    check(equal(target, document->value), "a refused patch changes nothing");
  }
  check(parse_json(to_text(target), JsonLimits{1024}).has_value(),
        "the result is bounded in depth");

  Json merged = document->value;
  if (apply_merge_patch(merged, patch->value)) {
    Json once = merged;
    check(apply_merge_patch(merged, patch->value).has_value(), "it applies again");
    check(equal(once, merged), "a merge patch is idempotent");
  }
  return 0;
}
