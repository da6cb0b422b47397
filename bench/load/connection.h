#pragma once
// One HTTPS connection of the load: non-blocking, one request in flight, driven by an Engine
// (epoll). Everything here runs on one thread; the generator must cost little beside the server it
// measures.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "load/answer_reader.h"
#include "load/target.h"

namespace yard::bench {

using Clock = std::chrono::steady_clock;

class Connection;

// What a workload hears. `closed` is the last thing said of a connection.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual void opened(Connection&) = 0;
  virtual void body(Connection&, std::string_view) {}
  virtual void answered(Connection&, int status) = 0;
  virtual void closed(Connection&, const std::string& why) = 0;
};

class Engine {
 public:
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Runs until stop() or the deadline; true when it was stop(). `tick`, if any, runs after every
  // turn and says when it wants to run again at the latest.
  bool run_until(Clock::time_point deadline, const std::function<Clock::time_point()>& tick = {});
  void stop() { stopped_ = true; }
  int epoll() const { return epoll_; }

 private:
  int epoll_;
  bool stopped_ = false;
};

class Connection {
 public:
  // `id` is the workload's own number for it.
  Connection(Engine& engine, const Target& target, Workload& workload, size_t id);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void open();  // opened() follows, or closed(), which may come at once
  void send(std::string_view request);
  void progress();  // the engine calls it when the socket is ready
  void close(const std::string& why);
  bool is_open() const { return step_ == Step::Open; }
  size_t id() const { return id_; }

 private:
  enum class Step { New, Handshake, Open, Closed };
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  void shake_hands();
  void flush();
  void read();
  void take(std::string_view bytes);
  void want(unsigned events);

  Engine& engine_;
  const Target& target_;
  Workload& workload_;
  const size_t id_;
  Step step_ = Step::New;
  int socket_ = -1;
  unsigned wanted_ = 0;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  std::string out_;
  AnswerReader answer_;
  AnswerReader::OnBody on_body_;
};

}  // namespace yard::bench
