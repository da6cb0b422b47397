#pragma once
// The API server: from an HTTP request to an answer. handle() runs on I/O threads and hands
// everything that needs state to the loop; see docs/architecture.md for the whole journey.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "apiserver/access/access_keeper.h"
#include "apiserver/access/standing_rights.h"
#include "apiserver/access/tokens.h"
#include "apiserver/cluster_facts.h"
#include "apiserver/committer.h"
#include "apiserver/discovery.h"
#include "apiserver/lister.h"
#include "apiserver/metrics.h"
#include "apiserver/request_budget.h"
#include "apiserver/watch_hub.h"
#include "base/loop.h"
#include "net/http.h"
#include "store/store.h"

namespace yard {

class PodStreams;
class StreamHold;
class UsageSource;
struct ServicePlace;
struct PodProcessRequest;
struct Upgrade;

struct ApiServerOptions {
  std::string server_address = "127.0.0.1:6443";  // as discovery tells clients
  std::string version = "v1.34.0+trainyard";
  std::string git_commit = "unknown";
  std::string build_date = "1970-01-01T00:00:00Z";
  BudgetLimits budget;  // beyond: 429
  WatchLimits watch;
};

class ApiServer {
 public:
  ApiServer(Loop& loop, Store& store, uint64_t seed, ApiServerOptions options = {});

  void handle(HttpRequest request, std::shared_ptr<Responder> responder);  // I/O threads
  void shut_down();                                                        // loop: ends the watches

  KindTablePtr kinds() const;  // any thread
  // The kinds served besides the built-in ones; new discovery and OpenAPI follow at once. Loop
  // thread.
  void set_custom_kinds(std::vector<KindPtr> kinds);
  void set_server_address(std::string address);  // once the port is known
  Committer& committer() { return committer_; }
  Store& store() { return store_; }
  // Lines others add to /metrics; called on the loop.
  void add_metrics(std::function<std::string()> source) {
    metric_sources_.push_back(std::move(source));
  }
  void set_ready(bool ready) { ready_ = ready; }
  // What to warn of when an object is created, from its encoding. Before the first request; called
  // on the loop.
  void set_create_warnings(
      std::function<std::vector<std::string>(std::string_view encoded)> warnings) {
    create_warnings_ = std::move(warnings);
  }
  // Who answers for the pods of this machine; null: nobody. Before the first request.
  void set_pod_streams(PodStreams* streams) { pod_streams_ = streams; }
  // Who knows what pods use; null: nobody. Before the first request.
  void set_usage(UsageSource* usage) { usage_ = usage; }
  // Who makes and reads ServiceAccount tokens; null: there are none. Before the first request.
  void set_tokens(std::shared_ptr<const Tokens> tokens) { tokens_ = std::move(tokens); }

 private:
  class Exchange;
  class Proxied;
  using ExchangePtr = std::shared_ptr<Exchange>;
  void authenticate(const ExchangePtr& exchange);
  void authenticate_token(const ExchangePtr& exchange, std::string token);
  void admit(const ExchangePtr& exchange, User user);
  void route(const ExchangePtr& exchange);
  bool take_seat(const ExchangePtr& exchange, const ResourcePath* path);
  void answer_path(const ExchangePtr& exchange);
  bool answer_public(const ExchangePtr& exchange);
  void answer_metrics(const ExchangePtr& exchange);
  void resource_request(const ExchangePtr& exchange, ResourcePath path);
  void read_one(const ExchangePtr& exchange);
  void read_pod_log(const ExchangePtr& exchange);
  bool is_played(const Json& pod) const;
  void connect_to_pod(const ExchangePtr& exchange);  // exec, attach, portforward
  void open_process(const std::shared_ptr<Responder>& way, const Upgrade& upgrade,
                    PodProcessRequest request, bool attach);
  void forward_ports(const std::shared_ptr<Responder>& way, const Upgrade& upgrade,
                     const std::string& uid, std::vector<int> ports);
  void proxy(const ExchangePtr& exchange);  // to a port of a pod or service
  Result<ServicePlace> proxy_place(const Kind& kind, const Object& object, const std::string& port);
  void read_usage(const ExchangePtr& exchange);  // metrics.k8s.io
  void read_many(const ExchangePtr& exchange, bool watch);
  void begin_watch(const ExchangePtr& exchange, Selection selection, ListOptions options,
                   const Rendering& rendering, const std::optional<Upgrade>& upgrade);
  StreamRights stream_rights(const ExchangePtr& exchange);
  std::shared_ptr<StreamHold> take_stream(const ExchangePtr& exchange);
  std::shared_ptr<Responder> leave_http(const ExchangePtr& exchange,
                                        const std::shared_ptr<StreamHold>& hold);
  void write(const ExchangePtr& exchange);
  void delete_many(const ExchangePtr& exchange);
  void create_token(const ExchangePtr& exchange);
  void review(const ExchangePtr& exchange);
  void review_token(const ExchangePtr& exchange, Json review);
  void answer_review(const ExchangePtr& exchange, const Json& review);
  void run_write(const ExchangePtr& exchange, WriteJob job, Rendering rendering);
  void answer_scale(const ExchangePtr& exchange, const Json& object, Rendering rendering,
                    int status);
  std::shared_ptr<const Discovery> discovery() const;
  void publish_kinds(std::vector<KindPtr> custom);

  Loop& loop_;
  Store& store_;
  ApiServerOptions options_;
  ClusterFactsKeeper facts_;
  AccessKeeper access_;
  Committer committer_;
  RevisionWaiter waiter_;
  StandingRights rights_;
  WatchHub hub_;
  std::shared_ptr<RequestMetrics> metrics_ = std::make_shared<RequestMetrics>();
  std::shared_ptr<RequestBudget> budget_;
  std::vector<std::function<std::string()>> metric_sources_;
  std::atomic<bool> ready_{false};
  PodStreams* pod_streams_ = nullptr;
  UsageSource* usage_ = nullptr;
  std::function<std::vector<std::string>(std::string_view)> create_warnings_;
  std::shared_ptr<const Tokens> tokens_;
  std::vector<KindPtr> custom_kinds_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Discovery> discovery_;
  Random audit_ids_;
};

}  // namespace yard
