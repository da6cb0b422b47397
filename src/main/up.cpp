// up, down, restart and serve: the server's life, seen from the command line.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "api/meta/names.h"
#include "api/meta/quantity.h"
#include "base/strings.h"
#include "main/commands.h"
#include "main/config.h"
#include "main/serve.h"
#include "node/cgroup_folders.h"
#include "node/end_pods.h"
#include "node/network/island_network.h"
#include "node/transient.h"

namespace yard {
namespace {

constexpr int kMostSimulated = 10'000;
constexpr int kStartTimeoutMs = 30'000;
constexpr int kStopTimeoutMs = 20'000;  // pods may take ten of them
constexpr int kPodGraceMs = 10'000;

// The child's side: a session of its own, output to the log, then our own binary as `serve`.
[[noreturn]] void become_server(const StateFolder& folder, const StartOptions& options,
                                int ready_fd) {
  setsid();
  const int null = open("/dev/null", O_RDONLY);
  const int log = open(folder.log().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(null, STDIN_FILENO);
  if (log >= 0) {
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
  }
  const std::string port = std::to_string(options.port), ready = std::to_string(ready_fd);
  // What was not given is left to the config file.
  std::vector<const char*> arguments{"trainyard",           "serve",      "--state",
                                     folder.path().c_str(), "--ready-fd", ready.c_str()};
  if (!options.address.empty())
    arguments.insert(arguments.end(), {"--address", options.address.c_str()});
  if (options.port >= 0) arguments.insert(arguments.end(), {"--port", port.c_str()});
  for (const std::string& entry : options.node.capacity)
    arguments.insert(arguments.end(), {"--capacity", entry.c_str()});
  for (const std::string& entry : options.node.labels)
    arguments.insert(arguments.end(), {"--node-label", entry.c_str()});
  const std::string gpus = std::to_string(options.node.fake_gpus);
  if (options.node.fake_gpus > 0) arguments.insert(arguments.end(), {"--fake-gpus", gpus.c_str()});
  const std::string processes = std::to_string(options.node.pod_pids_limit);
  if (options.node.pod_pids_limit > 0)
    arguments.insert(arguments.end(), {"--pod-pids-limit", processes.c_str()});
  for (const std::string& entry : options.node.simulate)
    arguments.insert(arguments.end(), {"--simulate", entry.c_str()});
  if (!options.restore.empty())
    arguments.insert(arguments.end(), {"--restore", options.restore.c_str()});
  arguments.push_back(nullptr);
  execv("/proc/self/exe", const_cast<char**>(arguments.data()));
  _exit(127);
}

// The server's first line, or why there is none.
Result<std::string> first_line(int fd) {
  std::string line;
  for (;;) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, kStartTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0)
      return error(Reason::Timeout,
                   fmt::format("the server did not answer within {} s", kStartTimeoutMs / 1000));
    char buffer[512];
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return error(Reason::InternalError, "the server ended before it was ready");
    line.append(buffer, static_cast<size_t>(count));
    if (const size_t end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
  }
}

// Waits for a process that is not our child, without polling.
bool wait_for_end(int pid, int timeout_ms) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd ended{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&ended, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  close(fd);
  return ready > 0;
}

void add_listen_flags(CLI::App* command, const std::shared_ptr<StartOptions>& options) {
  command->add_option("--port", options->port, "the HTTPS port (0: a free one, kept over restarts)")
      ->check(CLI::Range(0, 65535));
  command->add_option("--address", options->address,
                      "the address to listen on (default: 127.0.0.1)");
}

void add_restore_flag(CLI::App* command, std::string& backup) {
  command->add_option("--restore", backup,
                      "start from this file of `trainyard backup`, in an empty state folder");
}

void add_node_flags(CLI::App* command, NodeFlags& flags) {
  command
      ->add_option("--capacity", flags.capacity,
                   "what pods may ask of this machine, instead of all it has: cpu=6,memory=16Gi")
      ->delimiter(',');
  command->add_option("--node-label", flags.labels, "a label of this machine's node: key=value");
  command
      ->add_option("--fake-gpus", flags.fake_gpus, "nvidia.com/gpu without any device, for tests")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--pod-pids-limit", flags.pod_pids_limit,
                   "how many processes and threads a container may have (default: 32768)")
      ->check(CLI::Range(1, 4'194'304));
  command
      ->add_option("--simulate", flags.simulate,
                   "nodes whose pods are played, not run, in place of this machine: "
                   "nodes=100,cpu=8,memory=64Gi,gpu=8")
      ->delimiter(',');
}

// --simulate: so many nodes, and what each has.
Result<void> add_simulated(const std::vector<std::string>& entries, NodeOptions& out) {
  if (entries.empty()) return {};
  out.simulated = 1;
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    const std::string key = entry.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : entry.substr(equals + 1);
    const auto number = parse_int64(value);
    if (key == "nodes" && number && *number > 0 && *number <= kMostSimulated) {
      out.simulated = static_cast<int>(*number);
    } else if (const auto amount = Quantity::parse(value);
               key != "nodes" && !key.empty() && amount && !amount->is_negative()) {
      out.capacity[key == "gpu" ? "nvidia.com/gpu" : key] = amount->canonical();
    } else {
      return error(Reason::BadRequest,
                   fmt::format("--simulate {} is not of the form nodes=100 (at most {}), cpu=8, "
                               "memory=64Gi or gpu=8",
                               entry, kMostSimulated));
    }
  }
  return {};
}

