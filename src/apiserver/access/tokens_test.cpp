// Tokens from request to refusal, through the server itself on a simulated clock.

#include "apiserver/access/tokens.h"

#include <gtest/gtest.h>

#include "api/tree.h"
#include "sim/api_harness.h"

namespace yard {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const char* const kAccounts = "/api/v1/namespaces/q/serviceaccounts";

TokenKey new_key() {
  return *TokenKey::read(*TokenKey::make_pem());
}

class TokensTest : public ::testing::Test {
 protected:
  TokensTest() {
    tokens_ = std::make_shared<const Tokens>(new_key());
    harness_.api->set_tokens(tokens_);
    harness_.make_namespace("q");
    make_account();
    // Every token may read pods of the namespace.
    harness_.call(
        "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/q/roles",
        R"({"metadata":{"name":"r"},"rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}]})");
    harness_.call(
        "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/q/rolebindings",
        R"({"metadata":{"name":"r"},"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"ServiceAccount","name":"s","namespace":"q"}]})");
  }
  void make_account() {
    EXPECT_EQ(harness_.call("POST", kAccounts, R"({"metadata":{"name":"s"}})").status, 201);
  }
  Answer request_token(const std::string& spec = "{}", const std::string& name = "s") {
    return harness_.call("POST", std::string(kAccounts) + "/" + name + "/token",
                         R"({"spec":)" + spec + "}");
  }
  std::string token(const std::string& spec = "{}") {
    const Answer made = request_token(spec);
    EXPECT_EQ(made.status, 201) << made.text;
    return std::string(text_at(made.json, {"status", "token"}));
  }
  // As a stranger with a token.
  Answer call_with(const std::string& bearer, const std::string& method, const std::string& target,
                   std::string body = "", Headers more = {}) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers = std::move(more);
    request.headers.emplace_back("Authorization", "Bearer " + bearer);
    auto responder = std::make_shared<SimResponder>(harness_.loop);
    harness_.api->handle(std::move(request), responder);
    EXPECT_TRUE(harness_.loop.run_until([&] { return responder->answered; }, minutes(1)));
    return responder->answer;
  }
  int status_with(const std::string& bearer) {
    return call_with(bearer, "GET", "/api/v1/namespaces/q/pods").status;
  }
  Json review(const std::string& bearer, const std::string& audiences = "[]") {
    return harness_
        .call("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
              R"({"spec":{"token":")" + bearer + R"(","audiences":)" + audiences + "}}")
        .json;
  }

  ApiHarness harness_;
  std::shared_ptr<const Tokens> tokens_;
};

TEST_F(TokensTest, ATokenIsItsServiceAccount) {
  const std::string bearer = token();
  EXPECT_EQ(status_with(bearer), 200);
  const Answer who =
      call_with(bearer, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}");
  EXPECT_EQ(who.status, 403) << "nothing lets it ask yet: " << who.text;
  const Json reviewed = review(bearer);
  EXPECT_TRUE(bool_at(reviewed, {"status", "authenticated"}));
  EXPECT_EQ(text_at(reviewed, {"status", "user", "username"}), "system:serviceaccount:q:s");
  EXPECT_EQ(to_text(*find_path(reviewed, {"status", "user", "groups"})),
            R"(["system:serviceaccounts","system:serviceaccounts:q","system:authenticated"])");
}

TEST_F(TokensTest, WhatItMayNotDoIsForbidden) {
  const Answer answer = call_with(token(), "GET", "/api/v1/namespaces/q/secrets");
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(
      text_at(answer.json, {"message"}),
      R"(secrets is forbidden: User "system:serviceaccount:q:s" cannot list resource "secrets" in API group "" in the namespace "q")");
  EXPECT_EQ(call_with(token(), "GET", "/metrics").status, 403);
  EXPECT_EQ(call_with(token(), "GET", "/api/v1/pods").status, 403);
}

