#pragma once
// Streams of a pod (exec, attach, port-forward, log) as their user holds them: counted in the
// user's budget while they last, and cut when the user's rights end.

#include <memory>

#include "base/loop.h"
#include "net/http.h"

namespace yard {

// The seat and the rights of one stream: given back on the loop, wherever its last user lets go.
class StreamHold {
 public:
  StreamHold(Loop& loop, std::shared_ptr<void> seat) : loop_(loop), seat_(std::move(seat)) {}
  ~StreamHold();
  StreamHold(const StreamHold&) = delete;
  StreamHold& operator=(const StreamHold&) = delete;
  void keep(std::shared_ptr<void> rights) { rights_ = std::move(rights); }  // loop thread

 private:
  Loop& loop_;
  std::shared_ptr<void> seat_, rights_;
};

// A way out of HTTP whose connection can be cut from outside. It lives as long as the session that
// was given it.
class CuttableResponder : public Responder, public std::enable_shared_from_this<CuttableResponder> {
 public:
  CuttableResponder(std::shared_ptr<Responder> below, std::shared_ptr<StreamHold> hold)
      : below_(std::move(below)), hold_(std::move(hold)) {}

  void cut();  // any thread

  void send(HttpResponse response) override { below_->send(std::move(response)); }
  std::shared_ptr<HttpStream> stream(int status, Headers headers) override {
    return below_->stream(status, std::move(headers));
  }
  void upgrade(Headers headers, std::function<void(std::shared_ptr<Tunnel>)> use) override;
  void run_on_io(std::function<void()> task) override { below_->run_on_io(std::move(task)); }

 private:
  std::shared_ptr<Responder> below_;
  std::shared_ptr<StreamHold> hold_;
  std::weak_ptr<Tunnel> tunnel_;  // of the I/O thread, as is the next
  bool is_cut_ = false;
};

}  // namespace yard
