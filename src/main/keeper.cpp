// keeper: the process that holds the pods' network of a state folder. The server starts it; nobody
// types it.

#include "node/network/keeper.h"

#include <memory>

#include "main/commands.h"

namespace yard {

void add_keeper(Program& program) {
  auto options = std::make_shared<KeeperOptions>();
  CLI::App* command = program.add("keeper", "Hold the pods' network (started by the server).", "");
  command->group("");
  command->add_option("--connection", options->connection, "a descriptor: the server's channel");
  command->add_option("--island", options->island, "a descriptor: the namespace to go on with");
  command->add_option("--user", options->user, "a descriptor: the user namespace that owns it");
  command->callback([&program, options] {
    program.run = [&program, options] {
      auto folder = program.folder();
      if (!folder) return static_cast<int>(print_error(folder.error().message));
      options->folder = folder->path() + "/keeper";
      return run_keeper(*options);
    };
  });
}

}  // namespace yard
