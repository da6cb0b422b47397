// Any text as the kubeconfig that somebody has already: our entries go in or it is refused; a
// second time changes nothing, and what is written reads back.

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "cli/kubeconfig.h"
#include "json/yaml.h"

namespace {

yard::Json ours() {
  using namespace yard;
  const auto entry = [](std::string_view key, Json value) {
    return JsonArray{JsonObject{{"name", "trainyard"}, {key, std::move(value)}}};
  };
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters", entry("cluster", JsonObject{{"server", "https://127.0.0.1:6443"}})},
      {"users", entry("user", JsonObject{{"client-key-data", "a2V5"}})},
      {"contexts", entry("context", JsonObject{{"cluster", "trainyard"}, {"user", "trainyard"}})},
      {"current-context", "trainyard"}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace yard;
  static const Json kOurs = ours();
  const auto documents = parse_yaml(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!documents || documents->size() > 1) return 0;
  const Json existing = documents->empty() ? Json() : documents->front().parsed.value;
  const auto merged = merged_kubeconfig(existing, kOurs);
  if (!merged) return 0;
  const auto again = merged_kubeconfig(merged->config, kOurs);
  check(again.has_value() && !again->is_changed, "a second time changes nothing");
  check(again->previous_context == "trainyard", "our context is the current one");
  const auto read = parse_yaml(to_yaml(merged->config));
  check(read.has_value() && read->size() == 1 && equal(read->front().parsed.value, merged->config),
        "what is written reads back");
  return 0;
}
