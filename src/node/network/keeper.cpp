#include "node/network/keeper.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "node/files.h"
#include "node/network/dns_server.h"
#include "node/network/island.h"
#include "node/network/keeper_channel.h"
#include "node/network/namespace_maker.h"
#include "node/network/outbound.h"
#include "node/network/service_forwarder.h"

namespace yard {
namespace {

constexpr size_t kMostServers = 8;  // one, and whoever says `end`
constexpr int kBacklog = 8;
constexpr size_t kMostNotes = 16;

class Keeper {
 public:
  Keeper(KeeperOptions options, HostThread& host, Island island)
      : options_(std::move(options)),
        host_(host),
        island_(island),
        dns_(loop_, host, seed_from_kernel()),
        forwarder_(loop_, host, [this](const std::string& problem) { note(problem); }),
        maker_(island.net, island.bridge),
        outbound_done_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Keeper();

  Result<void> open();
  void run() { loop_.run(); }
  void add_server(int fd);

 private:
  struct Server {
    explicit Server(int fd) : channel(fd) {}
    KeeperChannel channel;
    // Between `names begin` and `commit`.
    std::optional<DnsZone> zone;
    std::vector<std::string> forwards;
  };

  Result<void> listen_on_socket();
  void accept_server();
  void read_servers();
  void obey(Server& server, std::string_view text);
  void obey_names(Server& server, std::string_view what, std::string_view lines);
  void open_listener(Server& server, std::string_view address, std::string_view port);
  void hand_out_namespaces();
  void read_links();
  void end_if_alone();
  void tell_about_outbound(Server& server);
  void watch_outbound();
  void note(const std::string& sentence);

  KeeperOptions options_;
  HostThread& host_;
  Island island_;
  FdLoop loop_;
  DnsServer dns_;
  ServiceForwarder forwarder_;
  NamespaceMaker maker_;
  std::optional<NetlinkSocket> links_, queries_;
  std::list<Server> servers_;
  std::vector<std::string> notes_;      // also for servers that come later
  std::multimap<Ipv4, Server*> asked_;  // who waits for which namespace
  int listener_ = -1;
  std::thread outbound_;
  std::mutex outbound_mutex_;
  Outbound way_out_;
  int outbound_done_;
};

Result<void> Keeper::open() {
  TRY(dns_.listen(kDnsAddress));
  NetlinkSocket links = TRY(NetlinkSocket::open());
  links_.emplace(std::move(links));
  links_->follow_links(true);
  NetlinkSocket queries = TRY(NetlinkSocket::open());
  queries_.emplace(std::move(queries));
  TRY(listen_on_socket());
  loop_.watch(links_->fd(), EPOLLIN, [this](uint32_t) { read_links(); });
  loop_.watch(maker_.ready_fd(), EPOLLIN, [this](uint32_t) { hand_out_namespaces(); });
  loop_.watch(listener_, EPOLLIN, [this](uint32_t) { accept_server(); });
  // What a server has said is known before any question is answered: a name that was sent before
  // its pod was started is there when that pod asks.
  loop_.before_each_turn([this] { read_servers(); });
  // Takes a while: nobody waits for it.
  outbound_ = std::thread([this] {
    Outbound made = start_outbound(host_);
    const std::lock_guard lock(outbound_mutex_);
    way_out_ = std::move(made);
    const uint64_t one = 1;
    if (write(outbound_done_, &one, sizeof one) < 0)
      log_warning("the keeper could not wake itself");
  });
  loop_.watch(outbound_done_, EPOLLIN, [this](uint32_t) {
    uint64_t ignored = 0;
    if (read(outbound_done_, &ignored, sizeof ignored) < 0) return;
    for (Server& server : servers_)
      tell_about_outbound(server);
    watch_outbound();
  });
  return {};
}

Keeper::~Keeper() {
  if (outbound_.joinable()) outbound_.join();
  end_outbound(way_out_);
  close(outbound_done_);
}

void Keeper::tell_about_outbound(Server& server) {
  const std::lock_guard lock(outbound_mutex_);
  if (!way_out_.problem.empty()) server.channel.send("note " + way_out_.problem);
}

void Keeper::note(const std::string& sentence) {
  if (notes_.size() >= kMostNotes || std::ranges::find(notes_, sentence) != notes_.end()) return;
  notes_.push_back(sentence);
  for (Server& server : servers_)
    server.channel.send("note " + sentence);
}

void Keeper::watch_outbound() {
  const int process =
      way_out_.pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, way_out_.pid, 0)) : -1;
  if (process < 0) return;
  loop_.watch(process, EPOLLIN, [this, process](uint32_t) {
    loop_.forget(process);
    close(process);
    end_outbound(way_out_);
    way_out_ = {
        "pods cannot reach the world any more: slirp4netns ended (`trainyard down` and `up` "
        "start it again)"};
    for (Server& server : servers_)
      tell_about_outbound(server);
  });
}

