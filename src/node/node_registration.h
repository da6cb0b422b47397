#pragma once
// Writes the objects of this machine's nodes. What a node should say changes while it is being
// written (the network, images, GPUs, pressure): it is written again then, from the newest facts,
// so that the last word is the one that stays. A write that fails is tried again: without its node
// no pod has a place.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

class NodeRegistration {
 public:
  // The node as it should be, after what is stored of it (null: nothing is).
  using Describe = std::function<Json(const std::string& name, const Json& stored)>;

  NodeRegistration(Client& client, Loop& loop, Describe describe);
  ~NodeRegistration();

  void write(const std::string& name);
  // Called once, when the first write has ended, well or not.
  void on_first(std::function<void()> callback) { first_ = std::move(callback); }

 private:
  struct Writing {
    bool again = false;
    int conflicts = 0;
    Duration pause{};  // before the next try, when the last one failed
    TimerId timer = 0;
  };
  using Stored = Result<ObjectPtr>;

  void begin(const std::string& name);
  void update(const std::string& name, const Stored& made);
  void update_status(const std::string& name, const Stored& updated);
  void end(const std::string& name, const Stored& written);
  // `step` of a write, unless this is gone by then.
  std::function<void(Stored)> then(const std::string& name,
                                   void (NodeRegistration::*step)(const std::string&,
                                                                  const Stored&));

  Client& client_;
  Loop& loop_;
  Describe describe_;
  std::map<std::string, Writing> under_way_;
  std::function<void()> first_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
