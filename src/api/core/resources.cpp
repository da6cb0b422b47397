#include "api/core/resources.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_parts.h"
#include "api/meta/names.h"

namespace yard {
namespace {

constexpr std::array<std::string_view, 3> kContainerResources = {"cpu", "memory",
                                                                 "ephemeral-storage"};
// Names without a domain that mean something elsewhere (quotas, nodes).
constexpr std::array<std::string_view, 14> kOtherStandardResources = {
    "storage",          "pods",
    "services",         "secrets",
    "configmaps",       "persistentvolumeclaims",
    "resourcequotas",   "replicationcontrollers",
    "requests.cpu",     "requests.memory",
    "requests.storage", "limits.cpu",
    "limits.memory",    "requests.ephemeral-storage"};

bool is_huge_pages(std::string_view name) {
  return name.starts_with("hugepages-");
}

bool is_container_resource(std::string_view name) {
  return is_huge_pages(name) ||
         std::ranges::find(kContainerResources, name) != kContainerResources.end();
}

bool is_qualified(std::string_view name) {
  return name.find('/') != std::string_view::npos;
}

bool is_native(std::string_view name) {
  return !is_qualified(name) || name.find("kubernetes.io/") != std::string_view::npos;
}

// Devices and huge pages are handed out whole: a request is its limit.
bool may_overcommit(std::string_view name) {
  return is_native(name) && !is_huge_pages(name);
}

FieldErrors validate_resource_name(std::string_view name, const FieldPath& path) {
  FieldErrors errors;
  const std::vector<std::string> problems = qualified_name_problems(name);
  add_problems(errors, path, name, problems);
  if (!problems.empty()) return errors;
  if (!is_qualified(name) && !is_container_resource(name)) {
    const bool standard =
        std::ranges::find(kOtherStandardResources, name) != kOtherStandardResources.end();
    if (!standard) {
      errors.push_back(
          invalid(path, Json(name), "must be a standard resource type or fully qualified"));
    }
    errors.push_back(invalid(path, Json(name), "must be a standard resource for containers"));
  } else if (is_qualified(name) && !is_native(name) && name.starts_with("requests.")) {
    errors.push_back(invalid(path, Json(name), "doesn't follow extended resource name standard"));
  }
  return errors;
}

FieldErrors validate_amount(std::string_view name, const Json& value, const FieldPath& path) {
  FieldErrors errors = validate_resource_name(name, path);
  const Result<Quantity> quantity = Quantity::parse(text_of(value));
  if (!quantity) {
    errors.push_back(invalid(path, value, quantity.error().message));
    return errors;
  }
  if (quantity->is_negative()) {
    errors.push_back(invalid(path, Json(quantity->canonical()), kNotNegative));
  }
  if (!is_native(name) && !quantity->is_integer()) {
    errors.push_back(invalid(path, Json(quantity->canonical()), "must be an integer"));
  }
  return errors;
}

void check_against_limit(FieldErrors& errors, std::string_view name, const Json& request,
                         const Json* limit, const FieldPath& path) {
  if (!limit) {
    if (may_overcommit(name)) return;
    errors.push_back(
        required(path.child("limits"), "Limit must be set for non overcommitable resources"));
    return;
  }
  const Result<Quantity> wanted = Quantity::parse(text_of(request));
  const Result<Quantity> most = Quantity::parse(text_of(*limit));
  if (!wanted || !most) return;
  const char* relation = nullptr;
  if (!may_overcommit(name) && *wanted != *most) relation = "equal to";
  if (may_overcommit(name) && *wanted > *most) relation = "less than or equal to";
  if (!relation) return;
  errors.push_back(
      invalid(path.child("requests"), Json(wanted->canonical()),
              fmt::format("must be {} {} limit of {}", relation, name, most->canonical())));
}

}  // namespace

FieldErrors validate_resources(const Json* resources, const FieldPath& path) {
  FieldErrors errors;
  if (!resources) return errors;
  const JsonObject& limits = members_at(*resources, "limits");
  const JsonObject& requests = members_at(*resources, "requests");
  bool has_huge_pages = false;
  bool has_main_resource = false;
  for (const JsonObject* amounts : {&limits, &requests}) {
    const FieldPath place = path.child(amounts == &limits ? "limits" : "requests");
    for (const auto& [name, value] : *amounts) {
      append_errors(errors, validate_amount(name, value, place.key(name)));
      has_huge_pages = has_huge_pages || is_huge_pages(name);
      has_main_resource = has_main_resource || name == "cpu" || name == "memory";
    }
  }
  for (const auto& [name, value] : requests) {
    check_against_limit(errors, name, value, limits.if_contains(name), path);
  }
  if (has_huge_pages && !has_main_resource) {
    errors.push_back(forbidden(path, "HugePages require cpu or memory"));
  }
  return errors;
}

Amounts amounts_of(const Json* quantities) {
  Amounts amounts;
  for (const auto& [name, value] : members_of(quantities)) {
    if (Result<Quantity> quantity = Quantity::parse(text_of(value))) {
      amounts.emplace(std::string_view(name), *quantity);
    }
  }
  return amounts;
}

namespace {

void add(Amounts& sum, const Amounts& more) {
  for (const auto& [name, quantity] : more)
    sum[name] = sum[name] + quantity;
}

void raise(Amounts& most, const Amounts& other) {
  for (const auto& [name, quantity] : other) {
    const auto [at, added] = most.try_emplace(name, quantity);
    if (!added && at->second < quantity) at->second = quantity;
  }
}

bool is_sidecar(const Json& container) {
  return text_at(container, {"restartPolicy"}) == "Always";
}

}  // namespace

Amounts pod_amounts(const Json& spec, std::string_view list) {
  Amounts running;   // all app containers and sidecars at once
  Amounts sidecars;  // those started so far
  Amounts starting;  // the hungriest moment of the init containers
  for (const Json& container : array_at(spec, "containers")) {
    add(running, amounts_of(find_path(container, {"resources", list})));
  }
  for (const Json& container : array_at(spec, "initContainers")) {
    Amounts amounts = amounts_of(find_path(container, {"resources", list}));
    if (is_sidecar(container)) {
      add(running, amounts);
      add(sidecars, amounts);
      raise(starting, sidecars);
    } else {
      add(amounts, sidecars);
      raise(starting, amounts);
    }
  }
  raise(running, starting);
  for (const auto& [name, quantity] : amounts_of(find_path(spec, {"resources", list}))) {
    running[name] = quantity;
  }
  add(running, amounts_of(find(spec, "overhead")));
  return running;
}

namespace {

constexpr std::array<std::string_view, 2> kQosResources = {"cpu", "memory"};

struct QosSums {
  Amounts requests, limits;
  bool everyone_limited = true;

