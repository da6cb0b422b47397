#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_admission.h"
#include "api/core/resources.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr const char* kAnnotation = "kubernetes.io/limit-ranger";

// Fills what `amounts` lacks from `defaults` and answers the names it filled.
std::vector<std::string> fill(JsonObject& resources, const char* list, const JsonObject& defaults) {
  std::vector<std::string> filled;
  if (defaults.empty()) return filled;
  JsonObject& amounts = object_at(resources, list);
  for (const auto& [name, value] : defaults) {
    if (amounts.contains(name)) continue;
    amounts.emplace(name, value);
    filled.emplace_back(name);
  }
  return filled;
}

void apply_defaults(JsonObject& container, const Json& range, const char* role,
                    std::vector<std::string>& told) {
  JsonObject& resources = object_at(container, "resources");
  const std::string name(text_in(container, "name"));
  const auto tell = [&](const std::vector<std::string>& filled, const char* what) {
    if (filled.empty()) return;
    told.push_back(fmt::format("{} {} for {} {}", join(filled, ", "), what, role, name));
  };
  tell(fill(resources, "requests", members_at(range, "defaultRequest")), "request");
  tell(fill(resources, "limits", members_at(range, "default")), "limit");
}

// Every complaint of one range item about one container or the whole pod.
class Checker {
 public:
  Checker(std::string_view type, Amounts requests, Amounts limits)
      : type_(type), requests_(std::move(requests)), limits_(std::move(limits)) {}

  void check(const Json& range, std::vector<std::string>& complaints) const {
    for (const auto& [name, bound] : amounts_of(find(range, "min"))) {
      check_bound(complaints, name, bound, true);
    }
    for (const auto& [name, bound] : amounts_of(find(range, "max"))) {
      check_bound(complaints, name, bound, false);
    }
    for (const auto& [name, bound] : amounts_of(find(range, "maxLimitRequestRatio"))) {
      check_ratio(complaints, name, bound);
    }
  }

 private:
  static const Quantity* amount(const Amounts& amounts, const std::string& name) {
    const auto at = amounts.find(name);
    return at == amounts.end() ? nullptr : &at->second;
  }

  // A minimum must be met by the request, a maximum by the limit; the other of the two must agree.
  void check_bound(std::vector<std::string>& complaints, const std::string& name,
                   const Quantity& bound, bool is_minimum) const {
    const Quantity* main = amount(is_minimum ? requests_ : limits_, name);
    const Quantity* other = amount(is_minimum ? limits_ : requests_, name);
    const char* main_word = is_minimum ? "request" : "limit";
    // A claim has no limits: its request is held against both bounds.
    if (type_ == "PersistentVolumeClaim") {
      main = amount(requests_, name);
      other = nullptr;
      main_word = "request";
    }
    const char* other_word = is_minimum ? "limit" : "request";
    const auto breaks = [&](const Quantity& value) {
      return is_minimum ? value < bound : value > bound;
    };
    const std::string rule =
        fmt::format("{} {} usage per {} is {}", is_minimum ? "minimum" : "maximum", name, type_,
                    bound.canonical());
    if (!main) {
      complaints.push_back(fmt::format("{}.  No {} is specified", rule, main_word));
    } else if (breaks(*main)) {
      complaints.push_back(fmt::format("{}, but {} is {}", rule, main_word, main->canonical()));
    } else if (other && breaks(*other)) {
      complaints.push_back(fmt::format("{}, but {} is {}", rule, other_word, other->canonical()));
    }
  }

  void check_ratio(std::vector<std::string>& complaints, const std::string& name,
                   const Quantity& bound) const {
    const std::string rule = fmt::format("{} max limit to request ratio per {} is {}, but ", name,
                                         type_, bound.canonical());
    const Quantity* request = amount(requests_, name);
    const Quantity* limit = amount(limits_, name);
    if (!request || request->is_zero()) {
      complaints.push_back(rule + "no request is specified or request is 0");
      return;
    }
    if (!limit || limit->is_zero()) {
      complaints.push_back(rule + "no limit is specified or limit is 0");
      return;
    }
    const double ratio =
        static_cast<double>(limit->milli()) / static_cast<double>(request->milli());
    if (ratio * 1000 > static_cast<double>(bound.milli())) {
      complaints.push_back(fmt::format("{}provided ratio is {:f}", rule, ratio));
    }
  }

