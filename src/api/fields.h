#pragma once
// Who owns which field: the sets behind metadata.managedFields, and server-side apply on them
// (api-machinery 3.6). Pure functions on trees; the verbs call them in apiserver/.

#include <string>
#include <string_view>

#include "api/schema/schema.h"
#include "base/time.h"

namespace yard {

// Identity of the one who writes.
struct FieldWriter {
  std::string manager;      // fieldManager, or the User-Agent up to the first '/'
  std::string api_version;  // of the endpoint, e.g. batch/v1
  std::string subresource;  // "", "status", "scale"
  Time now;
};

// After create, update and the three ordinary patches. `live` is null on create. `next` is the
// defaulted object about to be stored; its metadata.managedFields is read as the request's (absent
// or invalid: live's are kept; [] or [{}]: tracking is reset; a valid list replaces live's as the
// base) and then replaced by the result. When only timestamps of entries would change, live's
// entries are kept as they are, so a no-op write stays a no-op.
void track_update(const Json* live, Json& next, const Schema& schema, const FieldWriter& writer);

// No write comes of new times alone: where `next` differs from `live` in the times of its entries and
// nowhere else, it gets live's. An applied empty value is such a case: it is owned, and not stored.
void ignore_new_times(const Json& live, Json& next);

struct ApplyOptions {
  FieldWriter writer;
  bool force = false;
  // Paths the endpoint does not let an apply own: {"status"} on the main endpoint, {"spec"} on
  // status, ...
  std::vector<std::string> reset_fields;
};

// Server-side apply of `config` (decoded, not defaulted) onto `live` (null: the object is created
// from config). Answers the merged tree with managedFields of all managers; the caller defaults,
// validates and stores it. A Conflict carries the causes and text of section 3.6. A field not in
// the schema, a list item without its keys and duplicate items are errors in upstream's words
// (BadRequest).
Result<Json> apply_config(const Json* live, const Json& config, const Schema& schema,
                          const ApplyOptions& options);

}  // namespace yard
