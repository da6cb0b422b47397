#include "apiserver/server.h"

#include <fmt/format.h>

#include "apiserver/access/request_attributes.h"
#include "apiserver/exchange.h"
#include "base/strings.h"

namespace yard {
namespace {

// /api/{version} or /apis/{group}/{version}.
bool is_version_of_built_in_group(const KindTable& table, std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  if (parts.size() == 3 && parts[1] == "api") return true;
  return parts.size() == 4 && parts[1] == "apis" && table.has_built_in_group(parts[2]);
}

std::string health_text(std::string_view path, const Query& query, bool ready) {
  const std::string name(path.substr(1));
  std::string out;
  for (const char* check_name : {"ping", "store"}) {
    if (query.get("exclude") == check_name) continue;
    out += ready ? fmt::format("[+]{} ok\n", check_name)
                 : fmt::format("[-]{} failed: reason withheld\n", check_name);
  }
  return out + fmt::format("{} check {}\n", name, ready ? "passed" : "failed");
}

}  // namespace

ApiServer::ApiServer(Loop& loop, Store& store, uint64_t seed, ApiServerOptions options)
    : loop_(loop),
      store_(store),
      options_(std::move(options)),
      facts_(store),
      access_(store),
      committer_(loop, store, facts_, seed),
      waiter_(loop, store),
      rights_(loop, store),
      hub_(loop, store, rights_, options_.watch),
      budget_(std::make_shared<RequestBudget>(options_.budget)),
      audit_ids_(seed ^ 0xa0d17) {
  publish_kinds({});
}

void ApiServer::publish_kinds(std::vector<KindPtr> custom) {
  custom_kinds_ = std::move(custom);
  std::vector<KindPtr> all = builtin_kinds();
  all.insert(all.end(), custom_kinds_.begin(), custom_kinds_.end());
  auto next = std::make_shared<const Discovery>(std::make_shared<const KindTable>(std::move(all)),
                                                options_.server_address);
  const std::lock_guard lock(mutex_);
  discovery_ = std::move(next);
}

void ApiServer::set_custom_kinds(std::vector<KindPtr> kinds) {
  publish_kinds(std::move(kinds));
  const KindTablePtr table = this->kinds();
  hub_.end_watches([&](const WatchRequest& watch) {
    const Kind& kind = *watch.kind;
    return kind.custom && table->find(kind.group, kind.version, kind.plural) == nullptr;
  });
}

void ApiServer::set_server_address(std::string address) {
  options_.server_address = std::move(address);
  publish_kinds(custom_kinds_);
}

std::shared_ptr<const Discovery> ApiServer::discovery() const {
  const std::lock_guard lock(mutex_);
  return discovery_;
}

KindTablePtr ApiServer::kinds() const {
  return discovery()->table();
}

void ApiServer::shut_down() {
  ready_ = false;
  hub_.close_all();
}

void ApiServer::handle(HttpRequest request, std::shared_ptr<Responder> responder) {
  auto exchange = std::make_shared<Exchange>(*this, std::move(request), std::move(responder));
  if (answer_public(exchange)) return;
  authenticate(exchange);
}

// The four paths that answer without credentials (design.md §8).
bool ApiServer::answer_public(const ExchangePtr& exchange) {
  const std::string_view path = exchange->request.path();
  const bool health = path == "/healthz" || path == "/livez" || path == "/readyz";
  const bool one_check =
      path.starts_with("/healthz/") || path.starts_with("/livez/") || path.starts_with("/readyz/");
  if (!health && !one_check && path != "/version" && path != "/version/") return false;
  if (exchange->request.method != "GET" && exchange->request.method != "HEAD") {
    exchange->fail(method_not_allowed_error());
  } else if (health) {
    const bool fine = ready_ || path == "/livez";
    const bool verbose = exchange->query.has("verbose") || !fine;
    exchange->plain(fine ? 200 : 500, verbose ? health_text(path, exchange->query, fine) : "ok");
  } else if (one_check) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const bool known = name == "ping" || name == "store";
    exchange->plain(known ? 200 : 404, known ? "ok" : "404 page not found\n");
  } else {
    Rendering rendering;
    rendering.pretty = true;
    exchange->finish(tree_response(JsonObject{{"major", "1"},
                                              {"minor", "34"},
                                              {"emulationMajor", "1"},
                                              {"emulationMinor", "34"},
                                              {"minCompatibilityMajor", "1"},
                                              {"minCompatibilityMinor", "33"},
                                              {"gitVersion", options_.version},
                                              {"gitCommit", options_.git_commit},
                                              {"gitTreeState", "clean"},
                                              {"buildDate", options_.build_date},
                                              {"goVersion", "none"},
                                              {"compiler", "gcc"},
                                              {"platform", "linux/amd64"}},
                                   rendering, 200));
  }
  return true;
}

void ApiServer::route(const ExchangePtr& exchange) {
  const HttpRequest& request = exchange->request;
  const std::string_view path = request.path();
  if (const std::string_view timeout = exchange->query.get("timeout");
      !timeout.empty() && !parse_go_duration(timeout)) {
    return exchange->fail(error(
        Reason::BadRequest,
        fmt::format("invalid timeout specified in the request URL - time: invalid duration {}",
                    quoted(timeout))));
  }
  auto resource = parse_resource_path(path);
  if (!resource) return exchange->fail(resource.error());
  if (!take_seat(exchange, *resource ? &**resource : nullptr)) return;
  if (!exchange->user.is_admin()) {
    const AccessAttributes asked =
        request_attributes(request, exchange->query, *resource ? &**resource : nullptr);
    const AccessDecision decision = decide(*access_.rules(), exchange->user, asked);
    if (!decision.allowed)
      return exchange->fail(access_denied(exchange->user, asked, decision.reason));
  }
  if (*resource) return resource_request(exchange, std::move(**resource));
  answer_path(exchange);
}

