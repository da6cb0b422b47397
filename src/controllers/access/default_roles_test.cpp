#include "controllers/access/default_roles.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "api/tree.h"
#include "controllers/access/token_secrets.h"
#include "json/yaml.h"

namespace yard {
namespace {

Json from_yaml(const std::string& text) {
  auto parsed = parse_yaml(text);
  check(parsed.has_value() && parsed->size() == 1, "the test's YAML is one document");
  return std::move(parsed->front().parsed.value);
}

const Json& named(const std::vector<Json>& objects, std::string_view kind, std::string_view name) {
  const auto found = std::ranges::find_if(objects, [&](const Json& object) {
    return text_at(object, {"kind"}) == kind && name_of(object) == name;
  });
  check(found != objects.end(), "the object is there");
  return *found;
}

bool has_rule(const Json& role, const std::string& rule) {
  return std::ranges::any_of(list_at(role, {"rules"}),
                             [&](const Json& each) { return to_text(each) == rule; });
}

TEST(DefaultRoles, AreThoseOfACluster) {
  const std::vector<Json> objects = default_access_objects();
  for (const char* name : {"cluster-admin", "admin", "edit", "view", "system:discovery",
                           "system:basic-user", "system:public-info-viewer"})
    EXPECT_FALSE(list_at(named(objects, "ClusterRole", name), {"rules"}).empty()) << name;
  const std::string secrets =
      R"({"verbs":["get","list","watch"],"apiGroups":[""],"resources":["pods/attach","pods/exec","pods/portforward","pods/proxy","secrets","services/proxy"]})";
  EXPECT_FALSE(has_rule(named(objects, "ClusterRole", "view"), secrets));
  EXPECT_TRUE(has_rule(named(objects, "ClusterRole", "edit"), secrets));
  EXPECT_TRUE(has_rule(named(objects, "ClusterRole", "admin"), secrets))
      << "admin is made of edit, which is made of view";
  EXPECT_EQ(to_text(*find(named(objects, "ClusterRoleBinding", "cluster-admin"), "subjects")),
            R"([{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:masters"}])");
}

TEST(DefaultRoles, AreGivenWhatTheyLack) {
  const Json wanted =
      from_yaml("{metadata: {name: r, labels: {a: b}}, rules: [{verbs: [get]}, {verbs: [list]}]}");
  struct Case {
    const char* about;
    const char* live;
    const char* next;
  };
  const Case cases[] = {
      {"all is there",
       "{metadata: {name: r, labels: {a: b}}, rules: [{verbs: [list]}, {verbs: [get]}]}", "null"},
      {"a rule is missing; one more stays",
       "{metadata: {name: r, labels: {a: b}}, rules: [{verbs: [get]}, {verbs: [watch]}]}",
       R"({"metadata":{"name":"r","labels":{"a":"b"}},"rules":[{"verbs":["get"]},{"verbs":["watch"]},{"verbs":["list"]}]})"},
      {"a label of another value stays",
       "{metadata: {name: r, labels: {a: c}}, rules: [{verbs: [get]}, {verbs: [list]}]}", "null"},
      {"updates were turned off",
       "{metadata: {name: r, annotations: {rbac.authorization.kubernetes.io/autoupdate: 'false'}}}",
       "null"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(to_text(reconciled_access_object(wanted, from_yaml(each.live))), each.next)
        << each.about;
}

TEST(Aggregation, JoinsTheRulesOfMatchingRolesByName) {
  const Json role = from_yaml(
      "{metadata: {name: all, labels: {into: all}}, aggregationRule: {clusterRoleSelectors: "
      "[{matchLabels: {into: all}}]}, rules: [{verbs: [old]}]}");
  const std::vector<Json> all{
      role,
      from_yaml(
          "{metadata: {name: b, labels: {into: all}}, rules: [{verbs: [list]}, {verbs: [get]}]}"),
      from_yaml("{metadata: {name: a, labels: {into: all}}, rules: [{verbs: [get]}]}"),
      from_yaml("{metadata: {name: c, labels: {into: none}}, rules: [{verbs: [delete]}]}"),
      from_yaml("{metadata: {name: d}, rules: [{verbs: [update]}]}")};
  EXPECT_EQ(to_text(Json(aggregated_rules(role, all))),
            R"([{"verbs":["get"]},{"verbs":["list"]}])");
}

TEST(TokenSecret, IsFilledOnceForEachAccount) {
  const Json empty = from_yaml("{metadata: {name: t, namespace: q}}");
  EXPECT_TRUE(needs_token(empty, "u1"));
  const Json filled = filled_token_secret(empty, "u1", "first", "ca");
  EXPECT_FALSE(needs_token(filled, "u1"));
  EXPECT_TRUE(needs_token(filled, "u2"));
  EXPECT_EQ(text_at(filled, {"data", "token"}), "Zmlyc3Q=");
  EXPECT_EQ(text_at(filled, {"data", "namespace"}), "cQ==");
  Json without_ca = filled;
  without_ca.get_object()["data"].get_object().erase("ca.crt");
  const Json again = filled_token_secret(without_ca, "u1", "second", "ca");
  EXPECT_EQ(text_at(again, {"data", "token"}), "Zmlyc3Q=") << "a token that is in use stays";
}

}  // namespace
}  // namespace yard
