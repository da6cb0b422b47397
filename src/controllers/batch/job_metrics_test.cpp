#include "controllers/batch/job_metrics.h"

#include <gtest/gtest.h>

#include "sim/job_yard.h"

namespace yard {
namespace {

TEST(JobMetrics, CountsWhatEndedOnce) {
  JobYard yard;
  const JobMetrics metrics(*yard.client);
  EXPECT_EQ(metrics.text(), "");
  yard.create("  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}\n");
  ASSERT_EQ(yard.active().size(), 1u);
  const std::string pod = yard.active()[0];
  const Answer ended = yard.api.patch("/api/v1/namespaces/default/pods/" + pod + "/status",
                                      R"({"status":{"phase":"Succeeded"}})");
  ASSERT_EQ(ended.status, 200) << ended.text;
  yard.settle(std::chrono::seconds(5));
  const std::string text = metrics.text();
  for (const char* line :
       {"job_controller_jobs_finished_total{completion_mode=\"NonIndexed\",result=\"succeeded\","
        "reason=\"\"} 1\n",
        "job_controller_job_pods_finished_total{completion_mode=\"NonIndexed\","
        "result=\"succeeded\"} 1\n",
        "job_controller_job_pods_creation_total{reason=\"new\",status=\"succeeded\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
}

}  // namespace
}  // namespace yard
