#include "controllers/access/default_roles.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/selectors.h"
#include "api/tree.h"
#include "base/check.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kAutoupdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

// A line that begins with `role` names one, with the role it is aggregated into after `->` and
// `aggregates` where it is made of others. The lines below it are its rules: verbs, then groups and
// resources (`core` is the group without a name), or `paths` and the paths. READ and WRITE stand
// for the verbs they mean.
constexpr std::string_view kRoles = R"(
role cluster-admin
* * *
* paths *
role system:discovery
get paths /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/
role system:public-info-viewer
get paths /healthz /livez /readyz /version /version/
role system:basic-user
create authorization.k8s.io selfsubjectaccessreviews selfsubjectrulesreviews
create authentication.k8s.io selfsubjectreviews
role system:monitoring
get paths /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*
get core nodes/metrics
role system:auth-delegator
create authentication.k8s.io tokenreviews
create authorization.k8s.io subjectaccessreviews
role system:service-account-issuer-discovery
get paths /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/
role system:aggregate-to-view -> view
READ core configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status
READ core bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status
READ core namespaces
READ discovery.k8s.io endpointslices
READ apps controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status
READ autoscaling horizontalpodautoscalers horizontalpodautoscalers/status
READ batch cronjobs cronjobs/status jobs jobs/status
READ policy poddisruptionbudgets poddisruptionbudgets/status
READ networking.k8s.io ingresses ingresses/status networkpolicies
role trainyard:aggregate-to-view -> view
READ kubeflow.org *
READ batch.tensorstack.dev *
role system:aggregate-to-edit -> edit
READ core pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy
impersonate core serviceaccounts
WRITE core pods pods/attach pods/exec pods/portforward pods/proxy
create core pods/eviction
WRITE core configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy
create core serviceaccounts/token
WRITE apps daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale
WRITE autoscaling horizontalpodautoscalers
WRITE batch cronjobs jobs
WRITE policy poddisruptionbudgets
WRITE networking.k8s.io ingresses networkpolicies
create,delete,deletecollection,get,list,patch,update,watch coordination.k8s.io leases
role trainyard:aggregate-to-edit -> edit
WRITE kubeflow.org *
WRITE batch.tensorstack.dev *
role system:aggregate-to-admin -> admin
create authorization.k8s.io localsubjectaccessreviews
create,delete,deletecollection,get,list,patch,update,watch rbac.authorization.k8s.io rolebindings roles
role view -> edit aggregates
role edit -> admin aggregates
role admin aggregates
)";

struct DefaultBinding {
  const char* role;
  std::vector<const char*> groups;
};

const DefaultBinding kBindings[] = {
    {"cluster-admin", {"system:masters"}},
    {"system:basic-user", {"system:authenticated"}},
    {"system:discovery", {"system:authenticated"}},
    {"system:monitoring", {"system:monitoring"}},
    {"system:public-info-viewer", {"system:authenticated", "system:unauthenticated"}},
    {"system:service-account-issuer-discovery", {"system:serviceaccounts"}},
};

std::string aggregation_label(std::string_view role) {
  return fmt::format("rbac.authorization.k8s.io/aggregate-to-{}", role);
}

JsonArray as_list(const std::vector<std::string_view>& words) {
  JsonArray out;
  for (const std::string_view word : words)
    out.emplace_back(word == "core" ? "" : word);
  return out;
}

Json rule_of(std::string_view line) {
  std::vector<std::string_view> words = split(line, ' ');
  check(words.size() >= 3, "a default rule has verbs, a group and resources");
  std::string_view verbs = words[0];
  if (verbs == "READ") verbs = "get,list,watch";
  if (verbs == "WRITE") verbs = "create,delete,deletecollection,patch,update";
  const std::vector<std::string_view> targets(words.begin() + 2, words.end());
  JsonObject rule{{"verbs", as_list(split(verbs, ','))}};
  if (words[1] == "paths") {
    rule["nonResourceURLs"] = as_list(targets);
  } else {
    rule["apiGroups"] = as_list({words[1]});
    rule["resources"] = as_list(targets);
  }
  return rule;
}

Json named(const char* kind, std::string_view name) {
  JsonObject labels{{"kubernetes.io/bootstrapping", "rbac-defaults"}};
  JsonObject annotations{{kAutoupdate, "true"}};
  return JsonObject{{"apiVersion", std::string(kGroup) + "/v1"},
                    {"kind", kind},
                    {"metadata", JsonObject{{"name", name},
                                            {"labels", std::move(labels)},
                                            {"annotations", std::move(annotations)}}}};
}

