#include "node/network/service_forwarder.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <netinet/tcp.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMostWaiting = 256 << 10, kReadSize = 64 << 10;
constexpr size_t kMostDoors = 4096, kMostPairs = 4096, kMostTalks = 1024;
constexpr std::string_view kOnHost = "host";
constexpr int kBacklog = 128, kTalkSeconds = 60, kDatagramsPerTurn = 64;

std::string key_of(const std::vector<std::string_view>& words) {
  return fmt::format("{} {} {}", words[0], words[1], words[2]);
}

}  // namespace

ServiceForwarder::ServiceForwarder(FdLoop& loop, HostThread& host,
                                   std::function<void(std::string)> on_problem)
    : loop_(loop),
      host_(host),
      on_problem_(std::move(on_problem)),
      ticks_(loop, [this] { tick(); }) {}

ServiceForwarder::~ServiceForwarder() {
  for (auto& [key, door] : doors_)
    close_door(door);
  while (!pairs_.empty())
    close_pair(pairs_.begin()->second);
  for (const auto& [fd, talk] : talks_) {
    loop_.forget(fd);
    close(fd);
  }
}

void ServiceForwarder::set(std::string_view line) {
  const auto words = split(line, ' ');
  if (words.size() < 3 || (words[2] != "TCP" && words[2] != "UDP")) return;
  const std::string key = key_of(words);
  const std::string_view targets = words.size() > 3 ? words[3] : "";
  const auto found = doors_.find(key);
  if (found != doors_.end()) {
    if (found->second.turns.set(targets)) return;
    close_door(found->second);
    doors_.erase(found);
    return;
  }
  const bool on_host = words[0] == kOnHost;
  const auto own = socket_address(on_host ? "127.0.0.1" : words[0], words[1]);
  ServiceTurns turns;
  if (!own || !turns.set(targets) || doors_.size() >= kMostDoors) return;
  Door& door = doors_[key];
  door.is_udp = words[2] == "UDP";
  door.turns = std::move(turns);
  open_door(key, door, *own, on_host);
}

void ServiceForwarder::keep_only(const std::vector<std::string>& lines) {
  std::set<std::string> named;
  for (const std::string& line : lines) {
    if (const auto words = split(line, ' '); words.size() >= 3) named.insert(key_of(words));
  }
  for (auto at = doors_.begin(); at != doors_.end();) {
    if (named.contains(at->first)) {
      ++at;
      continue;
    }
    close_door(at->second);
    at = doors_.erase(at);
  }
}

