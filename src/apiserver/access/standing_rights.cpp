#include "apiserver/access/standing_rights.h"

#include <algorithm>

namespace yard {

struct StandingRights::Entry {
  StreamRights rights;
  std::function<void()> ended;
  TimerId timer = 0;
  std::list<std::weak_ptr<Entry>>::iterator place;

  void end() {
    if (auto tell = std::exchange(ended, nullptr)) tell();
  }
};

StandingRights::StandingRights(Loop& loop, Store& store) : loop_(loop), store_(store) {
  listen();
}

StandingRights::~StandingRights() {
  *alive_ = false;
  for (const Store::ListenerId listener : listeners_)
    store_.forget(listener);
  for (const auto& each : entries_) {
    if (const auto entry = each.lock(); entry != nullptr && entry->timer != 0)
      loop_.cancel(entry->timer);
  }
}

void StandingRights::listen() {
  for (const char* storage : {"roles", "rolebindings", "clusterroles", "clusterrolebindings"}) {
    listeners_.push_back(store_.listen(std::string(storage) + ".rbac.authorization.k8s.io",
                                       [this](const StoreEventPtr&) { recheck_all(); }));
  }
  for (const char* storage : {"serviceaccounts", "pods", "secrets"}) {
    listeners_.push_back(
        store_.listen(storage, [this](const StoreEventPtr& event) { hear_of_holder(*event); }));
  }
}

StandingRights::Hold StandingRights::hold(StreamRights rights, std::function<void()> ended) {
  auto made = std::make_unique<Entry>();
  made->rights = std::move(rights);
  made->ended = std::move(ended);
  std::shared_ptr<Entry> entry(made.release(), [this, alive = alive_](Entry* gone) {
    if (*alive) forget(*gone);
    delete gone;
  });
  entry->place = entries_.insert(entries_.end(), entry);
  if (entry->rights.is_allowed) {
    for (const std::string& uid : entry->rights.bound_uids)
      bound_.emplace(uid, entry);
  }
  if (entry->rights.ends) {
    const Duration left = std::max(*entry->rights.ends - loop_.now(), Duration{});
    entry->timer = loop_.after(left, [weak = std::weak_ptr(entry)] {
      const auto over = weak.lock();
      if (over == nullptr) return;
      over->timer = 0;
      over->end();
    });
  }
  return entry;
}

// The weak references to it have lapsed already.
void StandingRights::forget(Entry& entry) {
  if (entry.timer != 0) loop_.cancel(entry.timer);
  entries_.erase(entry.place);
  if (!entry.rights.is_allowed) return;
  for (const std::string& uid : entry.rights.bound_uids) {
    const auto [first, last] = bound_.equal_range(uid);
    for (auto at = first; at != last;)
      at = at->second.expired() ? bound_.erase(at) : std::next(at);
  }
}

void StandingRights::judge(const std::vector<std::weak_ptr<Entry>>& entries) {
  for (const auto& each : entries) {
    const auto entry = each.lock();  // an end may take others along
    if (entry != nullptr && entry->rights.is_allowed && !entry->rights.is_allowed()) entry->end();
  }
}

void StandingRights::hear_of_holder(const StoreEvent& event) {
  if (bound_.empty() || event.type == StoreEvent::Type::Added) return;
  const auto [first, last] = bound_.equal_range(std::string(event.object->uid()));
  std::vector<std::weak_ptr<Entry>> concerned;
  for (auto at = first; at != last; ++at)
    concerned.push_back(at->second);
  judge(concerned);
}

// Once for all that changes in a turn, and after everybody has heard of it.
void StandingRights::recheck_all() {
  if (will_recheck_ || entries_.empty()) return;
  will_recheck_ = true;
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    will_recheck_ = false;
    judge({entries_.begin(), entries_.end()});
  });
}

}  // namespace yard
