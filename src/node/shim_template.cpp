#include "node/shim_template.h"

#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strings.h"
#include "node/files.h"
#include "node/shim_socket.h"

namespace yard {
namespace {

constexpr int kInherited = 3, kAnswerSeconds = 10;
constexpr size_t kMostAnswer = 256;
constexpr std::string_view kSpare = "spare ";
// Room for a pod's folder below the state folder, which each shim shows as its argument.
constexpr size_t kRoom = 80;

}  // namespace

ShimTemplate::ShimTemplate(std::string shim, std::string state_folder)
    : shim_(std::move(shim)), state_(std::move(state_folder)) {}

ShimTemplate::~ShimTemplate() {
  end();
}

void ShimTemplate::end() {
  // It ends when nobody can ask it any more, and its spare with it: what it has told until then is
  // still heard, so that nobody is left who was forked a moment ago.
  if (socket_ >= 0) shutdown(socket_, SHUT_WR);
  if (const int child = std::exchange(child_, 0); child > 0) waitpid(child, nullptr, 0);
  if (socket_ >= 0) {
    for (auto said = receive(MSG_DONTWAIT); said && note_spare(*said);)
      said = receive(MSG_DONTWAIT);
    close(std::exchange(socket_, -1));
  }
  if (const int spare = std::exchange(spare_, 0); spare > 0) waitpid(spare, nullptr, 0);
}

Result<void> ShimTemplate::open() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("cannot make a socket for the shims' template");
  const timeval patience{kAnswerSeconds, 0};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kInherited);
  posix_spawn_file_actions_addclosefrom_np(&actions, kInherited + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // What is ignored here may be ignored there: its children begin with all signals as they come.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const std::string place = state_ + std::string(kRoom, '.');
  const char* arguments[] = {"trainyard-template", place.c_str(), "3", nullptr};
  const char* environment[] = {nullptr};
  pid_t pid = 0;
  const int problem = posix_spawn(&pid, shim_.c_str(), &actions, &attributes,
                                  const_cast<char**>(arguments), const_cast<char**>(environment));
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (problem != 0) {
    close(ends[0]);
    errno = problem;
    return system_error("cannot start the shims' template " + shim_);
  }
  socket_ = ends[0];
  child_ = pid;
  return {};
}

Result<int> ShimTemplate::ask(const std::string& text, const std::vector<int>& descriptors) {
  if (socket_ < 0) TRY(open());
  TRY(send_to_shim(socket_, text, descriptors));
  std::string said;
  do {
    said = TRY(receive(0));
  } while (note_spare(said));
  const auto pid = parse_uint64(said);
  if (!pid || *pid == 0)
    return error(Reason::InternalError,
                 "cannot start the pod's shim: " + (said.empty() ? "its template ended" : said));
  // The spare has its pod now, or had ended.
  if (const int spare = std::exchange(spare_, 0); spare > 0 && spare != static_cast<int>(*pid))
    waitpid(spare, nullptr, 0);
  return static_cast<int>(*pid);
}

Result<std::string> ShimTemplate::receive(int flags) const {
  char message[kMostAnswer];
  ssize_t size = 0;
  while ((size = recv(socket_, message, sizeof message, flags)) < 0 && errno == EINTR) {
  }
  if (size < 0) return system_error("the shims' template does not answer");
  return std::string(message, static_cast<size_t>(size));
}

bool ShimTemplate::note_spare(std::string_view said) {
  if (!said.starts_with(kSpare)) return false;
  spare_ = static_cast<int>(parse_uint64(said.substr(kSpare.size())).value_or(0));
  return true;
}

Result<int> ShimTemplate::start(const std::string& run_folder, const std::string& log,
                                int connection, const PodNamespaces& namespaces) {
  std::string text = run_folder + "\n" + log + "\n";
  std::vector<int> descriptors{connection};
  for (const int fd : {namespaces.net, namespaces.island, namespaces.user}) {
    text += fd < 0 ? '0' : '1';
    if (fd >= 0) descriptors.push_back(fd);
  }
  const std::lock_guard lock(mutex_);
  auto started = ask(text, descriptors);
  if (started) return started;
  // It may have been killed; another one serves as well.
  log_warning("{}", started.error().message);
  end();
  return ask(text, descriptors);
}

}  // namespace yard
