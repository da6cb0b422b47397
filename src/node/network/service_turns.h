#pragma once
// Which of the pods behind a service is next, or stays with a client that it had before
// (sessionAffinity: ClientIP). Pure: the time is given.

#include <cstdint>
#include <map>
#include <netinet/in.h>
#include <string_view>
#include <vector>

#include "node/network/ipv4.h"

namespace yard {

class ServiceTurns {
 public:
  // `<address>:<port>,...[,affinity=<seconds>]`; false: it names no target.
  bool set(std::string_view targets);
  // Only after a `set` that named one.
  const sockaddr_in& next(Ipv4 client, int64_t now_s);

 private:
  struct Kept {
    sockaddr_in target{};
    int64_t until_s = 0;
  };
  void forget_clients(int64_t now_s);
  std::vector<sockaddr_in> targets_;
  int64_t affinity_s_ = 0;  // 0: everybody takes turns
  size_t turn_ = 0;
  std::map<Ipv4, Kept> clients_;
};

// An address and a port in the kernel's form; nullopt: they are none.
std::optional<sockaddr_in> socket_address(std::string_view address, std::string_view port);

}  // namespace yard
