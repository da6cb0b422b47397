#include "api/crd/custom_kinds.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "api/crd/constraints.h"
#include "api/crd/custom_schema.h"
#include "api/crd/json_path.h"
#include "api/crd/printer_columns.h"
#include "api/kinds.h"
#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

std::vector<std::string> texts(const JsonArray& list) {
  std::vector<std::string> out;
  for (const Json& item : list)
    out.emplace_back(text_of(item));
  return out;
}

// Accepted names are those that clash with nobody's; a definition served before it has any shows
// what it asks for.
const Json& served_names(const Json& definition) {
  static const Json kNone = JsonObject();
  const Json* accepted = find_path(definition, {"status", "acceptedNames"});
  if (accepted != nullptr && !text_at(*accepted, {"kind"}).empty()) return *accepted;
  const Json* wanted = find_path(definition, {"spec", "names"});
  return wanted != nullptr ? *wanted : kNone;
}

Kind named_row(const Json& definition, const Json& version) {
  const Json& names = served_names(definition);
  Kind row;
  row.group = text_at(definition, {"spec", "group"});
  row.version = text_at(version, {"name"});
  row.kind = text_at(names, {"kind"});
  row.list_kind = text_at(names, {"listKind"});
  if (row.list_kind.empty()) row.list_kind = row.kind + "List";
  row.plural = text_at(definition, {"spec", "names", "plural"});
  row.singular = text_at(names, {"singular"});
  if (row.singular.empty()) row.singular = lower(row.kind);
  row.short_names = texts(list_at(names, {"shortNames"}));
  row.categories = texts(list_at(names, {"categories"}));
  row.namespaced = text_at(definition, {"spec", "scope"}) != "Cluster";
  row.storage = row.group_resource();
  row.custom = true;
  row.tracks_generation = true;
  row.allows_unconditional_update = false;
  return row;
}

void set_verbs(Kind& row, const Json& definition) {
  // As upstream lists them for custom kinds.
  row.verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  row.terminating = is_being_deleted(definition);
  if (!row.terminating) return;
  // What is there may still be changed, or its finalizers could never go; discovery promises
  // nothing of it.
  row.verbs = {"delete", "deletecollection", "get", "list", "watch"};
  row.prepare_create = [](Json&, const Admission&) -> Result<void> {
    return error(Reason::Forbidden,
                 "create not allowed while custom resource definition is terminating");
  };
}

void set_subresources(Kind& row, const Json& version) {
  if (find_path(version, {"subresources", "status"}) != nullptr) {
    row.subresources.push_back(status_subresource());
  }
  const Json* scale = find_path(version, {"subresources", "scale"});
  if (scale == nullptr) return;
  row.subresources.push_back(Subresource{.name = "scale",
                                         .kind = "Scale",
                                         .group = "autoscaling",
                                         .version = "v1",
                                         .verbs = {"get", "patch", "update"}});
  row.scale = ScalePaths{std::string(text_at(*scale, {"specReplicasPath"})),
                         std::string(text_at(*scale, {"statusReplicasPath"})),
                         std::string(text_at(*scale, {"labelSelectorPath"}))};
}

void set_schema(Kind& row, const Json& version) {
  const Json* source = find_path(version, {"schema", "openAPIV3Schema"});
  row.crd_schema = std::make_shared<const Json>(source != nullptr ? *source : Json(JsonObject()));
  CustomSchema compiled = compile_custom_schema(*row.crd_schema);
  row.schema = compiled.root;
  row.owned_schemas = std::move(compiled.owner);
  const Schema* schema = row.schema;
  const std::shared_ptr<const SchemaCatalogue> owner = row.owned_schemas;
  const ConstraintsPtr rules = schema->constraints;
  row.set_defaults = [schema, owner](Json& object) { apply_defaults(object, *schema); };
  row.validate = [rules](const Json& object) { return validate_custom(object, *rules); };
  row.validate_update = [rules](const Json& object, const Json& live) {
    return validate_custom_update(object, live, *rules);
  };
  row.validate_status_update = row.validate_update;
}

void set_deprecation(Kind& row, const Json& version) {
  if (!bool_at(version, {"deprecated"})) return;
  row.deprecation_warning = text_at(version, {"deprecationWarning"});
  if (row.deprecation_warning.empty()) {
    row.deprecation_warning = fmt::format("{} {} is deprecated", row.api_version(), row.kind);
  }
}

std::string text_of_field(const Json& object, const std::vector<std::string>& steps) {
  const Json* value = &object;
  for (const std::string& step : steps) {
    value = find(*value, step);
    if (value == nullptr) return "";
  }
  if (value->is_string()) return std::string(text_of(*value));
  return value->is_null() ? "" : to_text(*value);
}

// Of all versions: their objects lie in one storage, and a stored object has one list of values.
std::vector<std::string> selectable_paths(const JsonArray& versions) {
  std::vector<std::string> paths;
  for (const Json& version : versions) {
    for (const Json& field : list_at(version, {"selectableFields"})) {
      std::string_view path = text_at(field, {"jsonPath"});
      if (path.starts_with(".")) path.remove_prefix(1);
      if (std::ranges::find(paths, path) == paths.end()) paths.emplace_back(path);
    }
  }
  return paths;
}

void set_selectable_fields(Kind& row, const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  row.selectable_fields = paths;
  std::vector<std::vector<std::string>> steps;
  for (const std::string& path : paths)
    steps.push_back(simple_path_steps(path));
  row.field_values = [steps = std::move(steps)](const Json& object) {
    std::vector<std::string> values;
    values.reserve(steps.size());
    for (const auto& path : steps)
      values.push_back(text_of_field(object, path));
    return values;
  };
}

