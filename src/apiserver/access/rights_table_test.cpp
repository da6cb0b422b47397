// Verbs × resources × bindings, through the whole server: who is answered 403, and that they change
// and see nothing.

#include <gtest/gtest.h>

#include "apiserver/server.h"
#include "sim/api_harness.h"

namespace yard {
namespace {

constexpr const char* kAccess = "/apis/rbac.authorization.k8s.io/v1";

class RightsTest : public ::testing::Test {
 protected:
  RightsTest() {
    for (const char* ns : {"a", "b"}) {
      yard.make_namespace(ns);
      const std::string in = std::string("/api/v1/namespaces/") + ns;
      create(in + "/configmaps", R"({"metadata":{"name":"x"},"data":{"k":"v"}})");
      create(in + "/secrets", R"({"metadata":{"name":"x"},"stringData":{"k":"v"}})");
    }
    role("clusterroles", "reader", R"(["get","list","watch"])", R"([""])", R"(["configmaps"])");
    role("clusterroles", "owner", R"(["*"])", R"(["*"])", R"(["*"])");
    role("clusterroles", "namer", R"(["get","delete"])", R"([""])", R"(["secrets"])", R"(["x"])");
    role("namespaces/a/roles", "writer", R"(["create","update","patch"])", R"([""])",
         R"(["configmaps"])");
    bind("clusterrolebindings", "everywhere", "ClusterRole", "reader", "User", "reads-all");
    bind("namespaces/a/rolebindings", "reads-a", "ClusterRole", "reader", "User", "reads-a");
    bind("namespaces/a/rolebindings", "writes-a", "Role", "writer", "User", "writes-a");
    bind("namespaces/a/rolebindings", "owns-a", "ClusterRole", "owner", "Group", "owners");
    bind("clusterrolebindings", "names", "ClusterRole", "namer", "User", "names-x");
  }
  void create(const std::string& path, const std::string& body) {
    const Answer made = yard.call("POST", path, body);
    ASSERT_EQ(made.status, 201) << made.text;
  }
  void role(const std::string& where, const std::string& name, const std::string& verbs,
            const std::string& groups, const std::string& resources,
            const std::string& names = "[]") {
    create(std::string(kAccess) + "/" + where,
           R"({"metadata":{"name":")" + name + R"("},"rules":[{"verbs":)" + verbs +
               R"(,"apiGroups":)" + groups + R"(,"resources":)" + resources +
               R"(,"resourceNames":)" + names + "}]}");
  }
  void bind(const std::string& where, const std::string& name, const std::string& role_kind,
            const std::string& role_name, const std::string& subject_kind,
            const std::string& subject) {
    create(std::string(kAccess) + "/" + where,
           R"({"metadata":{"name":")" + name + R"("},"roleRef":{"kind":")" + role_kind +
               R"(","name":")" + role_name + R"("},"subjects":[{"kind":")" + subject_kind +
               R"(","name":")" + subject + R"("}]})");
  }
  // One letter for each verb that is not forbidden.
  std::string may(const std::string& user, const std::string& where) {
    struct Verb {
      char letter;
      const char *method, *name, *query, *body, *type;
    };
    // What would change something is a dry run; updates of what is not there are 404 or 409.
    constexpr Verb kVerbs[] = {
        {'g', "GET", "/x", "", "", ""},
        {'l', "GET", "", "", "", ""},
        {'w', "GET", "", "?watch=1&timeoutSeconds=1", "", ""},
        {'c', "POST", "", "?dryRun=All", R"({"metadata":{"name":"new"}})", "application/json"},
        {'u', "PUT", "/x", "?dryRun=All", R"({"metadata":{"name":"x"}})", "application/json"},
        {'p', "PATCH", "/x", "?dryRun=All", "{}", "application/merge-patch+json"},
        {'d', "DELETE", "/x", "?dryRun=All", "", ""},
        {'D', "DELETE", "", "?dryRun=All", "", ""},
    };
    std::string out;
    for (const Verb& verb : kVerbs) {
      HttpRequest request;
      request.method = verb.method;
      request.target = where + verb.name + verb.query;
      request.body = verb.body;
      if (*verb.type != '\0') request.headers = {{"Content-Type", verb.type}};
      request.peer.common_name = user;
      if (user == "owner") request.peer.organizations = {"owners"};
      auto responder = std::make_shared<SimResponder>(yard.loop);
      yard.api->handle(std::move(request), responder);
      EXPECT_TRUE(
          yard.loop.run_until([&] { return responder->answered; }, std::chrono::minutes(1)));
      const int status = responder->answer.status;
      EXPECT_NE(status, 401);
      if (status == 403) {
        EXPECT_EQ(responder->answer.text.find("\"k\""), std::string::npos) << "it shows an object";
      } else {
        out += verb.letter;
      }
    }
    return out;
  }
  ApiHarness yard;
};

TEST_F(RightsTest, BindingsGiveWhatTheySayAndNothingElse) {
  const std::string a = "/api/v1/namespaces/a/", b = "/api/v1/namespaces/b/";
  const std::string all = "/api/v1/configmaps";
  const struct {
    const char* about;
    std::string user, where, may;
  } rows[] = {
      {"a stranger may do nothing", "stranger", a + "configmaps", ""},
      {"nor with secrets", "stranger", a + "secrets", ""},
      {"nor with kinds of other groups", "stranger", "/apis/batch/v1/namespaces/a/jobs", ""},
      {"nor with what has no namespace", "stranger", "/api/v1/nodes", ""},
      {"nor with roles", "stranger", "/apis/rbac.authorization.k8s.io/v1/clusterroles", ""},
      {"a ClusterRoleBinding reaches everywhere", "reads-all", b + "configmaps", "glw"},
      {"and over all namespaces at once", "reads-all", a + "configmaps", "glw"},
      {"but to no other resource", "reads-all", a + "secrets", ""},
      {"a RoleBinding to a ClusterRole reaches its namespace", "reads-a", a + "configmaps", "glw"},
      {"and no other", "reads-a", b + "configmaps", ""},
      {"a Role of writing shows nothing", "writes-a", a + "configmaps", "cup"},
      {"and is not known elsewhere", "writes-a", b + "configmaps", ""},
      {"a group's owner has every verb", "owner", a + "secrets", "glwcupdD"},
      {"of every group", "owner", "/apis/batch/v1/namespaces/a/jobs", "glwcupdD"},
      {"in that namespace alone", "owner", b + "secrets", ""},
      {"and nothing of the cluster", "owner", "/api/v1/nodes", ""},
      {"a named object alone", "names-x", a + "secrets", "gd"},
      {"in every namespace where it is bound", "names-x", b + "secrets", "gd"},
      {"of that kind", "names-x", a + "configmaps", ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.about);
    EXPECT_EQ(may(row.user, row.where), row.may);
  }
  EXPECT_EQ(may("reads-a", all).find('l'), std::string::npos);
}

TEST_F(RightsTest, AreGoneWithTheirBinding) {
  const std::string maps = "/api/v1/namespaces/a/configmaps";
  EXPECT_EQ(may("reads-a", maps), "glw");
  EXPECT_EQ(yard.call("DELETE", std::string(kAccess) + "/namespaces/a/rolebindings/reads-a").status,
            200);
  EXPECT_EQ(may("reads-a", maps), "");
  EXPECT_EQ(may("reads-all", maps), "glw");
  EXPECT_EQ(yard.call("DELETE", std::string(kAccess) + "/clusterroles/reader").status, 200);
  EXPECT_EQ(may("reads-all", maps), "") << "a binding to a role that is gone gives nothing";
}

}  // namespace
}  // namespace yard
