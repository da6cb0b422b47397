#include "node/shim/probe.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/sandbox/user_namespace.h"
#include "node/shim/files.h"

namespace shim {
namespace {

void say(const char* name, bool ok) {
  printf("%s %s\n", name, ok ? "ok" : strerror(errno));
  fflush(stdout);
}

// proc and devpts can be mounted only from inside a pid namespace.
void try_pid_namespace(const std::string& folder) {
  clone_args arguments{};
  arguments.flags = CLONE_NEWPID | CLONE_NEWNS;
  arguments.exit_signal = SIGCHLD;
  const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return say("pid", false);
  if (pid == 0) {
    say("pid", true);
    say("proc", mount("proc", folder.c_str(), "proc", 0, nullptr) == 0);
    say("devpts", mount("devpts", folder.c_str(), "devpts", 0, "newinstance,ptmxmode=0666") == 0);
    _exit(0);
  }
  waitpid(static_cast<pid_t>(pid), nullptr, 0);
}

void try_overlay(const std::string& folder) {
  const std::string upper = folder + "/a", lower = folder + "/b", target = folder + "/c";
  const std::string options =
      "lowerdir=" + upper + ":" + lower + (in_user_namespace() ? ",userxattr" : "");
  say("overlay", make_folders(upper) && make_folders(lower) && make_folders(target) &&
                     mount("overlay", target.c_str(), "overlay", MS_RDONLY, options.c_str()) == 0);
}

}  // namespace

int probe(const std::string& folder) {
  if (!make_folders(folder)) return perror("the folder to try things in"), 1;
  if (geteuid() != 0) {
    const std::string problem = enter_user_namespace({});
    printf("user %s\n", problem.empty() ? "ok" : problem.c_str());
  }
  const bool mounts =
      unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
  say("mount", mounts);
  if (mounts) {
    say("tmpfs", mount("tmpfs", folder.c_str(), "tmpfs", 0, nullptr) == 0);
    try_overlay(folder);
    try_pid_namespace(folder);
  }
  say("ipc", unshare(CLONE_NEWIPC) == 0);
  say("uts", unshare(CLONE_NEWUTS) == 0);
  const unsigned action = SECCOMP_RET_ERRNO;
  say("seccomp", syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
  return 0;
}

}  // namespace shim
