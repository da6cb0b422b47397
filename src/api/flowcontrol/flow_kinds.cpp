// flowcontrol.apiserver.k8s.io/v1. Stored and listed; how much one user may ask for is fixed
// (apiserver/request_budget.h).

#include <fmt/format.h>

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

// Zero counts as unset.
void set_number(JsonObject& parent, const char* key, int64_t value) {
  if (int_of(set_missing(parent, key, value)) == 0) parent[key] = value;
}

void set_schema_defaults(Json& object) {
  set_number(section(object, "spec"), "matchingPrecedence", 1000);
}

void check_subject(FieldErrors& errors, const Json& subject, const FieldPath& path) {
  const std::string_view kind = text_at(subject, {"kind"});
  for (const auto& [name, member] :
       {std::pair{"User", "user"}, {"Group", "group"}, {"ServiceAccount", "serviceAccount"}}) {
    if (kind == name && find(subject, member) == nullptr)
      errors.push_back(
          required(path.child(member),
                   fmt::format("{} is required when subject kind is '{}'", member, name)));
    if (kind != name && find(subject, member) != nullptr)
      errors.push_back(
          forbidden(path.child(member),
                    fmt::format("{} is forbidden when subject kind is not '{}'", member, name)));
  }
  check_one_of(errors, path.child("kind"), find(subject, "kind"),
               {"Group", "ServiceAccount", "User"}, Presence::Required);
}

void check_resource_rule(FieldErrors& errors, const Json& rule, const FieldPath& path) {
  constexpr std::pair<const char*, const char*> kLists[] = {
      {"verbs", "verbs must contain at least one value"},
      {"apiGroups", "resource rules must supply at least one api group"},
      {"resources", "resource rules must supply at least one resource"}};
  for (const auto& [member, complaint] : kLists) {
    if (list_at(rule, {member}).empty()) errors.push_back(required(path.child(member), complaint));
  }
  if (list_at(rule, {"namespaces"}).empty() && !bool_in(members_of(&rule), "clusterScope"))
    errors.push_back(
        required(path.child("namespaces"),
                 "resource rules that are not cluster scoped must supply at least one namespace"));
}

void check_other_rule(FieldErrors& errors, const Json& rule, const FieldPath& path) {
  if (list_at(rule, {"verbs"}).empty())
    errors.push_back(required(path.child("verbs"), "verbs must contain at least one value"));
  if (list_at(rule, {"nonResourceURLs"}).empty())
    errors.push_back(
        required(path.child("nonResourceURLs"), "nonResourceURLs must contain at least one value"));
}

void check_flow_rule(FieldErrors& errors, const Json& rule, const FieldPath& path) {
  const JsonArray &subjects = list_at(rule, {"subjects"}), &of = list_at(rule, {"resourceRules"}),
                  &others = list_at(rule, {"nonResourceRules"});
  if (subjects.empty())
    errors.push_back(required(path.child("subjects"), "subjects must contain at least one value"));
  for (size_t i = 0; i < subjects.size(); ++i)
    check_subject(errors, subjects[i], path.child("subjects").index(i));
  if (of.empty() && others.empty())
    errors.push_back(
        required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"));
  for (size_t i = 0; i < of.size(); ++i)
    check_resource_rule(errors, of[i], path.child("resourceRules").index(i));
  for (size_t i = 0; i < others.size(); ++i)
    check_other_rule(errors, others[i], path.child("nonResourceRules").index(i));
}

FieldErrors validate_schema(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  const int64_t precedence = int_at(object, {"spec", "matchingPrecedence"}, 1000);
  if (precedence < 1)
    errors.push_back(
        invalid(path.child("matchingPrecedence"), Json(precedence), "must be a positive value"));
  if (precedence > 10'000)
    errors.push_back(invalid(path.child("matchingPrecedence"), Json(precedence),
                             "must not be greater than 10000"));
  const Json* method = find_path(object, {"spec", "distinguisherMethod"});
  const std::string_view type = text_at(object, {"spec", "distinguisherMethod", "type"});
  if (method != nullptr && type != "ByNamespace" && type != "ByUser")
    errors.push_back(not_supported(path.child("distinguisherMethod").child("type"),
                                   Json(JsonObject{{"Type", type}}), {"ByNamespace", "ByUser"}));
  if (text_at(object, {"spec", "priorityLevelConfiguration", "name"}).empty())
    errors.push_back(required(path.child("priorityLevelConfiguration").child("name"),
                              "must reference a priority level"));
  const JsonArray& rules = list_at(object, {"spec", "rules"});
  for (size_t i = 0; i < rules.size(); ++i)
    check_flow_rule(errors, rules[i], path.child("rules").index(i));
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
      set_number(queuing, "queues", 64);
      set_number(queuing, "handSize", 8);
      set_number(queuing, "queueLengthLimit", 50);
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
    if (const int64_t shares = int_at(*part, {"nominalConcurrencyShares"}); shares < 0)
      errors.push_back(invalid(FieldPath("spec.limited.nominalConcurrencyShares"), Json(shares),
                               "must be a non-negative integer"));
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
