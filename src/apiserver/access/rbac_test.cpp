#include "apiserver/access/rbac.h"

#include <gtest/gtest.h>

#include "apiserver/access/escalation.h"
#include "apiserver/access/request_attributes.h"
#include "apiserver/access/reviews.h"
#include "json/yaml.h"

namespace yard {
namespace {

Json from_yaml(const std::string& text) {
  auto parsed = parse_yaml(text);
  check(parsed.has_value() && parsed->size() == 1, "the test's YAML is one document");
  return std::move(parsed->front().parsed.value);
}

AccessAttributes asks(std::string verb, std::string resource, std::string ns = "a",
                      std::string name = "") {
  AccessAttributes out;
  out.verb = std::move(verb);
  const size_t dot = resource.find('.');
  if (dot != std::string::npos) {
    out.group = resource.substr(dot + 1);
    resource.erase(dot);
  }
  const size_t slash = resource.find('/');
  out.resource = resource.substr(0, slash);
  if (slash != std::string::npos) out.subresource = resource.substr(slash + 1);
  out.ns = std::move(ns);
  out.name = std::move(name);
  return out;
}

AccessAttributes asks_path(std::string verb, std::string path) {
  AccessAttributes out;
  out.is_resource = false;
  out.verb = std::move(verb);
  out.path = std::move(path);
  return out;
}

TEST(Allows, EveryPartOfARuleMustMatch) {
  struct Case {
    const char* about;
    const char* rule;
    AccessAttributes asked;
    bool allowed;
  };
  const Case cases[] = {
      {"the verb, group and resource named", "{verbs: [get], apiGroups: [''], resources: [pods]}",
       asks("get", "pods"), true},
      {"another verb", "{verbs: [get], apiGroups: [''], resources: [pods]}", asks("list", "pods"),
       false},
      {"another group", "{verbs: [get], apiGroups: [''], resources: [jobs]}",
       asks("get", "jobs.batch"), false},
      {"another resource", "{verbs: [get], apiGroups: [''], resources: [pods]}",
       asks("get", "secrets"), false},
      {"every verb", "{verbs: ['*'], apiGroups: [''], resources: [pods]}", asks("watch", "pods"),
       true},
      {"every group", "{verbs: [get], apiGroups: ['*'], resources: [jobs]}",
       asks("get", "jobs.batch"), true},
      {"every resource", "{verbs: [get], apiGroups: [''], resources: ['*']}",
       asks("get", "pods/log"), true},
      {"a resource is not its subresource", "{verbs: [get], apiGroups: [''], resources: [pods]}",
       asks("get", "pods/log"), false},
      {"a subresource is not its resource",
       "{verbs: [get], apiGroups: [''], resources: [pods/log]}", asks("get", "pods"), false},
      {"the subresource named", "{verbs: [get], apiGroups: [''], resources: [pods/log]}",
       asks("get", "pods/log"), true},
      {"a subresource of every resource", "{verbs: [get], apiGroups: [''], resources: ['*/scale']}",
       asks("get", "things/scale"), true},
      {"another subresource", "{verbs: [get], apiGroups: [''], resources: ['*/scale']}",
       asks("get", "things/status"), false},
      {"the name listed",
       "{verbs: [get], apiGroups: [''], resources: [secrets], resourceNames: [x]}",
       asks("get", "secrets", "a", "x"), true},
      {"another name", "{verbs: [get], apiGroups: [''], resources: [secrets], resourceNames: [x]}",
       asks("get", "secrets", "a", "y"), false},
      {"a create has no name yet",
       "{verbs: [create], apiGroups: [''], resources: [secrets], resourceNames: [x]}",
       asks("create", "secrets"), false},
      {"a path", "{verbs: [get], nonResourceURLs: [/metrics]}", asks_path("get", "/metrics"), true},
      {"a path below", "{verbs: [get], nonResourceURLs: [/metrics]}",
       asks_path("get", "/metrics/x"), false},
      {"all paths below", "{verbs: [get], nonResourceURLs: [/metrics/*]}",
       asks_path("get", "/metrics/x"), true},
      {"every path", "{verbs: [get], nonResourceURLs: ['*']}", asks_path("get", "/x"), true},
      {"another method", "{verbs: [get], nonResourceURLs: ['*']}", asks_path("post", "/x"), false},
      {"rules of resources allow no path", "{verbs: ['*'], apiGroups: ['*'], resources: ['*']}",
       asks_path("get", "/metrics"), false},
      {"rules of paths allow no resource", "{verbs: ['*'], nonResourceURLs: ['*']}",
       asks("get", "pods"), false},
      {"nothing", "{verbs: []}", asks("get", "pods"), false},
  };
  for (const Case& each : cases) {
    const Json rules(JsonArray{from_yaml(each.rule)});
    EXPECT_EQ(allows(policy_rules(&rules).front(), each.asked), each.allowed) << each.about;
  }
}

// Roles and bindings as people write them.
AccessRules cluster(const std::string& yaml) {
  AccessRules out;
  auto roles = std::make_shared<AccessRules::Roles>();
  auto bindings = std::make_shared<std::vector<RoleBindingFacts>>();
  std::map<std::string, AccessRules::InNamespace> namespaces;
  auto documents = parse_yaml(yaml);
  check(documents.has_value(), "the test's YAML is right");
  for (const auto& document : *documents) {
    const Json& object = document.parsed.value;
    const std::string kind(text_at(object, {"kind"})), name(text_at(object, {"metadata", "name"})),
        ns(text_at(object, {"metadata", "namespace"}));
    auto rules = std::make_shared<const PolicyRules>(policy_rules(find(object, "rules")));
    if (kind == "ClusterRole") (*roles)[name] = rules;
    if (kind == "Role") namespaces[ns].roles[name] = rules;
    if (kind == "ClusterRoleBinding") bindings->push_back(binding_facts(object));
    if (kind == "RoleBinding") namespaces[ns].bindings.push_back(binding_facts(object));
  }
  out.cluster_roles = roles;
  out.cluster_bindings = bindings;
  for (auto& [ns, in] : namespaces)
    out.namespaces[ns] = std::make_shared<const AccessRules::InNamespace>(std::move(in));
  return out;
}

const char* const kCluster = R"(
{kind: ClusterRole, metadata: {name: viewer}, rules: [{verbs: [get, list], apiGroups: [''], resources: [pods]}]}
---
{kind: ClusterRole, metadata: {name: paths}, rules: [{verbs: [get], nonResourceURLs: [/metrics]}]}
---
{kind: Role, metadata: {name: writer, namespace: a}, rules: [{verbs: [create], apiGroups: [batch], resources: [jobs]}]}
---
{kind: ClusterRoleBinding, metadata: {name: all}, roleRef: {kind: ClusterRole, name: viewer}, subjects: [{kind: User, name: ann}]}
---
{kind: ClusterRoleBinding, metadata: {name: paths}, roleRef: {kind: ClusterRole, name: paths}, subjects: [{kind: Group, name: ops}]}
---
{kind: RoleBinding, metadata: {name: in-a, namespace: a}, roleRef: {kind: ClusterRole, name: viewer}, subjects: [{kind: User, name: bob}]}
---
{kind: RoleBinding, metadata: {name: write, namespace: a}, roleRef: {kind: Role, name: writer}, subjects: [{kind: Group, name: team}, {kind: ServiceAccount, name: robot, namespace: b}, {kind: ServiceAccount, name: here}]}
---
{kind: RoleBinding, metadata: {name: broken, namespace: a}, roleRef: {kind: Role, name: gone}, subjects: [{kind: User, name: eve}]}
)";

User user(std::string name, std::vector<std::string> groups = {}) {
  User out;
  out.name = std::move(name);
  out.groups = std::move(groups);
  return out;
}

TEST(Decide, BindingsReachAsFarAsTheirScope) {
  const AccessRules rules = cluster(kCluster);
  struct Case {
    const char* about;
    User who;
    AccessAttributes asked;
    bool allowed;
    std::string reason;
  };
  const Case cases[] = {
      {"a cluster binding, in a namespace", user("ann"), asks("get", "pods", "a"), true,
       R"(RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "viewer" to User "ann")"},
      {"a cluster binding, everywhere", user("ann"), asks("list", "pods", ""), true,
       R"(RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "viewer" to User "ann")"},
      {"a binding of a namespace", user("bob"), asks("get", "pods", "a"), true,
       R"(RBAC: allowed by RoleBinding "in-a/a" of ClusterRole "viewer" to User "bob")"},
      {"not in another namespace", user("bob"), asks("get", "pods", "b"), false, ""},
      {"not everywhere", user("bob"), asks("list", "pods", ""), false, ""},
      {"not another verb", user("bob"), asks("delete", "pods", "a"), false, ""},
      {"by a group", user("x", {"team"}), asks("create", "jobs.batch", "a"), true,
       R"(RBAC: allowed by RoleBinding "write/a" of Role "writer" to Group "team")"},
      {"a ServiceAccount of another namespace", service_account_user("b", "robot"),
       asks("create", "jobs.batch", "a"), true,
       R"(RBAC: allowed by RoleBinding "write/a" of Role "writer" to ServiceAccount "robot/b")"},
      {"one of the binding's own namespace", service_account_user("a", "here"),
       asks("create", "jobs.batch", "a"), true,
       R"(RBAC: allowed by RoleBinding "write/a" of Role "writer" to ServiceAccount "here/a")"},
      {"the same name elsewhere is another", service_account_user("c", "robot"),
       asks("create", "jobs.batch", "a"), false, ""},
      {"a user is no group", user("team"), asks("create", "jobs.batch", "a"), false, ""},
      {"a path by a group", user("x", {"ops"}), asks_path("get", "/metrics"), true,
       R"(RBAC: allowed by ClusterRoleBinding "paths" of ClusterRole "paths" to Group "ops")"},
      {"a path for others", user("bob"), asks_path("get", "/metrics"), false, ""},
      {"a role that is gone", user("eve"), asks("get", "pods", "a"), false,
       R"(RBAC: role.rbac.authorization.k8s.io "gone" not found)"},
      {"nobody", user(""), asks("get", "pods", "a"), false, ""},
      {"the admin group", user("root", {"system:masters"}), asks("delete", "nodes", ""), true, ""},
      {"its name alone is nothing", user("system:masters"), asks("delete", "nodes", ""), false, ""},
  };
  for (const Case& each : cases) {
    const AccessDecision decision = decide(rules, each.who, each.asked);
    EXPECT_EQ(decision.allowed, each.allowed) << each.about;
    EXPECT_EQ(decision.reason, each.reason) << each.about;
  }
}

TEST(Decide, AUserWithoutRightsMayDoNothing) {
  const AccessRules rules = cluster(kCluster);
  int asked = 0;
  for (const char* verb : {"get", "list", "watch", "create", "update", "patch", "delete",
                           "deletecollection", "impersonate", "bind", "escalate", "*"}) {
    for (const char* resource : {"pods", "pods/log", "pods/exec", "secrets", "nodes", "namespaces",
                                 "jobs.batch", "roles.rbac.authorization.k8s.io", "*"}) {
      for (const char* ns : {"", "a", "b"}) {
        EXPECT_FALSE(
            decide(rules, user("nobody", {"system:authenticated"}), asks(verb, resource, ns))
                .allowed)
            << verb << " " << resource << " in " << ns;
        ++asked;
      }
    }
  }
  EXPECT_EQ(asked, 12 * 9 * 3);
}

TEST(AccessDenied, SpeaksAsKubernetesDoes) {
  struct Case {
    AccessAttributes asked;
    const char* reason;
    const char* message;
  };
  const Case cases[] = {
      {asks("list", "pods", "default"), "",
       R"(pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default")"},
      {asks("get", "pods", "q", "x"), "",
       R"(pods "x" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "q")"},
      {asks("list", "pods", ""), "",
       R"(pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope)"},
      {asks("get", "pods/log", "q", "x"), "",
       R"(pods "x" is forbidden: User "bob" cannot get resource "pods/log" in API group "" in the namespace "q")"},
      {asks("list", "deployments.apps", "q"), "RBAC: x",
       R"(deployments.apps is forbidden: User "bob" cannot list resource "deployments" in API group "apps" in the namespace "q": RBAC: x)"},
      {asks_path("get", "/metrics"), "", R"(forbidden: User "bob" cannot get path "/metrics")"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(access_denied(user("bob"), each.asked, each.reason).message, each.message);
}

HttpRequest request(std::string method, std::string target, Headers headers = {}) {
  HttpRequest out;
  out.method = std::move(method);
  out.target = std::move(target);
  out.headers = std::move(headers);
  return out;
}

TEST(RequestAttributes, NameTheVerbARuleHas) {
  struct Case {
    const char* method;
    const char* target;
    const char* wanted;  // verb group/resource/subresource namespace name
  };
  const Case cases[] = {
      {"GET", "/api/v1/namespaces/q/pods", "list /pods/ q "},
      {"GET", "/api/v1/namespaces/q/pods?watch=1", "watch /pods/ q "},
      {"GET", "/api/v1/watch/namespaces/q/pods/x", "watch /pods/ q x"},
      {"GET", "/api/v1/namespaces/q/pods?fieldSelector=metadata.name%3Dx", "list /pods/ q x"},
      {"GET", "/api/v1/namespaces/q/pods/x", "get /pods/ q x"},
      {"HEAD", "/api/v1/namespaces/q/pods/x", "get /pods/ q x"},
      {"GET", "/api/v1/namespaces/q/pods/x/log", "get /pods/log q x"},
      {"POST", "/api/v1/namespaces/q/pods/x/exec", "create /pods/exec q x"},
      {"POST", "/apis/batch/v1/namespaces/q/jobs", "create batch/jobs/ q "},
      {"PUT", "/apis/batch/v1/namespaces/q/jobs/x/status", "update batch/jobs/status q x"},
      {"PATCH", "/apis/batch/v1/namespaces/q/jobs/x", "patch batch/jobs/ q x"},
      {"DELETE", "/apis/batch/v1/namespaces/q/jobs/x", "delete batch/jobs/ q x"},
      {"DELETE", "/apis/batch/v1/namespaces/q/jobs", "deletecollection batch/jobs/ q "},
      {"GET", "/api/v1/namespaces/q", "get /namespaces/ q q"},
      {"GET", "/api/v1/nodes", "list /nodes/  "},
  };
  for (const Case& each : cases) {
    const HttpRequest asked = request(each.method, each.target);
    const auto path = parse_resource_path(asked.path());
    ASSERT_TRUE(path.has_value() && path->has_value()) << each.target;
    const AccessAttributes got = request_attributes(asked, Query(asked.query()), &**path);
    EXPECT_EQ(got.verb + " " + got.group + "/" + got.resource + "/" + got.subresource + " " +
                  got.ns + " " + got.name,
              each.wanted);
  }
  const AccessAttributes path =
      request_attributes(request("GET", "/metrics?x=1"), Query("x=1"), nullptr);
  EXPECT_EQ(path.verb + " " + path.path, "get /metrics");
}

TEST(Impersonation, NeedsTheVerbForEachPart) {
  struct Case {
    const char* about;
    Headers headers;
    const char* user;
    std::vector<std::string> groups;
    std::vector<std::string> needed;
  };
  const Case cases[] = {
      {"a user", {{"Impersonate-User", "bob"}}, "bob", {"system:authenticated"}, {"/users bob"}},
      {"groups",
       {{"Impersonate-User", "bob"}, {"impersonate-group", "g"}, {"Impersonate-Group", "h"}},
       "bob",
       {"g", "h", "system:authenticated"},
       {"/users bob", "/groups g", "/groups h"}},
      {"a ServiceAccount",
       {{"Impersonate-User", "system:serviceaccount:q:s"}},
       "system:serviceaccount:q:s",
       {"system:serviceaccounts", "system:serviceaccounts:q", "system:authenticated"},
       {"q/serviceaccounts s"}},
      {"uid and extra",
       {{"Impersonate-User", "bob"}, {"Impersonate-Uid", "7"}, {"Impersonate-Extra-a%2Fb", "c"}},
       "bob",
       {"system:authenticated"},
       {"/users bob", "/uids 7", "/userextras/a/b c"}},
      {"nobody",
       {{"Impersonate-User", "system:anonymous"}},
       "system:anonymous",
       {"system:unauthenticated"},
       {"/users system:anonymous"}},
  };
  for (const Case& each : cases) {
    auto read = read_impersonation(request("GET", "/", each.headers));
    ASSERT_TRUE(read.has_value() && read->has_value()) << each.about;
    EXPECT_EQ((*read)->user.name, each.user) << each.about;
    EXPECT_EQ((*read)->user.groups, each.groups) << each.about;
    std::vector<std::string> needed;
    for (const AccessAttributes& one : (*read)->needed) {
      EXPECT_EQ(one.verb, "impersonate");
      needed.push_back(one.ns + "/" + one.resource +
                       (one.subresource.empty() ? "" : "/" + one.subresource) + " " + one.name);
    }
    EXPECT_EQ(needed, each.needed) << each.about;
  }
  EXPECT_FALSE(read_impersonation(request("GET", "/", {}))->has_value());
  EXPECT_FALSE(read_impersonation(request("GET", "/", {{"Impersonate-Group", "g"}})).has_value());
  EXPECT_FALSE(read_impersonation(request("GET", "/", Headers(300, {"Impersonate-Group", "g"})))
                   .has_value());
}

std::string missing(const char* owned, const char* wanted) {
  const Json have = from_yaml(owned), want = from_yaml(wanted);
  auto left = rules_not_covered(policy_rules(&have), policy_rules(&want));
  if (!left) return left.error().message;
  std::string out;
  for (const PolicyRule& rule : *left)
    out += to_text(rule);
  return out;
}

TEST(Escalation, OnlyWhatIsHeldCanBeGranted) {
  struct Case {
    const char* about;
    const char* owned;
    const char* wanted;
    const char* missing;
  };
  const Case cases[] = {
      {"the same", "[{verbs: [get], apiGroups: [''], resources: [pods]}]",
       "[{verbs: [get], apiGroups: [''], resources: [pods]}]", ""},
      {"by two rules",
       "[{verbs: [get], apiGroups: [''], resources: [pods]}, {verbs: [list], apiGroups: [''], "
       "resources: [pods]}]",
       "[{verbs: [get, list], apiGroups: [''], resources: [pods]}]", ""},
      {"verbs of one resource stand together", "[]",
       "[{verbs: [get, list], apiGroups: [''], resources: [secrets]}]",
       R"({APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]})"},
      {"one name is less than all",
       "[{verbs: [get], apiGroups: [''], resources: [secrets], resourceNames: [x]}]",
       "[{verbs: [get], apiGroups: [''], resources: [secrets]}]",
       R"({APIGroups:[""], Resources:["secrets"], Verbs:["get"]})"},
      {"all names are more than one", "[{verbs: [get], apiGroups: [''], resources: [secrets]}]",
       "[{verbs: [get], apiGroups: [''], resources: [secrets], resourceNames: [x]}]", ""},
      {"everything is more than something", "[{verbs: [get], apiGroups: [''], resources: [pods]}]",
       "[{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]",
       R"({APIGroups:["*"], Resources:["*"], Verbs:["*"]})"},
      {"a subresource of all", "[{verbs: [get], apiGroups: [''], resources: ['*/log']}]",
       "[{verbs: [get], apiGroups: [''], resources: [pods/log]}]", ""},
      {"paths", "[{verbs: [get], nonResourceURLs: [/a/*]}]",
       "[{verbs: [get], nonResourceURLs: [/a/b, /c]}]",
       R"({NonResourceURLs:["/c"], Verbs:["get"]})"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(missing(each.owned, each.wanted), each.missing) << each.about;
}

TEST(Escalation, ARuleTooLargeToCompareIsRefused) {
  PolicyRule large;
  for (int i = 0; i < 300; ++i) {
    large.verbs.push_back("v" + std::to_string(i));
    large.resources.push_back("r" + std::to_string(i));
  }
  large.api_groups = {""};
  EXPECT_FALSE(rules_not_covered({}, {large}).has_value());
}

TEST(RulesReview, TellsWhatTheAskerHas) {
  const AccessRules rules = cluster(kCluster);
  const auto status =
      rules_review_status(from_yaml("{spec: {namespace: a}}"), rules, user("bob", {"ops"}));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(
      to_text(*status),
      R"({"resourceRules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}],"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/metrics"]}],"incomplete":false})");
  EXPECT_EQ(rules_review_status(from_yaml("{}"), rules, user("bob")).error().message,
            "no namespace on request");
}