// The flags as the agent takes them.
Result<NodeOptions> node_options(const NodeFlags& flags) {
  NodeOptions out;
  for (const std::string& entry : flags.capacity) {
    const size_t equals = entry.find('=');
    const auto amount = equals == std::string::npos ? Quantity::parse("")
                                                    : Quantity::parse(entry.substr(equals + 1));
    if (!amount || amount->is_negative())
      return error(Reason::BadRequest,
                   fmt::format("--capacity {} is not of the form cpu=6 or memory=16Gi", entry));
    out.capacity[entry.substr(0, equals)] = amount->canonical();
  }
  for (const std::string& entry : flags.labels) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || !qualified_name_problems(entry.substr(0, equals)).empty() ||
        !label_value_problems(entry.substr(equals + 1)).empty()) {
      return error(Reason::BadRequest,
                   fmt::format("--node-label {} is not of the form key=value", entry));
    }
    out.labels[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  out.fake_gpus = flags.fake_gpus;
  if (flags.pod_pids_limit > 0) out.pod_pids_limit = flags.pod_pids_limit;
  TRY(add_simulated(flags.simulate, out));
  return out;
}

}  // namespace

Result<StartedServer> spawn_server(const StateFolder& folder, const StartOptions& options) {
  TRY(folder.make());
  // The server reads it too; here its errors keep their line and caret, which do not fit the one
  // line below.
  TRY(read_config(folder));
  int ready[2];
  if (pipe(ready) != 0)
    return error(Reason::InternalError,
                 fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  fcntl(ready[0], F_SETFD, FD_CLOEXEC);
  const pid_t child = fork();
  if (child < 0)
    return error(Reason::InternalError,
                 fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child == 0) become_server(folder, options, ready[1]);
  close(ready[1]);
  auto line = first_line(ready[0]);
  close(ready[0]);
  if (!line)
    return error(line.error().reason,
                 fmt::format("{}; its log is {}", line.error().message, folder.log()));
  if (line->starts_with("error ")) {
    // It holds the lock until it has ended: another `up` would take it for a server.
    wait_for_end(static_cast<int>(child), kStopTimeoutMs);
    return error(Reason::InternalError, line->substr(6));
  }
  return StartedServer{line->substr(line->find(' ') + 1), static_cast<int>(child)};
}

int start_server(const StateFolder& folder, const StartOptions& options) {
  if (auto node = node_options(options.node); !node) return print_error(node.error().message);
  if (const int pid = folder.running_pid(); pid != 0) {
    const std::string running = fmt::format(
        "the control plane is already up (pid {}, state folder {})", pid, folder.path());
    if (!options.restore.empty()) {
      return print_error(running +
                         "; a backup is restored into an empty state folder: name one with --state "
                         "DIR");
    }
    if (options.port <= 0) {
      std::printf("%s\n", running.c_str());
      return kOk;
    }
    const auto kept = folder.read("port");
    if (kept && trim(*kept) == std::to_string(options.port)) {
      std::printf("%s\n", running.c_str());
      return kOk;
    }
    return print_error(running + " on another port; `trainyard restart --port " +
                       std::to_string(options.port) + "` moves it");
  }
  const auto started = spawn_server(folder, options);
  if (!started) return print_error(started.error().message);
  std::printf(
      "The control plane is up at %s (pid %d).\nTry:  export KUBECONFIG=%s\n      kubectl get "
      "namespaces\n",
      started->url.c_str(), started->pid, folder.kubeconfig().c_str());
  return kOk;
}

int stop_server(const StateFolder& folder, int signal) {
  const int pid = folder.running_pid();
  if (pid == 0) {
    std::printf("no control plane runs for %s\n", folder.path().c_str());
    return kOk;
  }
  if (kill(pid, signal) != 0 && errno != ESRCH)
    return print_error(fmt::format("cannot stop pid {}: {}", pid, std::strerror(errno)));
  if (!wait_for_end(pid, kStopTimeoutMs)) {
    std::fprintf(stderr, "warning: pid %d did not end within %d s and is killed\n", pid,
                 kStopTimeoutMs / 1000);
    kill(pid, SIGKILL);
    wait_for_end(pid, kStopTimeoutMs);
  }
  std::printf("stopped (pid %d); what is stored stays in %s\n", pid, folder.path().c_str());
  return kOk;
}

void add_up(Program& program) {
  auto options = std::make_shared<StartOptions>();
  CLI::App* command = program.add("up", "Start the control plane in the background.",
                                  "  trainyard up\n  trainyard up --port 6443 --state ./state\n");
  command->group(kServerCommands);
  add_listen_flags(command, options);
  add_node_flags(command, options->node);
  add_restore_flag(command, options->restore);
  command->callback([&program, options] {
    program.run = [&program, options] {
      auto folder = program.folder();
      return folder ? start_server(*folder, *options) : print_error(folder.error().message);
    };
  });
}

void add_down(Program& program) {
  auto keep_pods = std::make_shared<bool>(false);
  CLI::App* command =
      program.add("down", "End the pods and stop the control plane; what is stored stays.",
                  "  trainyard down\n  trainyard down --keep-pods\n");
  command->group(kServerCommands);
  command->add_flag("--keep-pods", *keep_pods, "leave pods running; the next `up` takes them over");
  command->callback([&program, keep_pods] {
    program.run = [&program, keep_pods]() -> int {
      auto folder = program.folder();
      if (!folder) return print_error(folder.error().message);
      if (*keep_pods) return stop_server(*folder, SIGTERM);
      const int pods = count_pods(folder->path());
      const int stopped = stop_server(*folder, kShutDownSignal);
      if (stopped != kOk) return stopped;
      // The server has ended them and says so in their status; without one we do.
      end_pods(folder->path(), std::chrono::milliseconds(kPodGraceMs));
      if (pods > 0) std::printf("ended %d pod%s\n", pods, pods == 1 ? "" : "s");
      end_keeper(folder->path());
      settle_transient(folder->path());
      sweep_all_cgroups(std::filesystem::absolute(folder->path()).lexically_normal().string());
      return kOk;
    };
  });
}

void add_restart(Program& program) {
  auto options = std::make_shared<StartOptions>();
  CLI::App* command = program.add(
      "restart", "Stop the control plane and start it again, for an upgrade or another port.",
      "  trainyard restart\n");
  command->group(kServerCommands);
  add_listen_flags(command, options);
  add_node_flags(command, options->node);
  command->callback([&program, options] {
    program.run = [&program, options] {
      auto folder = program.folder();
      if (!folder) return print_error(folder.error().message);
      const int stopped = stop_server(*folder, SIGTERM);
      return stopped == kOk ? start_server(*folder, *options) : stopped;
    };
  });
}

void add_serve(Program& program) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = program.add(
      "serve", "Run the control plane in the foreground (what `up` starts in the background).",
      "  trainyard serve --state ./state\n");
  command->group(kServerCommands);
  command->add_option("--port", options->port, "the HTTPS port (0: a free one, kept over restarts)")
      ->check(CLI::Range(0, 65535));
  command->add_option("--address", options->address,
                      "the address to listen on (default: 127.0.0.1)");
  command
      ->add_option("--ready-fd", options->ready_fd,
                   "a descriptor to say on that the server answers")
      ->group("");
  auto flags = std::make_shared<NodeFlags>();
  add_node_flags(command, *flags);
  add_restore_flag(command, options->restore);
  command->callback([&program, options, flags] {
    program.run = [&program, options, flags] {
      auto node = node_options(*flags);
      if (!node) return static_cast<int>(print_error(node.error().message));
      options->node = std::move(*node);
      auto folder = program.folder();
      return folder ? serve(*folder, *options) : print_error(folder.error().message);
    };
  });
}

}  // namespace yard