TEST_F(TokensTest, ATokenOutlivesNeitherItsTimeNorItsAccount) {
  const std::string bearer = token(R"({"expirationSeconds":600})");
  harness_.loop.advance(minutes(9));
  EXPECT_EQ(status_with(bearer), 200);
  harness_.loop.advance(minutes(2));
  EXPECT_EQ(status_with(bearer), 401);
  const Json expired = review(bearer);
  EXPECT_EQ(text_at(expired, {"status", "error"}),
            "[invalid bearer token, service account token has expired]");

  const std::string other = token();
  EXPECT_EQ(harness_.call("DELETE", std::string(kAccounts) + "/s").status, 200);
  EXPECT_EQ(status_with(other), 401);
  make_account();
  EXPECT_EQ(status_with(other), 401) << "the same name is another account";
}

TEST_F(TokensTest, ATokenEndsWithItsPod) {
  const char* pods = "/api/v1/namespaces/q/pods";
  const auto make_pod = [&] {
    const Answer made = harness_.call(
        "POST", pods,
        R"({"metadata":{"name":"p"},"spec":{"serviceAccountName":"s","containers":[{"name":"c","image":"i"}]}})");
    ASSERT_EQ(made.status, 201) << made.text;
  };
  make_pod();
  const std::string bearer =
      token(R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}})");
  EXPECT_EQ(status_with(bearer), 200);
  harness_.call("DELETE", std::string(pods) + "/p?gracePeriodSeconds=0");
  EXPECT_EQ(status_with(bearer), 401);
  make_pod();
  EXPECT_EQ(status_with(bearer), 401) << "the same name is another pod";
}

TEST_F(TokensTest, AWatchEndsWithWhatItStandsOn) {
  const auto watch_with = [&](const std::string& bearer) {
    HttpRequest request;
    request.method = "GET";
    request.target = "/api/v1/namespaces/q/pods?watch=1&timeoutSeconds=3000";
    request.headers.emplace_back("Authorization", "Bearer " + bearer);
    auto responder = std::make_shared<SimResponder>(harness_.loop);
    harness_.api->handle(std::move(request), responder);
    EXPECT_TRUE(harness_.loop.run_until([&] { return responder->answered; }, minutes(1)));
    EXPECT_NE(responder->streamed, nullptr) << responder->answer.text;
    return responder->streamed;
  };
  const char* kRole = "/apis/rbac.authorization.k8s.io/v1/namespaces/q/roles/r";
  const auto allow = [&](const std::string& verbs) {
    harness_.patch(
        kRole, R"({"rules":[{"verbs":)" + verbs + R"(,"apiGroups":[""],"resources":["pods"]}]})");
    harness_.loop.advance(seconds(1));
  };
  allow(R"(["get","list","watch"])");
  const auto short_lived = watch_with(token(R"({"expirationSeconds":600})"));
  const auto watch = watch_with(token(R"({"expirationSeconds":7200})"));
  harness_.loop.advance(minutes(9));
  EXPECT_FALSE(short_lived->closed);
  harness_.loop.advance(minutes(2));
  EXPECT_TRUE(short_lived->closed) << "a watch outlives its token";

  EXPECT_FALSE(watch->closed);
  allow(R"(["get","list","watch","delete"])");
  EXPECT_FALSE(watch->closed) << "more rights end nothing";
  allow(R"(["get","list"])");
  EXPECT_TRUE(watch->closed) << "the right to watch was withdrawn";

  allow(R"(["watch"])");
  const auto other = watch_with(token());
  EXPECT_EQ(harness_.call("DELETE", std::string(kAccounts) + "/s").status, 200);
  harness_.loop.advance(seconds(1));
  EXPECT_TRUE(other->closed) << "a watch outlives its ServiceAccount";
}

TEST_F(TokensTest, ACertificateIsNoCredentialAfterItsEnd) {
  HttpRequest request;
  request.method = "GET";
  request.target = "/api/v1/namespaces/q/pods";
  request.peer.common_name = "root";
  request.peer.organizations = {"system:masters"};
  request.peer.certificate_ends = harness_.loop.now() + minutes(10);
  const auto ask = [&](const std::string& more) {
    HttpRequest again = request;
    again.target += more;
    auto responder = std::make_shared<SimResponder>(harness_.loop);
    harness_.api->handle(std::move(again), responder);
    EXPECT_TRUE(harness_.loop.run_until([&] { return responder->answered; }, minutes(1)));
    return responder;
  };
  EXPECT_EQ(ask("")->answer.status, 200);
  const auto watch = ask("?watch=1&timeoutSeconds=3000");
  harness_.loop.advance(minutes(11));
  EXPECT_TRUE(watch->streamed->closed);
  EXPECT_EQ(ask("")->answer.status, 401) << "its connection is still open";
}

