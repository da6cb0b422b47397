// why and wait: questions about one object.

#include "cli/why.h"

#include "cli/wait.h"
#include "main/connect.h"
#include "main/follow_world.h"

namespace yard {

void add_why(Program& program) {
  auto options = std::make_shared<WhyOptions>();
  CLI::App* command =
      program.add("why", "Say in a sentence why an object waits or failed, and what mends it.",
                  "  trainyard why job/train\n"
                  "  trainyard why train-0-x7k2p              a pod\n"
                  "  trainyard why pytorchjob/mnist -n research\n");
  command->group(kObjectCommands);
  command->add_option("OBJECT", options->words, "TYPE/NAME, TYPE NAME, or a pod's name")
      ->required();
  add_namespace_flag(command, options->name_space);
  command->callback([&program, options] {
    program.run = [&program, options] {
      return with_session(program, [&](Session& session) { return run_why(session, *options); });
    };
  });
}

void add_wait(Program& program) {
  auto options = std::make_shared<WaitRequest>();
  CLI::App* command = program.add(
      "wait",
      "Wait until an object has a condition or is gone (exit code 1 when it takes too long).",
      "  trainyard wait job/train --for=condition=Complete --timeout=10m\n"
      "  trainyard wait job/train --for=finished      succeeded or failed\n"
      "  trainyard wait pod/train-0 --for=phase=Running\n"
      "  trainyard wait pod/train-0 --for=delete\n");
  command->group(kObjectCommands);
  command->add_option("OBJECT", options->words, "TYPE/NAME, TYPE NAME, or a pod's name")
      ->required();
  add_namespace_flag(command, options->name_space);
  command
      ->add_option("--for", options->goal, "condition=NAME[=VALUE], phase=NAME, finished or delete")
      ->required();
  command->add_option("--timeout", options->timeout, "how long at most, as 30s or 2h")
      ->capture_default_str();
  command->callback([&program, options] {
    program.run = [&program, options] {
      return with_session(
          program, [&](Session& session) { return run_wait(session, *options, wall_clock()); });
    };
  });
}

}  // namespace yard
