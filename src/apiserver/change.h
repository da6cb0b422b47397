#pragma once
// The verbs, as pure functions: (kind, live object, request, now) → what to write. HTTP runs them
// on an I/O thread, DirectClient on the loop; both hand the Change to the committer
// (apiserver/committer.h).
//
// One write path for every verb and kind: decode → merge → default → own → prepare → validate →
// encode.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "apiserver/kind_table.h"
#include "apiserver/request.h"
#include "json/shared_json.h"

namespace yard {

// A body as it came, not yet read.
struct RequestBody {
  std::string content_type;
  std::string bytes;
};

enum class PatchType { JsonPatch, MergePatch, StrategicMergePatch, Apply };

// What a write is told besides the objects.
struct WriteContext {
  KindPtr kind;
  KindPtr stored;  // what the storage holds: `kind` itself unless that is a view of another
  std::string ns, name, subresource;
  WriteOptions options;
  std::string user;
  Time now;
  uint64_t seed = 0;  // of this write's randomness: uid, generated name
  std::shared_ptr<const ClusterFacts> cluster;
  // The live object as `kind` shows it, where a reader has its tree already.
  std::optional<SharedJson> live_tree;
  bool is_read_soon = true;  // one of few: its tree is likely to be there when somebody reads it
};

struct Change {
  enum class Type { Store, Delete, Nothing };
  Type type = Type::Nothing;
  ObjectPtr object;       // to store; for Nothing what stands (null when the answer is `answer`)
  Revision expected = 0;  // what it was built on; 0 is a create
  int status = 200;
  std::vector<std::string> warnings;
  // What `object` was encoded from, where readers are likely to ask for it; else null.
  std::shared_ptr<JsonBlock> tree;
  Json dry_run_tree;           // the answer of a dry run, without a revision on create; on the heap
  std::optional<Json> answer;  // instead of the object (a Status)
  bool is_create() const { return type == Type::Store && expected == 0; }
};

Result<Change> plan_create(const WriteContext& context, const RequestBody& body);
// `live` may be null: NotFound, or a create for kinds that create on update.
Result<Change> plan_update(const WriteContext& context, const ObjectPtr& live,
                           const RequestBody& body);
Result<Change> plan_patch(const WriteContext& context, const ObjectPtr& live, PatchType type,
                          const RequestBody& body);

struct DeleteOptions {
  std::optional<int64_t> grace_period_seconds;
  std::optional<DeletePropagation> propagation;
  std::optional<bool> orphan_dependents;
  std::optional<std::string> uid, resource_version;  // preconditions
  bool dry_run = false;
  bool evicted = false;  // says so in the pod's conditions
};
// From the body (JSON, YAML or protobuf; it wins) or the query.
Result<DeleteOptions> parse_delete_options(const Query& query, const RequestBody& body);
Result<Change> plan_delete(const WriteContext& context, const ObjectPtr& live,
                           const DeleteOptions& options);

// A new object needs a namespace that is there and not going away. Checked when a create is planned
// and again when it is committed, since the namespace may have gone in between.
Result<void> check_namespace_accepts(const WriteContext& context, std::string_view name);

// POST pods/x/binding: the pod gets its node, once.
Result<Change> plan_binding(const WriteContext& context, const ObjectPtr& live,
                            const RequestBody& body);
// POST pods/x/eviction: a delete that says why.
Result<Change> plan_eviction(const WriteContext& context, const ObjectPtr& live,
                             const RequestBody& body);

// For DirectClient: the same verbs on trees the process made itself, so nothing is serialised to be
// parsed again.
Result<Change> plan_create_tree(const WriteContext& context, const Json& tree);
Result<Change> plan_update_tree(const WriteContext& context, const ObjectPtr& live,
                                const Json& tree);
Result<Change> plan_binding_tree(const WriteContext& context, const ObjectPtr& live,
                                 const Json& binding);

// The object as `kind` shows it: the stored one itself, or converted for a view (events.k8s.io,
// another CRD version).
ObjectPtr as_shown(const Kind& kind, const ObjectPtr& stored);
Json tree_as_shown(const Kind& kind, const Object& stored, JsonMemory memory = {});
// The live object of a write, to be read: the context's tree, or one parsed now that lives in
// `memory` and `parsed`.
const Json& live_tree(const WriteContext& context, const Object& live, JsonMemory memory,
                      std::optional<Json>& parsed);
// Encodes with the kind's fields and cells.
ObjectPtr encode_object(const Kind& kind, const Json& tree);

Result<PatchType> patch_type(const Kind& kind, std::string_view content_type);
// JSON, YAML or protobuf by content type; the duplicate keys met.
struct DecodedBody {
  Json tree;
  std::vector<std::string> duplicate_fields;
};
Result<DecodedBody> decode_body(const RequestBody& body, std::string_view kind_name, bool custom,
                                JsonMemory memory = {});

}  // namespace yard