TEST_F(TokensTest, ATokenIsForItsAudience) {
  const std::string vault = token(R"({"audiences":["vault"]})");
  EXPECT_EQ(status_with(vault), 401);
  const Json wrong = review(vault);
  EXPECT_EQ(
      text_at(wrong, {"status", "error"}),
      R"([invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["https://kubernetes.default.svc.cluster.local"]])");
  const Json right = review(vault, R"(["other","vault"])");
  EXPECT_TRUE(bool_at(right, {"status", "authenticated"}));
  EXPECT_EQ(to_text(*find_path(right, {"status", "audiences"})), R"(["vault"])");
}

TEST_F(TokensTest, NothingElseIsAToken) {
  const std::string good = token();
  const size_t dot = good.find('.'), last = good.rfind('.');
  std::string damaged = good;
  damaged[last + 5] = damaged[last + 5] == 'A' ? 'B' : 'A';
  const std::string payload = good.substr(dot + 1, last - dot - 1);
  const auto unsigned_header = [](const std::string& header) { return base64url_encode(header); };
  const Tokens foreign(new_key());
  TokenClaims claims;
  claims.issuer = kTokenIssuer;
  claims.expires = harness_.loop.now() + minutes(10);
  claims.ns = "q";
  claims.account = "s";
  claims.account_uid = "x";
  claims.audiences = {std::string(kTokenIssuer)};
  const std::string cases[] = {"",
                               "nonsense",
                               "a.b.c",
                               "..",
                               damaged,
                               good + "x",
                               good.substr(0, last),
                               unsigned_header(R"({"alg":"none"})") + "." + payload + ".",
                               unsigned_header(R"({"alg":"HS256"})") + good.substr(dot),
                               *foreign.signed_token(claims_text(claims)),
                               *tokens_->signed_token(claims_text(claims)),
                               *tokens_->signed_token("{}"),
                               *tokens_->signed_token("[]"),
                               *tokens_->signed_token(""),
                               std::string(100'000, 'a')};
  for (const std::string& each : cases)
    EXPECT_EQ(status_with(each), 401) << each.substr(0, 60);
  EXPECT_EQ(status_with(good), 200);
}

TEST_F(TokensTest, RequestsAreJudged) {
  struct Case {
    const char* about;
    const char* spec;
    int status;
    const char* message;
  };
  const Case cases[] = {
      {"too short", R"({"expirationSeconds":300})", 422,
       R"(TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 300: may not specify a duration less than 10 minutes)"},
      {"too long", R"({"expirationSeconds":4294967297})", 422,
       R"(TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds)"},
      {"a pod that is not there",
       R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"x"}})", 404,
       R"(pods "x" not found)"},
  };
  for (const Case& each : cases) {
    const Answer answer = request_token(each.spec);
    EXPECT_EQ(answer.status, each.status) << each.about;
    EXPECT_EQ(text_at(answer.json, {"message"}), each.message) << each.about;
  }
  const Answer nobody = request_token("{}", "nope");
  EXPECT_EQ(text_at(nobody.json, {"message"}), R"(serviceaccounts "nope" not found)");
  const Answer plain = request_token();
  EXPECT_EQ(int_at(plain.json, {"spec", "expirationSeconds"}), 3600);
  EXPECT_EQ(to_text(*find_path(plain.json, {"spec", "audiences"})),
            R"(["https://kubernetes.default.svc.cluster.local"])");
}

TEST_F(TokensTest, ASecretsTokenIsGoodWhileTheSecretHoldsIt) {
  const Json account = harness_.call("GET", std::string(kAccounts) + "/s").json;
  TokenClaims claims;
  claims.ns = "q";
  claims.account = "s";
  claims.account_uid = text_at(account, {"metadata", "uid"});
  claims.secret = BoundObject{"t", ""};
  const std::string bearer = *tokens_->signed_token(secret_claims_text(claims));
  EXPECT_EQ(status_with(bearer), 401) << "no Secret holds it";
  const char* secrets = "/api/v1/namespaces/q/secrets";
  harness_.call("POST", secrets,
                R"({"metadata":{"name":"t"},"data":{"token":")" + base64_encode(bearer) + "\"}}");
  EXPECT_EQ(status_with(bearer), 200);
  harness_.loop.advance(std::chrono::hours(24 * 3000));
  EXPECT_EQ(status_with(bearer), 200) << "it has no end";
  harness_.call("DELETE", std::string(secrets) + "/t");
  EXPECT_EQ(status_with(bearer), 401);
}

