#include "apiserver/request_budget.h"

#include <algorithm>
#include <cmath>

namespace yard {
namespace {

// Users who were here once are forgotten when there are this many of them.
constexpr size_t kMostFlows = 4096;
constexpr int kRetrySeconds = 1;

bool is_busy(const UserLoad& load) {
  return load.reads > 0 || load.writes > 0;
}

}  // namespace

BudgetDecision decide_budget(const BudgetLimits& limits, RequestSort sort, bool is_rated,
                             const UserLoad& user, const ServerLoad& server) {
  if (is_rated && user.tokens < 1) {
    const double seconds = (1 - user.tokens) / limits.requests_per_second;
    return {false, std::max(kRetrySeconds, static_cast<int>(std::ceil(seconds)))};
  }
  const bool writes = sort == RequestSort::Write;
  const int mine = writes ? user.writes : user.reads;
  const int of_one = writes ? limits.most_writes_of_one : limits.most_reads_of_one;
  const int wanted = sort == RequestSort::List ? limits.list_seats : 1;
  // Whoever has nothing in flight gets one thing done.
  if (mine > 0 && mine + wanted > of_one) return {false, kRetrySeconds};
  const int most = writes ? limits.most_writes : limits.most_reads;
  const int all = writes ? server.writes : server.reads;
  const int fair_share = std::max(1, most / std::max(1, server.users));
  if (all + wanted > most && mine + wanted > fair_share && mine > 0) return {false, kRetrySeconds};
  return {};
}

RequestBudget::Answer RequestBudget::refuse(int seconds) {
  ++refused_;
  return {nullptr, seconds};
}

void RequestBudget::refill(Flow& flow, Time now) const {
  const double seconds = flow.filled == Time{}
                             ? limits_.burst
                             : std::chrono::duration<double>(now - flow.filled).count();
  flow.load.tokens =
      std::clamp(flow.load.tokens + seconds * limits_.requests_per_second, 0.0, limits_.burst);
  flow.filled = now;
}

RequestBudget::Answer RequestBudget::take(const std::string& user, bool is_admin, RequestSort sort,
                                          Time now) {
  const std::lock_guard guard(mutex_);
  if (flows_.size() > kMostFlows) forget_idle(now);
  Flow& flow = flows_[user];
  refill(flow, now);
  const bool was_busy = is_busy(flow.load);
  const ServerLoad server{reads_, writes_, busy_users_ + (was_busy ? 0 : 1)};
  const BudgetDecision decision = decide_budget(limits_, sort, !is_admin, flow.load, server);
  if (!decision.admitted) return refuse(decision.retry_after_seconds);
  flow.load.tokens = std::max(0.0, flow.load.tokens - 1);
  if (!was_busy) ++busy_users_;
  const int seats = sort == RequestSort::List ? limits_.list_seats : 1;
  int UserLoad::*which = sort == RequestSort::Write ? &UserLoad::writes : &UserLoad::reads;
  (sort == RequestSort::Write ? writes_ : reads_) += seats;
  flow.load.*which += seats;
  return {seat_of(user, which, seats)};
}

RequestBudget::Answer RequestBudget::take_watch(const std::string& user) {
  return take_lasting(user, &UserLoad::watches, limits_.most_watches_of_one);
}

RequestBudget::Answer RequestBudget::take_stream(const std::string& user) {
  return take_lasting(user, &UserLoad::streams, limits_.most_streams_of_one);
}

RequestBudget::Answer RequestBudget::take_lasting(const std::string& user, int UserLoad::*which,
                                                  int most) {
  const std::lock_guard guard(mutex_);
  Flow& flow = flows_[user];
  if (flow.load.*which >= most) return refuse(kRetrySeconds);
  ++(flow.load.*which);
  return {seat_of(user, which, 1)};
}

// Seats of requests whose writes wait in the store may outlive the server that gave them.
RequestBudget::Seat RequestBudget::seat_of(const std::string& user, int UserLoad::*which,
                                           int seats) {
  return {static_cast<void*>(this), [budget = weak_from_this(), user, which, seats](void*) {
            if (const auto alive = budget.lock()) alive->release(user, which, seats);
          }};
}

void RequestBudget::release(const std::string& user, int UserLoad::*which, int seats) {
  const std::lock_guard guard(mutex_);
  const auto found = flows_.find(user);
  if (found == flows_.end()) return;
  UserLoad& load = found->second.load;
  load.*which -= seats;
  if (which == &UserLoad::watches || which == &UserLoad::streams) return;
  (which == &UserLoad::writes ? writes_ : reads_) -= seats;
  if (!is_busy(load)) --busy_users_;
}

void RequestBudget::forget_idle(Time now) {
  std::erase_if(flows_, [&](const auto& entry) {
    Flow flow = entry.second;
    if (is_busy(flow.load) || flow.load.watches > 0 || flow.load.streams > 0) return false;
    refill(flow, now);
    return flow.load.tokens >= limits_.burst;
  });
}

}  // namespace yard
