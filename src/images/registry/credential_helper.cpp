#include "images/registry/credential_helper.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/descriptor.h"

extern char** environ;

namespace yard {
namespace {

// Part of a program's name and nothing else: no path leads out of PATH.
bool is_helper_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

struct Pipe {
  Descriptor read, write;
};

// A pair of sockets, since a write into them can be told not to raise SIGPIPE.
Result<Pipe> make_pipe() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return error(Reason::InternalError, fmt::format("no pipe: {}", std::strerror(errno)));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

Result<pid_t> spawn_helper(const std::string& program, const Pipe& input, const Pipe& output) {
  FileActions actions;
  ::posix_spawn_file_actions_adddup2(actions.get(), input.read.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(actions.get(), output.write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = program, verb = "get";
  char* arguments[] = {name.data(), verb.data(), nullptr};
  pid_t pid = -1;
  const int failed =
      ::posix_spawnp(&pid, program.c_str(), actions.get(), nullptr, arguments, environ);
  if (failed != 0)
    return error(Reason::ServiceUnavailable,
                 fmt::format("{} cannot be started: {}", program, std::strerror(failed)));
  return pid;
}

// What it prints until it closes its output; an error once the time or the room is over.
Result<std::string> read_output(int fd, const BlockingTime& time, const HelperLimits& limits) {
  const Time end = time.now() + limits.patience;
  std::string out;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - time.now());
    pollfd waiting{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) == 0)
      return error(Reason::Timeout, "did not answer in time");
    std::array<char, 4096> buffer;
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size == 0) return out;
    if (size < 0 && errno != EINTR && errno != EAGAIN)
      return error(Reason::InternalError, std::strerror(errno));
    if (size > 0) out.append(buffer.data(), static_cast<size_t>(size));
    if (out.size() > limits.most_output) return error(Reason::Invalid, "says far too much");
  }
}

int wait_for_exit(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<std::optional<RegistryCredential>> ask_credential_helper(const HelperQuestion& question,
                                                                const BlockingTime& time,
                                                                const HelperLimits& limits) {
  if (!is_helper_name(question.helper))
    return error(Reason::Invalid, "the name of a credential helper is malformed");
  const std::string program = "docker-credential-" + question.helper;
  Pipe input = TRY(make_pipe()), output = TRY(make_pipe());
  const pid_t pid = TRY(spawn_helper(program, input, output));
  input.read.reset();
  output.write.reset();
  // Shorter than what the socket holds, so this cannot block; a helper that does not read is its
  // own affair.
  const std::string words = question.server.substr(0, 2048) + "\n";
  [[maybe_unused]] const ssize_t sent =
      ::send(input.write.get(), words.data(), words.size(), MSG_NOSIGNAL);
  input.write.reset();
  Result<std::string> said = read_output(output.read.get(), time, limits);
  if (!said) ::kill(pid, SIGKILL);
  const int status = wait_for_exit(pid);
  if (!said) {
    Error failure = std::move(said).error();
    failure.message = fmt::format("{} {}", program, failure.message);
    return failure;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    if (said->find("credentials not found") != std::string::npos)
      return std::optional<RegistryCredential>();
    return error(Reason::ServiceUnavailable, fmt::format("{} failed", program));
  }
  auto login = parse_helper_answer(*said);
  if (!login)
    return error(Reason::Invalid,
                 fmt::format("what {} printed {}", program, login.error().message));
  return std::optional<RegistryCredential>(std::move(*login));
}

}  // namespace yard
