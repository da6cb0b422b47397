#include "cli/info.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <unistd.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "json/json.h"
#include "main/config.h"
#include "main/connect.h"

namespace yard {
namespace {

// How long a process has run, by the kernel's own account: /proc/PID/stat's start against
// /proc/uptime.
std::optional<Duration> uptime_of(int pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid)), uptime("/proc/uptime");
  std::string line;
  double since_boot = 0;
  if (!std::getline(stat, line) || !(uptime >> since_boot)) return std::nullopt;
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field;
       ++i) {  // proc(5) counts from 1; the name was the second
  }
  const auto started_ticks = parse_int64(field);
  const long ticks = sysconf(_SC_CLK_TCK);
  if (!started_ticks || ticks <= 0) return std::nullopt;
  const double seconds =
      since_boot - static_cast<double>(*started_ticks) / static_cast<double>(ticks);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

std::vector<std::pair<std::string, uint64_t>> store_files(const StateFolder& folder) {
  std::vector<std::pair<std::string, uint64_t>> files;
  for (const std::string_view ending : {"", "-wal", "-shm"}) {
    const std::filesystem::path path(folder.store() + std::string(ending));
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(path, failed);
    if (!failed) files.emplace_back(path.filename().string(), bytes);
  }
  return files;
}

// What the server wrote into its kubeconfig is what it listens on.
std::string server_url(const StateFolder& folder) {
  const std::string kubeconfig = folder.read("kubeconfig").value_or("");
  constexpr std::string_view kKey = "server: ";
  const size_t at = kubeconfig.find(kKey);
  if (at == std::string::npos) return "<unknown>";
  const size_t start = at + kKey.size();
  return kubeconfig.substr(start, kubeconfig.find('\n', start) - start);
}

// As config.yaml has it now; the server reads it when it starts.
std::vector<std::string> image_lines(const StateFolder& folder) {
  const auto config = read_config(folder);
  if (!config) return {config.error().message};
  std::vector<std::string> out;
  for (const auto& [pattern, entry] : config->images.map)
    out.push_back(fmt::format("{} → {}", pattern, shown(entry)));
  out.push_back(config->images.fallback == ImageFallback::Host
                    ? "others run with the host's own programs (images.fallback: host)"
                    : "others are refused (images.fallback: refuse)");
  return out;
}

// What the server says on its node that pods have to do without: a condition each, a sentence a line.
void add_degradations(InfoFacts& facts, const StateFolder& folder) {
  const auto answer = connect_to(folder)->call("GET", "/api/v1/nodes", {}, "");
  const auto nodes = parse_json(answer && answer->status == 200 ? answer->body : "");
  if (!nodes) return;
  for (const Json& node : list_at(nodes->value, {"items"})) {
    for (const Json& condition : list_at(node, {"status", "conditions"})) {
      const std::string_view type = text_at(condition, {"type"});
      if ((type != "NetworkDegraded" && type != "SandboxDegraded") ||
          text_at(condition, {"status"}) != "True")
        continue;
      for (const std::string_view line : split(text_at(condition, {"message"}), '\n'))
        facts.degradations.emplace_back(line);
    }
  }
}

int show_info(const StateFolder& folder) {
  const Terminal terminal = standard_terminal();
  InfoFacts facts;
  facts.version = kVersionText;
  facts.build = fmt::format("GCC {}, C++20", __VERSION__);
  facts.state_folder = folder.path();
  facts.store_files = store_files(folder);
  facts.images = image_lines(folder);
  facts.pid = folder.running_pid();
  int code = kUnreachable;
  if (facts.pid != 0) {
    facts.url = server_url(folder);
    facts.uptime = uptime_of(facts.pid);
    const auto metrics = connect_to(folder)->call("GET", "/metrics", {}, "");
    if (metrics && metrics->status == 200) {
      facts.metrics = metrics->body;
      code = kOk;
      add_degradations(facts, folder);
    } else {
      facts.degradations.push_back(metrics ? fmt::format("/metrics answers {}", metrics->status)
                                           : metrics.error().message);
    }
  }
  std::cout << info_text(facts, terminal.colour) << std::flush;
  return code;
}

}  // namespace

void add_info(Program& program) {
  CLI::App* command =
      program.add("info", "Tell about the control plane: version, address, memory, what is stored.",
                  "  trainyard info\n  trainyard info --state ./state\n");
  command->group(kServerCommands);
  command->callback([&program] {
    program.run = [&program] {
      auto folder = program.folder();
      return folder ? show_info(*folder) : print_error(folder.error().message);
    };
  });
}

}  // namespace yard