// From `role NAME [-> INTO] [aggregates]`.
Json role_of(std::string_view line) {
  const std::vector<std::string_view> words = split(line, ' ');
  Json role = named("ClusterRole", words[1]);
  const auto arrow = std::ranges::find(words, "->");
  if (arrow != words.end()) {
    find_path(role, {"metadata", "labels"})->get_object()[aggregation_label(*(arrow + 1))] = "true";
  }
  if (words.back() == "aggregates") {
    role.get_object()["aggregationRule"] =
        JsonObject{{"clusterRoleSelectors",
                    JsonArray{JsonObject{
                        {"matchLabels", JsonObject{{aggregation_label(words[1]), "true"}}}}}}};
  }
  role.get_object()["rules"] = JsonArray();
  return role;
}

std::vector<Json> default_roles() {
  std::vector<Json> out;
  for (const std::string_view line : split(kRoles, '\n')) {
    if (line.empty()) continue;
    if (line.starts_with("role ")) {
      out.push_back(role_of(line));
    } else {
      out.back().get_object()["rules"].get_array().push_back(rule_of(line));
    }
  }
  // What is made of others is right from the start: those come before it.
  for (size_t i = 0; i < out.size(); ++i) {
    if (find(out[i], "aggregationRule") != nullptr)
      out[i].get_object()["rules"] = aggregated_rules(out[i], out);
  }
  return out;
}

Json binding_of(const DefaultBinding& row) {
  Json binding = named("ClusterRoleBinding", row.role);
  JsonArray subjects;
  for (const char* group : row.groups)
    subjects.push_back(JsonObject{{"kind", "Group"}, {"apiGroup", kGroup}, {"name", group}});
  binding.get_object()["roleRef"] =
      JsonObject{{"apiGroup", kGroup}, {"kind", "ClusterRole"}, {"name", row.role}};
  binding.get_object()["subjects"] = std::move(subjects);
  return binding;
}

bool contains(const JsonArray& list, const Json& value) {
  return std::ranges::any_of(list, [&](const Json& each) { return equal(each, value); });
}

// Appends what `wanted` has and `list` lacks; whether there was any.
bool add_missing(JsonObject& object, const char* member, const Json& wanted) {
  const Json* wanted_list = find(wanted, member);
  if (wanted_list == nullptr || !wanted_list->is_array()) return false;
  Json& list = object[member];
  if (!list.is_array()) list = JsonArray();
  bool added = false;
  for (const Json& each : wanted_list->get_array()) {
    if (contains(list.get_array(), each)) continue;
    list.get_array().push_back(each);
    added = true;
  }
  return added;
}

}  // namespace

std::vector<Json> default_access_objects() {
  std::vector<Json> out = default_roles();
  for (const DefaultBinding& row : kBindings)
    out.push_back(binding_of(row));
  return out;
}

Json reconciled_access_object(const Json& wanted, const Json& live) {
  if (text_at(live, {"metadata", "annotations", kAutoupdate}, "true") != "true") return {};
  Json next = live;
  JsonObject& object = next.get_object();
  bool changed = false;
  const bool aggregates = find(wanted, "aggregationRule") != nullptr;
  if (aggregates && find(live, "aggregationRule") == nullptr) {
    object["aggregationRule"] = *find(wanted, "aggregationRule");
    changed = true;
  }
  if (!aggregates) changed = add_missing(object, "rules", wanted) || changed;
  changed = add_missing(object, "subjects", wanted) || changed;
  for (const char* member : {"labels", "annotations"}) {
    for (const auto& entry : map_at(wanted, {"metadata", member})) {
      JsonObject& map = object_at(object_at(object, "metadata"), member);
      if (map.contains(entry.key())) continue;
      map[entry.key()] = entry.value();
      changed = true;
    }
  }
  return changed ? next : Json();
}

JsonArray aggregated_rules(const Json& role, const std::vector<Json>& all) {
  std::vector<LabelSelector> selectors;
  for (const Json& selector : list_at(role, {"aggregationRule", "clusterRoleSelectors"})) {
    auto parsed = LabelSelector::from_json(selector);
    if (parsed) selectors.push_back(std::move(*parsed));
  }
  std::vector<const Json*> sources;
  for (const Json& other : all) {
    const Json* labels = find_path(other, {"metadata", "labels"});
    const Json none;
    const bool matches = std::ranges::any_of(selectors, [&](const LabelSelector& selector) {
      return selector.matches_labels(labels != nullptr ? *labels : none);
    });
    if (matches && name_of(other) != name_of(role)) sources.push_back(&other);
  }
  std::ranges::sort(sources, {}, [](const Json* source) { return name_of(*source); });
  JsonArray out;
  for (const Json* source : sources) {
    for (const Json& rule : list_at(*source, {"rules"})) {
      if (!contains(out, rule)) out.push_back(rule);
    }
  }
  return out;
}

}  // namespace yard
