#include "client/event_recorder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMostMessage = 1024;
constexpr size_t kMostPerSource = 64;   // series, and reasons counted
constexpr size_t kMostName = 253 - 17;  // leaves room for the dot and the digits
const Resource kEvent{"v1", "Event"};

void note_refusal(const Result<ObjectPtr>& answer) {
  if (!answer && answer.error().reason != Reason::NotFound)
    log_debug("an Event was not stored: {}", answer.error().message);
}

const char* type_text(EventNote::Type type) {
  return type == EventNote::Type::Normal ? "Normal" : "Warning";
}

}  // namespace

// What an Event says of the object it is about.
struct EventRecorder::Subject {
  std::string api_version, kind, ns, name, uid, resource_version;
  // Events about what belongs to no namespace are kept in default.
  std::string event_namespace() const { return ns.empty() ? "default" : ns; }
};

EventRecorder::EventRecorder(Loop& loop, Client& client, std::string component, std::string host,
                             EventLimits limits)
    : loop_(loop),
      client_(client),
      component_(std::move(component)),
      host_(std::move(host)),
      limits_(limits) {}

void EventRecorder::record(const Resource& resource, const Object& about, const EventNote& note) {
  record(Subject{resource.api_version, resource.kind, std::string(about.ns()),
                 std::string(about.name()), std::string(about.uid()),
                 std::to_string(about.revision())},
         note);
}

void EventRecorder::record(const Json& about, const EventNote& note) {
  const auto in_metadata = [&](const char* name) {
    return std::string(text_at(about, {"metadata", name}));
  };
  record(Subject{std::string(text_at(about, {"apiVersion"})), std::string(text_at(about, {"kind"})),
                 in_metadata("namespace"), in_metadata("name"), in_metadata("uid"),
                 in_metadata("resourceVersion")},
         note);
}

EventRecorder::Source& EventRecorder::source_of(const std::string& uid) {
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

// The time, with room in its last digits for who tells: the scheduler and the agent may speak of
// one pod at the same moment.
int64_t EventRecorder::next_name() {
  constexpr int64_t kTellers = 1024;
  const int64_t now = loop_.now().time_since_epoch().count() / kTellers;
  last_name_ = std::max(last_name_ + 1, now);
  const auto teller = static_cast<int64_t>(hash_bytes(component_ + host_) % kTellers);
  return last_name_ * kTellers + teller;
}

void EventRecorder::record(const Subject& subject, EventNote note) {
  Source& source = source_of(subject.uid);
  if (!may_tell(source)) return;
  if (note.message.size() > kMostMessage) note.message.resize(kMostMessage);
  const Time now = loop_.now();
  const std::string about =
      fmt::format("{}\n{}\n{}", type_text(note.type), note.reason, note.field_path);
  if (source.similar.size() >= kMostPerSource && !source.similar.contains(about))
    source.similar.clear();
  Source::Similar& similar = source.similar[about];
  if (similar.count == 0 || now - similar.since > limits_.similar_within) similar = {0, now};
  // A combined line keeps its Event whatever the latest words are.
  std::string key = about;
  if (++similar.count > limits_.similar) {
    note.message = "(combined from similar events): " + note.message;
  } else {
    key += '\n' + note.message;
  }
  if (source.series.size() >= kMostPerSource && !source.series.contains(key)) source.series.clear();
  Series& series = source.series[key];
  ++series.count;
  if (!series.name.empty()) return count_up(subject, note, key, series);
  series.name = fmt::format("{}.{:x}", subject.name.substr(0, kMostName), next_name());
  create(subject, note, series.name);
}

void EventRecorder::create(const Subject& subject, const EventNote& note, std::string name) {
  const std::string now = rfc3339(loop_.now());
  const std::string ns = subject.event_namespace();
  JsonObject involved{{"apiVersion", subject.api_version},
                      {"kind", subject.kind},
                      {"name", subject.name},
                      {"uid", subject.uid},
                      {"resourceVersion", subject.resource_version}};
  if (!subject.ns.empty()) involved["namespace"] = subject.ns;
  if (!note.field_path.empty()) involved["fieldPath"] = note.field_path;
  JsonObject source{{"component", component_}};
  if (!host_.empty()) source["host"] = host_;
  JsonObject event{{"apiVersion", "v1"},
                   {"kind", "Event"},
                   {"metadata", JsonObject{{"name", name}, {"namespace", ns}}},
                   {"involvedObject", std::move(involved)},
                   {"reason", note.reason},
                   {"message", note.message},
                   {"source", std::move(source)},
                   {"reportingComponent", component_},
                   {"reportingInstance", host_},
                   {"firstTimestamp", now},
                   {"lastTimestamp", now},
                   {"count", 1},
                   {"type", type_text(note.type)}};
  client_.submit({ClientWrite::Verb::Create, kEvent, ns, std::move(name), std::move(event)},
                 note_refusal);
}

void EventRecorder::count_up(const Subject& subject, const EventNote& note, const std::string& key,
                             const Series& series) {
  JsonObject patch{
      {"count", series.count}, {"message", note.message}, {"lastTimestamp", rfc3339(loop_.now())}};
  client_.submit({ClientWrite::Verb::MergePatch, kEvent, subject.event_namespace(), series.name,
                  std::move(patch)},
                 [this, alive = std::weak_ptr(alive_), uid = subject.uid,
                  key](const Result<ObjectPtr>& answer) {
                   if (answer || alive.expired()) return;
                   // It expired: the next one begins a new Event.
                   if (const auto source = sources_.find(uid); source != sources_.end())
                     source->second.series.erase(key);
                 });
}

}  // namespace yard
