#pragma once
// Makes pods' network namespaces on a thread of its own, one millisecond each: DNS and forwarding
// do not wait for it. A namespace has lo, eth0 with its address on the island's bridge, and a
// default route; it lives as long as someone holds its descriptor or runs in it. One that a pod has
// left is made ready for another (node/network/namespace_reuse.h).

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "node/network/ipv4.h"

namespace yard {

class NamespaceMaker {
 public:
  // To be made in the island; `island` is its namespace, `bridge` the index of its bridge.
  NamespaceMaker(int island, int bridge);
  ~NamespaceMaker();

  void make(Ipv4 address);
  // Gives a namespace that was used a new address. Owns it.
  void renew(Ipv4 address, int used);
  struct Made {
    Ipv4 address = 0;
    std::optional<Result<int>> fd;  // the caller owns it; none: what was used was not clean
  };
  int ready_fd() const { return ready_; }  // readable when take() has something
  std::vector<Made> take();

 private:
  struct Order {
    Ipv4 address = 0;
    int used = -1;  // below 0: a new one
  };
  void add(Order order);
  void work();
  const int island_, bridge_, ready_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Order> waiting_;
  std::vector<Made> made_;
  bool ending_ = false;
  std::thread thread_;
};

// Of the calling thread's namespace; nothing is said where there is no such file.
void write_sysctl(const char* path, const char* text);

}  // namespace yard
