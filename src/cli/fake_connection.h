#pragma once
// A server that answers from a table, for tests.

#include <map>
#include <sstream>

#include "cli/requests.h"

namespace yard {

class FakeConnection : public ServerConnection {
 public:
  std::map<std::string, Reply> replies;  // by `METHOD target`
  std::vector<std::string> asked;        // `METHOD target`, in order
  std::vector<std::string> bodies;

  Result<Reply> call(const std::string& method, const std::string& target, const HeaderList&,
                     const std::string& body) override {
    asked.push_back(method + " " + target);
    bodies.push_back(body);
    if (is_down) return error(Reason::ServiceUnavailable, "no control plane runs for /s");
    const auto found = replies.find(asked.back());
    if (found != replies.end()) return found->second;
    return Reply{404,
                 {},
                 R"({"kind":"Status","reason":"NotFound","code":404,"message":"nothing at )" +
                     target + "\"}"};
  }

  Result<Reply> stream(const std::string& target, const HeaderList& headers,
                       const std::function<bool(std::string_view)>& chunk) override {
    Reply reply = TRY(call("WATCH", target, headers, ""));
    chunk(reply.body);
    replies.erase("WATCH " + target);  // a watch says a thing once
    reply.body.clear();
    return reply;
  }

  bool is_down = false;
};

// A session whose output can be read.
struct FakeSession {
  FakeConnection connection;
  std::ostringstream out, err;
  Terminal terminal{out, err, false, *parse_rfc3339("2026-01-01T01:00:00Z")};
  Session session{connection, terminal};
};

// Discovery with configmaps, pods and namespaces, and batch jobs.
inline void add_discovery(FakeConnection& connection) {
  connection.replies["GET /api"] = {
      200,
      {},
      R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[
    {"resource":"configmaps","singularResource":"configmap","scope":"Namespaced","responseKind":{"kind":"ConfigMap"},"shortNames":["cm"],"verbs":["get","list"]},
    {"resource":"events","singularResource":"event","scope":"Namespaced","responseKind":{"kind":"Event"},"shortNames":["ev"],"verbs":["get","list"]},
    {"resource":"namespaces","singularResource":"namespace","scope":"Cluster","responseKind":{"kind":"Namespace"},"shortNames":["ns"],"verbs":["get","list"]},
    {"resource":"pods","singularResource":"pod","scope":"Namespaced","responseKind":{"kind":"Pod"},"shortNames":["po"],"categories":["all"],"verbs":["get","list"]}]}]}]})"};
  connection.replies["GET /apis"] = {200, {}, R"({"kind":"APIGroupDiscoveryList","items":[
    {"metadata":{"name":"batch"},"versions":[{"version":"v1","resources":[
    {"resource":"jobs","singularResource":"job","scope":"Namespaced","responseKind":{"kind":"Job"},"categories":["all"],"verbs":["get","list"]}]},
    {"version":"v1beta1","resources":[
    {"resource":"jobs","singularResource":"job","scope":"Namespaced","responseKind":{"kind":"Job"},"categories":["all"],"verbs":["get","list"]}]}]},
    {"metadata":{"name":"events.k8s.io"},"versions":[{"version":"v1","resources":[
    {"resource":"events","singularResource":"event","scope":"Namespaced","responseKind":{"kind":"Event"},"verbs":["get","list"]}]}]}]})"};
}

inline Json json(std::string_view text) {
  auto parsed = parse_json(text);
  check(parsed.has_value(), "a test's JSON is well formed");
  return std::move(parsed->value);
}

}  // namespace yard
