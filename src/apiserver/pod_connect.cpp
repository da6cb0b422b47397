// pods/{name}/exec, attach and portforward: the request is checked here, the node opens the process
// or the port, net/ moves the bytes (api-machinery 7.2, 7.3).

#include <fmt/format.h>

#include "api/tree.h"
#include "apiserver/exchange.h"
#include "apiserver/held_stream.h"
#include "apiserver/pod_containers.h"
#include "base/strings.h"
#include "client/pod_streams.h"
#include "net/port_session.h"
#include "net/process_session.h"

namespace yard {
namespace {

constexpr std::string_view kProcessProtocols[] = {"v5.channel.k8s.io", "v4.channel.k8s.io",
                                                  "v3.channel.k8s.io", "v2.channel.k8s.io",
                                                  "channel.k8s.io"};
constexpr std::string_view kSpdyProcessProtocols[] = {"v4.channel.k8s.io", "v3.channel.k8s.io",
                                                      "v2.channel.k8s.io", "channel.k8s.io"};
constexpr std::string_view kPortProtocols[] = {"SPDY/3.1+portforward.k8s.io", "v4.channel.k8s.io"};
constexpr std::string_view kSpdyPortProtocols[] = {"portforward.k8s.io"};
constexpr size_t kMostPorts = 64;

Result<PodProcessRequest> parse_process_request(const Query& query, const ResourcePath& path) {
  PodProcessRequest out;
  out.ns = path.ns;
  out.pod = path.name;
  out.container = query.get("container");
  out.input = query.flag("stdin");
  out.output = query.flag("stdout");
  out.errors = query.flag("stderr");
  out.terminal = query.flag("tty");
  for (const std::string_view word : query.all("command"))
    out.argv.emplace_back(word);
  if (!out.input && !out.output && !out.errors)
    return error(Reason::BadRequest, "you must specify at least 1 of stdin, stdout, stderr");
  if (path.subresource == "exec" && out.argv.empty())
    return error(Reason::BadRequest, "you must specify at least one command for the container");
  if (out.terminal) out.errors = false;  // a terminal has one output
  return out;
}

// ports=80&ports=81, or ports=80,81
Result<std::vector<int>> parse_ports(const Query& query) {
  std::vector<int> out;
  for (const std::string_view list : query.all("ports")) {
    for (const std::string_view word : split(list, ',')) {
      const auto port = parse_int64(trim(word));
      if (!port || *port < 1 || *port > 65535)
        return error(Reason::BadRequest,
                     fmt::format("port {} is not a number between 1 and 65535", quoted(word)));
      out.push_back(static_cast<int>(*port));
    }
  }
  if (out.empty()) return error(Reason::BadRequest, "query parameter \"port\" is required");
  if (out.size() > kMostPorts) return error(Reason::BadRequest, "too many ports");
  return out;
}

// What the error channel says at the end; before v4 it was text, and nothing on success.
std::string end_status(const ProcessEnd& end, bool as_object) {
  const std::string code = std::to_string(end.code);
  const std::string message =
      !end.failure.empty()
          ? "Internal error occurred: error executing command in container: " + end.failure
      : end.code != 0 ? "command terminated with non-zero exit code: exit status " + code
                      : "";
  if (!as_object) return message;
  JsonObject out{{"metadata", JsonObject()}, {"status", message.empty() ? "Success" : "Failure"}};
  if (message.empty()) return to_text(out);
  out["message"] = message;
  out["reason"] = end.failure.empty() ? "NonZeroExitCode" : "InternalError";
  JsonObject cause;
  if (end.failure.empty()) {
    cause = {{"reason", "ExitCode"}, {"message", code}};
  } else {
    cause = {{"message", end.failure}};
  }
  out["details"] = JsonObject{{"causes", JsonArray{std::move(cause)}}};
  if (!end.failure.empty()) out["code"] = 500;
  return to_text(out);
}

bool speaks_objects(const std::string& protocol) {
  return protocol.starts_with("v4.") || protocol.starts_with("v5.");
}

Result<void> check_bound(const Json& pod, std::string_view name) {
  if (!text_at(pod, {"spec", "nodeName"}).empty()) return {};
  return error(Reason::BadRequest, fmt::format("pod {} does not have a host assigned", name));
}

}  // namespace

// Nodes that only pretend say so by a label of ours (node/node_object.h).
bool ApiServer::is_played(const Json& pod) const {
  const ObjectPtr node =
      store_.get(Key{"nodes", "", std::string(text_at(pod, {"spec", "nodeName"}))});
  if (node == nullptr) return false;
  const Json tree = node->tree();
  return find_path(tree, {"metadata", "labels", "trainyard.dev/simulated"}) != nullptr;
}

void ApiServer::connect_to_pod(const ExchangePtr& exchange) {
  exchange->labels.verb = "CONNECT";
  const std::string what = exchange->path.subresource;
  const bool is_port = what == "portforward";
  auto asked = is_port ? Result<PodProcessRequest>(PodProcessRequest{})
                       : parse_process_request(exchange->query, exchange->path);
  if (!asked) return exchange->fail(asked.error());
  auto upgrade = choose_upgrade(exchange->request,
                                is_port ? UpgradeOffer{kPortProtocols, kSpdyPortProtocols}
                                        : UpgradeOffer{kProcessProtocols, kSpdyProcessProtocols});
  std::vector<int> ports;
  if (upgrade && is_port && upgrade->wire == Upgrade::Wire::WebSocket) {
    auto parsed = parse_ports(exchange->query);
    if (!parsed) return exchange->fail(parsed.error());
    ports = std::move(*parsed);
  }
  loop_.post([this, exchange, what, is_port, request = std::move(*asked),
              upgrade = std::move(upgrade), ports = std::move(ports)]() mutable {
    const std::string& name = exchange->path.name;
    const ObjectPtr object = store_.get(Key{exchange->kind->storage, exchange->path.ns, name});
    if (object == nullptr) return exchange->fail(not_found_error(*exchange->kind, name));
    const Json pod = object->tree();
    request.uid = object->uid();
    if (!is_port) {
      auto container = chosen_container(pod, name, request.container);
      if (!container) return exchange->fail(container.error());
      request.container = std::move(*container);
    }
    if (auto bound = check_bound(pod, name); !bound) return exchange->fail(bound.error());
    if (!upgrade) return exchange->fail(upgrade.error());
    if (is_played(pod))
      return exchange->fail(error(
          Reason::BadRequest, fmt::format("pod {} is played on a simulated node: it has no process "
                                          "to {} (a server started without --simulate runs pods)",
                                          quoted(name), is_port ? "forward ports to" : what)));
    if (pod_streams_ == nullptr)
      return exchange->fail(error(Reason::ServiceUnavailable,
                                  "no node agent runs in this server: no process can be reached"));
    // As the kubelet says it: plain text, which kubectl puts behind \"unable to upgrade
    // connection\".
    if (is_port) {
      if (text_at(pod, {"status", "phase"}) != "Running")
        return exchange->plain(
            500, fmt::format("pod not found ({})", quoted(name + "_" + exchange->path.ns)));
      if (const auto hold = take_stream(exchange))
        forward_ports(leave_http(exchange, hold), *upgrade, request.uid, std::move(ports));
      return;
    }
    const Json* status = container_status(pod, request.container);
    if (status == nullptr || find_path(*status, {"state", "running"}) == nullptr)
      return exchange->plain(500,
                             fmt::format("container not found ({})", quoted(request.container)));
    if (const auto hold = take_stream(exchange))
      open_process(leave_http(exchange, hold), *upgrade, std::move(request), what == "attach");
  });
}

void ApiServer::open_process(const std::shared_ptr<Responder>& way, const Upgrade& upgrade,
                             PodProcessRequest request, bool attach) {
  ProcessSession session;
  session.input = request.input;
  session.output = request.output;
  session.errors = request.errors;
  session.terminal = request.terminal;
  session.status = [as_object = speaks_objects(upgrade.protocol)](const ProcessEnd& end) {
    return end_status(end, as_object);
  };
  session.start = [this, attach, request = std::move(request)](auto done) {
    loop_.post([this, attach, request, done = std::move(done)]() mutable {
      if (pod_streams_ == nullptr) return;
      if (attach) return pod_streams_->attach(std::move(request), std::move(done));
      pod_streams_->exec(std::move(request), std::move(done));
    });
  };
  run_process_session(upgrade, way, std::move(session));
}

void ApiServer::forward_ports(const std::shared_ptr<Responder>& way, const Upgrade& upgrade,
                              const std::string& uid, std::vector<int> ports) {
  PortSession session;
  session.ports = std::move(ports);
  session.dial = [this, uid](int port, auto done) {
    loop_.post([this, uid, port, done = std::move(done)]() mutable {
      if (pod_streams_ == nullptr) return;
      pod_streams_->dial(uid, port, [uid, port, done = std::move(done)](Result<int> fd) {
        if (fd) return done(fd);
        done(error(Reason::InternalError,
                   fmt::format("error forwarding port {} to pod {}, uid : failed to connect to "
                               "localhost:{} inside the pod: {}",
                               port, uid, port, fd.error().message)));
      });
    });
  };
  run_port_session(upgrade, way, std::move(session));
}

}  // namespace yard
