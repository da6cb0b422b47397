#include "node/network/dns_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

#include "node/files.h"
#include "node/network/resolv_conf.h"

namespace yard {
namespace {

constexpr uint16_t kDnsPort = 53;
constexpr size_t kMostMessage = 65535, kMostForwards = 512, kMostStreams = 128;
constexpr int kDatagramsPerTurn = 64, kServerSeconds = 2, kStreamSeconds = 10, kBacklog = 64;
constexpr size_t kMostResolvConf = 64 << 10;

sockaddr_in island_address(Ipv4 address, uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(address);
  return out;
}

struct Upstream {
  sockaddr_storage address{};
  socklen_t size = 0;
};

std::vector<Upstream> upstreams() {
  std::vector<Upstream> out;
  const auto text = read_text("/etc/resolv.conf", kMostResolvConf).value_or("");
  for (const std::string& name : nameservers_of(text)) {
    Upstream next;
    auto* v4 = reinterpret_cast<sockaddr_in*>(&next.address);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&next.address);
    if (inet_pton(AF_INET, name.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(kDnsPort);
      next.size = sizeof *v4;
    } else if (inet_pton(AF_INET6, name.c_str(), &v6->sin6_addr) == 1) {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(kDnsPort);
      next.size = sizeof *v6;
    } else {
      continue;
    }
    out.push_back(next);
  }
  return out;
}

std::string with_length(std::string_view message) {
  std::string out;
  out.push_back(static_cast<char>(message.size() >> 8));
  out.push_back(static_cast<char>(message.size()));
  out += message;
  return out;
}

// The first whole message of a stream; taken out of it.
std::optional<std::string> take_message(std::string& stream) {
  if (stream.size() < 2) return std::nullopt;
  const size_t length =
      static_cast<size_t>(static_cast<uint8_t>(stream[0])) << 8 | static_cast<uint8_t>(stream[1]);
  if (stream.size() < 2 + length) return std::nullopt;
  std::string out = stream.substr(2, length);
  stream.erase(0, 2 + length);
  return out;
}

void set_id(std::string& message, uint16_t id) {
  message[0] = static_cast<char>(id >> 8);
  message[1] = static_cast<char>(id);
}

uint16_t id_of(std::string_view message) {
  return static_cast<uint16_t>(static_cast<uint8_t>(message[0]) << 8 |
                               static_cast<uint8_t>(message[1]));
}

}  // namespace

DnsServer::DnsServer(FdLoop& loop, HostThread& host, uint64_t seed)
    : loop_(loop), host_(host), random_(seed), ticks_(loop, [this] { tick(); }) {}

DnsServer::~DnsServer() {
  while (!forwards_.empty())
    drop_forward(forwards_.begin());
  while (!streams_.empty())
    close_stream(streams_.begin()->first);
  for (const int fd : {datagrams_, listener_}) {
    if (fd < 0) continue;
    loop_.forget(fd);
    close(fd);
  }
}

Result<void> DnsServer::listen(Ipv4 address) {
  const sockaddr_in own = island_address(address, kDnsPort);
  const auto* where = reinterpret_cast<const sockaddr*>(&own);
  const int on = 1;
  datagrams_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (datagrams_ < 0 || bind(datagrams_, where, sizeof own) != 0)
    return system_error("the island's DNS cannot listen");
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (listener_ < 0 || bind(listener_, where, sizeof own) != 0 ||
      ::listen(listener_, kBacklog) != 0)
    return system_error("the island's DNS cannot listen");
  loop_.watch(datagrams_, EPOLLIN, [this](uint32_t) { read_datagrams(); });
  loop_.watch(listener_, EPOLLIN, [this](uint32_t) { accept_streams(); });
  return {};
}

void DnsServer::read_datagrams() {
  char buffer[4096];
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    Asker asker;
    socklen_t size = sizeof asker.address;
    const ssize_t count = recvfrom(datagrams_, buffer, sizeof buffer, 0,
                                   reinterpret_cast<sockaddr*>(&asker.address), &size);
    if (count < 0) return;
    take_question({buffer, static_cast<size_t>(count)}, asker);
  }
}

