#include "apiserver/exchange.h"

#include <algorithm>

#include "base/strings.h"

namespace yard {
namespace {

// People with a browser or curl read the answer themselves.
bool wants_pretty(const HttpRequest& request, const Query& query) {
  if (query.has("pretty"))
    return query.get("pretty") == "1" || equals_ignore_case(query.get("pretty"), "true");
  const std::string_view agent = request.header("User-Agent");
  return agent.starts_with("curl") || agent.starts_with("Wget") || agent.starts_with("Mozilla/5.0");
}

// All warnings together stay small enough for any client's header limit.
constexpr size_t kMostWarningBytes = 4096;
constexpr size_t kShortenedWarning = 256;

}  // namespace

ApiServer::Exchange::Exchange(ApiServer& owner, HttpRequest asked, std::shared_ptr<Responder> back)
    : server(owner),
      request(std::move(asked)),
      responder(std::move(back)),
      query(request.query()),
      metrics_(owner.metrics_),
      began_(owner.loop_.now()) {
  pretty = wants_pretty(request, query);
  reads_ = request.method == "GET" || request.method == "HEAD";
  ++in_flight();
}

ApiServer::Exchange::~Exchange() {
  if (!answered_) --in_flight();
}

void ApiServer::Exchange::count(int code) {
  check(!answered_, "a request gets one answer");
  answered_ = true;
  seat.reset();
  --in_flight();
  if (labels.verb.empty()) labels.verb = request.method;
  metrics_->count(labels, code, server.loop_.now() - began_);
}

void ApiServer::Exchange::add_common_headers(Headers& headers) {
  const bool has_cache_control = std::ranges::any_of(
      headers, [](const auto& header) { return header.first == "Cache-Control"; });
  if (!has_cache_control) headers.emplace_back("Cache-Control", "no-cache, private");
  {
    const std::lock_guard lock(server.mutex_);
    headers.emplace_back("Audit-Id", server.audit_ids_.uuid());
  }
  size_t bytes = 0;
  std::vector<std::string> sent;
  for (const std::string& warning : warnings) {
    if (std::ranges::find(sent, warning) != sent.end()) continue;
    const std::string text =
        bytes + warning.size() > kMostWarningBytes ? warning.substr(0, kShortenedWarning) : warning;
    bytes += text.size();
    if (bytes > 2 * kMostWarningBytes) break;
    headers.emplace_back("Warning", warning_header(text));
    sent.push_back(warning);
  }
}

void ApiServer::Exchange::finish(HttpResponse response) {
  count(response.status);
  add_common_headers(response.headers);
  responder->send(std::move(response));
}

void ApiServer::Exchange::plain(int status, std::string text) {
  HttpResponse response;
  response.status = status;
  response.headers = {{"Content-Type", "text/plain; charset=utf-8"},
                      {"X-Content-Type-Options", "nosniff"}};
  response.body.push_back(std::make_shared<const std::string>(std::move(text)));
  finish(std::move(response));
}

void ApiServer::Exchange::turn_away(int retry_after_seconds) {
  HttpResponse busy;
  busy.status = 429;
  busy.headers = {{"Content-Type", "text/plain; charset=utf-8"},
                  {"X-Content-Type-Options", "nosniff"},
                  {"Retry-After", std::to_string(retry_after_seconds)}};
  busy.body.push_back(
      std::make_shared<const std::string>("Too many requests, please try again later.\n"));
  finish(std::move(busy));
}

const std::shared_ptr<Responder>& ApiServer::Exchange::leave_http() {
  count(101);
  return responder;
}

void ApiServer::Exchange::document(std::string content_type, std::string text) {
  HttpResponse response;
  response.headers = {{"Content-Type", std::move(content_type)}};
  response.body.push_back(std::make_shared<const std::string>(std::move(text)));
  finish(std::move(response));
}

std::shared_ptr<HttpStream> ApiServer::Exchange::stream(std::string content_type) {
  count(200);
  Headers headers{{"Content-Type", std::move(content_type)}};
  add_common_headers(headers);
  return responder->stream(200, std::move(headers));
}

Rendering ApiServer::Exchange::rendering(const Representation& representation) const {
  Rendering out;
  out.representation = representation;
  out.pretty = pretty;
  out.now = server.loop_.now();
  return out;
}

}  // namespace yard
