#include "cli/describe.h"

#include "main/connect.h"

namespace yard {

void add_describe(Program& program) {
  auto options = std::make_shared<DescribeOptions>();
  CLI::App* command = program.add(
      "describe", "Tell of an object: what was asked, how it fares, its conditions and events.",
      "  trainyard describe job train\n"
      "  trainyard describe pod/train-0 -n research\n"
      "  trainyard describe pods -l app=train\n");
  command->group(kObjectCommands);
  command
      ->add_option("TYPE", options->words,
                   "TYPE NAME... or TYPE/NAME...; without a name all of the type")
      ->required();
  add_namespace_flag(command, options->name_space);
  command->add_option("-l,--selector", options->label_selector, "only those whose labels match");
  command->callback([&program, options] {
    program.run = [&program, options] {
      return with_session(program,
                          [&](Session& session) { return run_describe(session, *options); });
    };
  });
}

}  // namespace yard
