// Jobs as users have them (kubeflow-jobs 10): what admission says, and what the first look makes.

#include <gtest/gtest.h>

#include "api/kind.h"
#include "api/schema/decode.h"
#include "controllers/training/training_testing.h"
#include "testing/case_runner.h"

namespace yard {
namespace {

class TrainingCases : public testing::TestWithParam<CaseFile> {};

// The row that serves this object.
KindPtr row_for(const Json& job) {
  for (const KindPtr& kind : builtin_kinds())
    if (kind->kind == text_at(job, {"kind"}) && kind->api_version() == text_at(job, {"apiVersion"}))
      return kind;
  return nullptr;
}

JsonArray texts(const std::vector<std::string>& lines) {
  return JsonArray(lines.begin(), lines.end());
}

JsonArray environment(const Json& container) {
  JsonArray out;
  for (const Json& variable : list_at(container, {"env"})) {
    const Json* from = find(variable, "valueFrom");
    out.emplace_back(
        from == nullptr
            ? fmt::format("{}={}", text_at(variable, {"name"}), text_at(variable, {"value"}))
            : fmt::format("{} from {}", text_at(variable, {"name"}), to_text(*from)));
  }
  return out;
}

JsonObject shown(const Json& pod) {
  const Json& container = list_at(pod, {"spec", "containers"}).at(0);
  JsonObject out{{"restartPolicy", text_at(pod, {"spec", "restartPolicy"})},
                 {"environment", environment(container)}};
  if (const Json* ports = find(container, "ports")) out["ports"] = *ports;
  if (const Json* volumes = find_path(pod, {"spec", "volumes"})) out["volumes"] = *volumes;
  return out;
}

Json first_look(const Json& given) {
  Json job = *find(given, "given");
  const KindPtr row = row_for(job);
  if (row == nullptr) return "no such kind";
  JsonObject out;
  const auto findings = conform(job, *row->schema, row->kind);
  if (!findings) return error_as_case(findings.error());
  if (!findings->unknown_fields.empty()) out["unknown"] = texts(findings->unknown_fields);
  row->set_defaults(job);
  FieldErrors refused = row->validate(job);
  if (!refused.empty()) {
    JsonArray lines;
    for (const Cause& cause : refused)
      lines.emplace_back(cause.field + ": " + cause.message);
    out["refused"] = std::move(lines);
    return out;
  }
  if (const auto warnings = row->warnings(job); !warnings.empty())
    out["warnings"] = texts(warnings);
  if (row->to_stored) row->to_stored(job);
  set_missing(section(job, "metadata"), "namespace", "default");
  const TrainingWorld world = training_world(std::move(job));
  JsonObject pods;
  JsonArray services;
  for (const ClientWrite& write : plan_training_job(world).plan.writes) {
    if (write.resource == kPodResource) pods[write.name] = shown(write.object);
    if (write.resource == kReplicaServiceResource)
      services.emplace_back(
          fmt::format("{} {}", write.name, to_text(*find_path(write.object, {"spec", "ports"}))));
  }
  out["pods"] = std::move(pods);
  if (!services.empty()) out["services"] = std::move(services);
  const Framework& framework = framework_of(*world.job.kind);
  if (framework.extra_objects != nullptr) {
    JsonArray extras;
    for (const Json& extra : framework.extra_objects(world.job, {}, {}))
      extras.emplace_back(fmt::format("{} {}", text_at(extra, {"kind"}), name_of(extra)));
    if (!extras.empty()) out["besides"] = std::move(extras);
  }
  return out;
}

TEST_P(TrainingCases, Hold) {
  run_case(GetParam(), "answer", first_look);
}
INSTANTIATE_TEST_SUITE_P(Area, TrainingCases, testing::ValuesIn(case_files("training")), case_name);

}  // namespace
}  // namespace yard
