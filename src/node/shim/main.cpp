// trainyard-shim <run folder> [first connection's descriptor [its network's: net island user]], or
// born of a trainyard-template (node/shim/template.h).
// The parent of one pod's processes, keeper of their output and exit codes. It decides nothing: it
// does what the server says over its socket, writes what happened into the journal and goes on when
// the server dies. Single-threaded.

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits.h>
#include <memory>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "node/sandbox/cgroup.h"
#include "node/sandbox/job_memory.h"
#include "node/sandbox/namespaces.h"
#include "node/sandbox/network.h"
#include "node/sandbox/pid_namespace.h"
#include "node/sandbox/spare_group.h"
#include "node/shim/command.h"
#include "node/shim/commands.h"
#include "node/shim/descriptors.h"
#include "node/shim/files.h"
#include "node/shim/journal.h"
#include "node/shim/launch.h"
#include "node/shim/log_file.h"
#include "node/shim/order.h"
#include "node/shim/probe.h"
#include "node/shim/spawn.h"
#include "node/shim/template.h"

namespace shim {
namespace {

// 2: exec, input and dial. A server of 1 never asks for them. `share` is asked by shims alone, and
// one that does not know it shares nothing.
constexpr int kProtocol = 2;
constexpr size_t kMostClients = 8;
constexpr size_t kMostMessage = 4096;
constexpr size_t kReadSize = 64 << 10;
constexpr int kMemoryLookMs = 100;
constexpr int kFullDiskLookMs = 500;
constexpr int kSyncAfterMs = 50;

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct Running {
  Container launch;
  pid_t pid = -1;
  int in = -1, out = -1, err = -1;
  ConnectGate gate;
  long oom_kills_before = 0;
  bool over_memory = false;  // found so by us, and killed for it
  LogFile log;
  // No control group holds its memory: we look ourselves.
  bool is_watched() const { return launch.memory_limit > 0; }
};

class Shim {
 public:
  Shim(std::string folder, int slot) : folder_(std::move(folder)), slot_(slot) {}

  // Prints why, and answers false, when this pod cannot be kept.
  bool open(int first_client, const NetworkDescriptors& network);
  void run();

 private:
  bool listen_on_socket();
  void accept_client();
  void read_client(int fd);
  void obey(int fd, const std::string& message, std::vector<int>& descriptors);
  void give_input(const std::string& container, int answers);
  const Running* find(const std::string& container) const;
  void exec(const std::string& container, const std::vector<int>& descriptors);
  void share(int fd);
  void start(const std::string& container, int run);
  void reap();
  void finish(Running& running, int status);
  void end_strays(const Running& ended);
  bool watches_memory() const;
  void watch_memory();
  int look_at_gates();
  void read_output(Running& running, int& fd, const char* stream, bool to_the_end);
  void tell(const std::string& line);
  std::string stat_text() const;

  std::string folder_;
  int slot_;  // of control groups that go from run to run
  Pod pod_;
  Journal journal_;
  int listener_ = -1, signals_ = -1;
  std::vector<int> clients_;
  std::vector<std::unique_ptr<Running>> running_;
  Commands commands_;
  std::unique_ptr<char[]> buffer_;
  bool stopping_ = false;
};

bool Shim::open(int first_client, const NetworkDescriptors& network) {
  setsid();
  if (chdir(folder_.c_str()) != 0) return perror("the run folder"), false;
  if (std::string problem = read_pod("launch.json", pod_); !problem.empty())
    return fprintf(stderr, "%s\n", problem.c_str()), false;
  // The journal is also the lock that says a shim lives.
  if (!journal_.open("journal", now_ns())) return perror("the journal"), false;
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  prctl(PR_SET_NAME, "trainyard-shim", 0, 0, 0);
  sigset_t blocked;
  sigfillset(&blocked);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  signals_ = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0 || !listen_on_socket()) return perror("the pod's socket"), false;
  if (first_client >= 0) {
    fcntl(first_client, F_SETFD, FD_CLOEXEC);
    clients_.push_back(first_client);
  }
  JobMembership membership;
  std::vector<std::string> refusals;
  if (!pod_.job.empty()) {
    if (std::string problem = membership.join(folder_, pod_.job); !problem.empty())
      refusals.push_back(std::move(problem));
  }
  if (std::string problem = join_network(network); !problem.empty())
    return fprintf(stderr, "%s\n", problem.c_str()), false;
  for (std::string& refusal : enter_pod_namespaces(pod_, membership.found()))
    refusals.push_back(std::move(refusal));
  for (const std::string& refusal : refusals)
    journal_.append("refused " + refusal);
  membership.say_so();
  if (!refusals.empty()) tell("journal");  // that all went well nobody waits to hear
  return true;
}

bool Shim::listen_on_socket() {
  unlink("sock");
  listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path,
         "sock");  // relative: the folder's own path may be longer than an address can be
  const mode_t before = umask(0177);
  const bool bound =
      listener_ >= 0 && bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  umask(before);
  return bound && listen(listener_, 8) == 0;
}

