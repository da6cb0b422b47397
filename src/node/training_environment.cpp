#include "node/training_environment.h"

#include <algorithm>

#include "api/core/resources.h"
#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

void set_where_unset(Environment& environment, std::string_view name, std::string value) {
  const auto same = [&](const auto& entry) { return entry.first == name; };
  if (std::ranges::none_of(environment, same)) environment.emplace_back(name, std::move(value));
}

int64_t threads_for(const Json& container, int64_t cpus, int64_t ranks) {
  int64_t threads = cpus / std::max<int64_t>(1, ranks);
  const auto limit = Quantity::parse(text_at(container, {"resources", "limits", "cpu"}, "0"));
  if (limit && !limit->is_zero()) threads = std::min(threads, (limit->milli() + 999) / 1000);
  return std::max<int64_t>(1, threads);
}

}  // namespace

void add_training_defaults(Environment& environment, const Json& pod, const Json& container,
                           int64_t cpus) {
  const auto ranks = parse_int64(text_at(pod, {"metadata", "annotations", kReplicasAnnotation}));
  if (!ranks || *ranks < 1) return;
  set_where_unset(environment, "OMP_NUM_THREADS",
                  std::to_string(threads_for(container, cpus, *ranks)));
  for (const Json& owner : list_at(pod, {"metadata", "ownerReferences"})) {
    if (!bool_at(owner, {"controller"})) continue;
    set_where_unset(environment, "NCCL_HOSTID", std::string(text_at(owner, {"uid"})));
  }
}

}  // namespace yard
