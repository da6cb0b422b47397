// status and version: what one asks first.

#include <fmt/format.h>

#include <cstdio>

#include "base/strings.h"
#include "json/json.h"
#include "main/commands.h"
#include "net/client.h"

namespace yard {
namespace {

int show_status(const StateFolder& folder) {
  const int pid = folder.running_pid();
  if (pid == 0) {
    std::printf("down   no control plane runs for %s; start it with `trainyard up`\n", folder.path().c_str());
    return kUnreachable;
  }
  const auto client = make_http_client(ClientTarget{.unix_path = folder.socket(), .host = "", .ca_pem = "", .certificate_pem = "", .key_pem = "", .bearer_token = ""});
  const auto ready = client->call("GET", "/readyz", {}, "");
  if (!ready || ready->status != 200) {
    return print_error(fmt::format("pid {} runs but does not answer: {}; its log is {}", pid, ready ? "it is not ready" : ready.error().message, folder.log())), kUnreachable;
  }
  const auto port = folder.read("port");
  std::printf("up     https://127.0.0.1:%s (pid %d)\nstate  %s\n", port ? std::string(trim(*port)).c_str() : "?", pid, folder.path().c_str());
  return kOk;
}

}  // namespace

void add_status(Program& program) {
  CLI::App* command = program.add("status", "Say whether the control plane is up, and where (exit code 6 when it is not).", "  trainyard status\n");
  command->group(kServerCommands);
  command->callback([&program] {
    program.run = [&program] {
      auto folder = program.folder();
      return folder ? show_status(*folder) : print_error(folder.error().message);
    };
  });
}

void add_version(Program& program) {
  CLI::App* command = program.add("version", "Print the version.", "");
  command->group(kOtherCommands);
  command->callback([&program] {
    program.run = [] {
      std::printf("%s\n", kVersionText);
      return static_cast<int>(kOk);
    };
  });
}

}  // namespace yard
