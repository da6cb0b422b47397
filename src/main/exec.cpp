#include "cli/exec.h"

#include <iostream>
#include <termios.h>
#include <unistd.h>

#include "main/connect.h"
#include "net/process_client.h"

namespace yard {
namespace {

// The terminal hands on every key as it is typed, and gets its ways back at the end.
class RawMode {
 public:
  explicit RawMode(bool wanted) {
    if (!wanted || tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    cfmakeraw(&raw);
    is_set_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  }
  ~RawMode() {
    if (is_set_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

 private:
  termios before_{};
  bool is_set_ = false;
};

int run_exec(const Program& program, ExecOptions options) {
  auto folder = program.folder();
  if (!folder) return print_error(folder.error().message);
  if (options.terminal && isatty(STDIN_FILENO) != 1) {
    std::cerr << "No terminal here: the command gets none.\n";
    options.terminal = false;
  }
  RemoteProcess process;
  process.server.unix_path = folder->socket();
  process.target = exec_target(options);
  process.terminal = options.terminal;
  if (options.input) process.input = STDIN_FILENO;
  const auto ended = [&] {
    const RawMode raw(options.terminal && options.input);
    return run_remote_process(process);
  }();
  if (!ended) {
    print_error(folder->running_pid() == 0 ? "no control plane runs for " + folder->path() +
                                                 "; start it with `trainyard up`"
                                           : ended.error().message);
    return kUnreachable;
  }
  const ExecEnd end = exec_end(ended->http_status, ended->text);
  if (!end.complaint.empty()) print_error(end.complaint);
  return end.code;
}

}  // namespace

void add_exec(Program& program) {
  auto options = std::make_shared<ExecOptions>();
  CLI::App* command =
      program.add("exec", "Run a command in a pod; ends with its exit code.",
                  "  trainyard exec train-0 -- nvidia-smi        a command and its output\n"
                  "  trainyard exec train-0 -it -- bash          a shell at this terminal\n"
                  "  trainyard exec train-0 -i -- tar x < a.tar  with input\n");
  command->group(kObjectCommands);
  command->add_option("POD", options->pod, "the pod")->required();
  command->add_option("COMMAND", options->argv, "the command and its words, after --")->required();
  add_namespace_flag(command, options->name_space);
  command->add_option("-c,--container", options->container, "which one, when it has several");
  command->add_flag("-i,--stdin", options->input, "hand on what is typed or piped in");
  command->add_flag("-t,--tty", options->terminal, "a terminal of its own");
  command->callback([&program, options] {
    program.run = [&program, options] { return run_exec(program, *options); };
  });
}

}  // namespace yard
