#pragma once
// How much of the server one user may have at a time. A flood by one leaves room for the others: in
// effect what API priority and fairness does, with one flow a user and nobody ever queued.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/time.h"

namespace yard {

struct BudgetLimits {
  // Seats in flight, of all and of one user. Requests of HTTP/1.1 wait on their connection, so a
  // client with 32 of them never has more than 32.
  int most_reads = 512, most_writes = 256;
  int most_reads_of_one = 256, most_writes_of_one = 128;
  int list_seats = 4;  // a list costs more than a get
  int most_watches_of_one = 2000;
  int most_streams_of_one = 500;  // exec, attach, port-forward, logs and proxied answers
  // Of one user who is no administrator.
  double requests_per_second = 2000;
  double burst = 4000;
};

enum class RequestSort { Read, List, Write };

// What is known of one user when a request of theirs comes in.
struct UserLoad {
  int reads = 0, writes = 0, watches = 0;  // seats taken
  double tokens = 0;                       // requests they may make at once
  int streams = 0;
};
struct ServerLoad {
  int reads = 0, writes = 0;
  int users = 1;  // with a request in flight, the one who asks included
};
struct BudgetDecision {
  bool admitted = true;
  int retry_after_seconds = 0;
};

// Pure. A user below their fair share is admitted even when others have taken all there is.
BudgetDecision decide_budget(const BudgetLimits& limits, RequestSort sort, bool is_rated,
                             const UserLoad& user, const ServerLoad& server);

// Any thread.
class RequestBudget : public std::enable_shared_from_this<RequestBudget> {
 public:
  explicit RequestBudget(BudgetLimits limits) : limits_(limits) {}

  // Given back when the last copy goes.
  using Seat = std::shared_ptr<void>;
  struct Answer {
    Seat seat;  // null: refused
    int retry_after_seconds = 0;
  };
  Answer take(const std::string& user, bool is_admin, RequestSort sort, Time now);
  Answer take_watch(const std::string& user);
  Answer take_stream(const std::string& user);
  uint64_t refused() const { return refused_; }

 private:
  struct Flow {
    UserLoad load;
    Time filled{};
  };
  Answer refuse(int seconds);
  Answer take_lasting(const std::string& user, int UserLoad::*which, int most);
  Seat seat_of(const std::string& user, int UserLoad::*which, int seats);
  void release(const std::string& user, int UserLoad::*which, int seats);
  void refill(Flow& flow, Time now) const;
  void forget_idle(Time now);

  const BudgetLimits limits_;
  std::atomic<uint64_t> refused_{0};
  mutable std::mutex mutex_;
  std::map<std::string, Flow> flows_;
  int reads_ = 0, writes_ = 0, busy_users_ = 0;
};

}  // namespace yard