  void count(const Json* resources) {
    static const Json kNone;
    const Json& from = resources ? *resources : kNone;
    const Amounts wanted = amounts_of(find(from, "requests"));
    const Amounts most = amounts_of(find(from, "limits"));
    for (std::string_view name : kQosResources) {
      if (auto at = wanted.find(name); at != wanted.end() && !at->second.is_zero()) {
        Quantity& sum = requests[std::string(name)];
        sum = sum + at->second;
      }
      const auto at = most.find(name);
      if (at == most.end() || at->second.is_zero()) {
        everyone_limited = false;
        continue;
      }
      Quantity& sum = limits[std::string(name)];
      sum = sum + at->second;
    }
  }
};

}  // namespace

std::string_view qos_class(const Json& spec) {
  QosSums sums;
  if (const Json* resources = find(spec, "resources");
      resources && !members_of(resources).empty()) {
    sums.count(resources);
  } else {
    for (const char* list : {"containers", "initContainers"}) {
      for (const Json& container : array_at(spec, list))
        sums.count(find(container, "resources"));
    }
  }
  if (sums.requests.empty() && sums.limits.empty()) return "BestEffort";
  return sums.everyone_limited && sums.requests == sums.limits ? "Guaranteed" : "Burstable";
}

}  // namespace yard