TEST_F(TokensTest, NobodyGrantsWhatTheyDoNotHave) {
  harness_.call(
      "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/q/roles",
      R"({"metadata":{"name":"roles"},"rules":[{"verbs":["create","update","patch"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","rolebindings"]}]})");
  harness_.call(
      "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/q/rolebindings",
      R"({"metadata":{"name":"roles"},"roleRef":{"kind":"Role","name":"roles"},"subjects":[{"kind":"ServiceAccount","name":"s","namespace":"q"}]})");
  harness_.call(
      "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      R"({"metadata":{"name":"all"},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})");
  const std::string bearer = token();
  const char* roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/q/roles";
  const char* bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/q/rolebindings";
  const Answer grabbed = call_with(
      bearer, "POST", roles,
      R"({"metadata":{"name":"more"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets","pods"]}]})");
  EXPECT_EQ(grabbed.status, 403);
  EXPECT_EQ(text_at(grabbed.json, {"message"}),
            "roles.rbac.authorization.k8s.io \"more\" is forbidden: user "
            "\"system:serviceaccount:q:s\" (groups=[\"system:serviceaccounts\" "
            "\"system:serviceaccounts:q\" \"system:authenticated\"]) is attempting to grant RBAC "
            "permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], "
            "Verbs:[\"get\"]}");
  const Answer patched =
      call_with(bearer, "PATCH", std::string(roles) + "/r",
                R"({"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})",
                {{"Content-Type", "application/merge-patch+json"}});
  EXPECT_EQ(patched.status, 403);
  const Answer held = call_with(
      bearer, "POST", roles,
      R"({"metadata":{"name":"fine"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})");
  EXPECT_EQ(held.status, 201) << held.text;
  const std::string subject =
      R"("subjects":[{"kind":"ServiceAccount","name":"s","namespace":"q"}])";
  const Answer bound = call_with(
      bearer, "POST", bindings,
      R"({"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"all"},)" + subject + "}");
  EXPECT_EQ(bound.status, 403) << bound.text;
  const Answer unknown = call_with(
      bearer, "POST", bindings,
      R"({"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"nope"},)" + subject + "}");
  EXPECT_EQ(unknown.status, 404);
  // A PUT of what is not there creates, and needs that verb: here it has it, on pods it has not.
  const Answer put = call_with(
      bearer, "PUT", std::string(roles) + "/new",
      R"({"metadata":{"name":"new"},"rules":[{"verbs":["delete"],"apiGroups":[""],"resources":["nodes"]}]})");
  EXPECT_EQ(put.status, 403) << put.text;
}

TEST_F(TokensTest, ImpersonationNeedsItsVerb) {
  const Headers as_bob{{"Impersonate-User", "bob"}};
  const Answer refused = call_with(token(), "GET", "/api/v1/namespaces/q/pods", "", as_bob);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(
      text_at(refused.json, {"message"}),
      R"(users "bob" is forbidden: User "system:serviceaccount:q:s" cannot impersonate resource "users" in API group "" at the cluster scope)");
  const Answer admin = harness_.call("GET", "/api/v1/namespaces/q/pods", "", as_bob);
  EXPECT_EQ(admin.status, 403) << "who acts as another has that one's rights only";
  EXPECT_EQ(
      text_at(admin.json, {"message"}),
      R"(pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "q")");
}

}  // namespace
}  // namespace yard
