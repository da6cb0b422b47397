#include <cstdio>

#include <CLI/CLI.hpp>

#include "main/commands.h"

namespace yard {

CLI::App* Program::add(const std::string& name, const std::string& about,
                       const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, about);
  command->add_option(
      "--state", state,
      "the state folder (default: $TRAINYARD_STATE, else ~/.local/state/trainyard)");
  if (!examples.empty()) command->footer("\nExamples:\n" + examples);
  return command;
}

int print_error(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return kFailed;
}

namespace {

int main_program(int count, char** arguments) {
  Program program;
  program.app.require_subcommand(1);
  program.app.add_option(
      "--state", program.state,
      "the state folder (default: $TRAINYARD_STATE, else ~/.local/state/trainyard)");
  program.app.set_version_flag("--version", kVersionText);
  program.app.footer(
      "\nFirst steps:\n"
      "  trainyard run job.yaml             run a job: its logs, then its result\n"
      "  trainyard why job/NAME             why it waits or failed, and what mends it\n"
      "  trainyard up                       start the control plane\n"
      "  export KUBECONFIG=$(trainyard kubeconfig --path)\n"
      "  kubectl apply -f job.yaml          any Kubernetes client works; so does `trainyard "
      "apply`\n"
      "  trainyard get jobs -w              watch it\n"
      "  trainyard down                     stop it; what is stored stays\n"
      "\n`trainyard COMMAND --help` shows a command's flags with examples.\n"
      "Exit codes: 0 fine, 1 error, 2 usage, 3 the job failed, 5 not found, 6 server unreachable,\n"
      "130 interrupted.\n");
  add_up(program);
  add_down(program);
  add_restart(program);
  add_backup(program);
  add_status(program);
  add_kubeconfig(program);
  add_user(program);
  add_info(program);
  add_serve(program);
  add_run(program);
  add_logs(program);
  add_why(program);
  add_apply(program);
  add_get(program);
  add_describe(program);
  add_delete(program);
  add_exec(program);
  add_wait(program);
  add_top(program);
  add_image(program);
  add_completion(program);
  add_version(program);
  add_keeper(program);
  try {
    program.app.parse(count, arguments);
  } catch (const CLI::ParseError& problem) {
    const int code = program.app.exit(problem);
    return code == 0 ? kOk : kUsage;
  }
  return program.run ? program.run() : kUsage;
}

}  // namespace
}  // namespace yard

int main(int count, char** arguments) {
  const std::string_view called = count > 0 ? arguments[0] : "";
  if (called.substr(called.rfind('/') + 1) == "kubectl")
    return yard::run_as_kubectl(count, arguments);
  return yard::main_program(count, arguments);
}