TEST(AccessReview, AnswersForTheSubjectOrTheAsker) {
  const AccessRules rules = cluster(kCluster);
  const Json pods = from_yaml(
      "{spec: {user: bob, resourceAttributes: {verb: get, resource: pods, namespace: a}}}");
  const auto about_bob = access_review_status("SubjectAccessReview", "", pods, rules, user("ann"));
  EXPECT_TRUE(bool_at(*about_bob, {"allowed"}));
  const auto about_asker =
      access_review_status("SelfSubjectAccessReview", "", pods, rules, user("nobody"));
  EXPECT_FALSE(bool_at(*about_asker, {"allowed"}));
  struct Refusal {
    const char* kind;
    const char* review;
    const char* message;
  };
  const Refusal refusals[] = {
      {"SubjectAccessReview", "{spec: {user: '', resourceAttributes: {verb: get}}}",
       R"("" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified)"},
      {"SubjectAccessReview", "{spec: {user: x}}",
       R"("" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified)"},
      {"LocalSubjectAccessReview", "{spec: {user: x, resourceAttributes: {verb: get}}}",
       R"("" is invalid: spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace)"},
  };
  for (const Refusal& each : refusals) {
    const auto refused =
        access_review_status(each.kind, "q", from_yaml(each.review), rules, user("x"));
    ASSERT_FALSE(refused.has_value()) << each.review;
    EXPECT_EQ(refused.error().message, each.message);
  }
}

}  // namespace
}  // namespace yard
