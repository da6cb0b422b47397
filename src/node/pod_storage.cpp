#include "node/pod_storage.h"

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr const char* kStorage = "ephemeral-storage";

std::optional<Quantity> amount(std::string_view text) {
  const auto quantity = Quantity::parse(text);
  if (!quantity || quantity->value() <= 0) return std::nullopt;
  return *quantity;
}

std::optional<Quantity> empty_dir_limit(const Json& volume) {
  // A tmpfs has its bound from the kernel.
  if (text_at(volume, {"emptyDir", "medium"}) == "Memory") return std::nullopt;
  return amount(text_at(volume, {"emptyDir", "sizeLimit"}));
}

std::optional<Quantity> container_limit(const Json& container) {
  return amount(text_at(container, {"resources", "limits", kStorage}));
}

uint64_t used(const std::map<std::string, uint64_t>& usage, std::string_view name) {
  const auto found = usage.find(std::string(name));
  return found == usage.end() ? 0 : found->second;
}

bool exceeds(uint64_t bytes, const Quantity& limit) {
  return bytes > static_cast<uint64_t>(limit.value());
}

}  // namespace

bool has_storage_limit(const Json& pod) {
  for (const Json& volume : list_at(pod, {"spec", "volumes"})) {
    if (empty_dir_limit(volume)) return true;
  }
  for (const Json& container : list_at(pod, {"spec", "containers"})) {
    if (container_limit(container)) return true;
  }
  return false;
}

std::optional<std::string> storage_eviction(const Json& pod, const PodUsage& usage) {
  for (const Json& volume : list_at(pod, {"spec", "volumes"})) {
    const std::string_view name = text_at(volume, {"name"});
    if (const auto limit = empty_dir_limit(volume);
        limit && exceeds(used(usage.volumes, name), *limit))
      return fmt::format("Usage of EmptyDir volume {} exceeds the limit {}. ", quoted(name),
                         quoted(limit->canonical()));
  }
  // All containers together may use what each of them may, emptyDirs included.
  std::optional<Quantity> allowed;
  uint64_t total = 0;
  bool all_limited = true;
  for (const Json& container : list_at(pod, {"spec", "containers"})) {
    const auto limit = container_limit(container);
    all_limited = all_limited && limit.has_value();
    if (limit) allowed = allowed ? *limit + *allowed : *limit;
  }
  for (const auto& [name, bytes] : usage.volumes)
    total += bytes;
  for (const auto& [name, bytes] : usage.containers)
    total += bytes;
  if (all_limited && allowed && exceeds(total, *allowed))
    return fmt::format(
        "Pod ephemeral local storage usage exceeds the total limit of containers {}. ",
        allowed->canonical());
  for (const Json& container : list_at(pod, {"spec", "containers"})) {
    const std::string_view name = text_at(container, {"name"});
    if (const auto limit = container_limit(container);
        limit && exceeds(used(usage.containers, name), *limit)) {
      return fmt::format("Container {} exceeded its local ephemeral storage limit {}. ", name,
                         quoted(limit->canonical()));
    }
  }
  return std::nullopt;
}

}  // namespace yard
