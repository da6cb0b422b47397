#pragma once
// Asks a container what a probe or a hook says: a command in it, or a connection to it. Loop
// thread; nothing here waits.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/tls_stream.h"
#include "node/handler_call.h"
#include "node/pod_runtime.h"

namespace yard {

class ProbeRunner {
 public:
  ProbeRunner(Loop& loop, PodRuntime& runtime) : loop_(loop), runtime_(runtime) {}
  ~ProbeRunner();
  // Who speaks TLS for scheme HTTPS; without one such handlers are not asked.
  void set_tls(TlsMaker maker) { tls_maker_ = std::move(maker); }

  // For a hook any HTTP answer is good. `done` is called once, within about `timeout`, never
  // inline.
  void run(const std::string& uid, const std::string& container, HandlerCall call, HandlerUse use,
           Duration timeout, std::function<void(HandlerOutcome)> done);

 private:
  struct Exchange;
  using ExchangePtr = std::shared_ptr<Exchange>;
  void connect(const std::string& uid, const ExchangePtr& exchange);
  void begin(const ExchangePtr& exchange, int fd);
  bool send_bytes(const ExchangePtr& exchange, const std::string& bytes);
  void read_on(const ExchangePtr& exchange);
  bool decrypt(const ExchangePtr& exchange, std::string_view bytes);
  // nullopt: it goes on elsewhere.
  void finish(const ExchangePtr& exchange, std::optional<HandlerOutcome> outcome);

  Loop& loop_;
  PodRuntime& runtime_;
  TlsMaker tls_maker_;
  std::map<int, ExchangePtr> exchanges_;  // by descriptor
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
