#pragma once
// What every controller shares: a queue of keys, and for each key observe → plan → act. A key is
// held until every write of its plan is answered, and an answer comes only after reads show the
// write (client/client.h), so a planner never sees a world older than its own last decision. Loop
// thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/event_recorder.h"
#include "controllers/runtime/work_queue.h"

namespace yard {

// What a planner wants done. Running a plan twice must change nothing more.
struct Plan {
  std::vector<ClientWrite> writes;        // submitted together, in this order
  std::optional<ClientWrite> last;        // submitted once all of them went well: the status write
  std::optional<Duration> requeue_after;  // look again, also when nothing changes meanwhile
  std::vector<EventNote> events =
      {};  // about the key's object; told once everything above went well
  bool is_nothing() const { return writes.empty() && !last && !requeue_after && events.empty(); }
};
// One line a write: `delete Pod default/a (Background)`, and `again after 5s` at the end. "" is
// nothing.
std::string to_text(const Plan& plan);
std::string to_text(const ClientWrite& write);

struct ControllerSetup {
  std::string name;  // in log lines
  std::function<Plan(const ObjectKey&)>
      plan;  // observes and plans; an object that is gone is no error
  // Adds every key that may need work. Called after keys were dropped from a full queue.
  std::function<void()> add_all = {};
  size_t most_in_work = 64;  // keys whose writes are under way
  WorkQueueLimits limits = {};
  // For controllers that tell or remember something: each answer, each event of a plan that went
  // well, and the end of each pass. `asked` carries no object.
  std::function<void(const ObjectKey&, const ClientWrite& asked, const Result<ObjectPtr>&)> heard =
      {};
  std::function<void(const ObjectKey&, const EventNote&)> tell = {};
  std::function<void(const ObjectKey&, bool went_well)> ended = {};
};

class Controller {
 public:
  Controller(Loop& loop, Client& client, ControllerSetup setup);
  ~Controller();  // what is under way is still written; nobody hears the answers
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  void add(const ObjectKey& key) { queue_.add(key); }
  void add_after(const ObjectKey& key, Duration delay) { queue_.add_after(key, delay); }
  bool is_idle() const { return queue_.is_idle(); }
  size_t waiting() const { return queue_.waiting(); }  // keys that could be planned now

 private:
  struct Pass;
  void wake();
  void run_turn();
  void run_next(const ObjectKey& key);
  void submit(const std::shared_ptr<Pass>& pass, ClientWrite write);
  void answered(const std::shared_ptr<Pass>& pass, const ClientWrite& asked,
                const Result<ObjectPtr>& answer);
  void finish(const Pass& pass);

  Loop& loop_;
  Client& client_;
  const ControllerSetup setup_;
  WorkQueue queue_;
  size_t in_work_ = 0;
  bool is_posted_ = false;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace yard
