// Every verb of every kind the server has, for users with no binding and with one to a single verb
// of a single kind. rights_table_test.cpp has the sorts of bindings.

#include <gtest/gtest.h>

#include "api/kind.h"
#include "sim/api_harness.h"

namespace yard {
namespace {

constexpr const char* kAccess = "/apis/rbac.authorization.k8s.io/v1";

struct Ask {
  std::string verb, method, target;
};

std::string place(const Kind& kind, std::string_view ns) {
  std::string out = kind.group.empty() ? "/api/v1" : "/apis/" + kind.api_version();
  if (kind.namespaced) out += "/namespaces/" + std::string(ns);
  return out + "/" + kind.plural;
}

// One request for each verb a kind has.
std::vector<Ask> asks_of(const Kind& kind, std::string_view ns) {
  const std::string all = place(kind, ns), one = all + "/x";
  const Ask asks[] = {
      {"list", "GET", all},      {"watch", "GET", all + "?watch=1&timeoutSeconds=1"},
      {"get", "GET", one},       {"create", "POST", all},
      {"update", "PUT", one},    {"patch", "PATCH", one},
      {"delete", "DELETE", one}, {"deletecollection", "DELETE", all}};
  std::vector<Ask> out;
  for (const Ask& ask : asks) {
    // Where a PUT may create, it needs that right too.
    if (ask.verb == "update" && kind.creates_on_update) continue;
    if (kind.allows(ask.verb)) out.push_back(ask);
  }
  return out;
}

class AccessTableTest : public testing::Test {
 protected:
  AccessTableTest() {
    yard.make_namespace("a");
    yard.make_namespace("b");
  }

  int ask(const Ask& what, const std::string& user) {
    HttpRequest request;
    request.method = what.method;
    request.target = what.target;
    if (what.method == "POST" || what.method == "PUT")
      request.body = R"({"metadata":{"name":"x"}})";
    if (what.method == "PATCH") {
      request.body = "{}";
      request.headers = {{"Content-Type", "application/merge-patch+json"}};
    }
    request.peer.common_name = user;
    auto responder = std::make_shared<SimResponder>(yard.loop, false);
    yard.api->handle(std::move(request), responder);
    EXPECT_TRUE(yard.loop.run_until([&] { return responder->answered; }, std::chrono::minutes(1)));
    return responder->answer.status;
  }

  // `rule` in the JSON of a PolicyRule; in namespace "a", or everywhere for "".
  void grant(const std::string& rule, const std::string& ns, const std::string& user) {
    const std::string scope = ns.empty() ? "Cluster" : "";
    const std::string folder = kAccess + (ns.empty() ? "" : "/namespaces/" + ns);
    const std::string prefix = ns.empty() ? "/clusterrole" : "/role";
    const Answer role =
        yard.call("POST", folder + prefix + "s",
                  R"({"metadata":{"name":")" + user + R"("},"rules":[)" + rule + "]}");
    ASSERT_EQ(role.status, 201) << role.text;
    const Answer binding =
        yard.call("POST", folder + prefix + "bindings",
                  R"({"metadata":{"name":")" + user +
                      R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")" + scope +
                      R"(Role","name":")" + user + R"("},"subjects":[{"kind":"User","name":")" +
                      user + R"("}]})");
    ASSERT_EQ(binding.status, 201) << binding.text;
  }

  ApiHarness yard;
};

TEST_F(AccessTableTest, AUserWithoutBindingsSeesAndChangesNothing) {
  const Revision before = yard.store->revision();
  int asked = 0;
  for (const KindPtr& kind : builtin_kinds()) {
    for (const std::string ns : {"a", "b"}) {
      for (const Ask& what : asks_of(*kind, ns)) {
        EXPECT_EQ(ask(what, "nobody"), 403) << what.method << " " << what.target;
        ++asked;
      }
      for (const Subresource& sub : kind->subresources) {
        const std::string target = place(*kind, ns) + "/x/" + sub.name;
        for (const char* method : {"GET", "PUT", "PATCH", "POST", "DELETE"}) {
          EXPECT_EQ(ask({"", method, target}, "nobody"), 403) << method << " " << target;
          ++asked;
        }
      }
    }
  }
  for (const char* path : {"/metrics", "/openapi/v2", "/openapi/v3", "/api", "/apis", "/"}) {
    EXPECT_EQ(ask({"", "GET", path}, "nobody"), 403) << path;
    ++asked;
  }
  EXPECT_EQ(yard.store->revision(), before) << "something was written";
  EXPECT_GT(asked, 1000);
}

// One verb of one kind in one namespace is exactly that.
TEST_F(AccessTableTest, ABindingAllowsItsVerbItsKindAndItsNamespaceAlone) {
  int allowed = 0, refused = 0, user_number = 0;
  for (const KindPtr& kind : builtin_kinds()) {
    const std::vector<Ask> asks = asks_of(*kind, "a");
    if (asks.empty()) continue;
    const Ask& own = asks[static_cast<size_t>(user_number) % asks.size()];
    const std::string user = "user-" + std::to_string(user_number++);
    grant(R"({"verbs":[")" + own.verb + R"("],"apiGroups":[")" + kind->group +
              R"("],"resources":[")" + kind->plural + R"("]})",
          kind->namespaced ? "a" : "", user);
    for (const Ask& what : asks) {
      const int code = ask(what, user);
      EXPECT_EQ(code == 403, what.verb != own.verb)
          << user << " may " << own.verb << ": " << what.method << " " << what.target << " is "
          << code;
      (code == 403 ? refused : allowed) += 1;
    }
    if (kind->namespaced) {
      for (const Ask& what : asks_of(*kind, "b")) {
        EXPECT_EQ(ask(what, user), 403) << what.target;
        ++refused;
      }
    }
    for (const KindPtr& other : builtin_kinds()) {
      if (other->plural == kind->plural) continue;  // another view or version of the same
      for (const Ask& what : asks_of(*other, "a")) {
        if (what.verb != own.verb) continue;
        EXPECT_EQ(ask(what, user), 403) << user << ": " << what.target;
        ++refused;
      }
    }
  }
  EXPECT_GE(allowed, 60);
  EXPECT_GT(refused, 3000);
}

}  // namespace
}  // namespace yard
