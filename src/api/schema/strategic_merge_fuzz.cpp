// Two JSON texts, apart by a line end: an object and a patch. Merging must answer, and leave the
// object alone when it refuses.

#include <cstddef>
#include <cstdint>

#include "api/schema/strategic_merge.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace yard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t middle = text.find('\n');
  if (middle == std::string_view::npos) return 0;
  Result<ParsedJson> target = parse_json(text.substr(0, middle));
  Result<ParsedJson> patch = parse_json(text.substr(middle + 1));
  if (!target || !patch) return 0;
  static const Schema* const kPod = builtin_schemas().find("core.v1.Pod");
  const std::string before = to_text(target->value);
  if (!apply_strategic_merge_patch(target->value, patch->value, *kPod) &&
      to_text(target->value) != before) {
    __builtin_trap();
  }
  return 0;
}
