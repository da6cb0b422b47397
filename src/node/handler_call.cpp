#include "node/handler_call.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/environment.h"

namespace yard {
namespace {

constexpr size_t kMostEventText = 1024;
constexpr std::string_view kProbeAgent = "kube-probe/1.34", kHookAgent = "kube-lifecycle/1.34";

// A number, or the name of one of the container's ports.
Result<int> port_at(const Json& container, const Json& action) {
  const Json* port = find(action, "port");
  int64_t number = port != nullptr && port->is_int64() ? port->get_int64() : 0;
  if (port != nullptr && port->is_string()) {
    const std::string_view name = text_of(*port);
    number = parse_int64(name).value_or(0);
    bool found = number > 0;
    for (const Json& entry : list_at(container, {"ports"})) {
      if (text_at(entry, {"name"}) != name) continue;
      number = int_at(entry, {"containerPort"});
      found = true;
    }
    if (!found) return error(Reason::Invalid, fmt::format("couldn't find port: {}", quoted(name)));
  }
  if (number < 1 || number > 65535)
    return error(Reason::Invalid, fmt::format("invalid port number: {}", number));
  return static_cast<int>(number);
}

// Exec probes see the variables the YAML spells out; others stand for nothing.
Environment literal_variables(const Json& container) {
  Environment out;
  for (const Json& entry : list_at(container, {"env"})) {
    std::string value(text_at(entry, {"value"}));
    if (!value.empty()) value = expand(value, out);
    out.emplace_back(text_at(entry, {"name"}), std::move(value));
  }
  return out;
}

bool is_one_line(std::string_view text) {
  return text.find_first_of("\r\n") == std::string_view::npos &&
         text.find('\0') == std::string_view::npos;
}

std::string url_path(std::string_view path) {
  std::string out = path.starts_with('/') ? "" : "/";
  for (const char letter : path) {
    if (static_cast<unsigned char>(letter) <= ' ' || letter == '\x7f') {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    } else {
      out += letter;
    }
  }
  return out;
}

Result<HandlerCall> http_call(const Json& container, const Json& action, HandlerUse use,
                              const std::string& pod_ip) {
  HandlerCall out;
  out.type = HandlerCall::Type::Http;
  out.host = text_at(action, {"host"}, pod_ip);
  if (out.host.empty()) out.host = pod_ip;
  out.port = TRY(port_at(container, action));
  out.tls = text_at(action, {"scheme"}) == "HTTPS";
  out.path = url_path(text_at(action, {"path"}, "/"));
  out.agent = use == HandlerUse::Probe ? kProbeAgent : kHookAgent;
  for (const Json& header : list_at(action, {"httpHeaders"})) {
    const std::string_view name = text_at(header, {"name"}), value = text_at(header, {"value"});
    if (is_one_line(name) && is_one_line(value)) out.headers.emplace_back(name, value);
  }
  return out;
}

}  // namespace

Result<HandlerCall> handler_call(const Json& container, const Json& handler, HandlerUse use,
                                 const std::string& pod_ip) {
  HandlerCall out;
  if (const Json* exec = find(handler, "exec")) {
    const Environment variables =
        use == HandlerUse::Probe ? literal_variables(container) : Environment();
    for (const Json& word : list_at(*exec, {"command"}))
      out.argv.push_back(use == HandlerUse::Probe ? expand(text_of(word), variables)
                                                  : std::string(text_of(word)));
    return out;
  }
  if (const Json* http = find(handler, "httpGet")) return http_call(container, *http, use, pod_ip);
  if (const Json* tcp = find(handler, "tcpSocket")) {
    out.type = HandlerCall::Type::Tcp;
    out.host = text_at(*tcp, {"host"}, pod_ip);
    if (out.host.empty()) out.host = pod_ip;
    out.port = TRY(port_at(container, *tcp));
    return out;
  }
  if (const Json* grpc = find(handler, "grpc")) {
    out.type = HandlerCall::Type::Grpc;
    out.host = pod_ip;
    out.port = TRY(port_at(container, *grpc));
    out.service = text_at(*grpc, {"service"});
    return out;
  }
  if (const Json* sleep = find(handler, "sleep")) {
    out.type = HandlerCall::Type::Sleep;
    out.sleep = std::chrono::seconds(std::clamp<int64_t>(int_at(*sleep, {"seconds"}), 0, 1 << 30));
    return out;
  }
  return error(Reason::Invalid, "missing probe handler");
}

std::string url_of(const HandlerCall& call) {
  const bool v6 = call.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(v6 ? "{}://[{}]:{}{}" : "{}://{}:{}{}"),
                     call.tls ? "https" : "http", call.host, call.port, call.path);
}

std::string http_request_text(const HandlerCall& call) {
  std::string host = fmt::format("{}:{}", call.host, call.port), agent = call.agent, more;
  bool accepts = false;
  for (const auto& [name, value] : call.headers) {
    if (equals_ignore_case(name, "Host")) {
      host = value;
    } else if (equals_ignore_case(name, "User-Agent")) {
      agent = value;
    } else {
      accepts = accepts || equals_ignore_case(name, "Accept");
      more += name + ": " + value + "\r\n";
    }
  }
  return fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\n{}{}Connection: close\r\n\r\n", call.path,
      host, agent, accepts ? "" : "Accept: */*\r\n", more);
}

std::optional<int> http_status(std::string_view received) {
  constexpr std::string_view kStart = "HTTP/1.";
  const size_t end = received.find('\n');
  if (end == std::string_view::npos) {
    const size_t seen = std::min(received.size(), kStart.size());
    if (received.substr(0, seen) != kStart.substr(0, seen) || received.size() > 4096) return 0;
    return std::nullopt;
  }
  if (!received.starts_with(kStart) || end < 12 || received[8] != ' ') return 0;
  return static_cast<int>(parse_int64(received.substr(9, 3)).value_or(0));
}

std::string event_text(std::string_view text) {
  std::string out(text.substr(0, kMostEventText));
  // A character cut in two at the end goes whole.
  for (int tail = 0; tail < 3 && !out.empty() && !is_valid_utf8(out) && text.size() > out.size();
       ++tail)
    out.pop_back();
  if (is_valid_utf8(out)) return out;
  for (char& letter : out) {
    if (static_cast<unsigned char>(letter) >= 0x80) letter = '?';
  }
  return out;
}

}  // namespace yard