int ServiceForwarder::open_socket(bool on_host, int type) {
  return on_host ? host_.open_socket(AF_INET, type)
                 : socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void ServiceForwarder::open_door(const std::string& key, Door& door, const sockaddr_in& own,
                                 bool on_host) {
  const int on = 1;
  door.fd = open_socket(on_host, door.is_udp ? SOCK_DGRAM : SOCK_STREAM);
  setsockopt(door.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (door.fd < 0 || bind(door.fd, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
      (!door.is_udp && listen(door.fd, kBacklog) != 0)) {
    log_warning("the service address {} cannot be served: {}", key, strerror(errno));
    if (on_host)
      on_problem_(fmt::format("node port {} of 127.0.0.1 does not lead to its service: {}",
                              ntohs(own.sin_port), strerror(errno)));
    if (door.fd >= 0) close(door.fd);
    door.fd = -1;
    return;
  }
  door_of_[door.fd] = key;
  loop_.watch(door.fd, EPOLLIN, [this, fd = door.fd, is_udp = door.is_udp](uint32_t) {
    is_udp ? read_door(fd) : accept_client(fd);
  });
}

void ServiceForwarder::close_door(Door& door) {
  if (door.fd < 0) return;
  for (auto at = talks_.begin(); at != talks_.end();) {
    const auto talk = at++;
    if (talk->second.door != door.fd) continue;
    loop_.forget(talk->first);
    close(talk->first);
    talks_.erase(talk);
  }
  std::erase_if(talk_of_, [&](const auto& entry) { return !talks_.contains(entry.second); });
  loop_.forget(door.fd);
  door_of_.erase(door.fd);
  close(door.fd);
  door.fd = -1;
}

void ServiceForwarder::accept_client(int listener) {
  const auto key = door_of_.find(listener);
  if (key == door_of_.end()) return;
  Door& door = doors_.find(key->second)->second;
  sockaddr_in who{};
  socklen_t size = sizeof who;
  const int client =
      accept4(listener, reinterpret_cast<sockaddr*>(&who), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  const int target = open_socket(false, SOCK_STREAM);
  const sockaddr_in& where = door.turns.next(ntohl(who.sin_addr.s_addr), stopwatch_.seconds());
  const bool begun =
      target >= 0 && pairs_.size() < 2 * kMostPairs &&
      (connect(target, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0 ||
       errno == EINPROGRESS);
  if (!begun) {
    close(client);
    if (target >= 0) close(target);
    return;
  }
  const int on = 1;
  for (const int fd : {client, target})
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto pair = std::make_shared<Pair>();
  pair->client.fd = client;
  pair->target.fd = target;
  pair->target.connecting = true;
  for (const int fd : {client, target}) {
    pairs_[fd] = pair;
    loop_.watch(fd, EPOLLIN, [this, pair](uint32_t) { on_ready(pair); });
  }
  watch_pair(*pair);
}

// What each end waits for: bytes while the other takes them, room while bytes wait for it.
void ServiceForwarder::watch_pair(const Pair& pair) {
  const auto wanted = [](const Half& own, const Half& other) {
    uint32_t events = 0;
    if (!own.ended && !own.connecting && !other.connecting && other.waiting.size() < kMostWaiting)
      events |= EPOLLIN;
    if (own.connecting || !own.waiting.empty()) events |= EPOLLOUT;
    return events;
  };
  loop_.change(pair.client.fd, wanted(pair.client, pair.target));
  loop_.change(pair.target.fd, wanted(pair.target, pair.client));
}

void ServiceForwarder::on_ready(const std::shared_ptr<Pair>& pair) {
  if (pair->target.connecting) {
    int problem = 0;
    socklen_t size = sizeof problem;
    getsockopt(pair->target.fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    sockaddr_in peer{};
    socklen_t peer_size = sizeof peer;
    const bool connected =
        getpeername(pair->target.fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0;
    if (problem != 0) return close_pair(pair);
    if (!connected) return watch_pair(*pair);
    pair->target.connecting = false;
  }
  if (!carry(pair->client, pair->target) || !carry(pair->target, pair->client) ||
      (pair->client.told && pair->target.told))
    return close_pair(pair);
  watch_pair(*pair);
}

// From one end to the other as far as both go on; false: one of them is broken.
bool ServiceForwarder::carry(Half& from, Half& to) {
  if (!write_waiting(to)) return false;
  static thread_local char buffer[kReadSize];
  while (!from.ended && to.waiting.size() < kMostWaiting) {
    const ssize_t count = recv(from.fd, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) return false;
    if (count == 0) from.ended = true;
    to.waiting.append(buffer, static_cast<size_t>(count));
    if (!write_waiting(to)) return false;
    if (static_cast<size_t>(count) < sizeof buffer) break;
  }
  if (from.ended && to.waiting.empty() && !from.told) {
    shutdown(to.fd, SHUT_WR);
    from.told = true;
  }
  return true;
}

bool ServiceForwarder::write_waiting(Half& half) {
  while (!half.waiting.empty()) {
    const ssize_t count = send(half.fd, half.waiting.data(), half.waiting.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    half.waiting.erase(0, static_cast<size_t>(count));
  }
  return true;
}

void ServiceForwarder::close_pair(const std::shared_ptr<Pair>& given) {
  const std::shared_ptr<Pair> pair = given;  // the map may hold the last one
  for (const int fd : {pair->client.fd, pair->target.fd}) {
    if (pairs_.erase(fd) == 0) continue;
    loop_.forget(fd);
    close(fd);
  }
}

void ServiceForwarder::read_door(int fd) {
  const auto key = door_of_.find(fd);
  if (key == door_of_.end()) return;
  Door& door = doors_.find(key->second)->second;
  static thread_local char buffer[kReadSize];
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    sockaddr_in client{};
    socklen_t size = sizeof client;
    const ssize_t count =
        recvfrom(fd, buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&client), &size);
    if (count < 0) return;
    const std::string name = fmt::format("{} {} {}", fd, client.sin_addr.s_addr, client.sin_port);
    auto known = talk_of_.find(name);
    if (known == talk_of_.end()) {
      if (talks_.size() >= kMostTalks) continue;
      const int talk = open_socket(false, SOCK_DGRAM);
      const sockaddr_in& where =
          door.turns.next(ntohl(client.sin_addr.s_addr), stopwatch_.seconds());
      if (talk < 0 || connect(talk, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
        if (talk >= 0) close(talk);
        continue;
      }
      talks_[talk] = {talk, fd, client, 0};
      known = talk_of_.emplace(name, talk).first;
      loop_.watch(talk, EPOLLIN, [this, talk](uint32_t) { read_talk(talk); });
      ticks_.set_running(true);
    }
    talks_[known->second].age_s = 0;
    send(known->second, buffer, static_cast<size_t>(count), MSG_NOSIGNAL);
  }
}

void ServiceForwarder::read_talk(int fd) {
  const auto found = talks_.find(fd);
  if (found == talks_.end()) return;
  static thread_local char buffer[kReadSize];
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
    if (count < 0) return;
    sendto(found->second.door, buffer, static_cast<size_t>(count), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&found->second.client), sizeof(sockaddr_in));
  }
}

void ServiceForwarder::tick() {
  std::erase_if(talk_of_, [&](const auto& entry) {
    Talk& talk = talks_[entry.second];
    if (++talk.age_s < kTalkSeconds) return false;
    loop_.forget(entry.second);
    close(entry.second);
    talks_.erase(entry.second);
    return true;
  });
  ticks_.set_running(!talks_.empty());
}

}  // namespace yard
