#include "cli/apply.h"

#include "main/connect.h"

namespace yard {

void add_apply(Program& program) {
  auto options = std::make_shared<ApplyRequest>();
  CLI::App* command = program.add(
      "apply", "Make the server's objects what files say.",
      "  trainyard apply -f job.yaml\n"
      "  trainyard apply -f manifests/ -R            a folder and those in it\n"
      "  cat job.yaml | trainyard apply -f - -n research\n"
      "  trainyard apply -f job.yaml --dry-run       what would change, without changing it\n");
  command->group(kObjectCommands);
  command
      ->add_option("-f,--filename", options->source.paths,
                   "a YAML or JSON file, a folder of them, or - for standard input")
      ->required();
  command->add_flag("-R,--recursive", options->source.is_recursive,
                    "also the folders inside a folder");
  const CLI::Option* name_space = add_namespace_flag(command, options->name_space);
  command->add_flag("--force-conflicts", options->force_conflicts,
                    "take over fields another manager owns");
  command->add_flag("--dry-run", options->dry_run,
                    "let the server check everything and store nothing");
  command->callback([&program, options, name_space] {
    options->is_namespace_given = name_space->count() > 0;
    program.run = [&program, options] {
      return with_session(program, [&](Session& session) { return run_apply(session, *options); });
    };
  });
}

}  // namespace yard