Result<void> Keeper::listen_on_socket() {
  unlink("sock");
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "sock");  // relative: the state folder's path may be too long
  if (listener_ < 0 ||
      bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      chmod("sock", 0600) != 0 || listen(listener_, kBacklog) != 0)
    return system_error("cannot listen on the keeper's socket");
  return {};
}

void Keeper::accept_server() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  // In a user namespace our own id reads as 0, and the host's root as nobody's.
  if (!known || (peer.uid != geteuid() && peer.uid != 0) || servers_.size() >= kMostServers) {
    close(fd);
    return;
  }
  add_server(fd);
}

void Keeper::add_server(int fd) {
  servers_.emplace_back(fd);
  links_->follow_links(false);
  loop_.watch(fd, EPOLLIN, [](uint32_t) {});  // read at the beginning of the turn
}

void Keeper::read_servers() {
  for (auto at = servers_.begin(); at != servers_.end();) {
    const auto server = at++;
    const bool open = server->channel.receive([&](std::string_view text) { obey(*server, text); });
    if (open && server->channel.flush()) {
      loop_.change(server->channel.fd(),
                   server->channel.has_unsent() ? EPOLLIN | EPOLLOUT : EPOLLIN);
      continue;
    }
    std::erase_if(asked_, [&](const auto& entry) { return entry.second == &*server; });
    loop_.forget(server->channel.fd());
    servers_.erase(server);
    // While a server is there it does not matter how many pods are.
    links_->follow_links(servers_.empty());
    end_if_alone();
  }
}

void Keeper::obey(Server& server, std::string_view text) {
  const size_t line_end = std::min(text.find('\n'), text.size());
  const auto words = split(text.substr(0, line_end), ' ');
  const std::string_view lines = text.substr(std::min(line_end + 1, text.size()));
  if (words[0] == "hello") {
    std::vector<int> descriptors{dup(island_.net)};
    if (island_.user >= 0) descriptors.push_back(dup(island_.user));
    server.channel.send(fmt::format("hello {} {}", kKeeperVersion, getpid()), descriptors);
    tell_about_outbound(server);
    for (const std::string& sentence : notes_)
      server.channel.send("note " + sentence);
  } else if (words[0] == "make" && words.size() == 2) {
    const auto address = parse_ipv4(words[1]);
    if (!address || !kPodRange.contains(*address))
      return server.channel.send(fmt::format("refused {} it is no address of a pod", words[1]));
    asked_.emplace(*address, &server);
    maker_.make(*address);
  } else if (words[0] == "renew" && words.size() == 2) {
    const auto used = server.channel.take_descriptor();
    const auto address = parse_ipv4(words[1]);
    if (!used || !address || !kPodRange.contains(*address)) {
      if (used) close(*used);
      return server.channel.send(fmt::format("dropped {}", words[1]));
    }
    asked_.emplace(*address, &server);
    maker_.renew(*address, *used);
  } else if (words[0] == "listen" && words.size() == 3) {
    open_listener(server, words[1], words[2]);
  } else if (words[0] == "names" && words.size() == 2) {
    obey_names(server, words[1], lines);
  } else if (words[0] == "forwards") {
    for (const std::string_view line : split(lines, '\n')) {
      if (server.zone) {
        server.forwards.emplace_back(line);
      } else {
        forwarder_.set(line);
      }
    }
  } else if (words[0] == "end") {
    loop_.stop();
  }
}

