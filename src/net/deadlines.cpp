#include "net/deadlines.h"

namespace yard {

void Deadlines::arm(Slot& slot, Connection* connection, Wait wait, Instant now) {
  std::list<Entry>& target = queue(wait);
  if (slot) {
    target.splice(target.end(), queue((*slot)->wait), *slot);
  } else {
    slot = target.insert(target.end(), Entry{});
  }
  Instant due =
      now + std::chrono::duration_cast<Instant::duration>(lengths_[static_cast<size_t>(wait)]);
  **slot = Entry{connection, wait, due};
}

void Deadlines::disarm(Slot& slot) {
  if (!slot) return;
  queue((*slot)->wait).erase(*slot);
  slot.reset();
}

std::optional<Deadlines::Instant> Deadlines::earliest() const {
  std::optional<Instant> first;
  for (const auto& waiting : queues_) {
    if (!waiting.empty() && (!first || waiting.front().due < *first)) first = waiting.front().due;
  }
  return first;
}

std::optional<Deadlines::Entry> Deadlines::overdue(Instant now) const {
  for (const auto& waiting : queues_) {
    if (!waiting.empty() && waiting.front().due <= now) return waiting.front();
  }
  return std::nullopt;
}

std::optional<Deadlines::Entry> Deadlines::longest_waiting() const {
  std::optional<Entry> longest;
  std::optional<Instant> since;
  for (const Wait wait : {Wait::Idle, Wait::Header}) {
    const size_t at = static_cast<size_t>(wait);
    if (queues_[at].empty()) continue;
    const Entry& first = queues_[at].front();
    const Instant began = first.due - std::chrono::duration_cast<Instant::duration>(lengths_[at]);
    if (since && *since <= began) continue;
    since = began;
    longest = first;
  }
  return longest;
}

}  // namespace yard
