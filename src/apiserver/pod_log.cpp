// GET pods/{name}/log: the request is checked here, the bytes come from the node
// (api-machinery 7.1).

#include <fmt/format.h>

#include "api/tree.h"
#include "apiserver/exchange.h"
#include "apiserver/held_stream.h"
#include "apiserver/pod_containers.h"
#include "base/strings.h"
#include "client/pod_streams.h"
#include "net/message_stream.h"

namespace yard {
namespace {

constexpr std::string_view kLogProtocols[] = {"binary.k8s.io"};

class HttpLogSink : public PodLogSink {
 public:
  HttpLogSink(std::shared_ptr<HttpStream> stream, std::shared_ptr<StreamHold> hold)
      : stream_(std::move(stream)), gone_(std::make_shared<std::atomic<bool>>(false)) {
    stream_->on_closed([gone = gone_, hold = std::move(hold)]() mutable {
      *gone = true;
      hold.reset();  // the reader may notice only when the pod says something
    });
  }
  size_t write(std::string bytes) override {
    stream_->write(std::make_shared<const std::string>(std::move(bytes)));
    return stream_->queued_bytes();
  }
  void end() override { stream_->close(); }
  bool is_gone() const override { return *gone_; }
  void cut() {  // to the reader it is a client that has left
    *gone_ = true;
    stream_->close();
  }

 private:
  std::shared_ptr<HttpStream> stream_;
  std::shared_ptr<std::atomic<bool>> gone_;
};

struct NumberRule {
  const char* name;
  int64_t least;
  const char* complaint;
};

// A number of the query, or what is wrong with it.
Result<std::optional<int64_t>> number_in(const Query& query, const NumberRule& rule,
                                         FieldErrors& errors) {
  const std::string_view text = query.get(rule.name);
  if (text.empty()) return std::optional<int64_t>{};
  const auto value = parse_int64(text);
  if (!value)
    return error(Reason::BadRequest,
                 fmt::format("strconv.ParseInt: parsing {}: invalid syntax", quoted(text)));
  if (*value < rule.least)
    errors.push_back(invalid(FieldPath(rule.name), Json(*value), rule.complaint));
  return value;
}

Result<PodLogRequest> parse_log_request(const Query& query, const ResourcePath& path, Time now) {
  PodLogRequest out;
  FieldErrors errors;
  out.ns = path.ns;
  out.pod = path.name;
  out.container = query.get("container");
  out.follow = query.flag("follow");
  out.previous = query.flag("previous");
  out.timestamps = query.flag("timestamps");
  out.tail_lines =
      TRY(number_in(query, {"tailLines", 0, "must be greater than or equal to 0"}, errors));
  out.limit_bytes = TRY(number_in(query, {"limitBytes", 1, "must be greater than 0"}, errors));
  const std::optional<int64_t> seconds =
      TRY(number_in(query, {"sinceSeconds", 1, "must be greater than 0"}, errors));
  const std::string_view since = query.get("sinceTime");
  if (seconds && !since.empty()) {
    errors.push_back(
        forbidden(FieldPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"));
  } else if (seconds) {
    out.since = now - std::chrono::seconds(std::min<int64_t>(*seconds, 1'000'000'000));
  } else if (!since.empty()) {
    out.since = parse_rfc3339(since);
    if (!out.since)
      return error(Reason::BadRequest,
                   fmt::format("parsing time {}: it is not in RFC 3339", quoted(since)));
  }
  if (!errors.empty()) return invalid_object("", "PodLogOptions", path.name, errors);
  return out;
}

// A container that has never run has no log to show.
Result<void> check_has_run(const Json& pod, const PodLogRequest& request) {
  const Json* status = container_status(pod, request.container);
  const bool has_last =
      status != nullptr && find_path(*status, {"lastState", "terminated"}) != nullptr;
  if (request.previous) {
    if (has_last) return {};
    return error(Reason::BadRequest,
                 fmt::format("previous terminated container {} in pod {} not found",
                             yard::quoted(request.container), yard::quoted(request.pod)));
  }
  if (status != nullptr && (has_last || find_path(*status, {"state", "waiting"}) == nullptr))
    return {};
  std::string_view reason =
      status != nullptr ? text_at(*status, {"state", "waiting", "reason"}) : "ContainerCreating";
  if (reason == "ErrImagePull") reason = "trying and failing to pull image";
  if (reason == "ImagePullBackOff") reason = "image can't be pulled";
  return error(Reason::BadRequest,
               fmt::format("container {} in pod {} is waiting to start: {}",
                           yard::quoted(request.container), yard::quoted(request.pod), reason));
}

}  // namespace

void ApiServer::read_pod_log(const ExchangePtr& exchange) {
  exchange->labels.verb = "CONNECT";
  auto parsed = parse_log_request(exchange->query, exchange->path, loop_.now());
  if (!parsed) return exchange->fail(parsed.error());
  std::optional<Upgrade> upgrade;
  if (equals_ignore_case(exchange->request.header("Upgrade"), "websocket")) {
    auto chosen = choose_upgrade(exchange->request, UpgradeOffer{kLogProtocols, {}});
    if (!chosen) return exchange->fail(chosen.error());
    upgrade = std::move(*chosen);
  }
  loop_.post([this, exchange, request = std::move(*parsed),
              upgrade = std::move(upgrade)]() mutable {
    const ObjectPtr object = store_.get(Key{exchange->kind->storage, request.ns, request.pod});
    const std::shared_ptr<StreamHold> hold = take_stream(exchange);
    if (hold == nullptr) return;
    const auto open_sink = [this, exchange, upgrade,
                            hold]() -> Result<std::shared_ptr<PodLogSink>> {
      auto sink =
          std::make_shared<HttpLogSink>(upgrade ? stream_messages(*upgrade, exchange->leave_http())
                                                : exchange->stream("text/plain"),
                                        hold);
      hold->keep(rights_.hold(stream_rights(exchange), [weak = std::weak_ptr(sink)] {
        if (const auto open = weak.lock()) open->cut();
      }));
      return std::shared_ptr<PodLogSink>(std::move(sink));
    };
    if (object == nullptr) {
      const Error gone = not_found_error(*exchange->kind, request.pod);
      if (pod_streams_ == nullptr) return exchange->fail(gone);
      // Logs outlive their pods; the node may still have them.
      return pod_streams_->read_log(std::move(request), open_sink,
                                    [exchange, gone](const Error& why) {
                                      exchange->fail(why.reason == Reason::NotFound ? gone : why);
                                    });
    }
    const Json pod = object->tree();
    auto container = chosen_container(pod, request.pod, request.container);
    if (!container) return exchange->fail(container.error());
    request.container = std::move(*container);
    request.uid = object->uid();
    if (text_at(pod, {"spec", "nodeName"}).empty()) {
      HttpResponse nothing;
      nothing.status = 204;
      return exchange->finish(std::move(nothing));
    }
    if (auto has_run = check_has_run(pod, request); !has_run)
      return exchange->fail(has_run.error());
    if (is_played(pod))
      return exchange->fail(error(
          Reason::BadRequest, fmt::format("pod {} is played on a simulated node: it says nothing",
                                          quoted(request.pod))));
    if (pod_streams_ == nullptr)
      return exchange->fail(error(Reason::ServiceUnavailable,
                                  "no node agent runs in this server: there are no logs"));
    pod_streams_->read_log(std::move(request), open_sink,
                           [exchange](const Error& why) { exchange->fail(why); });
  });
}

}  // namespace yard
