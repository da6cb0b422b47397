// run: from a file to its result. Starts the control plane where none is up, and offers what the
// shell it is called from has: an active Python environment and the current folder.

#include "cli/run.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "main/connect.h"
#include "main/follow_world.h"
#include "node/images/local_images.h"

namespace yard {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The active environment: a venv's (uv's too) or conda's; "" for none.
std::string active_environment() {
  std::error_code failed;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::filesystem::path folder(variable(name));
    if (folder.is_absolute() && std::filesystem::exists(folder / "bin/python", failed))
      return folder.lexically_normal().string();
  }
  return "";
}

// The folder to offer; "" for those that are too much: everything, and a home folder.
std::string offered_folder() {
  std::error_code failed;
  const std::string folder = std::filesystem::current_path(failed).string();
  const std::string home = variable("HOME");
  constexpr std::string_view kNever[] = {"/",    "/usr", "/etc",  "/opt",  "/srv",  "/bin", "/lib",
                                         "/tmp", "/var", "/home", "/root", "/proc", "/sys", "/dev"};
  if (failed || folder == home || folder.find(':') != std::string::npos) return "";
  return std::ranges::find(kNever, folder) == std::end(kNever) ? folder : "";
}

std::optional<RunRequest::Local> local_offer(const StateFolder& folder) {
  ImageEntry entry;
  std::vector<std::string> parts;
  if (const std::string environment = active_environment(); !environment.empty()) {
    entry.base = ImageEntry::Base::Python;
    entry.folder = environment;
    parts.push_back(fmt::format("the active Python environment {}", environment));
  }
  if (const std::string current = offered_folder(); !current.empty()) {
    entry.mounts.push_back({current, current, false});
    entry.working_folder = current;
    parts.push_back(
        fmt::format("the current folder {} (as working folder where the YAML sets none)", current));
  }
  if (parts.empty()) return std::nullopt;
  return RunRequest::Local{
      std::string(kOfferAnnotation),
      fmt::format("for images that are not mapped: {}; --no-local leaves {} out",
                  join(parts, ", and "), parts.size() == 1 ? "it" : "both"),
      [entry, state = folder.path()](const std::string& name_space) {
        return write_offer(state, {name_space, entry});
      }};
}

// People expect `run` to just work.
Result<void> ensure_server(const StateFolder& folder) {
  if (folder.running_pid() != 0) return {};
  auto started = spawn_server(folder, {});
  // Another `run` may have been a moment faster.
  if (!started && folder.running_pid() != 0) return {};
  if (!started) return started.error();
  std::cerr << fmt::format(
      "no control plane was up: started one at {} (pid {}); `trainyard down` "
      "stops it\n",
      started->url, started->pid);
  return {};
}

int run_command(const Program& program, RunRequest request, bool no_local) {
  auto folder = program.folder();
  if (!folder) return print_error(folder.error().message);
  if (auto up = ensure_server(*folder); !up) return print_error(up.error().message);
  if (!no_local) request.local = local_offer(*folder);
  const FollowWorld world = follow_world(*folder);
  const auto connection = connect_to(*folder);
  Terminal terminal = standard_terminal();
  Session session(*connection, terminal);
  const int code = run_job(session, request, world);
  std::cout.flush();
  return code;
}

}  // namespace

void add_run(Program& program) {
  auto options = std::make_shared<RunRequest>();
  auto no_local = std::make_shared<bool>(false);
  CLI::App* command = program.add(
      "run", "Run a job from a file: apply it, show its logs, end as it ends.",
      "  trainyard run job.yaml                 0 when it succeeds, 3 when it fails\n"
      "  trainyard run job.yaml --rm            and delete it afterwards\n"
      "  trainyard run job.yaml --detach        start it and come back at once\n"
      "  cat job.yaml | trainyard run - -n research\n"
      "  trainyard run job.yaml > train.log     logs go to the file, progress to the terminal\n"
      "\nImages that config.yaml does not map run with this machine's own programs: with the "
      "active\n"
      "virtual environment and in the current folder, unless --no-local is given. A finished job\n"
      "of the same name is replaced. Ctrl-C leaves the job running (--rm deletes it); exit code\n"
      "130.\n");
  command->group(kObjectCommands);
  command
      ->add_option("FILE", options->source.paths,
                   "a YAML or JSON file, a folder of them, or - for standard input")
      ->required();
  const CLI::Option* name_space = add_namespace_flag(command, options->name_space);
  CLI::Option* detach =
      command->add_flag("-d,--detach", options->detach, "start it and do not wait");
  command->add_flag("--rm", options->remove, "delete it in the end, also when interrupted")
      ->excludes(detach);
  command->add_flag("--no-local", *no_local,
                    "offer neither the active virtual environment nor the current folder");
  command->callback([&program, options, no_local, name_space] {
    options->is_namespace_given = name_space->count() > 0;
    program.run = [&program, options, no_local] {
      return run_command(program, *options, *no_local);
    };
  });
}

}  // namespace yard
