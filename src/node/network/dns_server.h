#pragma once
// The island's DNS: answers the cluster's names from a zone, asks the host's own resolvers for all
// others (also where they are 127.0.0.53). UDP and TCP; bounded in everything a pod can make grow.

#include <list>
#include <memory>
#include <netinet/in.h>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "node/network/dns_message.h"
#include "node/network/dns_zone.h"
#include "node/network/fd_loop.h"
#include "node/network/host_thread.h"

namespace yard {

class DnsServer {
 public:
  DnsServer(FdLoop& loop, HostThread& host, uint64_t seed);
  ~DnsServer();
  Result<void> listen(Ipv4 address);  // in the calling thread's namespace
  DnsZone& zone() { return zone_; }
  void replace_zone(DnsZone zone) { zone_ = std::move(zone); }

 private:
  // Who is to get an answer.
  struct Asker {
    sockaddr_in address{};  // over UDP
    int stream = -1;        // or the connection it asked on
  };
  // A connection of a pod that asks over TCP, one question at a time.
  struct Stream {
    int fd = -1;
    std::string in, out;
    bool waiting = false;  // for an upstream
    int age_s = 0;
  };
  // A question on its way to a resolver of the host.
  struct Forward {
    int fd = -1;  // of the host's network
    bool over_tcp = false;
    Asker asker;
    DnsQuestion question;
    std::string message;             // as it was asked, or ours for an alias
    uint16_t id = 0;                 // ours
    std::vector<DnsRecord> aliases;  // what leads to the name that is asked
    size_t server = 0;               // which of the resolvers is asked
    std::string in, out;             // over TCP
    int age_s = 0;
  };
  using ForwardAt = std::list<Forward>::iterator;

  void read_datagrams();
  void accept_streams();
  void read_stream(Stream& stream);
  void write_stream(Stream& stream);
  void close_stream(int fd);
  void take_question(std::string_view message, const Asker& asker);
  void answer(const DnsQuestion& question, const DnsAnswer& answer, const Asker& asker);
  void reply(const Asker& asker, std::string message);
  void forward(std::string_view message, const DnsQuestion& question, const Asker& asker,
               std::vector<DnsRecord> aliases);
  bool ask_next_server(Forward& forward);
  void read_forward(int fd);
  void finish_forward(ForwardAt forward, std::string message);
  void drop_forward(ForwardAt forward);
  void give_up(ForwardAt forward);
  void tick();
  void run_ticks() { ticks_.set_running(!forwards_.empty() || !streams_.empty()); }

  FdLoop& loop_;
  HostThread& host_;
  Random random_;
  DnsZone zone_;
  size_t turn_ = 0;
  int datagrams_ = -1, listener_ = -1;
  std::map<int, std::unique_ptr<Stream>> streams_;
  std::list<Forward> forwards_;
  SecondTicks ticks_;
};

}  // namespace yard