// Another version differs from the stored one by its name and its defaults.
void make_view(Kind& row, std::string stored_version) {
  row.from_stored = [version = row.api_version(), set_defaults = row.set_defaults](Json& object) {
    object.get_object()["apiVersion"] = version;
    set_defaults(object);
  };
  row.to_stored = [version = std::move(stored_version)](Json& object) {
    object.get_object()["apiVersion"] = version;
  };
}

Kind row_of(const Json& definition, const Json& version) {
  Kind row = named_row(definition, version);
  set_verbs(row, definition);
  set_subresources(row, version);
  set_schema(row, version);
  set_deprecation(row, version);
  PrintedTable table = custom_table(list_at(version, {"additionalPrinterColumns"}));
  row.columns = std::move(table.columns);
  row.cells = std::move(table.cells);
  return row;
}

// v1 → (2, 1, 0), v1beta2 → (1, 1, 2); anything else is of the lowest rank.
std::tuple<int, int64_t, int64_t> rank_of(std::string_view version) {
  constexpr std::tuple<int, int64_t, int64_t> kOther{-1, 0, 0};
  if (!version.starts_with("v")) return kOther;
  const std::string_view rest = version.substr(1);
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const auto major = parse_int64(rest.substr(0, digits));
  if (!major) return kOther;
  if (digits == rest.size()) return {2, *major, 0};
  for (const auto& [word, rank] : {std::pair{"beta", 1}, std::pair{"alpha", 0}}) {
    const std::string_view stage = rest.substr(digits);
    if (!stage.starts_with(word)) continue;
    const auto minor = parse_int64(stage.substr(std::string_view(word).size()));
    if (minor) return {rank, *major, *minor};
  }
  return kOther;
}

class WarningWalk {
 public:
  explicit WarningWalk(std::vector<std::string>& warnings) : warnings_(warnings) {}

  void node(const std::string& path, const Json& schema, int depth) {
    constexpr int kMaxDepth = 100;
    constexpr size_t kMostWarnings = 20;
    if (!schema.is_object() || depth > kMaxDepth || warnings_.size() >= kMostWarnings) return;
    if (!list_at(schema, {"x-kubernetes-validations"}).empty()) {
      warnings_.push_back(fmt::format(
          "{}.x-kubernetes-validations: CEL rules are stored but not enforced by this server",
          path));
    }
    const std::string_view format = text_at(schema, {"format"});
    if (text_at(schema, {"type"}) == "string" && !format.empty() && !is_known_format(format)) {
      warnings_.push_back(fmt::format("unrecognized format {}", quoted(format)));
    }
    if (!text_at(schema, {"pattern"}).empty() &&
        compile_constraints(JsonObject{{"pattern", text_at(schema, {"pattern"})}})->matcher ==
            nullptr) {
      warnings_.push_back(
          fmt::format("{}.pattern: is too large to be compiled and is ignored", path));
    }
    for (const auto& [name, property] : map_at(schema, {"properties"})) {
      node(fmt::format("{}.properties[{}]", path, std::string_view(name)), property, depth + 1);
    }
    for (const char* member : {"items", "additionalProperties", "not"}) {
      if (const Json* below = find(schema, member)) node(path + "." + member, *below, depth + 1);
    }
    for (const char* member : {"allOf", "anyOf", "oneOf"}) {
      const JsonArray& alternatives = list_at(schema, {member});
      for (size_t i = 0; i < alternatives.size(); ++i) {
        node(fmt::format("{}.{}[{}]", path, member, i), alternatives[i], depth + 1);
      }
    }
  }

 private:
  std::vector<std::string>& warnings_;
};

}  // namespace

bool is_preferred_version(std::string_view left, std::string_view right) {
  const auto left_rank = rank_of(left), right_rank = rank_of(right);
  if (left_rank != right_rank) return left_rank > right_rank;
  return left < right;
}

std::vector<KindPtr> kinds_of_definition(const Json& definition) {
  const JsonArray& versions = list_at(definition, {"spec", "versions"});
  std::vector<Kind> rows;
  std::string stored_as;
  const std::vector<std::string> selectable = selectable_paths(versions);
  for (const Json& version : versions) {
    if (!bool_at(version, {"served"})) continue;
    rows.push_back(row_of(definition, version));
    set_selectable_fields(rows.back(), selectable);
    if (bool_at(version, {"storage"})) stored_as = rows.back().api_version();
  }
  std::ranges::sort(rows, [](const Kind& left, const Kind& right) {
    return is_preferred_version(left.version, right.version);
  });
  if (!rows.empty() && stored_as.empty()) stored_as = rows.front().api_version();
  std::vector<KindPtr> kinds;
  kinds.reserve(rows.size());
  for (Kind& row : rows) {
    if (row.api_version() != stored_as) make_view(row, stored_as);
    kinds.push_back(std::make_shared<const Kind>(std::move(row)));
  }
  return kinds;
}

std::vector<std::string> definition_warnings(const Json& definition) {
  std::vector<std::string> warnings;
  const JsonArray& versions = list_at(definition, {"spec", "versions"});
  for (size_t i = 0; i < versions.size(); ++i) {
    const Json* schema = find_path(versions[i], {"schema", "openAPIV3Schema"});
    if (schema != nullptr) {
      WarningWalk(warnings).node(fmt::format("spec.versions[{}].schema.openAPIV3Schema", i),
                                 *schema, 0);
    }
  }
  if (text_at(definition, {"spec", "conversion", "strategy"}) == "Webhook") {
    warnings.emplace_back(
        "spec.conversion: webhooks are not called by this server; versions are converted by name "
        "only");
  }
  return warnings;
}

}  // namespace yard
