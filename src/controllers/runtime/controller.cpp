#include "controllers/runtime/controller.h"

#include <fmt/format.h>

#include "base/log.h"

namespace yard {
namespace {

constexpr size_t kKeysPerTurn = 32;  // so that others of the loop get their turn

const char* verb_text(ClientWrite::Verb verb) {
  switch (verb) {
    case ClientWrite::Verb::Create: return "create";
    case ClientWrite::Verb::Update: return "update";
    case ClientWrite::Verb::UpdateStatus: return "status";
    case ClientWrite::Verb::Finalize: return "finalize";
    case ClientWrite::Verb::MergePatch: return "patch";
    case ClientWrite::Verb::Delete: return "delete";
    case ClientWrite::Verb::Bind: return "bind";
  }
  return "";
}

// The world moved on while the plan was made. A NotFound may even come before reads show the
// removal, so that also a delete that finds nothing is looked at again, and not at once.
bool is_expected(const Error& why) {
  return why.reason == Reason::Conflict || why.reason == Reason::NotFound;
}

}  // namespace

std::string to_text(const ClientWrite& write) {
  std::string text = fmt::format("{} {}", verb_text(write.verb),
                                 to_text(ObjectKey{write.resource, write.ns, write.name}));
  if (write.verb == ClientWrite::Verb::MergePatch) text += " " + to_text(write.object);
  if (write.verb == ClientWrite::Verb::Delete) {
    const std::string_view policy = text_at(write.object, {"propagationPolicy"});
    if (!policy.empty()) text += fmt::format(" ({})", policy);
  }
  return text;
}

std::string to_text(const Plan& plan) {
  std::string text;
  const auto add_line = [&](const std::string& line) { text += (text.empty() ? "" : "\n") + line; };
  for (const ClientWrite& write : plan.writes)
    add_line(to_text(write));
  if (plan.last) add_line(to_text(*plan.last));
  for (const EventNote& note : plan.events)
    add_line(fmt::format("event {}: {}", note.reason, note.message));
  if (plan.requeue_after) {
    add_line("again after " + human_duration(*plan.requeue_after));
  }
  return text;
}

// One plan under way.
struct Controller::Pass {
  ObjectKey key;
  std::optional<ClientWrite> last;
  std::optional<Duration> requeue_after;
  std::vector<EventNote> events;
  size_t waits_for = 0;
  bool failed = false;
};

Controller::Controller(Loop& loop, Client& client, ControllerSetup setup)
    : loop_(loop),
      client_(client),
      setup_(std::move(setup)),
      queue_(loop, setup_.limits, [this] { wake(); }) {}

Controller::~Controller() = default;

void Controller::wake() {
  if (is_posted_ || in_work_ >= setup_.most_in_work) return;
  is_posted_ = true;
  loop_.post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) run_turn();
  });
}

void Controller::run_turn() {
  is_posted_ = false;
  for (size_t ran = 0; ran < kKeysPerTurn && in_work_ < setup_.most_in_work; ++ran) {
    const auto key = queue_.take();
    if (!key) break;
    run_next(*key);
  }
  if (queue_.has_ready()) return wake();
  if (queue_.take_overflow()) {
    log_warning("{}: the queue was full; every object is looked at again", setup_.name);
    if (setup_.add_all) setup_.add_all();
  }
}

void Controller::run_next(const ObjectKey& key) {
  Plan plan = setup_.plan(key);
  if (log_level() <= LogLevel::Debug && !plan.is_nothing())
    log_debug("{}: {}: {}", setup_.name, to_text(key), to_text(plan));
  const auto pass = std::make_shared<Pass>(Pass{key, std::move(plan.last), plan.requeue_after,
                                                std::move(plan.events), plan.writes.size()});
  ++in_work_;
  for (ClientWrite& write : plan.writes)
    submit(pass, std::move(write));
  if (pass->waits_for != 0) return;
  if (!pass->last) return finish(*pass);
  pass->waits_for = 1;
  submit(pass, *std::exchange(pass->last, std::nullopt));
}

void Controller::submit(const std::shared_ptr<Pass>& pass, ClientWrite write) {
  ClientWrite asked{write.verb, write.resource, write.ns, write.name, {}};
  client_.submit(std::move(write), [this, alive = std::weak_ptr(alive_), pass,
                                    asked = std::move(asked)](const Result<ObjectPtr>& answer) {
    if (!alive.expired()) answered(pass, asked, answer);
  });
}

void Controller::answered(const std::shared_ptr<Pass>& pass, const ClientWrite& asked,
                          const Result<ObjectPtr>& answer) {
  if (setup_.heard) setup_.heard(pass->key, asked, answer);
  if (!answer) {
    pass->failed = true;
    log_at(is_expected(answer.error()) ? LogLevel::Debug : LogLevel::Warning, "{}: {}: {}",
           setup_.name, to_text(asked), answer.error().message);
  }
  if (--pass->waits_for != 0) return;
  if (pass->failed || !pass->last) return finish(*pass);
  pass->waits_for = 1;
  submit(pass, *std::exchange(pass->last, std::nullopt));
}

// Any error means: observe again, a little later each time.
void Controller::finish(const Pass& pass) {
  --in_work_;
  if (!pass.failed && setup_.tell) {
    for (const EventNote& note : pass.events)
      setup_.tell(pass.key, note);
  }
  if (setup_.ended) setup_.ended(pass.key, !pass.failed);
  if (pass.failed) {
    queue_.add_rate_limited(pass.key);
  } else {
    queue_.forget(pass.key);
    if (pass.requeue_after) queue_.add_after(pass.key, *pass.requeue_after);
  }
  queue_.done(pass.key);
  if (queue_.has_ready()) wake();
}

}  // namespace yard
