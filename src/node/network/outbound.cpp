#include "node/network/outbound.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "node/network/namespace_maker.h"

namespace yard {
namespace {

constexpr const char *kTap = "tap0", *kTunnels = "/dev/net/tun";
constexpr int kStartTimeoutMs = 3000;

std::string find_program(const char* name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string file = std::string(folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace

Outbound start_outbound(HostThread& host) {
  const std::string program = find_program("slirp4netns");
  if (program.empty())
    return {
        "pods cannot reach the world: slirp4netns is not installed (apt install slirp4netns, "
        "then `trainyard down` and `up`)"};
  if (access(kTunnels, R_OK | W_OK) != 0)
    return {fmt::format(
        "pods cannot reach the world: {} is not open to this user ({}); `chmod 666 {}` as root "
        "opens it, then `trainyard down` and `up`",
        kTunnels, strerror(errno), kTunnels)};
  int ready[2], alive[2];
  if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(alive, O_CLOEXEC) != 0)
    return {"pods cannot reach the world: no pipe for slirp4netns"};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ready[1], 10);
  posix_spawn_file_actions_adddup2(&actions, alive[0], 11);
  posix_spawn_file_actions_addclosefrom_np(&actions, 12);
  const std::string pid = std::to_string(getpid());
  // Pods must not reach what listens on the host's own loopback, such as a plain API socket.
  const char* arguments[] = {
      "slirp4netns",   "--configure",  "--mtu=1500", "--disable-host-loopback",
      "--ready-fd=10", "--exit-fd=11", pid.c_str(),  kTap,
      nullptr};
  pid_t child = 0;
  int problem = 0;
  host.run([&] {
    problem = posix_spawn(&child, program.c_str(), &actions, nullptr, const_cast<char**>(arguments),
                          environ);
  });
  posix_spawn_file_actions_destroy(&actions);
  close(ready[1]);
  close(alive[0]);
  pollfd waiting{ready[0], POLLIN, 0};
  char byte = 0;
  const bool started =
      problem == 0 && poll(&waiting, 1, kStartTimeoutMs) > 0 && read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  if (!started) {
    close(alive[1]);
    if (problem == 0) waitpid(child, nullptr, 0);
    return {
        "pods cannot reach the world: slirp4netns does not start here (its words are in "
        "keeper/log of the state folder)"};
  }
  // It asks on the tap who has a pod's address: the island does.
  write_sysctl("/proc/sys/net/ipv4/conf/tap0/proxy_arp", "1");
  return {"", child, alive[1]};
}

void end_outbound(const Outbound& outbound) {
  if (outbound.pid == 0) return;
  close(outbound.alive);
  waitpid(outbound.pid, nullptr, 0);
}

}  // namespace yard
