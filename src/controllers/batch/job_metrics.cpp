#include "controllers/batch/job_metrics.h"

#include <optional>

#include <fmt/format.h>

#include "api/content.h"
#include "api/tree.h"
#include "controllers/batch/job_facts.h"

namespace yard {
namespace {

constexpr std::string_view kJobName = "batch.kubernetes.io/job-name";
constexpr std::string_view kIndex = "batch.kubernetes.io/job-completion-index";
constexpr size_t kPhaseField = 6;  // status.phase among a pod's selectable fields

struct Finish {
  std::string mode, result, reason;
};

// Most versions of a Job have not ended, and are not parsed to learn that.
std::optional<Finish> finish_of(const Object& job) {
  if (!content_has(job, R"("type":"Complete")") && !content_has(job, R"("type":"Failed")"))
    return std::nullopt;
  const Json tree = job.tree();
  for (const Json& condition : list_at(tree, {"status", "conditions"})) {
    const std::string_view type = text_at(condition, {"type"});
    if ((type != "Complete" && type != "Failed") || text_at(condition, {"status"}) != "True")
      continue;
    return Finish{std::string(text_at(tree, {"spec", "completionMode"}, "NonIndexed")),
                  type == "Complete" ? "succeeded" : "failed",
                  type == "Complete" ? "" : std::string(text_at(condition, {"reason"}))};
  }
  return std::nullopt;
}

std::string_view end_of(const Object& pod) {
  const auto fields = pod.fields();
  if (fields.size() <= kPhaseField) return "";
  if (fields[kPhaseField] == "Succeeded") return "succeeded";
  return fields[kPhaseField] == "Failed" ? "failed" : "";
}

void add_lines(std::string& out, const char* name, const char* help,
               const std::map<std::string, uint64_t>& counts) {
  if (counts.empty()) return;
  out += fmt::format("# HELP {0} {1}\n# TYPE {0} counter\n", name, help);
  for (const auto& [labels, count] : counts)
    out += fmt::format("{}{{{}}} {}\n", name, labels, count);
}

}  // namespace

JobMetrics::JobMetrics(Client& client) : client_(client) {
  subscriptions_.push_back(
      client_.follow(kJobResource, [this](const ObjectEvent& event) { hear_job(event); }));
  subscriptions_.push_back(
      client_.follow(kPodResource, [this](const ObjectEvent& event) { hear_pod(event); }));
}

JobMetrics::~JobMetrics() {
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void JobMetrics::hear_job(const ObjectEvent& event) {
  if (event.type != ObjectEvent::Type::Modified || event.previous == nullptr) return;
  const auto finish = finish_of(*event.object);
  if (!finish || finish_of(*event.previous)) return;
  ++jobs_finished_[fmt::format("completion_mode=\"{}\",result=\"{}\",reason=\"{}\"", finish->mode,
                               finish->result, finish->reason)];
}

void JobMetrics::hear_pod(const ObjectEvent& event) {
  const Object& pod = *event.object;
  if (!pod.label(kJobName)) return;
  if (event.type == ObjectEvent::Type::Added) ++pods_created_[R"(reason="new",status="succeeded")"];
  const std::string_view end = end_of(pod);
  if (end.empty() || event.previous == nullptr || !end_of(*event.previous).empty()) return;
  ++pods_finished_[fmt::format("completion_mode=\"{}\",result=\"{}\"",
                               pod.label(kIndex) ? "Indexed" : "NonIndexed", end)];
}

std::string JobMetrics::text() const {
  std::string out;
  add_lines(out, "job_controller_jobs_finished_total", "Jobs that ended.", jobs_finished_);
  add_lines(out, "job_controller_job_pods_finished_total", "Pods of Jobs that ended.",
            pods_finished_);
  add_lines(out, "job_controller_job_pods_creation_total", "Pods made for Jobs.", pods_created_);
  return out;
}

}  // namespace yard
