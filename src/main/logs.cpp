#include "cli/logs.h"

#include <iostream>

#include "main/connect.h"
#include "main/follow_world.h"
#include "main/log_archive.h"

namespace yard {
namespace {

int show_logs(const Program& program, const LogsRequest& request) {
  auto folder = program.folder();
  if (!folder) return print_error(folder.error().message);
  const FollowWorld world = follow_world(*folder);
  const auto connection = connect_to(*folder);
  Terminal terminal = standard_terminal();
  Session session(*connection, terminal);
  const int code = run_logs(session, request, world,
                            [&](const std::string& name_space, const std::string& name) {
                              return archived_logs(folder->path(), name_space, name);
                            });
  std::cout.flush();
  return code;
}

}  // namespace

void add_logs(Program& program) {
  auto options = std::make_shared<LogsRequest>();
  CLI::App* command = program.add(
      "logs", "Show what the containers of a pod or a job have written, merged and in order.",
      "  trainyard logs train-0-x7k2p             a pod\n"
      "  trainyard logs job/train                 all its pods; each line begins with its rank\n"
      "  trainyard logs -f job/train --tail 10    and go on as they write\n"
      "  trainyard logs pod/train-0 --previous    of the run before the last restart\n"
      "\nLogs of pods that are gone are shown from the archive in the state folder.\n");
  command->group(kObjectCommands);
  command->add_option("OBJECT", options->words, "a pod's name, TYPE/NAME or TYPE NAME")->required();
  add_namespace_flag(command, options->name_space);
  command->add_flag("-f,--follow", options->follow, "go on until it ends");
  command->add_option("--tail", options->tail, "only so many of the newest lines of each container")
      ->check(CLI::NonNegativeNumber);
  command->add_option("-c,--container", options->container, "only this container");
  command->add_flag("-p,--previous", options->previous, "the run before the last restart");
  command->add_flag("--timestamps", options->timestamps, "the time of each line before it");
  command->callback([&program, options] {
    program.run = [&program, options] { return show_logs(program, *options); };
  });
}

}  // namespace yard
