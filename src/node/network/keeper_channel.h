#pragma once
// What the server and the island's keeper say to each other over a Unix stream: frames of a length
// and a text, some with descriptors. One end may be newer than the other by one version.
//
//   server                                   keeper
//   hello <version>                          hello <version> <pid>, with the island's namespace
//   and,
//                                            of an ordinary user, the user namespace that owns it
//   make <address>                           made <address>, with a namespace | refused <address>
//   <why> renew <address>, with one that was used  made, or dropped <address> (version 2)
//   listen <address> <port>                  listening, with a listener | refused listen
//   <why> names begin                              what follows replaces all names and forwards at
//   `commit` names add|remove, then lines             records of DnsZone forwards, then lines
//   <address>|host <port> <protocol> [<target>,...[,affinity=<seconds>]]; none: gone
//   names commit
//   end                                      the keeper ends
//                                            note <a sentence for the user: what does not work>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace yard {

// 2: renew.
inline constexpr int kKeeperVersion = 2, kFirstThatRenews = 2;

class KeeperChannel {
 public:
  explicit KeeperChannel(int fd);  // owns it; made non-blocking
  ~KeeperChannel();
  KeeperChannel(const KeeperChannel&) = delete;

  int fd() const { return fd_; }
  // Queued and sent as far as the socket takes it. Owns the descriptors.
  void send(std::string_view text, std::vector<int> descriptors = {});
  bool flush();  // false: the other end is gone
  bool has_unsent() const { return !unsent_.empty(); }
  // Calls `on_frame` for every whole frame that has come. False: the other end is gone, or some of
  // its descriptors could not come.
  bool receive(const std::function<void(std::string_view text)>& on_frame);
  // The oldest descriptor that has come and was not taken; the caller owns it.
  std::optional<int> take_descriptor();

 private:
  struct Unsent {
    std::string bytes;
    std::vector<int> descriptors;
  };
  int fd_;
  bool broken_ = false;
  std::deque<Unsent> unsent_;
  std::string received_;
  std::deque<int> descriptors_;
};

}  // namespace yard
