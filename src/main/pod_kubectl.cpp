// Inside a pod, under the name kubectl: `exec` alone, with the pod's own account. It is how the
// launcher of an MPIJob reaches its workers, whatever its image lacks.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/strings.h"
#include "cli/exec.h"
#include "main/commands.h"
#include "net/process_client.h"

namespace yard {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kFirstPause = std::chrono::milliseconds(50);
constexpr auto kLongestPause = std::chrono::milliseconds(1000);
const std::string kAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string read_account(const char* name) {
  std::ifstream file(kAccount + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A worker that is not there yet, or not running: a launcher comes up beside its workers.
bool may_come(const Result<RemoteProcessEnd>& end) {
  if (!end) return end.error().reason == Reason::ServiceUnavailable;
  return end->http_status != 101 && end->http_status != 401 && end->http_status != 403;
}

int exec_in_pod(const ExecOptions& options) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  RemoteProcess process;
  process.server.host = host == nullptr ? "" : host;
  process.server.port = static_cast<int>(parse_int64(port == nullptr ? "" : port).value_or(0));
  process.server.ca_pem = read_account("ca.crt");
  process.server.bearer_token = trim(read_account("token"));
  if (process.server.host.empty() || process.server.bearer_token.empty())
    return print_error("this kubectl works inside pods that have an account");
  process.target = exec_target(options);
  if (options.input) process.input = 0;
  const auto until = SteadyClock::now() + kPatience;
  auto pause = kFirstPause;
  auto ended = run_remote_process(process);
  while (may_come(ended) && SteadyClock::now() < until) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(kLongestPause));
    ended = run_remote_process(process);
  }
  if (!ended) {
    print_error(ended.error().message);
    return kUnreachable;
  }
  const ExecEnd end = exec_end(ended->http_status, ended->text);
  if (!end.complaint.empty()) print_error(end.complaint);
  return end.code;
}

}  // namespace

int run_as_kubectl(int count, char** arguments) {
  CLI::App app{"What launchers in pods need of kubectl: exec.", "kubectl"};
  ExecOptions options;
  options.name_space = trim(read_account("namespace"));
  CLI::App* command = app.add_subcommand("exec", "Run a command in a pod.");
  command->add_option("POD", options.pod)->required();
  command->add_option("COMMAND", options.argv)->required();
  command->add_option("-n,--namespace", options.name_space);
  command->add_option("-c,--container", options.container);
  command->add_flag("-i,--stdin", options.input);
  app.require_subcommand(1);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? kOk : kUsage;
  }
  return exec_in_pod(options);
}

}  // namespace yard
