#include "cli/get.h"

#include "main/connect.h"

namespace yard {

void add_get(Program& program) {
  auto options = std::make_shared<GetOptions>();
  CLI::App* command =
      program.add("get", "Show objects: a table, or the objects themselves with -o.",
                  "  trainyard get jobs                       the jobs of the namespace default\n"
                  "  trainyard get pods -A -o wide            every pod, with more columns\n"
                  "  trainyard get job train -o yaml          one object as it is stored\n"
                  "  trainyard get pods -l app=train -w       and each change as it comes\n"
                  "  trainyard get job/train configmap/data   several types at once\n");
  command->group(kObjectCommands);
  command
      ->add_option("TYPE", options->words,
                   "TYPE [NAME...] or TYPE/NAME...; pods, po, Pod and jobs.batch all name a type")
      ->required();
  add_namespace_flag(command, options->name_space);
  command->add_flag("-A,--all-namespaces", options->all_namespaces, "objects of all namespaces");
  command->add_option("-l,--selector", options->label_selector,
                      "only those whose labels match, as in app=train,tier!=test");
  command->add_option("--field-selector", options->field_selector,
                      "only those whose fields match, as in status.phase=Running");
  command->add_option("-o,--output", options->output, "how to print")
      ->check(CLI::IsMember({"wide", "json", "yaml", "name"}));
  command->add_flag("-w,--watch", options->watch, "go on printing as objects change");
  command->add_flag("--no-headers", options->no_headers, "rows only");
  command->add_flag("--ignore-not-found", options->ignore_not_found, "nothing to show is no error");
  command->callback([&program, options] {
    program.run = [&program, options] {
      return with_session(program, [&](Session& session) { return run_get(session, *options); });
    };
  });
}

}  // namespace yard
