// Two JSON texts, apart by a line end: what one manager applies, then what another does, as Pods
// and as Jobs. Nothing crashes, applying the same again changes nothing, and force knows no
// conflict.

#include <cstddef>
#include <cstdint>

#include "api/fields.h"
#include "api/schema/decode.h"
#include "base/check.h"

namespace {

using namespace yard;

std::optional<Json> decoded(const Json& from, const Schema& schema) {
  Json config = from;
  if (!config.is_object() || !conform(config, schema, "Fuzzed")) return std::nullopt;
  return config;
}

// As it would be stored.
Json stored(Json object, const Schema& schema) {
  check(conform(object, schema, "Fuzzed").has_value(), "what was merged fits its schema");
  return object;
}

// The object after the apply; nullopt: refused.
std::optional<Json> applied(const Json* live, const Json& config, const Schema& schema,
                            std::string_view manager, bool force) {
  const ApplyOptions options{
      {std::string(manager), "v1", "", from_unix_seconds(1)}, force, {"status"}};
  const auto merged = apply_config(live, config, schema, options);
  if (!merged) {
    check(!force || merged.error().reason != Reason::Conflict, "force meets no conflict");
    return std::nullopt;
  }
  check(merged->is_object(), "a merged object is an object");
  const Json once = stored(*merged, schema);
  // Nobody owns an empty list of mapped items: the next apply finds an object without owners, and
  // notes what there was before the first apply, as upstream does.
  const Json* metadata = find(once, "metadata");
  if (metadata == nullptr || find(*metadata, "managedFields") == nullptr) return once;
  const auto again = apply_config(&once, config, schema, options);
  check(again.has_value() && equal(stored(*again, schema), once), "applied again, nothing changes");
  return once;
}

void apply_both(const Json& first, const Json& second, const Schema& schema) {
  const auto ours = decoded(first, schema), theirs = decoded(second, schema);
  if (!ours || !theirs) return;
  const auto live = applied(nullptr, *ours, schema, "one", false);
  if (!live) return;
  (void)applied(&*live, *theirs, schema, "two", false);
  (void)applied(&*live, *theirs, schema, "one", false);  // what it leaves out goes
  (void)applied(&*live, *theirs, schema, "two", true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t middle = text.find('\n');
  if (middle == std::string_view::npos) return 0;
  const Result<ParsedJson> first = parse_json(text.substr(0, middle));
  const Result<ParsedJson> second = parse_json(text.substr(middle + 1));
  if (!first || !second) return 0;
  static const Schema* const kSchemas[] = {builtin_schemas().find("core.v1.Pod"),
                                           builtin_schemas().find("batch.v1.Job")};
  for (const Schema* schema : kSchemas)
    apply_both(first->value, second->value, *schema);
  return 0;
}