  std::string_view type_;
  Amounts requests_, limits_;
};

template <typename Visit>
void for_each_container(JsonObject& spec, Visit visit) {
  for (const char* list : {"containers", "initContainers"}) {
    Json* containers = spec.if_contains(list);
    if (!containers || !containers->is_array()) continue;
    const char* role = std::string_view(list) == "containers" ? "container" : "init container";
    for (Json& container : containers->get_array()) {
      if (container.is_object()) visit(container, role);
    }
  }
}

void check_range(const Json& pod, const Json& range, std::vector<std::string>& complaints) {
  const std::string_view type = text_at(range, {"type"});
  const Json& spec = *find(pod, "spec");
  if (type == "Pod") {
    Checker(type, pod_amounts(spec, "requests"), pod_amounts(spec, "limits"))
        .check(range, complaints);
  } else if (type == "Container") {
    for (const char* list : {"containers", "initContainers"}) {
      for (const Json& container : array_at(spec, list)) {
        Checker(type, amounts_of(find_path(container, {"resources", "requests"})),
                amounts_of(find_path(container, {"resources", "limits"})))
            .check(range, complaints);
      }
    }
  }
}

}  // namespace

Result<void> check_claim_limits(const Json& claim, const ClusterFacts& cluster) {
  const auto ranges = cluster.limit_ranges.find(text_at(claim, {"metadata", "namespace"}));
  if (ranges == cluster.limit_ranges.end()) return {};
  constexpr std::string_view kType = "PersistentVolumeClaim";
  std::vector<std::string> complaints;
  for (const Json& limits : ranges->second) {
    if (!limits.is_array()) continue;
    for (const Json& range : limits.get_array()) {
      if (text_at(range, {"type"}) != kType) continue;
      Checker(kType, amounts_of(find_path(claim, {"spec", "resources", "requests"})), {})
          .check(range, complaints);
    }
  }
  if (complaints.empty()) return {};
  Error out =
      error(Reason::Forbidden,
            fmt::format(
                "persistentvolumeclaims {} is forbidden: {}", quoted(name_of(claim)),
                complaints.size() == 1 ? complaints.front() : "[" + join(complaints, ", ") + "]"));
  out.details.name = name_of(claim);
  out.details.kind = "persistentvolumeclaims";
  return out;
}

Result<void> apply_limit_ranges(Json& pod, const ClusterFacts& cluster) {
  const auto ranges = cluster.limit_ranges.find(text_at(pod, {"metadata", "namespace"}));
  if (ranges == cluster.limit_ranges.end()) return {};
  JsonObject& spec = object_at(pod.as_object(), "spec");
  std::vector<std::string> told;
  std::vector<std::string> complaints;
  for (const Json& limits : ranges->second) {
    if (!limits.is_array()) continue;
    for (const Json& range : limits.get_array()) {
      if (text_at(range, {"type"}) != "Container") continue;
      for_each_container(spec, [&](Json& container, const char* role) {
        apply_defaults(container.get_object(), range, role, told);
      });
    }
  }
  if (!told.empty()) {
    JsonObject& metadata = object_at(pod.as_object(), "metadata");
    object_at(metadata, "annotations")[kAnnotation] = "LimitRanger plugin set: " + join(told, "; ");
  }
  for (const Json& limits : ranges->second) {
    if (!limits.is_array()) continue;
    for (const Json& range : limits.get_array())
      check_range(pod, range, complaints);
  }
  if (complaints.empty()) return {};
  return pod_forbidden(
      pod, complaints.size() == 1 ? complaints.front() : "[" + join(complaints, ", ") + "]");
}

}  // namespace yard
