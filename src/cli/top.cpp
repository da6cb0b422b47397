#include "cli/top.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "api/tree.h"
#include "cli/table.h"

namespace yard {
namespace {

Quantity sum_of(const Json& pod, const char* list, const char* resource) {
  Quantity out;
  for (const Json& container : list_at(pod, {"spec", "containers"})) {
    if (auto amount = Quantity::parse(text_at(container, {"resources", list, resource})))
      out = out + *amount;
  }
  return out;
}

// `250m of 2`: what is used of what is allowed, or asked for.
std::string beside(std::string used, const Quantity& limit, const Quantity& request) {
  if (!limit.is_zero()) return fmt::format("{} of {}", used, limit.canonical());
  if (!request.is_zero()) return fmt::format("{} (asked {})", used, request.canonical());
  return used;
}

int show_pods(Session& session, const TopRequest& request, const UseSample& sample) {
  Terminal& terminal = session.terminal();
  const auto list =
      session.get(request.all_namespaces
                      ? std::string("/api/v1/pods")
                      : "/api/v1/namespaces/" + percent_encode(request.name_space) + "/pods");
  if (!list) return print_failure(terminal, list.error());
  struct Row {
    int64_t cpu = 0;
    std::vector<std::string> cells;
  };
  std::vector<Row> rows;
  for (const Json& pod : list_at(*list, {"items"})) {
    const auto found = sample.pods.find(std::string(text_at(pod, {"metadata", "uid"})));
    if (found == sample.pods.end() || text_at(pod, {"status", "phase"}) != "Running") continue;
    Row row{found->second.cpu_milli, {}};
    if (request.all_namespaces) row.cells.emplace_back(text_at(pod, {"metadata", "namespace"}));
    row.cells.emplace_back(name_of(pod));
    row.cells.push_back(beside(cpu_text(found->second.cpu_milli), sum_of(pod, "limits", "cpu"),
                               sum_of(pod, "requests", "cpu")));
    row.cells.push_back(beside(memory_text(found->second.memory_bytes),
                               sum_of(pod, "limits", "memory"), sum_of(pod, "requests", "memory")));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    terminal.err << (request.all_namespaces
                         ? "No pods run\n"
                         : fmt::format("No pods run in namespace {}\n", request.name_space));
    return kOk;
  }
  std::ranges::stable_sort(rows, std::greater<>(), &Row::cpu);
  Grid grid;
  if (request.all_namespaces) grid.header.emplace_back("NAMESPACE");
  grid.header.insert(grid.header.end(), {"NAME", "CPU", "MEMORY"});
  for (Row& row : rows)
    grid.rows.push_back(std::move(row.cells));
  terminal.out << grid_text(grid, {"", 3, terminal.colour});
  return kOk;
}

int show_nodes(Session& session, const UseSample& sample) {
  Terminal& terminal = session.terminal();
  const auto list = session.get("/api/v1/nodes");
  if (!list) return print_failure(terminal, list.error());
  Grid grid{{"NAME", "CPU", "CPU%", "MEMORY", "MEMORY%"}, {}};
  for (const Json& node : list_at(*list, {"items"})) {
    const bool is_simulated =
        find_path(node, {"metadata", "labels", "trainyard.dev/simulated"}) != nullptr;
    const auto cpus = Quantity::parse(text_at(node, {"status", "capacity", "cpu"}, "1"));
    const auto memory = Quantity::parse(text_at(node, {"status", "capacity", "memory"}, "0"));
    if (is_simulated || !cpus || !memory) {
      grid.rows.push_back({std::string(name_of(node)), "-", "-", "-", "-"});
      continue;
    }
    const double share = sample.node.cpu_share;
    const int64_t all = std::max<int64_t>(1, memory->value());
    grid.rows.push_back({std::string(name_of(node)),
                         cpu_text(static_cast<int64_t>(share * static_cast<double>(cpus->milli()))),
                         fmt::format("{:.0f}%", share * 100), memory_text(sample.node.memory_bytes),
                         fmt::format("{}%", sample.node.memory_bytes * 100 / all)});
  }
  terminal.out << grid_text(grid, {"", 3, terminal.colour});
  return kOk;
}

}  // namespace

std::string cpu_text(int64_t milli) {
  return fmt::format("{}m", milli);
}

std::string memory_text(int64_t bytes) {
  return fmt::format("{}Mi", bytes >> 20);
}

int run_top(Session& session, const TopRequest& request,
            const std::function<UseSample()>& measure) {
  const UseSample sample = measure();
  if (request.what.starts_with("no")) return show_nodes(session, sample);
  return show_pods(session, request, sample);
}

}  // namespace yard
