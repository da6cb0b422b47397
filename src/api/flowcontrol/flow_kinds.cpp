// flowcontrol.apiserver.k8s.io/v1. Stored and listed; how much one user may ask for is fixed
// (apiserver/request_budget.h).

#include "api/checks.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/tables/cells.h"
#include "api/tree.h"

namespace yard {
namespace {

constexpr std::string_view kGroup = "flowcontrol.apiserver.k8s.io";
constexpr std::string_view kText =
    "Trainyard keeps this object but serves every user by the same built-in limits";

void set_schema_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  set_missing(spec, "matchingPrecedence", 1000);
}

FieldErrors validate_schema(const Json& object) {
  FieldErrors errors;
  const int64_t precedence = int_at(object, {"spec", "matchingPrecedence"}, 1000);
  if (precedence < 1 || precedence > 10'000)
    errors.push_back(invalid(FieldPath("spec.matchingPrecedence"), Json(precedence),
                             "must be between 1 and 10000"));
  if (text_at(object, {"spec", "priorityLevelConfiguration", "name"}).empty())
    errors.push_back(required(FieldPath("spec.priorityLevelConfiguration.name"),
                              "must reference a priority level"));
  const Json* method = find_path(object, {"spec", "distinguisherMethod"});
  if (method != nullptr)
    require_supported(errors, *method, "type", FieldPath("spec.distinguisherMethod"),
                      {"ByNamespace", "ByUser"});
  const JsonArray& rules = list_at(object, {"spec", "rules"});
  for (size_t i = 0; i < rules.size(); ++i) {
    const FieldPath path = FieldPath("spec.rules").index(i);
    if (list_at(rules[i], {"subjects"}).empty())
      errors.push_back(
          required(path.child("subjects"), "subjects must contain at least one value"));
    if (list_at(rules[i], {"resourceRules"}).empty() &&
        list_at(rules[i], {"nonResourceRules"}).empty())
      errors.push_back(
          required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"));
  }
  return errors;
}

void set_level_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  if (text_in(spec, "type") == "Limited") {
    JsonObject& limited = object_at(spec, "limited");
    set_missing(limited, "nominalConcurrencyShares", 30);
    set_missing(limited, "lendablePercent", 0);
    JsonObject& response = object_at(limited, "limitResponse");
    if (text_in(response, "type") == "Queue") {
      JsonObject& queuing = object_at(response, "queuing");
      set_missing(queuing, "queues", 64);
      set_missing(queuing, "handSize", 8);
      set_missing(queuing, "queueLengthLimit", 50);
    }
  }
  if (text_in(spec, "type") == "Exempt") {
    JsonObject& exempt = object_at(spec, "exempt");
    set_missing(exempt, "nominalConcurrencyShares", 0);
    set_missing(exempt, "lendablePercent", 0);
  }
}

FieldErrors validate_level(const Json& object) {
  FieldErrors errors;
  const Json* spec = find(object, "spec");
  static const Json kNone = JsonObject();
  require_supported(errors, spec != nullptr ? *spec : kNone, "type", FieldPath("spec"),
                    {"Exempt", "Limited"});
  const bool limited = text_at(object, {"spec", "type"}) == "Limited";
  if (!limited && find_path(object, {"spec", "limited"}) != nullptr)
    errors.push_back(
        forbidden(FieldPath("spec.limited"), "must be nil if the type is not Limited"));
  if (limited && find_path(object, {"spec", "exempt"}) != nullptr)
    errors.push_back(forbidden(FieldPath("spec.exempt"), "must be nil if the type is Limited"));
  if (!limited) return errors;
  if (const Json* response = find_path(object, {"spec", "limited", "limitResponse"}))
    require_supported(errors, *response, "type", FieldPath("spec.limited.limitResponse"),
                      {"Queue", "Reject"});
  if (const Json* part = find_path(object, {"spec", "limited"})) {
    check_not_negative(errors, *part, "nominalConcurrencyShares", FieldPath("spec.limited"));
    check_within(errors, *part, "lendablePercent", FieldPath("spec.limited"), 0, 100);
  }
  return errors;
}

Kind cluster_wide(std::string_view kind, std::string_view plural) {
  Kind row = ordinary_kind({kGroup, "v1", kind, plural});
  row.namespaced = false;
  row.tracks_generation = true;
  row.subresources = {status_subresource()};
  return row;
}

std::string schema_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"spec", "priorityLevelConfiguration", "name"}));
  row.number(int_at(object, {"spec", "matchingPrecedence"}));
  row.text(text_at(object, {"spec", "distinguisherMethod", "type"}, "<none>"));
  row.age(created_at(object));
  row.text("?");
  return row.finish();
}

std::string level_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"spec", "type"}));
  const bool limited = text_at(object, {"spec", "type"}) == "Limited";
  const char* part = limited ? "limited" : "exempt";
  row.text(std::to_string(int_at(object, {"spec", part, "nominalConcurrencyShares"})));
  for (const char* member : {"queues", "handSize", "queueLengthLimit"}) {
    const Json* value = find_path(object, {"spec", "limited", "limitResponse", "queuing", member});
    row.text(value != nullptr && value->is_int64() ? std::to_string(value->get_int64()) : "<none>");
  }
  row.age(created_at(object));
  return row.finish();
}

}  // namespace

Kind flow_schema_kind() {
  Kind row = cluster_wide("FlowSchema", "flowschemas");
  row.columns = {name_column(),
                 column("PriorityLevel", "The level its requests go to."),
                 column("MatchingPrecedence", "Which of several that match counts.", "integer"),
                 column("DistinguisherMethod", "What makes two flows."),
                 age_column(),
                 column("MissingPL", "Whether that level is missing.")};
  row.cells = schema_cells;
  row.set_defaults = set_schema_defaults;
  row.validate = validate_schema;
  make_inert(row, kText, true);
  return row;
}

Kind priority_level_configuration_kind() {
  Kind row = cluster_wide("PriorityLevelConfiguration", "prioritylevelconfigurations");
  row.columns = {name_column(),
                 column("Type", "Limited or Exempt."),
                 column("NominalConcurrencyShares", "Its share of the server."),
                 column("Queues", "How many."),
                 column("HandSize", "How many a flow may use."),
                 column("QueueLengthLimit", "How long one may be."),
                 age_column()};
  row.cells = level_cells;
  row.set_defaults = set_level_defaults;
  row.validate = validate_level;
  make_inert(row, kText, true);
  return row;
}

}  // namespace yard
