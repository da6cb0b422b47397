#pragma once
// The timeouts of all connections of one I/O thread. Each class of timeout has one length, so each
// is a queue in order of time; the thread needs one timer, set only while something is due.

#include <array>
#include <chrono>
#include <list>
#include <optional>

#include "base/time.h"

namespace yard {

class Connection;

enum class Wait { Header, Body, Idle, Write, Linger, Tunnel };
constexpr size_t kWaits = 6;

class Deadlines {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  struct Entry {
    Connection* connection;
    Wait wait;
    Instant due;
  };
  using Slot = std::optional<std::list<Entry>::iterator>;  // one a connection

  explicit Deadlines(std::array<Duration, kWaits> lengths) : lengths_(lengths) {}

  void arm(Slot& slot, Connection* connection, Wait wait, Instant now);
  void disarm(Slot& slot);
  std::optional<Instant> earliest() const;
  // One whose time is over at `now`; it stays until it is disarmed or armed again.
  std::optional<Entry> overdue(Instant now) const;
  // Who has waited longest between requests, or for a request to become whole.
  std::optional<Entry> longest_waiting() const;

 private:
  std::list<Entry>& queue(Wait wait) { return queues_[static_cast<size_t>(wait)]; }

  std::array<Duration, kWaits> lengths_;
  std::array<std::list<Entry>, kWaits> queues_;
};

}  // namespace yard