void Keeper::obey_names(Server& server, std::string_view what, std::string_view lines) {
  if (what == "begin") {
    server.zone.emplace();
    server.forwards.clear();
    return;
  }
  if (what == "commit") {
    if (!server.zone) return;
    dns_.replace_zone(std::move(*server.zone));
    server.zone.reset();
    forwarder_.keep_only(server.forwards);
    for (const std::string& line : server.forwards)
      forwarder_.set(line);
    server.forwards.clear();
    return;
  }
  DnsZone& zone = server.zone ? *server.zone : dns_.zone();
  for (const std::string_view line : split(lines, '\n'))
    what == "add" ? zone.add(line) : zone.remove(line);
}

// The API server's own listener, made here and held by the server alone: while there is none, pods
// are refused at once.
void Keeper::open_listener(Server& server, std::string_view address, std::string_view port) {
  const auto host = parse_ipv4(address);
  const auto number = parse_uint64(port);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(host.value_or(0));
  own.sin_port = htons(static_cast<uint16_t>(number.value_or(0)));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!host || !number || fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 ||
      listen(fd, SOMAXCONN) != 0) {
    server.channel.send(fmt::format("refused listen {}:{}: {}", address, port, strerror(errno)));
    if (fd >= 0) close(fd);
    return;
  }
  server.channel.send("listening", {fd});
}

void Keeper::hand_out_namespaces() {
  for (NamespaceMaker::Made& made : maker_.take()) {
    const auto asked = asked_.find(made.address);
    if (asked == asked_.end()) {
      if (made.fd && *made.fd) close(**made.fd);
      continue;
    }
    KeeperChannel& channel = asked->second->channel;
    asked_.erase(asked);
    const std::string address = ipv4_text(made.address);
    if (!made.fd) {
      channel.send("dropped " + address);
    } else if (*made.fd) {
      channel.send("made " + address, {**made.fd});
    } else {
      channel.send(fmt::format("refused {} {}", address, made.fd->error().message));
    }
  }
}

void Keeper::read_links() {
  char buffer[8192];
  while (recv(links_->fd(), buffer, sizeof buffer, MSG_DONTWAIT) > 0) {
  }
  end_if_alone();
}

void Keeper::end_if_alone() {
  if (servers_.empty() && queries_->count_ports(island_.bridge) == 0) loop_.stop();
}

// The folder's lock is held for life; a new keeper waits for the end of the old one.
Result<void> take_folder(const std::string& folder) {
  TRY(make_folders(folder, 0700));
  if (chdir(folder.c_str()) != 0) return system_error("cannot enter " + folder);
  const int lock = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) return system_error("cannot lock " + folder);
  return {};
}

Result<void> keep(const KeeperOptions& options) {
  TRY(take_folder(options.folder));
  const bool is_root = geteuid() == 0;
  if (options.user >= 0) {
    if (setns(options.user, CLONE_NEWUSER) != 0)
      return system_error("cannot enter the island's user namespace");
  } else if (!is_root) {
    TRY(enter_own_user_namespace());
  }
  HostThread host;
  Island island = TRY(enter_island(options.island));
  if (!is_root) island.user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  Keeper keeper(options, host, island);
  TRY(keeper.open());
  if (options.connection >= 0) keeper.add_server(options.connection);
  keeper.run();
  unlink("sock");
  return {};
}

}  // namespace

int run_keeper(const KeeperOptions& options) {
  setsid();
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_NAME, "trainyard-keep", 0, 0, 0);
  if (auto kept = keep(options); !kept) {
    log_error("no island: {}", kept.error().message);
    if (options.connection >= 0) {
      KeeperChannel channel(options.connection);
      channel.send("refused island " + kept.error().message);
    }
    return 1;
  }
  return 0;
}

}  // namespace yard
