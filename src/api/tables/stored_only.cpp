// Printers of kinds that are stored and listed only.

#include <fmt/format.h>

#include "api/tables.h"
#include "api/tables/cells.h"
#include "base/strings.h"

namespace yard {
namespace {

std::string amount_text(const Json* amount) {
  if (amount == nullptr) return "N/A";
  if (amount->is_int64()) return std::to_string(amount->get_int64());
  return std::string(text_of(*amount));
}

std::string target_text(const Json& metric) {
  const std::string_view type = text_at(metric, {"type"});
  if (type != "Resource") return "<unknown>/" + std::string(lower(type));
  const Json* target = find_path(metric, {"resource", "target"});
  const Json none = JsonObject();
  const Json& wanted = target != nullptr ? *target : none;
  const std::string goal =
      find(wanted, "averageUtilization") != nullptr
          ? fmt::format("{}%", int_at(wanted, {"averageUtilization"}))
          : std::string(text_at(wanted, {"averageValue"}, text_at(wanted, {"value"})));
  return fmt::format("{}: <unknown>/{}", text_at(metric, {"resource", "name"}), goal);
}

}  // namespace

std::vector<Column> pod_disruption_budget_columns() {
  return {name_column(), column("Min Available", "How many pods must stay."),
          column("Max Unavailable", "How many may be missing."),
          column("Allowed Disruptions", "How many may be evicted now.", "integer"), age_column()};
}

std::string pod_disruption_budget_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(amount_text(find_path(object, {"spec", "minAvailable"})));
  row.text(amount_text(find_path(object, {"spec", "maxUnavailable"})));
  row.number(int_at(object, {"status", "disruptionsAllowed"}));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> network_policy_columns() {
  return {name_column(), column("Pod-Selector", "Which pods it is about."), age_column()};
}

std::string network_policy_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(label_selector_text(find_path(object, {"spec", "podSelector"})));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> ingress_columns() {
  return {name_column(),
          column("Class", "Which controller is to serve it."),
          column("Hosts", "The names it answers to."),
          column("Address", "Where it is reached."),
          column("Ports", "80, and 443 with TLS."),
          age_column()};
}

std::string ingress_cells(const Json& object) {
  std::vector<std::string> hosts, addresses;
  for (const Json& rule : list_at(object, {"spec", "rules"})) {
    if (const std::string_view host = text_at(rule, {"host"}); !host.empty())
      hosts.emplace_back(host);
  }
  for (const Json& each : list_at(object, {"status", "loadBalancer", "ingress"})) {
    const std::string_view ip = text_at(each, {"ip"});
    addresses.emplace_back(ip.empty() ? text_at(each, {"hostname"}) : ip);
  }
  RowWriter row;
  row.text(name_of(object));
  row.text(or_none(text_at(object, {"spec", "ingressClassName"})));
  row.text(first_three_text(hosts, "*"));
  row.text(join(addresses, ","));
  row.text(list_at(object, {"spec", "tls"}).empty() ? "80" : "80, 443");
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> ingress_class_columns() {
  return {name_column(), column("Controller", "Who serves the class."),
          column("Parameters", "Where its settings are."), age_column()};
}

std::string ingress_class_cells(const Json& object) {
  std::string parameters;
  if (const Json* given = find_path(object, {"spec", "parameters"})) {
    const std::string_view group = text_at(*given, {"apiGroup"});
    parameters = fmt::format("{}{}{}/{}", text_at(*given, {"kind"}), group.empty() ? "" : ".",
                             group, text_at(*given, {"name"}));
  }
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"spec", "controller"}));
  row.text(or_none(std::move(parameters)));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> webhook_configuration_columns() {
  return {name_column(), column("Webhooks", "How many it lists.", "integer"), age_column()};
}

std::string webhook_configuration_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.number(static_cast<int64_t>(list_at(object, {"webhooks"}).size()));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> validating_admission_policy_columns() {
  return {name_column(), column("Validations", "How many rules it has.", "integer"),
          column("ParamKind", "What its parameters are."), age_column()};
}

std::string validating_admission_policy_cells(const Json& object) {
  const Json* kind = find_path(object, {"spec", "paramKind"});
  RowWriter row;
  row.text(name_of(object));
  row.number(static_cast<int64_t>(list_at(object, {"spec", "validations"}).size()));
  row.text(kind == nullptr
               ? "<unset>"
               : fmt::format("{}/{}", text_at(*kind, {"apiVersion"}), text_at(*kind, {"kind"})));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> validating_admission_policy_binding_columns() {
  return {name_column(), column("PolicyName", "The policy it puts to use."),
          column("ParamRef", "Its parameters."), age_column()};
}

std::string validating_admission_policy_binding_cells(const Json& object) {
  const Json* parameters = find_path(object, {"spec", "paramRef"});
  std::string shown = "<unset>";
  if (parameters != nullptr) {
    const std::string_view ns = text_at(*parameters, {"namespace"}),
                           name = text_at(*parameters, {"name"});
    shown = name.empty() ? "<unset>" : fmt::format("{}/{}", ns.empty() ? "*" : ns, name);
  }
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"spec", "policyName"}));
  row.text(shown);
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> horizontal_pod_autoscaler_columns() {
  return {name_column(),
          column("Reference", "What it scales."),
          column("Targets", "What it measures, now and at best."),
          column("MinPods", "The fewest pods."),
          column("MaxPods", "The most pods."),
          column("Replicas", "How many pods there are."),
          age_column()};
}

std::string horizontal_pod_autoscaler_cells(const Json& object) {
  std::vector<std::string> targets;
  for (const Json& metric : list_at(object, {"spec", "metrics"}))
    targets.push_back(target_text(metric));
  RowWriter row;
  row.text(name_of(object));
  row.text(fmt::format("{}/{}", text_at(object, {"spec", "scaleTargetRef", "kind"}),
                       text_at(object, {"spec", "scaleTargetRef", "name"})));
  row.text(targets.empty() ? "<none>" : join(targets, ", "));
  row.text(std::to_string(int_at(object, {"spec", "minReplicas"}, 1)));
  row.number(int_at(object, {"spec", "maxReplicas"}));
  row.number(int_at(object, {"status", "currentReplicas"}));
  row.age(created_at(object));
  return row.finish();
}

}  // namespace yard
