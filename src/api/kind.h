#pragma once
// A kind is a row of data plus a few free functions. Everything the server does per kind is here;
// the verbs are the same for all. Built-in rows are listed in api/kinds.cpp; CRDs make rows at run
// time.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/pod_security.h"
#include "api/field_errors.h"
#include "api/object.h"
#include "api/schema/schema.h"
#include "base/random.h"
#include "base/time.h"

namespace yard {

// What admission and strategies may know of the rest of the cluster: a value, rebuilt by the loop
// when one of its sources changes and shared with the I/O threads. Keys are "namespace/name" for
// namespaced kinds.
struct ClusterFacts {
  struct Namespace {
    bool terminating = false;
    SecurityPolicy security = {};
  };
  struct ServiceAccount {
    bool automount_token = true;
    std::vector<std::string> image_pull_secrets;
  };
  struct PriorityClass {
    int32_t value = 0;
    bool global_default = false;
    std::string preemption_policy;
  };
  std::map<std::string, Namespace, std::less<>> namespaces;
  std::map<std::string, ServiceAccount, std::less<>> service_accounts;
  std::map<std::string, PriorityClass, std::less<>> priority_classes;
  std::string default_storage_class;  // empty: none
  // Namespace → encoded spec.limits of its LimitRanges.
  std::map<std::string, std::vector<Json>, std::less<>> limit_ranges;
};

// Everything a strategy function may use besides the object itself.
struct Admission {
  const ClusterFacts& cluster;
  Time now;
  Random& random;
  std::vector<std::string>& warnings;  // become Warning headers
  bool dry_run = false;
};

enum class NameRule { Subdomain, Label, Dns1035Label, PathSegment };

enum class DeletePropagation { Background, Foreground, Orphan };

struct Column {
  std::string name;
  std::string type = "string";  // integer, boolean, number, date
  std::string format;           // "name" for the first
  std::string description;
  int priority = 0;  // above 0: only with -o wide
};

struct Subresource {
  std::string name;                // "status", "scale", "log"
  std::string kind;                // responseKind, where it is not the parent's
  std::string group, version;      // of that kind
  std::vector<std::string> verbs;  // get, patch, update, create
};

// Where a custom kind keeps what autoscaling/v1 Scale shows: `.spec.replicas`.
struct ScalePaths {
  std::string spec_replicas, status_replicas, label_selector;
};

struct Kind {
  std::string group, version, kind, list_kind;
  std::string plural, singular;
  std::vector<std::string> short_names, categories;
  std::vector<std::string> verbs;  // as discovery lists them
  std::vector<Subresource> subresources;
  bool namespaced = true;
  bool custom =
      false;  // from a CRD: JSON and YAML only, no strategic merge, list items carry their type
  const Schema* schema = nullptr;
  std::shared_ptr<const SchemaCatalogue> owned_schemas;  // keeps a CRD's schema alive
  std::shared_ptr<const Json> crd_schema;  // a custom kind's openAPIV3Schema as written
  std::optional<ScalePaths> scale;         // of a custom kind
  bool terminating = false;  // its definition is going: no creates, but finalizers may be taken off
  std::string deprecation_warning;  // told with every answer

  // Where objects live. Two kinds with one storage are two views of it (events in both groups).
  std::string storage;  // "jobs.batch", "pods": the resource as in error messages

  NameRule name_rule = NameRule::Subdomain;
  bool tracks_generation = false;
  bool allows_unconditional_update = true;  // PUT without resourceVersion
  bool creates_on_update = false;           // PUT of a missing object creates it
  bool deletes_gracefully = false;          // Pod
  bool returns_deleted_object = false;      // DELETE answers the object, not a Status
  bool keeps_status_on_create = false;      // Node: its agent registers it with a status
  DeletePropagation default_propagation = DeletePropagation::Background;

  // Paths clients may select by besides metadata.name and metadata.namespace; values are stored
  // with the object.
  std::vector<std::string> selectable_fields;
  std::vector<Column> columns;

  // Optional functions. Trees are whole objects with apiVersion, kind and metadata.
  // Defaulting as on decode: owned by the writer. Runs on every create, update and patch result.
  std::function<void(Json& object)> set_defaults;
  // The strategy and admission of a create: what the server adds, unowned (selectors, labels,
  // status, tolerations).
  std::function<Result<void>(Json& object, const Admission&)> prepare_create;
  // The strategy of an update; `live` is what is stored. Generation, status isolation and metadata
  // are done for all kinds by the verbs; this is for what is special (Secret type kept, Service
  // clusterIP kept when empty).
  std::function<Result<void>(Json& object, const Json& live, const Admission&)> prepare_update;
  std::function<FieldErrors(const Json& object)> validate;
  std::function<FieldErrors(const Json& object, const Json& live)> validate_update;
  std::function<FieldErrors(const Json& object, const Json& live)> validate_status_update;
  // Texts for Warning headers that depend on the object alone.
  std::function<std::vector<std::string>(const Json& object)> warnings;
  // The values of selectable_fields, in their order.
  std::function<std::vector<std::string>(const Json& object)> field_values;
  // The row of the Table: api/table.h.
  std::function<std::string(const Json& object)> cells;
  // Views of one storage: from the stored tree to this kind's and back (events.k8s.io).
  std::function<void(Json& object)> from_stored;
  std::function<void(Json& object)> to_stored;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  std::string group_resource() const { return group.empty() ? plural : plural + "." + group; }
  const Subresource* subresource(std::string_view name) const;
  bool has_status() const { return subresource("status") != nullptr; }
  bool allows(std::string_view verb) const;
};

using KindPtr = std::shared_ptr<const Kind>;

// All built-in kinds, in discovery order.
const std::vector<KindPtr>& builtin_kinds();

}  // namespace yard
