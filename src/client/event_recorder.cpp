#include "client/event_recorder.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"

namespace yard {
namespace {

const Resource kEvent{"v1", "Event"};
constexpr size_t kMostSeen = 4096;
constexpr size_t kMostMessage = 1024;

void log_refusal(const Result<ObjectPtr>& written) {
  if (!written && written.error().reason != Reason::NotFound)
    log_debug("an Event was not stored: {}", written.error().message);
}

}  // namespace

PodEventRecorder::PodEventRecorder(Client& client, Loop& loop, std::string component,
                                   std::string host)
    : client_(client), loop_(loop), component_(std::move(component)), host_(std::move(host)) {}

void PodEventRecorder::record(const Json& about, const EventText& text) {
  const Time now = loop_.now();
  const std::string_view uid = text_at(about, {"metadata", "uid"}),
                         ns = text_at(about, {"metadata", "namespace"}, "default");
  const std::string message = text.message.substr(0, kMostMessage);
  std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{}", uid, text.type, text.reason, message, text.field_path);
  if (const auto found = seen_.find(key); found != seen_.end()) {
    const int64_t count = ++found->second.count;
    ClientWrite again{ClientWrite::Verb::MergePatch, kEvent, found->second.ns, found->second.name,
                      JsonObject{{"count", count}, {"lastTimestamp", rfc3339(now)}}};
    client_.submit(std::move(again), log_refusal);
    return;
  }
  const std::string name = fmt::format(
      "{}.{:x}", text_at(about, {"metadata", "name"}),
      now.time_since_epoch().count() + static_cast<int64_t>(loop_.random().below(1000)));
  JsonObject involved{{"kind", text_at(about, {"kind"})},
                      {"namespace", ns},
                      {"name", text_at(about, {"metadata", "name"})},
                      {"uid", uid},
                      {"apiVersion", text_at(about, {"apiVersion"})},
                      {"resourceVersion", text_at(about, {"metadata", "resourceVersion"})}};
  if (!text.field_path.empty()) involved["fieldPath"] = text.field_path;
  if (text_at(about, {"kind"}) == "Node") involved.erase("namespace");
  JsonObject source{{"component", component_}};
  if (!host_.empty()) source["host"] = host_;
  Json event = JsonObject{{"apiVersion", "v1"},
                          {"kind", "Event"},
                          {"metadata", JsonObject{{"name", name}, {"namespace", ns}}},
                          {"involvedObject", std::move(involved)},
                          {"reason", text.reason},
                          {"message", message},
                          {"source", std::move(source)},
                          {"firstTimestamp", rfc3339(now)},
                          {"lastTimestamp", rfc3339(now)},
                          {"count", 1},
                          {"type", text.type},
                          {"eventTime", nullptr},
                          {"reportingComponent", component_},
                          {"reportingInstance", host_}};
  if (seen_.size() >= kMostSeen) seen_.clear();
  seen_.emplace(std::move(key), Seen{std::string(ns), name, 1});
  client_.submit({ClientWrite::Verb::Create, kEvent, std::string(ns), name, std::move(event)},
                 log_refusal);
}

}  // namespace yard
