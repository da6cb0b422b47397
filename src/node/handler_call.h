#pragma once
// What a probe or a lifecycle hook asks of a container, read from its YAML; and what an HTTP answer
// means. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/json.h"

namespace yard {

struct HandlerCall {
  enum class Type { Exec, Http, Tcp, Grpc, Sleep };
  Type type = Type::Exec;
  std::vector<std::string> argv;  // of Exec
  std::string host;
  int port = 0;
  bool tls = false;  // scheme HTTPS
  std::string path;  // of Http, with its query
  std::vector<std::pair<std::string, std::string>> headers;
  std::string agent;    // User-Agent
  std::string service;  // of Grpc
  Duration sleep{};
};

enum class HandlerUse { Probe, Hook };

// `handler` holds one of exec, httpGet, tcpSocket, grpc and sleep. Commands of probes are expanded
// with the container's literal variables, those of hooks not at all.
Result<HandlerCall> handler_call(const Json& container, const Json& handler, HandlerUse use,
                                 const std::string& pod_ip);

std::string url_of(const HandlerCall& call);  // as Go's client names it in an error
std::string http_request_text(const HandlerCall& call);
// The status of an answer of which at least the first line is there; nullopt: not yet; 0: no HTTP.
std::optional<int> http_status(std::string_view received);

// How the call ended, in the words of kubelet's events.
struct HandlerOutcome {
  enum class Result { Good, Bad, NotAsked };  // NotAsked: something of ours failed, not the program
  Result result = Result::Good;
  std::string text;
};

// The text as an event may carry it: valid UTF-8, not longer than 1 kB.
std::string event_text(std::string_view text);

}  // namespace yard
