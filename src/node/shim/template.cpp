#include "node/shim/template.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "node/sandbox/namespaces.h"
#include "node/sandbox/pod_memory.h"
#include "node/shim/descriptors.h"

extern "C" const char __executable_start, etext;  // where the linker put the program

namespace shim {
namespace {

constexpr size_t kMostRequest = 16 << 10;  // two paths
// The next spare is forked when the start that took the last one is most likely over.
constexpr int kSpareAfterMs = 3;
constexpr unsigned kMostBorn = 1 << 30;  // counted on from nothing then

// Where this process shows what it was started with.
struct Arguments {
  char* begin;
  char* end;
};

struct Request {
  std::string log;
  Birth birth;
};

// A shim that was forked ahead and waits to hear which pod is its.
struct Spare {
  pid_t pid = 0;  // 0: none
  int socket = -1;
};

bool read_request(const std::string& text, const std::vector<int>& descriptors, Request& out) {
  const size_t first = text.find('\n'), second = text.find('\n', first + 1);
  if (first == std::string::npos || second == std::string::npos || descriptors.empty())
    return false;
  out.birth.run_folder = text.substr(0, first);
  out.log = text.substr(first + 1, second - first - 1);
  const std::string given = text.substr(second + 1);
  out.birth.connection = descriptors[0];
  size_t next = 1;
  int* const places[] = {&out.birth.network.net, &out.birth.network.island,
                         &out.birth.network.user};
  for (size_t i = 0; i < 3 && i < given.size(); ++i) {
    if (given[i] != '1') continue;
    if (next >= descriptors.size()) return false;
    *places[i] = descriptors[next++];
  }
  return true;
}

// As if the program had been started with them; what `ps` and our own tests look at.
void show_arguments(const Arguments& arguments, std::string words, const std::string& folder) {
  char* const begin = arguments.begin;
  char* const end = arguments.end;
  words += '\0';
  words += folder;
  memset(begin, 0, static_cast<size_t>(end - begin));
  memcpy(begin, words.data(), std::min(words.size(), static_cast<size_t>(end - begin)));
}

// A child of our parent, which waits for it.
pid_t fork_sibling() {
  clone_args arguments{};
  arguments.flags = CLONE_PARENT;  // and ends with the signal we would end with
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
}

void write_complaints_to(const std::string& path) {
  const int log = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return;
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  close(log);
}

// The program's text, as far as it is in memory anyway: else each page that a shim runs through is
// a fault of its own.
void map_program() {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(&__executable_start) & ~(page - 1);
  madvise(reinterpret_cast<void*>(begin), reinterpret_cast<uintptr_t>(&etext) - begin,
          MADV_POPULATE_READ);
}

// In the spare itself `orders` is where it hears from us; elsewhere it stays as it is.
Spare fork_spare(int& orders) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return {};
  const pid_t pid = fork_sibling();
  close(ends[pid == 0 ? 0 : 1]);
  if (pid == 0) orders = ends[1];
  if (pid < 0) close(ends[0]);
  return pid > 0 ? Spare{pid, ends[0]} : Spare{};
}

// Does what every pod needs, and waits. Without a template there is nothing to wait for.
void await_birth(int orders, std::string& buffer, Request& request) {
  prctl(PR_SET_NAME, "trainyard-spare", 0, 0, 0);
  enter_namespaces_ahead();
  map_program();
  ssize_t size = -1;
  std::vector<int> descriptors;
  while (size < 0) {
    pollfd asked{orders, POLLIN, 0};
    poll(&asked, 1, -1);
    size = receive_message(orders, buffer.data(), buffer.size(), descriptors);
    if (size < 0 && errno != EINTR && errno != EAGAIN) _exit(0);
  }
  close(orders);
  if (!read_request(buffer.substr(0, static_cast<size_t>(size)), descriptors, request)) _exit(0);
}

// The pid of who takes it; -1: nobody is there to.
pid_t hand_over(Spare& spare, const std::string& text, const std::vector<int>& descriptors) {
  const Spare taken = std::exchange(spare, {});
  if (taken.pid == 0) return -1;
  const bool is_told = send_message(taken.socket, text, descriptors);
  close(taken.socket);
  return is_told ? taken.pid : -1;
}

}  // namespace

bool bear_shims(int count, char** arguments, Birth& birth) {
  prctl(PR_SET_NAME, "trainyard-tmpl", 0, 0, 0);
  const int server = atoi(arguments[2]);
  const std::string place = arguments[1];
  const Arguments shown{arguments[0], arguments[count - 1] + strlen(arguments[count - 1])};
  copies_detached_mounts();  // asked here, for all of them
  std::string buffer(kMostRequest, '\0');
  Spare spare;
  unsigned born = 0;
  const auto be_shim = [&](const Request& request) {
    write_complaints_to(request.log);
    birth = request.birth;
    birth.born_before = static_cast<int>(born % kMostBorn);
    show_arguments(shown, "trainyard-shim", birth.run_folder);
    return true;
  };
  for (;;) {
    pollfd asked{server, POLLIN, 0};
    const int ready = poll(&asked, 1, spare.pid > 0 ? -1 : kSpareAfterMs);
    if (ready < 0) continue;  // a signal
    Request request;
    if (ready == 0) {
      int orders = -1;
      spare = fork_spare(orders);
      if (orders >= 0) {
        close(server);
        show_arguments(shown, "trainyard-spare", place);
        await_birth(orders, buffer, request);
        return be_shim(request);
      }
      if (spare.pid > 0 && !send_message(server, "spare " + std::to_string(spare.pid)))
        return false;
      continue;
    }
    std::vector<int> descriptors;
    const ssize_t size = receive_message(server, buffer.data(), buffer.size(), descriptors);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) return false;
    const std::string text = buffer.substr(0, static_cast<size_t>(size));
    const bool understood = read_request(text, descriptors, request);
    errno = EPROTO;
    pid_t pid = understood ? hand_over(spare, text, descriptors) : -1;
    if (understood && pid < 0) pid = fork_sibling();
    if (pid == 0) {
      close(server);
      return be_shim(request);
    }
    if (pid > 0) ++born;
    const std::string answer =
        pid > 0 ? std::to_string(pid) : std::string("failed ") + strerror(errno);
    for (const int descriptor : descriptors)
      close(descriptor);
    if (!send_message(server, answer)) return false;
  }
}

}  // namespace shim
