#include "controllers/runtime/first_hearing.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace yard {
namespace {

constexpr size_t kObjectsPerTurn = 200;
constexpr Duration kBusyPause = std::chrono::milliseconds(1);

}  // namespace

void FirstHearing::begin(const Resource& resource, Setup setup) {
  resource_ = resource;
  setup_ = std::move(setup);
  objects_ = client_.list(resource);
  next_ = 0;
  current_ = std::make_shared<const bool>(true);
  run_turn();
}

void FirstHearing::run_turn() {
  const size_t end = std::min(objects_.size(), next_ + kObjectsPerTurn);
  while (next_ < end) {
    const ObjectPtr then = std::move(objects_[next_++]);
    if (const ObjectPtr now = client_.get(resource_, then->ns(), then->name())) setup_.hear(now);
  }
  if (!is_over()) return go_on();
  objects_ = {};
  next_ = 0;
  // It may begin the next one, which takes this one's place.
  if (const auto all_heard = std::exchange(setup_.then, {})) all_heard();
}

void FirstHearing::go_on() {
  const bool waits = setup_.is_busy && setup_.is_busy();
  auto task = [this, current = std::weak_ptr(current_), waits] {
    if (current.expired()) return;
    waits ? go_on() : run_turn();
  };
  if (waits) {
    loop_.after(kBusyPause, std::move(task));
  } else {
    loop_.post(std::move(task));
  }
}

}  // namespace yard
