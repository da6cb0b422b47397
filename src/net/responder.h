#pragma once
// A request's way back from any thread to its connection.

#include <atomic>
#include <memory>

#include "net/connection.h"
#include "net/http.h"

namespace yard {

class ConnectionResponder : public Responder {
 public:
  explicit ConnectionResponder(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}
  ~ConnectionResponder() override;  // answers 500 when no one else did

  void send(HttpResponse response) override;
  std::shared_ptr<HttpStream> stream(int status, Headers headers) override;
  void upgrade(Headers headers, std::function<void(std::shared_ptr<Tunnel>)> use) override;
  void run_on_io(std::function<void()> task) override;

 private:
  std::shared_ptr<Connection> connection_;
  std::atomic<bool> answered_ = false;
};

}  // namespace yard
