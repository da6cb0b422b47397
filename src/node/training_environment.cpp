#include "node/training_environment.h"

#include <algorithm>
#include <cctype>
#include <optional>

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

std::optional<int64_t> ranks_of(const Json& pod) {
  const auto ranks = parse_int64(text_at(pod, {"metadata", "annotations", kReplicasAnnotation}));
  return ranks && *ranks >= 1 ? ranks : std::nullopt;
}

std::string_view controller_uid(const Json& pod) {
  for (const Json& owner : list_at(pod, {"metadata", "ownerReferences"})) {
    if (bool_at(owner, {"controller"})) return text_at(owner, {"uid"});
  }
  return "";
}

bool shares_memory(const Json& pod) {
  return text_at(pod, {"metadata", "annotations", kShareMemoryAnnotation}) != "false";
}

constexpr size_t kMostUid = 64;

}  // namespace

// Owners are named by whoever writes the pod: only its own namespace's jobs can be meant.
std::string memory_group(const Json& pod) {
  const std::string_view uid = controller_uid(pod);
  const bool is_plain = std::ranges::all_of(
      uid, [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '-'; });
  if (!ranks_of(pod) || !shares_memory(pod) || bool_at(pod, {"spec", "hostIPC"}) || uid.empty() ||
      uid.size() > kMostUid || !is_plain) {
    return "";
  }
  return std::string(text_at(pod, {"metadata", "namespace"})) + "_" + std::string(uid);
}

void add_training_defaults(Environment& environment, const Json& pod, const Json& container,
                           int64_t cpus) {
  const auto ranks = ranks_of(pod);
  if (!ranks) return;
  set_where_unset(environment, "OMP_NUM_THREADS",
                  std::to_string(threads_for(container, cpus, *ranks)));
  const std::string_view job = controller_uid(pod);
  if (!job.empty() && shares_memory(pod))
    set_where_unset(environment, "NCCL_HOSTID", std::string(job));
}

}  // namespace yard