void DnsServer::accept_streams() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (streams_.size() >= kMostStreams) {
    close(fd);
    return;
  }
  auto stream = std::make_unique<Stream>();
  stream->fd = fd;
  Stream& kept = *(streams_[fd] = std::move(stream));
  loop_.watch(fd, EPOLLIN, [this, &kept](uint32_t events) {
    const int own = kept.fd;
    if ((events & EPOLLOUT) != 0) write_stream(kept);
    if (streams_.contains(own) && (events & ~uint32_t{EPOLLOUT}) != 0) read_stream(kept);
  });
  run_ticks();
}

void DnsServer::read_stream(Stream& stream) {
  char buffer[4096];
  const ssize_t count = recv(stream.fd, buffer, sizeof buffer, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0 || stream.in.size() > kMostMessage) return close_stream(stream.fd);
  stream.in.append(buffer, static_cast<size_t>(count));
  stream.age_s = 0;
  const int fd = stream.fd;
  while (streams_.contains(fd) && !stream.waiting) {
    const auto message = take_message(stream.in);
    if (!message) return;
    Asker asker;
    asker.stream = fd;
    take_question(*message, asker);
  }
}

void DnsServer::write_stream(Stream& stream) {
  while (!stream.out.empty()) {
    const ssize_t count = send(stream.fd, stream.out.data(), stream.out.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return loop_.change(stream.fd, EPOLLIN | EPOLLOUT);
    if (count < 0) return close_stream(stream.fd);
    stream.out.erase(0, static_cast<size_t>(count));
  }
  loop_.change(stream.fd, EPOLLIN);
}

void DnsServer::close_stream(int fd) {
  loop_.forget(fd);
  close(fd);
  streams_.erase(fd);
  for (auto at = forwards_.begin(); at != forwards_.end();) {
    const auto next = std::next(at);
    if (at->asker.stream == fd) drop_forward(at);
    at = next;
  }
  run_ticks();
}

void DnsServer::reply(const Asker& asker, std::string message) {
  if (asker.stream < 0) {
    sendto(datagrams_, message.data(), message.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&asker.address), sizeof asker.address);
    return;
  }
  const auto found = streams_.find(asker.stream);
  if (found == streams_.end()) return;
  found->second->waiting = false;
  found->second->out += with_length(message);
  write_stream(*found->second);
}

void DnsServer::answer(const DnsQuestion& question, const DnsAnswer& answer, const Asker& asker) {
  const size_t most = asker.stream < 0 ? most_over_udp(question) : kMostMessage;
  reply(asker, dns_answer_message(question, answer, most));
}

void DnsServer::take_question(std::string_view message, const Asker& asker) {
  const DnsParse parsed = parse_dns_question(message);
  if (!parsed.question) {
    if (parsed.problem != DnsCode::NoError)
      reply(asker, dns_problem_message(parsed.id, parsed.problem));
    return;
  }
  const DnsQuestion& question = *parsed.question;
  if (!DnsZone::is_ours(question.name)) return forward(message, question, asker, {});
  DnsAnswer found = zone_.answer(question, turn_++);
  const bool leads_out = !found.records.empty() && found.records.back().type == DnsType::CNAME &&
                         question.type == DnsType::A &&
                         !DnsZone::is_ours(found.records.back().target);
  if (!leads_out) return answer(question, found, asker);
  const std::string asked =
      dns_question_message(question.id, found.records.back().target, DnsType::A);
  forward(asked, question, asker, std::move(found.records));
}

void DnsServer::forward(std::string_view message, const DnsQuestion& question, const Asker& asker,
                        std::vector<DnsRecord> aliases) {
  Forward next;
  next.asker = asker;
  next.question = question;
  next.message = message;
  next.aliases = std::move(aliases);
  next.over_tcp = asker.stream >= 0;
  if (const auto stream = streams_.find(asker.stream); stream != streams_.end())
    stream->second->waiting = true;
  forwards_.push_back(std::move(next));
  const ForwardAt at = std::prev(forwards_.end());
  if (forwards_.size() > kMostForwards || !ask_next_server(*at)) return give_up(at);
  run_ticks();
}

