#pragma once
// Makes pods' network namespaces on a thread of its own, one millisecond each: DNS and forwarding
// do not wait for it. A namespace has lo, eth0 with its address on the island's bridge, and a
// default route; it lives as long as someone holds its descriptor or runs in it.

#include <condition_variable>
#include <deque>
#include <mutex>
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
  struct Made {
    Ipv4 address = 0;
    Result<int> fd = -1;  // the caller owns it
  };
  int ready_fd() const { return ready_; }  // readable when take() has something
  std::vector<Made> take();

 private:
  void work();
  const int island_, bridge_, ready_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ipv4> waiting_;
  std::vector<Made> made_;
  bool ending_ = false;
  std::thread thread_;
};

// Of the calling thread's namespace; nothing is said where there is no such file.
void write_sysctl(const char* path, const char* text);

}  // namespace yard
