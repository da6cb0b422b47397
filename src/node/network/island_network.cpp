#include "node/network/island_network.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "node/files.h"
#include "node/shim_socket.h"

namespace yard {
namespace {

constexpr size_t kPoolSize = 16;        // at a burst of 400 pods a second, 40 ms of them
constexpr size_t kMostReady = 32;       // with those that pods gave back
constexpr size_t kLinesPerFrame = 400;  // some 40 kB
constexpr int kAnswerMs = 5000, kEndMs = 5000;
constexpr Duration kRetry = std::chrono::seconds(1), kFlushPause = std::chrono::milliseconds(2);
constexpr int kFirstInherited = 3, kLowestOwn = 20;
constexpr int kMostFailures = 30;

// A copy with a number that no file action of a spawn overwrites.
int out_of_the_way(int fd) {
  return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, kLowestOwn);
}

// The namespaces of that sort which a process holds open.
int held_namespace(int pid, std::string_view sort) {
  std::error_code code;
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    const auto target = std::filesystem::read_symlink(entry.path(), code).string();
    if (target.starts_with(sort)) return open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
  }
  return -1;
}

int deadline_timer(int milliseconds) {
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  itimerspec when{};
  when.it_value.tv_sec = milliseconds / 1000;
  when.it_value.tv_nsec = milliseconds % 1000 * 1'000'000L;
  timerfd_settime(fd, 0, &when, nullptr);
  return fd;
}

// False once the deadline has passed.
bool wait_readable(int fd, int deadline) {
  pollfd waiting[] = {{fd, POLLIN, 0}, {deadline, POLLIN, 0}};
  while (poll(waiting, 2, -1) < 0 && errno == EINTR) {
  }
  return waiting[0].revents != 0;
}

}  // namespace

IslandNetwork::IslandNetwork(Loop& loop, std::string state_folder)
    : PodNetwork({.island = true,
                  .api_host = ipv4_text(kApiAddress),
                  .api_port = kApiPort,
                  .dns = ipv4_text(kDnsAddress),
                  .resolv_conf = host_resolv_conf()},
                 kPodRange),
      loop_(loop),
      state_(std::move(state_folder)),
      folder_(state_ + "/keeper") {}

IslandNetwork::~IslandNetwork() {
  loop_.cancel(retry_);
  loop_.cancel(flush_);
  if (channel_) loop_.forget_readable(channel_->fd());
  for (const auto& [address, fd] : ready_)
    close(fd);
  for (const int fd : {island_, user_, api_listener_}) {
    if (fd >= 0) close(fd);
  }
}

Result<std::unique_ptr<IslandNetwork>> IslandNetwork::open(Loop& loop,
                                                           const std::string& state_folder) {
  std::unique_ptr<IslandNetwork> out(new IslandNetwork(loop, state_folder));
  // First of all: what runs keeps its address.
  for (const auto& [uid, address] : launched_addresses(state_folder))
    out->address_for(uid, ipv4_text(address));
  TRY(out->start());
  return out;
}

Result<void> IslandNetwork::start() {
  TRY(connect());
  fill_pool();
  const int deadline = deadline_timer(kAnswerMs);
  // The first namespace tells whether the kernel allows them at all.
  while (refusal_.message.empty() && (!greeted_ || !api_answered_ || ready_.empty())) {
    if (!wait_readable(channel_->fd(), deadline)) {
      refusal_ = error(Reason::Timeout, "the island's keeper does not answer");
      break;
    }
    const bool open = channel_->receive([this](std::string_view text) { obey(text); });
    if (!open && refusal_.message.empty())
      refusal_ = error(Reason::InternalError, "the island's keeper ended");
  }
  close(deadline);
  if (!refusal_.message.empty()) {
    channel_.reset();
    return refusal_;
  }
  loop_.on_readable(channel_->fd(), [this] { on_readable(); });
  return {};
}

// Finds the keeper that is there, or starts one.
Result<void> IslandNetwork::connect() {
  greeted_ = false;
  if (const int fd = connect_to_socket_in(folder_, SOCK_STREAM); fd >= 0) {
    channel_ = std::make_unique<KeeperChannel>(fd);
  } else {
    if (island_ < 0) find_lost_island();
    TRY(spawn_keeper());
  }
  channel_->send(fmt::format("hello {}", kKeeperVersion));
  if (!api_answered_) channel_->send(fmt::format("listen {} {}", ipv4_text(kApiAddress), kApiPort));
  return {};
}

// Server and keeper may both have died while pods went on: their shims hold the island.
void IslandNetwork::find_lost_island() {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(state_ + "/run", code)) {
    const int shim = connect_to_shim(entry.path().string(), true);
    if (shim < 0) continue;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(shim, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 0) {
      island_ = held_namespace(peer.pid, "net:[");
      if (geteuid() != 0) user_ = held_namespace(peer.pid, "user:[");
    }
    close(shim);
    if (island_ >= 0) return;
  }
}