// Asks the next of the host's resolvers; false when none is left.
bool DnsServer::ask_next_server(Forward& forward) {
  const std::vector<Upstream> servers = upstreams();
  for (; forward.server < servers.size(); ++forward.server) {
    if (forward.fd >= 0) {
      loop_.forget(forward.fd);
      close(forward.fd);
    }
    const Upstream& server = servers[forward.server];
    forward.fd =
        host_.open_socket(server.address.ss_family, forward.over_tcp ? SOCK_STREAM : SOCK_DGRAM);
    if (forward.fd < 0) continue;
    loop_.watch(forward.fd, forward.over_tcp ? EPOLLIN | EPOLLOUT : EPOLLIN,
                [this, fd = forward.fd](uint32_t) { read_forward(fd); });
    if (connect(forward.fd, reinterpret_cast<const sockaddr*>(&server.address), server.size) != 0 &&
        errno != EINPROGRESS)
      continue;
    forward.id = static_cast<uint16_t>(random_.next());
    set_id(forward.message, forward.id);
    forward.age_s = 0;
    forward.in.clear();
    ++forward.server;
    if (forward.over_tcp) {
      forward.out = with_length(forward.message);
      return true;
    }
    if (send(forward.fd, forward.message.data(), forward.message.size(), MSG_NOSIGNAL) >= 0)
      return true;
    --forward.server;
  }
  return false;
}

void DnsServer::read_forward(int fd) {
  const auto found = std::ranges::find(forwards_, fd, &Forward::fd);
  if (found == forwards_.end()) return;
  Forward& forward = *found;
  while (!forward.out.empty()) {
    const ssize_t sent = send(fd, forward.out.data(), forward.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent < 0) {
      if (!ask_next_server(forward)) give_up(found);
      return;
    }
    forward.out.erase(0, static_cast<size_t>(sent));
    if (forward.out.empty()) loop_.change(fd, EPOLLIN);
  }
  char buffer[8192];
  const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    if (!ask_next_server(forward)) give_up(found);
    return;
  }
  std::string message(buffer, static_cast<size_t>(count));
  if (forward.over_tcp) {
    forward.in += message;
    auto whole = take_message(forward.in);
    if (!whole) return;
    message = std::move(*whole);
  }
  // Someone else's answer is not believed.
  if (message.size() < 12 || id_of(message) != forward.id) return;
  finish_forward(found, std::move(message));
}

void DnsServer::finish_forward(ForwardAt at, std::string message) {
  const Forward done = std::move(*at);
  loop_.forget(done.fd);
  close(done.fd);
  forwards_.erase(at);
  if (done.aliases.empty()) {
    set_id(message, done.question.id);
    reply(done.asker, std::move(message));
  } else {
    DnsAnswer whole;
    whole.records = done.aliases;
    if (const auto addresses = parse_dns_addresses(message))
      whole.records.insert(whole.records.end(), addresses->begin(), addresses->end());
    answer(done.question, whole, done.asker);
  }
  run_ticks();
}

void DnsServer::drop_forward(ForwardAt at) {
  if (at->fd >= 0) {
    loop_.forget(at->fd);
    close(at->fd);
  }
  forwards_.erase(at);
}

void DnsServer::give_up(ForwardAt at) {
  const Asker asker = at->asker;
  const DnsQuestion question = at->question;
  drop_forward(at);
  DnsAnswer failure;
  failure.code = DnsCode::ServerFailure;
  failure.authoritative = false;
  answer(question, failure, asker);
  run_ticks();
}

void DnsServer::tick() {
  for (auto at = forwards_.begin(); at != forwards_.end();) {
    const ForwardAt now = at++;
    if (++now->age_s >= kServerSeconds && !ask_next_server(*now)) give_up(now);
  }
  std::vector<int> old;
  for (const auto& [fd, stream] : streams_) {
    if (++stream->age_s >= kStreamSeconds) old.push_back(fd);
  }
  for (const int fd : old)
    close_stream(fd);
  run_ticks();
}

}  // namespace yard