// Our own command line on the Unix socket is never turned away.
bool ApiServer::take_seat(const ExchangePtr& exchange, const ResourcePath* path) {
  const HttpRequest& request = exchange->request;
  if (request.peer.local_owner) return true;
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const bool lists = reads && path != nullptr && path->name.empty();
  const RequestSort sort = !reads  ? RequestSort::Write
                           : lists ? RequestSort::List
                                   : RequestSort::Read;
  RequestBudget::Answer answer =
      budget_->take(exchange->user.name, exchange->user.is_admin(), sort, loop_.now());
  if (answer.seat == nullptr) {
    exchange->turn_away(answer.retry_after_seconds);
    return false;
  }
  exchange->seat = std::move(answer.seat);
  return true;
}

// Paths that are no resource.
void ApiServer::answer_path(const ExchangePtr& exchange) {
  const HttpRequest& request = exchange->request;
  const std::string_view path = request.path();
  if (path == "/metrics") return answer_metrics(exchange);
  if (request.method != "GET") {
    if (discovery()->answer(request)) return exchange->fail(method_not_allowed_error());
    return exchange->plain(404, "404 page not found\n");
  }
  if (path == "/") {
    JsonArray paths{"/api", "/api/v1", "/apis"};
    for (const auto& entry : kinds()->group_versions()) {
      if (!entry.group.empty()) paths.emplace_back("/apis/" + entry.group + "/" + entry.version);
    }
    for (const char* fixed :
         {"/.well-known/openid-configuration", "/healthz", "/livez", "/metrics", "/openapi/v2",
          "/openapi/v3", "/openid/v1/jwks", "/readyz", "/version"})
      paths.emplace_back(fixed);
    Rendering rendering;
    rendering.pretty = true;
    return exchange->finish(tree_response(JsonObject{{"paths", std::move(paths)}}, rendering, 200));
  }
  if (tokens_ != nullptr && path == "/.well-known/openid-configuration") {
    // The address that led the client here leads it to the keys too: a pod has another than we.
    const std::string_view asked = request.header("host");
    return exchange->document(
        "application/json",
        tokens_->discovery_document(asked.empty() ? options_.server_address : asked));
  }
  if (tokens_ != nullptr && path == "/openid/v1/jwks")
    return exchange->document("application/jwk-set+json", tokens_->key_set());
  if (auto answer = discovery()->answer(request)) return exchange->finish(std::move(*answer));
  if (is_version_of_built_in_group(*kinds(), path)) return exchange->fail(no_such_resource_error());
  exchange->plain(404, "404 page not found\n");
}

void ApiServer::answer_metrics(const ExchangePtr& exchange) {
  loop_.post([this, exchange] {
    std::string text = metrics_->text();
    const Store::Statistics store = store_.statistics();
    text += fmt::format(
        "# TYPE apiserver_longrunning_requests "
        "gauge\napiserver_longrunning_requests{{verb=\"WATCH\"}} {}\n"
        "# HELP trainyard_requests_refused_total Answered 429: the user had too much under way.\n"
        "# TYPE trainyard_requests_refused_total counter\ntrainyard_requests_refused_total {}\n"
        "# TYPE trainyard_watchers_cut_off_total counter\ntrainyard_watchers_cut_off_total {}\n"
        "# TYPE trainyard_store_revision gauge\ntrainyard_store_revision {}\n"
        "# TYPE trainyard_store_objects gauge\ntrainyard_store_objects {}\n"
        "# TYPE trainyard_store_object_bytes gauge\ntrainyard_store_object_bytes {}\n"
        "# TYPE trainyard_store_pending_writes gauge\ntrainyard_store_pending_writes {}\n"
        "# TYPE trainyard_store_writes_total counter\ntrainyard_store_writes_total {}\n"
        "# TYPE trainyard_store_failed_batches_total counter\ntrainyard_store_failed_batches_total "
        "{}\n"
        "# TYPE trainyard_store_commit_seconds histogram\n",
        hub_.watchers(), budget_->refused(), hub_.cut_off(), store_.revision(), store.objects,
        store.object_bytes, store.pending_writes, store.writes, store.failed_batches);
    for (const auto& [upper, count] : store.commit_seconds)
      text += fmt::format("trainyard_store_commit_seconds_bucket{{le=\"{}\"}} {}\n", upper, count);
    text += fmt::format(
        "trainyard_store_commit_seconds_bucket{{le=\"+Inf\"}} "
        "{0}\ntrainyard_store_commit_seconds_sum {1}\ntrainyard_store_commit_seconds_count {0}\n",
        store.commits, store.commit_seconds_sum);
    for (const auto& source : metric_sources_)
      text += source();
    text += process_metrics();
    HttpResponse response;
    response.headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}};
    response.body.push_back(std::make_shared<const std::string>(std::move(text)));
    exchange->finish(std::move(response));
  });
}

}  // namespace yard
