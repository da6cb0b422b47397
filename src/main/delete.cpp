#include "cli/delete.h"

#include "main/connect.h"

namespace yard {

void add_delete(Program& program) {
  auto options = std::make_shared<DeleteRequest>();
  CLI::App* command =
      program.add("delete", "Delete objects and wait until they are gone.",
                  "  trainyard delete job train\n"
                  "  trainyard delete -f job.yaml\n"
                  "  trainyard delete pods -l app=train --no-wait\n"
                  "  trainyard delete job train --cascade=orphan   leave its pods\n");
  command->group(kObjectCommands);
  CLI::Option* words = command->add_option("TYPE", options->words, "TYPE NAME... or TYPE/NAME...");
  CLI::Option* files = command->add_option("-f,--filename", options->source.paths,
                                           "what these files, folders or - name");
  words->excludes(files);
  command->add_flag("-R,--recursive", options->source.is_recursive,
                    "also the folders inside a folder");
  const CLI::Option* name_space = add_namespace_flag(command, options->name_space);
  command->add_option("-l,--selector", options->label_selector,
                      "those of the type whose labels match");
  command->add_flag("--all", options->all, "all of the type in the namespace");
  command->add_option("--cascade", options->cascade, "what becomes of the objects they own")
      ->check(CLI::IsMember({"background", "foreground", "orphan"}))
      ->capture_default_str();
  command->add_flag("--wait,!--no-wait", options->wait, "wait until they are gone (the default)");
  command->add_flag("--ignore-not-found", options->ignore_not_found,
                    "what is not there is no error");
  command->add_flag("--dry-run", options->dry_run, "say what would go");
  command->callback([&program, options, name_space] {
    options->is_namespace_given = name_space->count() > 0;
    program.run = [&program, options] {
      if (options->words.empty() && options->source.paths.empty()) {
        print_error("name what to delete: TYPE NAME, or -f FILE");
        return static_cast<int>(kUsage);
      }
      return with_session(program, [&](Session& session) { return run_delete(session, *options); });
    };
  });
}

}  // namespace yard
