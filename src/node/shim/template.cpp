#include "node/shim/template.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "node/sandbox/pod_memory.h"
#include "node/shim/descriptors.h"

namespace shim {
namespace {

constexpr size_t kMostRequest = 16 << 10;  // two paths
constexpr unsigned kMostBorn = 1 << 30;    // counted on from nothing then

struct Request {
  std::string log;
  Birth birth;
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
void show_arguments(int count, char** arguments, const std::string& run_folder) {
  char* const begin = arguments[0];
  char* const end = arguments[count - 1] + strlen(arguments[count - 1]);
  std::string words = "trainyard-shim";
  words += '\0';
  words += run_folder;
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

}  // namespace

bool bear_shims(int count, char** arguments, Birth& birth) {
  prctl(PR_SET_NAME, "trainyard-tmpl", 0, 0, 0);
  const int server = atoi(arguments[2]);
  copies_detached_mounts();  // asked here, for all of them
  std::string buffer(kMostRequest, '\0');
  for (unsigned born = 0;;) {
    pollfd asked{server, POLLIN, 0};
    if (poll(&asked, 1, -1) < 0) continue;  // a signal
    std::vector<int> descriptors;
    const ssize_t size = receive_message(server, buffer.data(), buffer.size(), descriptors);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) return false;
    Request request;
    const bool understood =
        read_request(buffer.substr(0, static_cast<size_t>(size)), descriptors, request);
    errno = EPROTO;
    const pid_t pid = understood ? fork_sibling() : -1;
    if (pid == 0) {
      close(server);
      write_complaints_to(request.log);
      birth = request.birth;
      birth.born_before = static_cast<int>(born % kMostBorn);
      show_arguments(count, arguments, birth.run_folder);
      return true;
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