Result<void> IslandNetwork::spawn_keeper() {
  TRY(make_folders(folder_, 0700));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("cannot make a socket for the island's keeper");
  const int theirs = out_of_the_way(ends[1]), island = out_of_the_way(island_),
            user = out_of_the_way(user_);
  close(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (folder_ + "/log").c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<std::string> words{"trainyard", "keeper", "--state", state_};
  int next = kFirstInherited;
  for (const auto& [flag, fd] :
       {std::pair{"--connection", theirs}, {"--island", island}, {"--user", user}}) {
    if (fd < 0) continue;
    posix_spawn_file_actions_adddup2(&actions, fd, next);
    words.insert(words.end(), {flag, std::to_string(next++)});
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, next);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int problem =
      posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (const int fd : {theirs, island, user}) {
    if (fd >= 0) close(fd);
  }
  channel_ = std::make_unique<KeeperChannel>(ends[0]);
  if (problem != 0) {
    errno = problem;
    return system_error("cannot start the island's keeper");
  }
  keeper_child_ = pid;
  return {};
}

void IslandNetwork::on_readable() {
  const bool open = channel_->receive([this](std::string_view text) { obey(text); });
  if (!open || !channel_->flush()) keeper_ended();
}

void IslandNetwork::obey(std::string_view text) {
  const auto words = split(text, ' ');
  const auto rest = [&](size_t first) {
    return std::string(text.substr(static_cast<size_t>(words[first].data() - text.data())));
  };
  if (words[0] == "hello") {
    greeted_ = true;
    keeper_version_ = words.size() > 1 ? parse_uint64(words[1]).value_or(1) : 1;
    const auto net = channel_->take_descriptor();
    const auto user = geteuid() == 0 ? std::nullopt : channel_->take_descriptor();
    for (const auto& [kept, given] : {std::pair{&island_, net}, {&user_, user}}) {
      if (!given) continue;
      if (*kept >= 0) close(*kept);
      *kept = *given;
    }
  } else if (words[0] == "listening") {
    api_answered_ = true;
    api_listener_ = channel_->take_descriptor().value_or(-1);
  } else if (words[0] == "made" && words.size() == 2) {
    const auto fd = channel_->take_descriptor();
    const auto address = parse_ipv4(words[1]);
    if (fd && address) on_made(*address, *fd);
  } else if (words[0] == "dropped" && words.size() == 2) {
    if (const auto address = parse_ipv4(words[1])) on_dropped(*address);
  } else if (words[0] == "note" && words.size() > 1) {
    const std::string note = rest(1);
    if (std::ranges::find(notes_, note) == notes_.end()) {
      log_warning("{}", note);
      notes_.push_back(note);
      if (noted_) noted_();
    }
  } else if (words[0] == "refused" && words.size() > 2) {
    if (const auto address = parse_ipv4(words[1])) return on_refused(*address, rest(2));
    if (words[1] == "listen") {
      api_answered_ = true;
      log_warning("pods cannot reach the API server: {}", rest(2));
      return;
    }
    refusal_ = error(Reason::ServiceUnavailable, rest(2));
  }
}

void IslandNetwork::on_made(Ipv4 address, int fd) {
  failures_ = 0;
  asked_.erase(address);
  if (const auto waiting = waiting_.find(address); waiting != waiting_.end()) {
    const Done done = std::move(waiting->second);
    waiting_.erase(waiting);
    return done(namespaces_with(fd));
  }
  if (ready_.contains(address)) {
    close(fd);
    return;
  }
  ready_[address] = fd;
}

void IslandNetwork::on_refused(Ipv4 address, const std::string& why) {
  asked_.erase(address);
  refusal_ = error(Reason::ServiceUnavailable, why);
  log_warning("the namespace of {} was not made: {}", ipv4_text(address), why);
  if (const auto waiting = waiting_.find(address); waiting != waiting_.end()) {
    const Done done = std::move(waiting->second);
    waiting_.erase(waiting);
    done(error(Reason::ServiceUnavailable, why));
  }
  if (std::erase(pool_, address) > 0) addresses_.release(address);
}

void IslandNetwork::give_back(int net) {
  const bool has_room =
      channel_ && greeted_ && keeper_version_ >= kFirstThatRenews && pool_.size() < kMostReady;
  const auto address = has_room ? addresses_.take() : std::nullopt;
  if (!address) {
    close(net);
    return;
  }
  pool_.push_back(*address);
  asked_.insert(*address);
  tell("renew " + ipv4_text(*address), {net});
}

// What was given back cannot serve again. Its new address may be a pod's already: then it is made.
void IslandNetwork::on_dropped(Ipv4 address) {
  asked_.erase(address);
  if (std::erase(pool_, address) == 0) return ask_for(address);
  addresses_.release(address);
  fill_pool();
}

PodNamespaces IslandNetwork::namespaces_with(int net) const {
  return {net, fcntl(island_, F_DUPFD_CLOEXEC, 0),
          user_ < 0 ? -1 : fcntl(user_, F_DUPFD_CLOEXEC, 0)};
}

std::optional<Ipv4> IslandNetwork::next_address() {
  std::optional<Ipv4> out;
  if (!pool_.empty()) {
    out = pool_.front();
    pool_.pop_front();
  } else {
    out = addresses_.take();
    if (out) ask_for(*out);
  }
  fill_pool();
  return out;
}

void IslandNetwork::fill_pool() {
  while (pool_.size() < kPoolSize && failures_ < kMostFailures) {
    const auto address = addresses_.take();
    if (!address) return;
    pool_.push_back(*address);
    ask_for(*address);
  }
}

void IslandNetwork::ask_for(Ipv4 address) {
  if (!asked_.insert(address).second) return;
  tell("make " + ipv4_text(address));
}

void IslandNetwork::released(Ipv4 address) {
  const auto found = ready_.find(address);
  if (found == ready_.end()) return;
  close(found->second);
  ready_.erase(found);
}

void IslandNetwork::prepare_start(const std::string&, const std::string& address, Done done) {
  publish_names();
  const auto number = parse_ipv4(address);
  if (!number) return done(error(Reason::ServiceUnavailable, "all addresses of pods are in use"));
  if (const auto found = ready_.find(*number); found != ready_.end()) {
    const int fd = found->second;
    ready_.erase(found);
    return done(namespaces_with(fd));
  }
  if (!channel_ && retry_ == 0)
    return done(error(Reason::ServiceUnavailable, "the island has no keeper"));
  // A pod whose shim died has to have its own address again.
  waiting_[*number] = std::move(done);
  ask_for(*number);
}

void IslandNetwork::tell(std::string_view text, std::vector<int> descriptors) {
  if (!channel_) return;
  channel_->send(text, std::move(descriptors));
  flush_later();
}

// The keeper is busy; a moment later it has read.
void IslandNetwork::flush_later() {
  if (!channel_->has_unsent() || flush_ != 0) return;
  flush_ = loop_.after(kFlushPause, [this] {
    flush_ = 0;
    if (!channel_) return;
    if (!channel_->flush()) return keeper_ended();
    flush_later();
  });
}

void IslandNetwork::tell_lines(std::string_view verb, const std::vector<std::string>& lines) {
  for (size_t at = 0; at < lines.size(); at += kLinesPerFrame) {
    std::string text(verb);
    for (size_t i = at; i < std::min(lines.size(), at + kLinesPerFrame); ++i)
      text += "\n" + lines[i];
    tell(text);
  }
}

void IslandNetwork::replace_names(const std::vector<std::string>& records,
                                  const std::vector<std::string>& forwards) {
  tell("names begin");
  tell_lines("names add", records);
  tell_lines("forwards", forwards);
  tell("names commit");
}

void IslandNetwork::change_names(const std::vector<std::string>& added,
                                 const std::vector<std::string>& removed,
                                 const std::vector<std::string>& forwards) {
  tell_lines("names add", added);
  tell_lines("names remove", removed);
  tell_lines("forwards", forwards);
}

// Pods keep their addresses: we and their shims hold the island. A new keeper goes on with it.
void IslandNetwork::keeper_ended() {
  log_warning("the island's keeper ended; a new one is started");
  loop_.forget_readable(channel_->fd());
  channel_.reset();
  if (keeper_child_ > 0)
    loop_.run_blocking([child = keeper_child_] { waitpid(child, nullptr, 0); }, [] {});
  keeper_child_ = 0;
  if (++failures_ > 1) {
    retry_ = loop_.after(kRetry, [this] {
      retry_ = 0;
      start_again();
    });
    return;
  }
  start_again();
}

void IslandNetwork::start_again() {
  if (auto connected = connect(); !connected) {
    log_error("{}", connected.error().message);
    channel_.reset();
    if (++failures_ <= kMostFailures) {
      retry_ = loop_.after(kRetry, [this] {
        retry_ = 0;
        start_again();
      });
      return;
    }
    for (auto& [address, done] : std::exchange(waiting_, {}))
      done(error(Reason::ServiceUnavailable, "the island has no keeper"));
    return;
  }
  loop_.on_readable(channel_->fd(), [this] { on_readable(); });
  for (const Ipv4 address : asked_)
    tell("make " + ipv4_text(address));
  if (reset_) reset_();
}

void end_keeper(const std::string& state_folder) {
  const int fd = connect_to_socket_in(state_folder + "/keeper", SOCK_STREAM);
  if (fd < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  KeeperChannel channel(fd);
  channel.send("end");
  const int deadline = deadline_timer(kEndMs);
  while (wait_readable(channel.fd(), deadline) && channel.receive([](std::string_view) {})) {
  }
  // Its lock is free when the process is gone.
  const int lock = open((state_folder + "/keeper/lock").c_str(), O_RDWR | O_CLOEXEC);
  if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
    pollfd ended{static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0)), POLLIN, 0};
    if (ended.fd >= 0) {
      if (poll(&ended, 1, kEndMs) == 0) kill(peer.pid, SIGKILL);
      close(ended.fd);
    }
  }
  if (lock >= 0) close(lock);
  close(deadline);
}

}  // namespace yard
