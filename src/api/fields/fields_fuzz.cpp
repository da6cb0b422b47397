// Any JSON as FieldsV1, and any JSON as the managedFields of a request: no crash, and a set that
// was read and written reads back to the same.

#include <cstddef>
#include <cstdint>

#include "api/fields.h"
#include "api/fields/fields_v1.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace yard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<ParsedJson> parsed = parse_json(text);
  if (!parsed) return 0;
  FieldArena arena;
  if (const auto set = read_fields_v1(arena, parsed->value)) {
    const Json written = write_fields_v1(*set, {});
    const auto again = read_fields_v1(arena, written);
    check(again.has_value() && same_set(*set, *again), "FieldsV1 reads back what it wrote");
  }
  const Schema& pod = *builtin_schemas().find("core.v1.Pod");
  const FieldWriter writer{"fuzz", "v1", "", from_unix_seconds(1)};
  Json next = JsonObject();
  object_at(next.get_object(), "metadata")["managedFields"] = parsed->value;
  const Json live = JsonObject();
  track_update(&live, next, pod, writer);
  if (parsed->value.is_object()) {
    Json object = parsed->value;
    track_update(nullptr, object, pod, writer);
    if (const auto merged = apply_config(&object, parsed->value, pod, {writer, true, {"status"}})) {
      check(merged->is_object(), "a merged object is an object");
    }
  }
  return 0;
}