void Shim::accept_client() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!known || (peer.uid != geteuid() && peer.uid != 0) || clients_.size() >= kMostClients) {
    close(fd);
    return;
  }
  clients_.push_back(fd);
  const std::string hello = "hello " + std::to_string(kProtocol) + " " + std::to_string(getpid());
  send(fd, hello.data(), hello.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Only wakes the servers: a message that finds no room is no loss, because another is waiting there
// already.
void Shim::tell(const std::string& line) {
  for (const int fd : clients_)
    send(fd, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Shim::read_client(int fd) {
  char message[kMostMessage];
  std::vector<int> descriptors;
  const ssize_t size = receive_message(fd, message, sizeof message, descriptors);
  if (size > 0) {
    obey(fd, std::string(message, static_cast<size_t>(size)), descriptors);
    for (const int descriptor : descriptors)
      close(descriptor);
    return;
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  std::erase(clients_, fd);
  close(fd);
}

// Takes out of `descriptors` what it keeps.
void Shim::obey(int fd, const std::string& message, std::vector<int>& descriptors) {
  const Order order = read_order(message);
  const std::string& word = order.verb;
  std::string answer;
  if (word == "hello") {
    answer = "hello " + std::to_string(kProtocol) + " " + std::to_string(getpid());
  } else if (word == "start" && order.words >= 3 && !stopping_) {
    start(order.container, order.number);
  } else if (word == "signal" && order.words == 4) {
    for (const auto& running : running_) {
      if (running->launch.name == order.container && running->launch.run == order.number)
        kill(running->pid, order.signal);
    }
  } else if (word == "exec" && order.words >= 2 && !descriptors.empty()) {
    exec(order.container, descriptors);
    descriptors.clear();
  } else if (word == "input" && order.words >= 2 && !descriptors.empty()) {
    give_input(order.container, descriptors[0]);
  } else if (word == "dial" && order.words >= 3 && !descriptors.empty()) {
    // Connects while the caller waits for it: nothing waits here.
    const int connection = dial(order.container.c_str(), order.number);
    send_message(descriptors[0],
                 connection >= 0 ? "dialed" : std::string("failed ") + strerror(errno), connection);
    if (connection >= 0) close(connection);
  } else if (word == "share" && !pod_.job.empty()) {
    share(fd);
  } else if (word == "stat") {
    answer = stat_text();
  } else if (word == "stop") {
    stopping_ = true;
    for (const auto& running : running_)
      kill(running->pid, SIGKILL);
  } else {
    answer = "error unknown or incomplete: " + message.substr(0, 64);
  }
  if (!answer.empty()) send(fd, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

const Running* Shim::find(const std::string& container) const {
  const auto found = std::find_if(running_.begin(), running_.end(), [&](const auto& running) {
    return running->launch.name == container;
  });
  return found == running_.end() ? nullptr : found->get();
}

void Shim::exec(const std::string& container, const std::vector<int>& descriptors) {
  const Running* found = find(container);
  if (found == nullptr) return commands_.start(nullptr, -1, descriptors);
  commands_.start(&found->launch, found->pid, descriptors);
}

// What a caller types at a container's own process. stdinOnce ends with the first who had it.
void Shim::give_input(const std::string& container, int answers) {
  for (const auto& running : running_) {
    if (running->launch.name != container || running->in < 0) continue;
    send_message(answers, "input", running->in);
    if (running->launch.input_once && !running->launch.terminal) {
      close(running->in);
      running->in = -1;
    }
    return;
  }
  send_message(answers, "none");
}

void Shim::share(int fd) {
  const JobMemory offered = offered_memory(pod_.transient_folder);
  std::vector<int> descriptors;
  for (const int each : {offered.memory, offered.ipc, offered.user}) {
    if (each >= 0) descriptors.push_back(each);
  }
  send_message(fd, "shared", descriptors);
  for (const int each : descriptors)
    close(each);
}

std::string Shim::stat_text() const {
  std::string out = "stat";
  for (const auto& running : running_)
    out += " " + running->launch.name + ":" + std::to_string(running->launch.run) + ":" +
           std::to_string(running->pid);
  return out;
}

void Shim::start(const std::string& container, int run) {
  if (journal_.has_run(container, run)) return tell("journal");
  const std::string which = container + " " + std::to_string(run);
  auto running = std::make_unique<Running>();
  const auto fail = [&](const std::string& why) {
    std::string line = "failed " + which + " " + std::to_string(now_ns()) + " " + why;
    std::replace(line.begin(), line.end(), '\n', ' ');
    journal_.append(line);
    tell("journal");
  };
  Container& launch = running->launch;
  if (std::string problem = read_container(
          pod_.transient_folder + "/" + container + "." + std::to_string(run) + ".json", launch);
      !problem.empty())
    return fail(problem);
  if (!running->log.open(pod_.log_folder + "/" + container + "/" + std::to_string(run) + ".log")) {
    return fail(std::string("cannot open the log: ") + strerror(errno));
  }
  for (const std::string& refusal : make_cgroups(launch.cgroups, slot_))
    journal_.append("refused " + refusal);
  if (std::any_of(launch.cgroups.begin(), launch.cgroups.end(),
                  [](const Cgroup& each) { return !each.is_new; }))
    running->oom_kills_before = oom_kills(launch.cgroups);
  open_low_ports(pod_, launch);
  const Running* beside = launch.processes_of.empty() ? nullptr : find(launch.processes_of);
  const Spawned spawned =
      launch.processes_of.empty() || beside != nullptr
          ? spawn(launch, {folder_, pod_.transient_folder}, beside != nullptr ? beside->pid : -1)
          : Spawned{.problem = "the target container " + launch.processes_of + " is not running"};
  if (!spawned.problem.empty()) {
    remove_cgroups(launch.cgroups, -1);
    return fail(spawned.problem);
  }
  running->pid = spawned.pid;
  running->in = spawned.in;
  running->out = spawned.out;
  running->err = spawned.err;
  running->gate.open(spawned.gate, launch.awaited, now_ns());
  journal_.append("start " + which + " " + std::to_string(spawned.pid) + " " +
                  std::to_string(start_ticks(spawned.pid)) + " " + std::to_string(now_ns()));
  running_.push_back(std::move(running));
  tell("journal");
}

void Shim::read_output(Running& running, int& fd, const char* stream, bool to_the_end) {
  if (fd < 0) return;
  do {
    const ssize_t count = read(fd, buffer_.get(), kReadSize);
    if (count > 0) {
      running.log.append(stream, std::string_view(buffer_.get(), static_cast<size_t>(count)),
                         now_ns());
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 || errno == EIO) {  // a terminal that nobody has open any more
      close(fd);
      fd = -1;
    }
    return;
  } while (to_the_end);
}

void Shim::reap() {
  signalfd_siginfo ignored;
  while (read(signals_, &ignored, sizeof ignored) > 0) {
  }
  int status = 0;
  for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
    if (commands_.reap(pid, status)) continue;
    const auto found = std::find_if(running_.begin(), running_.end(),
                                    [&](const auto& running) { return running->pid == pid; });
    if (found == running_.end()) continue;
    finish(**found, status);
    running_.erase(found);
  }
}

// Its last words are in the log before its end is in the journal.
void Shim::finish(Running& running, int status) {
  read_output(running, running.out, "stdout", true);
  read_output(running, running.err, "stderr", true);
  for (const int fd : {running.in, running.out, running.err}) {
    if (fd >= 0) close(fd);
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const bool oom =
      running.over_memory || oom_kills(running.launch.cgroups) > running.oom_kills_before;
  commands_.forget_groups_below(running.launch.cgroups);
  // Whoever was let at the machine's settings may have changed its group; without a server nobody
  // would take the spare away.
  const bool is_as_made = !running.launch.privileged && !clients_.empty();
  remove_cgroups(running.launch.cgroups, is_as_made ? slot_ : -1);
  end_strays(running);
  journal_.append("exit " + running.launch.name + " " + std::to_string(running.launch.run) + " " +
                  std::to_string(code) + (oom ? " 1 " : " 0 ") + std::to_string(now_ns()));
  tell("journal");
}

void Shim::end_strays(const Running& ended) {
  std::vector<pid_t> mains;
  for (const auto& running : running_) {
    if (running.get() != &ended) mains.push_back(running->pid);
  }
  commands_.add_pids(mains);
  kill_strays(mains);
}

bool Shim::watches_memory() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const auto& running) { return running->is_watched(); });
}

void Shim::watch_memory() {
  for (const auto& running : running_) {
    if (!running->is_watched() || memory_in_use(running->pid) <= running->launch.memory_limit)
      continue;
    running->over_memory = true;
    kill(running->pid, SIGKILL);
  }
}

// Milliseconds until the next look; -1: nobody waits.
int Shim::look_at_gates() {
  int next = -1;
  for (const auto& running : running_)
    next = std::max(next, running->gate.look(now_ns()));
  return next;
}

void Shim::run() {
  buffer_ = std::make_unique_for_overwrite<char[]>(kReadSize);  // untouched while a pod is quiet
  std::vector<pollfd> waiting;
  while (!stopping_ || !running_.empty()) {
    waiting.clear();
    waiting.push_back({signals_, POLLIN, 0});
    waiting.push_back({listener_, POLLIN, 0});
    for (const int fd : clients_)
      waiting.push_back({fd, POLLIN, 0});
    const size_t first_pipe = waiting.size();
    for (const auto& running : running_) {
      waiting.push_back({running->out, POLLIN, 0});  // a closed one is -1, which poll skips
      waiting.push_back({running->err, POLLIN, 0});
    }
    const size_t first_gate = waiting.size();
    for (const auto& running : running_)
      waiting.push_back({running->gate.descriptor(), POLLIN, 0});
    const size_t first_command = waiting.size();
    commands_.add_to(waiting);
    // A sync takes milliseconds, and only a crash of the machine asks for it: it waits until
    // nothing has happened for a while. Most pods that are over soon never need it.
    const int gates = look_at_gates();
    const int patience = gates >= 0              ? gates
                         : !journal_.is_synced() ? kSyncAfterMs
                         : watches_memory()      ? kMemoryLookMs
                         : journal_.is_stuck()   ? kFullDiskLookMs
                                                 : -1;
    const int ready = poll(waiting.data(), waiting.size(), patience);
    if (ready == 0 && gates < 0 && !journal_.is_synced()) journal_.sync();
    if (journal_.is_stuck() && journal_.write_again()) tell("journal");
    if (watches_memory()) watch_memory();
    if (ready <= 0) continue;
    // Output first: a run's end comes after its last line.
    for (size_t i = first_pipe; i + 1 < first_gate; i += 2) {
      Running& running = *running_[(i - first_pipe) / 2];
      if (waiting[i].revents != 0) read_output(running, running.out, "stdout", false);
      if (waiting[i + 1].revents != 0) read_output(running, running.err, "stderr", false);
    }
    for (size_t i = first_gate; i < first_command; ++i) {
      if (waiting[i].revents != 0) running_[i - first_gate]->gate.answer_next(waiting[i].revents);
    }
    for (size_t i = first_command; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) commands_.read_caller(waiting[i].fd);
    }
    if (waiting[0].revents != 0) reap();
    if (waiting[1].revents != 0) accept_client();
    for (size_t i = 2; i < first_pipe; ++i) {
      if (waiting[i].revents != 0) read_client(waiting[i].fd);
    }
  }
  // Told to stop: whatever ended is in the server's store, and whatever did not is not wanted.
  unlink("sock");
}

}  // namespace
}  // namespace shim

int main(int count, char** arguments) {
  if (count < 2) return fprintf(stderr, "usage: trainyard-shim RUN_FOLDER [FD]\n"), 2;
  if (count == 3 && strcmp(arguments[1], "--probe") == 0) return shim::probe(arguments[2]);
  shim::forget_ignored_signals();
  const auto descriptor = [&](int index) { return count > index ? atoi(arguments[index]) : -1; };
  shim::Birth birth;
  if (strcmp(arguments[0], "trainyard-template") != 0) {
    birth = {arguments[1], descriptor(2), {descriptor(3), descriptor(4), descriptor(5)}};
  } else if (count != 3 || !shim::bear_shims(count, arguments, birth)) {
    return 0;
  }
  shim::Shim shim(birth.run_folder, shim::spare_slot(birth.born_before));
  if (!shim.open(birth.connection, birth.network)) return 1;
  shim.run();
  return 0;
}
