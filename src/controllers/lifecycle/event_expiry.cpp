#include "controllers/lifecycle/event_expiry.h"

#include <algorithm>

#include "api/tree.h"
#include "base/log.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTimeToLive = 1h;
constexpr Duration kRetry = 30s;            // after a removal that failed
constexpr Duration kBetweenBatches = 10ms;  // so that removing many leaves others their turn
constexpr size_t kMostPerTurn = 100;

const Resource kEvent{"v1", "Event"};

}  // namespace

Time last_write(const Json& event, Time now) {
  Time last = created_at(event).value_or(Time{});
  const auto consider = [&](std::optional<Time> time) {
    if (time && *time <= now) last = std::max(last, *time);
  };
  for (const Json& entry : list_at(event, {"metadata", "managedFields"}))
    consider(time_at(entry, {"time"}));
  consider(time_at(event, {"lastTimestamp"}));
  consider(time_at(event, {"eventTime"}));
  consider(time_at(event, {"series", "lastObservedTime"}));
  return last;
}

EventExpiry::EventExpiry(Loop& loop, Client& client) : loop_(loop), client_(client) {
  subscription_ = client_.follow(kEvent, [this](const ObjectEvent& event) { hear(event); });
  for (const ObjectPtr& event : client_.list(kEvent))
    set_due({std::string(event->ns()), std::string(event->name())}, event->created() + kTimeToLive);
  arm();
}

EventExpiry::~EventExpiry() {
  client_.unfollow(subscription_);
  if (timer_ != 0) loop_.cancel(timer_);
}

void EventExpiry::hear(const ObjectEvent& event) {
  const Name name{std::string(event.object->ns()), std::string(event.object->name())};
  if (event.type == ObjectEvent::Type::Added) {
    set_due(name, event.object->created() + kTimeToLive);
    arm();
  } else if (event.type == ObjectEvent::Type::Deleted) {
    forget(name);
  }
}

void EventExpiry::set_due(const Name& name, Time due) {
  forget(name);
  due_.emplace(name, due);
  by_time_.emplace(due, name);
}

void EventExpiry::forget(const Name& name) {
  const auto found = due_.find(name);
  if (found == due_.end()) return;
  by_time_.erase({found->second, name});
  due_.erase(found);
}

void EventExpiry::arm() {
  if (by_time_.empty()) return;
  const Time due = by_time_.begin()->first;
  if (timer_ != 0 && armed_for_ <= due) return;
  if (timer_ != 0) loop_.cancel(timer_);
  armed_for_ = due;
  timer_ = loop_.after(due - loop_.now(), [this] { remove_due(); });
}

void EventExpiry::remove_due() {
  timer_ = 0;
  const Time now = loop_.now();
  for (size_t looked_at = 0; !by_time_.empty() && by_time_.begin()->first <= now; ++looked_at) {
    if (looked_at == kMostPerTurn) {
      armed_for_ = now + kBetweenBatches;
      timer_ = loop_.after(kBetweenBatches, [this] { remove_due(); });
      return;
    }
    const Name name = by_time_.begin()->second;
    const ObjectPtr event = client_.get(kEvent, name.ns, name.name);
    if (event == nullptr) {
      forget(name);
      continue;
    }
    const Time due = last_write(event->tree(), now) + kTimeToLive;
    // Filed anew also when it goes now: the answer may be an error.
    set_due(name, due > now ? due : now + kRetry);
    if (due <= now) remove(name, *event);
  }
  arm();
}

void EventExpiry::remove(const Name& name, const Object& event) {
  JsonObject options{
      {"preconditions",
       JsonObject{{"uid", event.uid()}, {"resourceVersion", std::to_string(event.revision())}}}};
  client_.submit({ClientWrite::Verb::Delete, kEvent, name.ns, name.name, std::move(options)},
                 [name](const Result<ObjectPtr>& removed) {
                   if (removed || removed.error().reason == Reason::NotFound ||
                       removed.error().reason == Reason::Conflict)
                     return;
                   log_warning("event {}/{}: not removed: {}", name.ns, name.name,
                               removed.error().message);
                 });
}

}  // namespace yard
