#pragma once
// A worker that starts beside its master asks for it before it listens, is refused, and, as most
// frameworks do, tries again a second later. Its program may run meanwhile; only its connect() to
// that port is held back by the kernel until the shim has found that the port accepts.

#include <cstdint>
#include <poll.h>
#include <string>
#include <vector>

namespace shim {

struct AwaitedPort {
  std::string address;  // "": nothing is waited for
  int port = 0;
  int64_t for_ms = 0;  // then nobody waits any longer
};

// In the process that is to be the container, before its exec: from now on its connects ask first.
// Sends the descriptor to ask on over `socket`. Where the kernel cannot do that it waits itself.
void hold_connects(const AwaitedPort& awaited, int socket);

// In the shim: answers those who ask.
class ConnectGate {
 public:
  ConnectGate() = default;
  ConnectGate(const ConnectGate&) = delete;
  ConnectGate& operator=(const ConnectGate&) = delete;
  ~ConnectGate() { close_questions(); }

  // Takes the descriptor over; -1: nobody will ask.
  void open(int questions, const AwaitedPort& awaited, int64_t now_ns);
  int descriptor() const { return questions_; }
  void answer_next(short events);
  // Knocks at the port for those who wait. Milliseconds until it is to be called again; -1: not.
  int look(int64_t now_ns);

 private:
  void let_go(uint64_t question);
  void close_questions();

  int questions_ = -1;
  bool is_open_ = false;
  AwaitedPort awaited_;
  int64_t until_ns_ = 0;
  std::vector<uint64_t> waiting_;
};

}  // namespace shim
