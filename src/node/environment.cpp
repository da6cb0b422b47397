#include "node/environment.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

Error config_error(std::string message) {
  return error(Reason::Invalid, std::move(message));
}

void set(Environment& environment, std::string name, std::string value) {
  for (auto& [key, old] : environment) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  environment.emplace_back(std::move(name), std::move(value));
}

// metadata.labels['app'] → ("labels", "app")
std::optional<std::pair<std::string, std::string>> subscript(std::string_view path) {
  for (const char* map : {"labels", "annotations"}) {
    const std::string head = fmt::format("metadata.{}['", map);
    if (path.starts_with(head) && path.ends_with("']")) {
      return std::pair{std::string(map),
                       std::string(path.substr(head.size(), path.size() - head.size() - 2))};
    }
  }
  return std::nullopt;
}

std::string map_lines(const JsonObject& map) {
  std::vector<std::string> lines;
  for (const auto& member : map)
    lines.push_back(std::string(member.key()) + "=" + quoted(text_of(member.value())));
  std::ranges::sort(lines);
  return join(lines, "\n");
}

std::string_view kind_in_text(std::string_view kind) {
  return kind == "Secret" ? "secret" : "configmap";
}

Result<std::optional<std::string>> key_ref(const Json& pod, std::string_view kind, const Json& ref,
                                           const PodFactsForEnv& facts) {
  const std::string_view name = text_at(ref, {"name"}), key = text_at(ref, {"key"});
  const bool optional = bool_at(ref, {"optional"});
  const SharedJson found = facts.find(kind, name);
  const Json& object = found;
  if (object.is_null()) {
    if (optional) return std::optional<std::string>{};
    return config_error(fmt::format("{} {} not found", kind_in_text(kind), quoted(name)));
  }
  auto value = data_of(object, key);
  if (value) return value;
  if (optional) return std::optional<std::string>{};
  return config_error(fmt::format("couldn't find key {} in {} {}/{}", key, kind,
                                  text_at(pod, {"metadata", "namespace"}), name));
}

Result<void> add_all_of(Environment& environment, std::string_view kind, const Json& ref,
                        std::string_view prefix, const PodFactsForEnv& facts) {
  const std::string_view name = text_at(ref, {"name"});
  const SharedJson found = facts.find(kind, name);
  const Json& object = found;
  if (object.is_null()) {
    if (bool_at(ref, {"optional"})) return {};
    return config_error(fmt::format("{} {} not found", kind_in_text(kind), quoted(name)));
  }
  for (const std::string& key : keys_of(object))
    set(environment, std::string(prefix) + key, data_of(object, key).value_or(""));
  return {};
}

Result<std::optional<std::string>> value_from(const Json& pod, const Json& container,
                                              const Json& source, const PodFactsForEnv& facts) {
  if (const Json* ref = find(source, "configMapKeyRef"))
    return key_ref(pod, "ConfigMap", *ref, facts);
  if (const Json* ref = find(source, "secretKeyRef")) return key_ref(pod, "Secret", *ref, facts);
  if (const Json* ref = find(source, "fieldRef")) {
    std::string text = TRY(field_ref_text(pod, text_at(*ref, {"fieldPath"}), facts));
    return std::optional<std::string>(std::move(text));
  }
  if (const Json* ref = find(source, "resourceFieldRef")) {
    std::string text = TRY(resource_ref_text(container, *ref, facts.allocatable));
    return std::optional<std::string>(std::move(text));
  }
  return config_error("an environment variable names a source that is not supported");
}

}  // namespace

std::optional<std::string> data_of(const Json& object, std::string_view key) {
  const bool secret = text_at(object, {"kind"}) == "Secret";
  if (const Json* value = find_path(object, {"data", key});
      value != nullptr && value->is_string()) {
    return secret ? base64_decode(text_of(*value)) : std::string(text_of(*value));
  }
  if (const Json* value = find_path(object, {"binaryData", key});
      value != nullptr && value->is_string())
    return base64_decode(text_of(*value));
  return std::nullopt;
}

