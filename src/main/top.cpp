#include "cli/top.h"

#include <unistd.h>

#include "main/connect.h"
#include "main/follow_world.h"
#include "node/usage.h"

namespace yard {
namespace {

constexpr unsigned kMomentMicros = 500'000;

// Two looks at the counters, a moment apart.
UseSample measure(const std::string& state_folder) {
  const auto clock = wall_clock();
  const Time began = clock();
  const auto before = container_usage(state_folder);
  const MachineUsage machine_before = machine_usage();
  usleep(kMomentMicros);
  const auto after = container_usage(state_folder);
  const MachineUsage machine = machine_usage();
  const double nanoseconds = std::max(1.0, static_cast<double>((clock() - began).count()));
  UseSample out;
  for (const ContainerUsage& now : after) {
    PodUse& pod = out.pods[now.pod_uid];
    pod.memory_bytes += now.memory_bytes;
    for (const ContainerUsage& then : before) {
      if (then.pod_uid != now.pod_uid || then.container != now.container) continue;
      const auto used =
          static_cast<double>(std::max<int64_t>(0, now.cpu_nanoseconds - then.cpu_nanoseconds));
      pod.cpu_milli += static_cast<int64_t>(used * 1000 / nanoseconds + 0.5);
    }
  }
  const int64_t all = std::max<int64_t>(1, machine.all_ticks - machine_before.all_ticks);
  out.node.cpu_share = static_cast<double>(machine.busy_ticks - machine_before.busy_ticks) /
                       static_cast<double>(all);
  out.node.memory_bytes = machine.memory_bytes;
  return out;
}

}  // namespace

void add_top(Program& program) {
  auto options = std::make_shared<TopRequest>();
  CLI::App* command =
      program.add("top", "Show the CPU and memory that pods or nodes use, the busiest first.",
                  "  trainyard top                  the pods of the namespace default\n"
                  "  trainyard top pods -A\n"
                  "  trainyard top nodes\n");
  command->group(kObjectCommands);
  command->add_option("WHAT", options->what, "pods or nodes")
      ->check(CLI::IsMember({"pods", "pod", "po", "nodes", "node", "no"}))
      ->capture_default_str();
  add_namespace_flag(command, options->name_space);
  command->add_flag("-A,--all-namespaces", options->all_namespaces, "pods of all namespaces");
  command->callback([&program, options] {
    program.run = [&program, options]() -> int {
      auto folder = program.folder();
      if (!folder) return print_error(folder.error().message);
      return with_session(program, [&](Session& session) {
        return run_top(session, *options, [&] { return measure(folder->path()); });
      });
    };
  });
}

}  // namespace yard
