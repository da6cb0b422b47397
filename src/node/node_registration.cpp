#include "node/node_registration.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace yard {
namespace {
const Resource kNode{"v1", "Node"};

// Others who write the node just then: somebody who labels it, a taint that is put on it.
constexpr int kMostConflicts = 10;
constexpr Duration kFirstPause = std::chrono::seconds(1), kLongestPause = std::chrono::seconds(30);
}  // namespace

NodeRegistration::NodeRegistration(Client& client, Loop& loop, Describe describe)
    : client_(client), loop_(loop), describe_(std::move(describe)) {}

NodeRegistration::~NodeRegistration() {
  *alive_ = false;
  for (const auto& [name, writing] : under_way_)
    loop_.cancel(writing.timer);
}

void NodeRegistration::write(const std::string& name) {
  const auto [entry, fresh] = under_way_.try_emplace(name);
  if (!fresh) {
    entry->second.again = true;
    return;
  }
  begin(name);
}

void NodeRegistration::begin(const std::string& name) {
  if (const ObjectPtr live = client_.get(kNode, "", name)) return update(name, live);
  client_.submit({ClientWrite::Verb::Create, kNode, "", name, describe_(name, Json())},
                 then(name, &NodeRegistration::update));
}

// A create adds the not-ready taint; the second pass takes it off and writes the status.
void NodeRegistration::update(const std::string& name, const Stored& made) {
  if (!made) return end(name, made);
  client_.submit({ClientWrite::Verb::Update, kNode, "", name, describe_(name, (*made)->tree())},
                 then(name, &NodeRegistration::update_status));
}

void NodeRegistration::update_status(const std::string& name, const Stored& updated) {
  if (!updated) return end(name, updated);
  client_.submit(
      {ClientWrite::Verb::UpdateStatus, kNode, "", name, describe_(name, (*updated)->tree())},
      then(name, &NodeRegistration::end));
}

void NodeRegistration::end(const std::string& name, const Stored& written) {
  Writing& writing = under_way_.at(name);
  const bool conflict = !written && (written.error().reason == Reason::Conflict ||
                                     written.error().reason == Reason::AlreadyExists);
  const bool at_once = conflict && ++writing.conflicts <= kMostConflicts;
  if (!written && !at_once) {
    writing.pause = std::clamp(2 * writing.pause, kFirstPause, kLongestPause);
    log_error("the node {} could not be written: {}", name, written.error().message);
    writing.conflicts = 0;
    writing.timer = loop_.after(writing.pause, [this, name] { begin(name); });
  } else if (std::exchange(writing.again, false) || at_once) {
    begin(name);
  } else {
    under_way_.erase(name);
  }
  if (at_once) return;
  if (const auto first = std::exchange(first_, nullptr)) first();
}

std::function<void(Result<ObjectPtr>)> NodeRegistration::then(
    const std::string& name, void (NodeRegistration::*step)(const std::string&, const Stored&)) {
  return [this, name, step, alive = alive_](const Stored& answer) {
    if (*alive) (this->*step)(name, answer);
  };
}

}  // namespace yard