std::vector<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const char* map : {"data", "binaryData"}) {
    for (const auto& member : map_at(object, {map}))
      keys.insert(std::string(member.key()));
  }
  return {keys.begin(), keys.end()};
}

std::string expand(std::string_view text, const Environment& environment) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '$' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    if (text[at + 1] == '$') {
      out += '$';
      ++at;
      continue;
    }
    const size_t end = text[at + 1] == '(' ? text.find(')', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[at];
      continue;
    }
    const std::string_view name = text.substr(at + 2, end - at - 2);
    const auto found =
        std::ranges::find(environment, name, &std::pair<std::string, std::string>::first);
    out += found != environment.end() ? std::string_view(found->second)
                                      : text.substr(at, end - at + 1);
    at = end;
  }
  return out;
}

Result<std::string> field_ref_text(const Json& pod, std::string_view path,
                                   const PodFactsForEnv& facts) {
  if (const auto key = subscript(path))
    return std::string(text_at(pod, {"metadata", key->first, key->second}));
  if (path == "metadata.labels") return map_lines(map_at(pod, {"metadata", "labels"}));
  if (path == "metadata.annotations") return map_lines(map_at(pod, {"metadata", "annotations"}));
  if (path == "status.podIP" || path == "status.podIPs") return facts.pod_ip;
  if (path == "status.hostIP" || path == "status.hostIPs") return facts.host_ip;
  for (const std::string_view known : {"metadata.name", "metadata.namespace", "metadata.uid",
                                       "spec.nodeName", "spec.serviceAccountName"}) {
    if (path != known) continue;
    const size_t dot = known.find('.');
    return std::string(text_at(pod, {known.substr(0, dot), known.substr(dot + 1)}));
  }
  return config_error(fmt::format("unsupported fieldPath: {}", path));
}

Result<std::string> resource_ref_text(const Json& container, const Json& ref,
                                      const Json& allocatable) {
  const std::string_view resource = text_at(ref, {"resource"});
  const size_t dot = resource.find('.');
  if (dot == std::string_view::npos)
    return config_error(fmt::format("unsupported resource: {}", resource));
  const std::string_view list = resource.substr(0, dot), name = resource.substr(dot + 1);
  std::string_view amount = text_at(container, {"resources", list, name});
  if (amount.empty() && list == "limits") amount = text_at(allocatable, {name});
  const std::string_view divisor_text = text_at(ref, {"divisor"}, "1");
  const Quantity quantity = TRY(Quantity::parse(amount.empty() ? "0" : amount));
  const Quantity divisor =
      TRY(Quantity::parse(divisor_text.empty() || divisor_text == "0" ? "1" : divisor_text));
  // Only cpu is counted in thousandths; for the rest milli() would overflow.
  const bool milli = name == "cpu";
  const int64_t by = milli ? divisor.milli() : divisor.value(),
                whole = milli ? quantity.milli() : quantity.value();
  if (by <= 0) return config_error(fmt::format("invalid divisor {}", divisor_text));
  return std::to_string(whole / by + (whole % by != 0 ? 1 : 0));
}

Result<Environment> container_environment(const Json& pod, const Json& container,
                                          const PodFactsForEnv& facts, const Environment& base) {
  Environment out = base;
  for (const Json& source : list_at(container, {"envFrom"})) {
    const std::string_view prefix = text_at(source, {"prefix"});
    if (const Json* ref = find(source, "configMapRef"))
      TRY(add_all_of(out, "ConfigMap", *ref, prefix, facts));
    if (const Json* ref = find(source, "secretRef"))
      TRY(add_all_of(out, "Secret", *ref, prefix, facts));
  }
  for (const Json& entry : list_at(container, {"env"})) {
    const std::string name(text_at(entry, {"name"}));
    if (const Json* source = find(entry, "valueFrom")) {
      std::optional<std::string> value = TRY(value_from(pod, container, *source, facts));
      if (value) set(out, name, std::move(*value));
    } else {
      set(out, name, expand(text_at(entry, {"value"}), out));
    }
  }
  return out;
}

}  // namespace yard
