#pragma once
// ClusterIPs: a listener on each address and port of a Service, and bytes carried to one of the
// pods behind it. TCP and UDP. Lives in the island, where every address of the service range is
// local; node ports are listened to on the host's loopback.

#include <map>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <vector>

#include "node/network/fd_loop.h"
#include "node/network/host_thread.h"
#include "node/network/service_turns.h"

namespace yard {

class ServiceForwarder {
 public:
  // What cannot be served is told in a sentence for the user.
  ServiceForwarder(FdLoop& loop, HostThread& host, std::function<void(std::string)> on_problem);
  ~ServiceForwarder();
  // `<address>|host <port> TCP|UDP [<targets>]` (service_turns.h); without targets the listener
  // goes, and whoever connects is refused.
  void set(std::string_view line);
  // Drops every listener that none of these lines names.
  void keep_only(const std::vector<std::string>& lines);

 private:
  struct Door {
    int fd = -1;
    bool is_udp = false;
    ServiceTurns turns;
  };
  // Two connections that are one for the pods at their ends.
  struct Half {
    int fd = -1;
    std::string waiting;  // for this end to take
    bool ended = false;   // this end sends nothing more
    bool told = false;    // and the other end knows
    bool connecting = false;
  };
  struct Pair {
    Half client, target;
  };
  // Who asked over UDP, and the socket that asks for it.
  struct Talk {
    int fd = -1;
    int door = -1;
    sockaddr_in client{};
    int age_s = 0;
  };

  int open_socket(bool on_host, int type);
  void open_door(const std::string& key, Door& door, const sockaddr_in& own, bool on_host);
  void close_door(Door& door);
  void accept_client(int door);
  void on_ready(const std::shared_ptr<Pair>& pair);
  bool carry(Half& from, Half& to);
  bool write_waiting(Half& half);
  void close_pair(const std::shared_ptr<Pair>& pair);
  void watch_pair(const Pair& pair);
  void read_door(int door);
  void read_talk(int fd);
  void tick();

  FdLoop& loop_;
  HostThread& host_;
  std::function<void(std::string)> on_problem_;
  Stopwatch stopwatch_;
  std::map<std::string, Door, std::less<>> doors_;
  std::map<int, std::string> door_of_;  // by listener
  std::map<int, std::shared_ptr<Pair>> pairs_;
  std::map<int, Talk> talks_;
  std::map<std::string, int> talk_of_;  // door and client
  SecondTicks ticks_;
};

}  // namespace yard
