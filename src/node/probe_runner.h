#pragma once
// Asks a container what a probe or a hook says: a command in it, or a connection to it. Loop
// thread; nothing here waits.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "node/handler_call.h"
#include "node/pod_runtime.h"

namespace yard {

class ProbeRunner {
 public:
  ProbeRunner(Loop& loop, PodRuntime& runtime) : loop_(loop), runtime_(runtime) {}
  ~ProbeRunner();

  // For a hook any HTTP answer is good. `done` is called once, within about `timeout`, never
  // inline.
  void run(const std::string& uid, const std::string& container, HandlerCall call, HandlerUse use,
           Duration timeout, std::function<void(HandlerOutcome)> done);

 private:
  struct Exchange;
  using ExchangePtr = std::shared_ptr<Exchange>;
  void begin(const ExchangePtr& exchange, int fd);
  void read_on(const ExchangePtr& exchange);
  void finish(const ExchangePtr& exchange, HandlerOutcome outcome);

  Loop& loop_;
  PodRuntime& runtime_;
  std::map<int, ExchangePtr> exchanges_;  // by descriptor
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
