#include "controllers/runtime/event_recorder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"

namespace yard {
namespace {

constexpr size_t kMostMessage = 1024;
constexpr size_t kMostSeriesPerSource = 64;
constexpr size_t kMostName = 253 - 17;  // leaves room for the dot and the digits
const Resource kEvent{"v1", "Event"};

void warn_unless_told(const Result<ObjectPtr>& answer) {
  if (!answer) log_debug("an event was not stored: {}", answer.error().message);
}

const char* type_text(EventNote::Type type) {
  return type == EventNote::Type::Normal ? "Normal" : "Warning";
}

}  // namespace

EventRecorder::EventRecorder(Loop& loop, Client& client, std::string component, EventLimits limits)
    : loop_(loop), client_(client), component_(std::move(component)), limits_(limits) {}

EventRecorder::Source& EventRecorder::source_of(const Object& about) {
  const std::string uid(about.uid());
  if (const auto found = sources_.find(uid); found != sources_.end()) {
    ages_.splice(ages_.end(), ages_, found->second.age);
    return found->second;
  }
  if (sources_.size() >= limits_.most_known) {
    sources_.erase(ages_.front());
    ages_.pop_front();
  }
  ages_.push_back(uid);
  Source& source = sources_[uid];
  source.tokens = limits_.burst;
  source.refilled = loop_.now();
  source.age = std::prev(ages_.end());
  return source;
}

bool EventRecorder::may_tell(Source& source) const {
  const Time now = loop_.now();
  const double gained = std::chrono::duration<double>(now - source.refilled) / limits_.refill;
  source.tokens = std::min<double>(limits_.burst, source.tokens + std::max(0.0, gained));
  source.refilled = now;
  if (source.tokens < 1) return false;
  source.tokens -= 1;
  return true;
}

void EventRecorder::record(const Resource& resource, const Object& about, const EventNote& given) {
  Source& source = source_of(about);
  if (!may_tell(source)) return;
  EventNote note = given;
  if (note.message.size() > kMostMessage) note.message.resize(kMostMessage);
  const Time now = loop_.now();
  Source::Similar& similar = source.similar[note.reason];
  if (similar.count == 0 || now - similar.since > limits_.similar_within) similar = {0, now};
  if (++similar.count > limits_.similar) {
    note.message = "(combined from similar events): " + note.message;
  }
  // A combined line keeps its Event whatever the latest words are.
  const std::string key =
      similar.count > limits_.similar ? note.reason : note.reason + '\n' + note.message;
  if (source.series.size() >= kMostSeriesPerSource && !source.series.contains(key))
    source.series.clear();
  Series& series = source.series[key];
  ++series.count;
  if (!series.name.empty()) return count_up(about, note, key, series);
  last_name_ = std::max(last_name_ + 1, static_cast<int64_t>(now.time_since_epoch().count()));
  series.name = fmt::format("{}.{:x}", about.name().substr(0, kMostName), last_name_);
  create(resource, about, note, series.name);
}

void EventRecorder::create(const Resource& resource, const Object& about, const EventNote& note,
                           std::string name) {
  const std::string now = rfc3339(loop_.now());
  // Events about what belongs to no namespace are kept in default.
  const std::string ns(about.ns().empty() ? std::string_view("default") : about.ns());
  JsonObject involved{{"apiVersion", resource.api_version},
                      {"kind", resource.kind},
                      {"name", about.name()},
                      {"uid", about.uid()},
                      {"resourceVersion", std::to_string(about.revision())}};
  if (!about.ns().empty()) involved["namespace"] = about.ns();
  JsonObject event{{"apiVersion", "v1"},
                   {"kind", "Event"},
                   {"metadata", JsonObject{{"name", name}, {"namespace", ns}}},
                   {"involvedObject", std::move(involved)},
                   {"reason", note.reason},
                   {"message", note.message},
                   {"source", JsonObject{{"component", component_}}},
                   {"reportingComponent", component_},
                   {"reportingInstance", ""},
                   {"firstTimestamp", now},
                   {"lastTimestamp", now},
                   {"count", 1},
                   {"type", type_text(note.type)}};
  client_.submit({ClientWrite::Verb::Create, kEvent, ns, std::move(name), std::move(event)},
                 warn_unless_told);
}

void EventRecorder::count_up(const Object& about, const EventNote& note, const std::string& key,
                             const Series& series) {
  JsonObject patch{
      {"count", series.count}, {"message", note.message}, {"lastTimestamp", rfc3339(loop_.now())}};
  const std::string ns(about.ns().empty() ? std::string_view("default") : about.ns());
  client_.submit({ClientWrite::Verb::MergePatch, kEvent, ns, series.name, std::move(patch)},
                 [this, alive = std::weak_ptr(alive_), uid = std::string(about.uid()),
                  key](const Result<ObjectPtr>& answer) {
                   if (answer || alive.expired()) return;
                   // It expired: the next one begins a new Event.
                   if (const auto source = sources_.find(uid); source != sources_.end())
                     source->second.series.erase(key);
                 });
}

}  // namespace yard
