#include "node/sandbox_facts.h"

#include <array>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "node/files.h"

namespace yard {
namespace {

struct Consequence {
  std::string_view name, text;
};
// In the order of what matters most.
constexpr std::array<Consequence, 9> kConsequences = {{
    {"user",
     "user namespaces are refused, and without one an ordinary user cannot start pods (on Ubuntu: "
     "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0; elsewhere: sudo sysctl "
     "user.max_user_namespaces=15000; or run as root)"},
    {"mount", "mount namespaces are refused, and pods cannot be started without one"},
    {"pid", "pid namespaces are refused, and pods cannot be started without one"},
    {"proc", "/proc cannot be mounted for a pod, and pods cannot be started without it"},
    {"devpts", "/dev/pts cannot be mounted for a pod, and pods cannot be started without it"},
    {"overlay",
     "overlay mounts are refused: a volume below a folder of the host works only where the host "
     "has that path"},
    {"seccomp", "system calls are not filtered: the kernel has no seccomp filters"},
    {"ipc", "ipc namespaces are refused: pods share the machine's System V ipc"},
    {"uts", "uts namespaces are refused: pods have the machine's host name"},
}};

std::string_view answer(std::string_view probe, std::string_view name) {
  for (const std::string_view line : split(probe, '\n')) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ')
      return line.substr(name.size() + 1);
  }
  return "";
}

}  // namespace

std::vector<std::string> sandbox_degradations(const SandboxFacts& facts) {
  std::vector<std::string> out;
  if (facts.probe.empty())
    out.push_back("what the kernel allows pods is unknown: the shim's probe could not be run");
  for (const auto& [name, text] : kConsequences) {
    const std::string_view why = answer(facts.probe, name);
    if (!why.empty() && why != "ok") out.push_back(fmt::format("{}: {}", text, why));
  }
  for (const std::string& refusal : facts.cgroup_refusals)
    out.push_back("not enforced by control groups: " + refusal);
  if (!facts.is_root) {
    out.push_back(
        "pods run as one ordinary user: runAsUser and runAsGroup are shown inside the pod while "
        "files belong to the user outside; supplementalGroups and fsGroup are not applied");
  }
  return out;
}

std::string probe_sandbox(const std::string& shim, const std::string& state_folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const std::string folder = state_folder + "/probe";
  const char* arguments[] = {"trainyard-shim", "--probe", folder.c_str(), nullptr};
  const char* environment[] = {nullptr};
  pid_t pid = 0;
  const int problem = posix_spawn(&pid, shim.c_str(), &actions, nullptr,
                                  const_cast<char**>(arguments), const_cast<char**>(environment));
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  if (problem == 0) {
    char buffer[4096];
    for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<size_t>(count));
    waitpid(pid, nullptr, 0);
  }
  close(ends[0]);
  remove_folder(folder);
  return out;
}

}  // namespace yard
