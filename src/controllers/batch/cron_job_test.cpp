#include <gtest/gtest.h>

#include "controllers/batch/cron_controller.h"
#include "controllers/batch/cron_times.h"
#include "controllers/lifecycle/garbage_collector.h"
#include "sim/job_yard.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

TEST(CronTimes, TheLatestMissedSlotAndTheNext) {
  const struct {
    const char* about;
    const char* schedule;
    const char* earliest;
    const char* now;
    const char* latest;
    const char* next;
    bool too_many;
  } cases[] = {
      {"none has come", "0 * * * *", "2024-01-01T00:00:10Z", "2024-01-01T00:30:00Z", "",
       "2024-01-01T01:00:00Z", false},
      {"one has", "0 * * * *", "2024-01-01T00:00:10Z", "2024-01-01T01:00:00Z",
       "2024-01-01T01:00:00Z", "2024-01-01T02:00:00Z", false},
      {"only the latest of several", "0 * * * *", "2024-01-01T00:00:10Z", "2024-01-01T05:30:00Z",
       "2024-01-01T05:00:00Z", "2024-01-01T06:00:00Z", false},
      {"a hundred is not too many", "* * * * *", "2024-01-01T00:00:00Z", "2024-01-01T01:40:00Z",
       "2024-01-01T01:40:00Z", "2024-01-01T01:41:00Z", false},
      {"one more is", "* * * * *", "2024-01-01T00:00:00Z", "2024-01-01T01:41:00Z",
       "2024-01-01T01:41:00Z", "2024-01-01T01:42:00Z", true},
      {"a year of minutes", "* * * * *", "2023-01-01T00:00:00Z", "2024-01-01T00:00:30Z",
       "2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z", true},
      {"uneven slots", "0,1 8 * * *", "2024-01-01T07:00:00Z", "2024-01-31T07:30:00Z",
       "2024-01-30T08:01:00Z", "2024-01-31T08:00:00Z", true},
      {"@every counts from the last one", "@every 90m", "2024-01-01T00:10:00Z",
       "2024-01-01T04:00:00Z", "2024-01-01T03:10:00Z", "2024-01-01T04:40:00Z", false},
      {"a day that never comes", "0 0 30 2 *", "2024-01-01T00:00:00Z", "2024-06-01T00:00:00Z", "",
       "", false},
  };
  for (const auto& row : cases) {
    const auto schedule = CronSchedule::parse(row.schedule);
    ASSERT_TRUE(schedule) << row.about;
    const CronSlots slots =
        cron_slots(*schedule, row.schedule, *parse_rfc3339(row.earliest), *parse_rfc3339(row.now));
    EXPECT_EQ(slots.latest ? rfc3339(*slots.latest) : "", row.latest) << row.about;
    EXPECT_EQ(slots.next ? rfc3339(*slots.next) : "", row.next) << row.about;
    EXPECT_EQ(slots.missed_too_many, row.too_many) << row.about;
  }
}

TEST(CronTimes, Rfc1123) {
  EXPECT_EQ(rfc1123z(*parse_rfc3339("2006-01-02T15:04:05Z")), "Mon, 02 Jan 2006 15:04:05 +0000");
}

class CronJobTest : public testing::Test {
 protected:
  // The simulated clock begins at 22:13:20.
  void create(const std::string& lines) {
    const Json cron =
        yaml("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec:\n" + lines +
             "  jobTemplate: {metadata: {labels: {a: b}}, spec: {template: {spec: {restartPolicy: "
             "Never, containers: [{name: main, image: i}]}}}}\n");
    const Answer made =
        yard.api.call("POST", "/apis/batch/v1/namespaces/default/cronjobs", to_text(cron));
    ASSERT_EQ(made.status, 201) << made.text;
    yard.settle();
  }
  Json cron() const { return yard.client->get(kCronJobResource, "default", "c")->tree(); }
  std::vector<std::string> jobs() const {
    std::vector<std::string> out;
    for (const ObjectPtr& job : yard.client->list(kJobResource, "default"))
      out.emplace_back(job->name());
    return out;
  }
  void finish_all(int code) {
    for (const std::string& pod : yard.active())
      yard.finish(pod, code);
  }
  void change(const std::string& patch) {
    EXPECT_EQ(
        yard.api.patch("/apis/batch/v1/namespaces/default/cronjobs/c", to_text(yaml(patch))).status,
        200);
    yard.settle();
  }

  JobYard yard;
  GarbageCollector collector{yard.api.loop, *yard.client};
  std::unique_ptr<CronController> controller =
      std::make_unique<CronController>(yard.api.loop, *yard.client);
};

TEST_F(CronJobTest, StartsAJobAtItsMinute) {
  create("  schedule: '*/5 * * * *'\n");
  EXPECT_TRUE(jobs().empty());
  yard.settle(2min);
  ASSERT_EQ(jobs(), std::vector<std::string>{"c-28333335"});  // 22:15
  const Json job = yard.job("c-28333335");
  EXPECT_EQ(
      text_at(job, {"metadata", "annotations", "batch.kubernetes.io/cronjob-scheduled-timestamp"}),
      "2023-11-14T22:15:00Z");
  EXPECT_EQ(text_at(job, {"metadata", "labels", "a"}), "b");
  EXPECT_EQ(text_at(list_at(job, {"metadata", "ownerReferences"}).at(0), {"name"}), "c");
  EXPECT_EQ(text_at(cron(), {"status", "lastScheduleTime"}), "2023-11-14T22:15:00Z");
  EXPECT_EQ(text_at(list_at(cron(), {"status", "active"}).at(0), {"uid"}),
            text_at(job, {"metadata", "uid"}));
  finish_all(0);
  EXPECT_TRUE(list_at(cron(), {"status", "active"}).empty());
  EXPECT_FALSE(text_at(cron(), {"status", "lastSuccessfulTime"}).empty());
  EXPECT_EQ(yard.events("SawCompletedJob"),
            std::vector<std::string>{
                "SawCompletedJob: Saw completed job: c-28333335, condition: Complete"});
  const std::vector<std::string> made = yard.events("SuccessfulCreate");
  EXPECT_TRUE(std::ranges::find(made, "SuccessfulCreate: Created job c-28333335") != made.end());
  EXPECT_TRUE(yard.events("UnexpectedJob").empty());
}

TEST_F(CronJobTest, HistoryIsTrimmed) {
  create("  schedule: '* * * * *'\n  successfulJobsHistoryLimit: 2\n");
  for (int minute = 0; minute < 5; ++minute) {
    yard.settle(60s);
    finish_all(0);
  }
  yard.settle(1s);
  EXPECT_EQ(jobs(), (std::vector<std::string>{"c-28333337", "c-28333338"}));
}

TEST_F(CronJobTest, ForbidWaitsForTheOneThatRuns) {
  create("  schedule: '* * * * *'\n  concurrencyPolicy: Forbid\n");
  yard.settle(150s);
  EXPECT_EQ(jobs().size(), 1u);
  EXPECT_FALSE(yard.events("JobAlreadyActive").empty());
  finish_all(0);
  EXPECT_EQ(jobs().size(), 2u) << "the slot that waited starts";
}

TEST_F(CronJobTest, ReplaceEndsTheOneThatRuns) {
  create("  schedule: '* * * * *'\n  concurrencyPolicy: Replace\n");
  yard.settle(60s);
  ASSERT_EQ(jobs(), std::vector<std::string>{"c-28333334"});
  yard.settle(60s);
  EXPECT_EQ(jobs(), std::vector<std::string>{"c-28333335"});
  EXPECT_EQ(list_at(cron(), {"status", "active"}).size(), 1u);
}

TEST_F(CronJobTest, SuspendedSlotsAreCaughtUpOnce) {
  create("  schedule: '* * * * *'\n  suspend: true\n");
  yard.settle(10min);
  EXPECT_TRUE(jobs().empty());
  change("spec: {suspend: false}");
  EXPECT_EQ(jobs().size(), 1u);
}

TEST_F(CronJobTest, TooLateIsSkipped) {
  create("  schedule: '0 * * * *'\n  suspend: true\n  startingDeadlineSeconds: 60\n");
  yard.settle(50min);  // 23:03
  change("spec: {suspend: false}");
  EXPECT_TRUE(jobs().empty());
  yard.settle(1h);
  EXPECT_EQ(jobs().size(), 1u);
}

TEST_F(CronJobTest, ARestartMakesNoSecondJob) {
  create("  schedule: '*/5 * * * *'\n");
  yard.settle(2min);
  controller.reset();
  controller = std::make_unique<CronController>(yard.api.loop, *yard.client);
  yard.settle(1min);
  EXPECT_EQ(jobs().size(), 1u);
}

TEST(CronSlots, FollowTheClocksOfAZone) {
  const TimeZone* const berlin = find_time_zone("Europe/Berlin");
  ASSERT_NE(berlin, nullptr) << "this test needs the machine's tzdata (apt install tzdata)";
  const struct {
    const char* about;
    const char* schedule;
    const char* after;
    const char* next;
  } rows[] = {
      {"in winter an hour earlier than UTC", "30 9 * * *", "2026-01-10T00:00:00Z",
       "2026-01-10T08:30:00Z"},
      {"in summer two", "30 9 * * *", "2026-07-10T00:00:00Z", "2026-07-10T07:30:00Z"},
      {"the day is the zone's", "0 0 1 * *", "2026-01-15T00:00:00Z", "2026-01-31T23:00:00Z"},
      {"a time the clocks skip does not come", "30 2 * * *", "2026-03-28T12:00:00Z",
       "2026-03-30T00:30:00Z"},
      {"hours go on over the change", "0 * * * *", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
      {"a time they show twice comes", "30 2 * * *", "2026-10-24T12:00:00Z",
       "2026-10-25T00:30:00Z"},
      {"and comes again", "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
      {"a length of time knows no zone", "@every 1h", "2026-10-25T00:30:00Z",
       "2026-10-25T01:30:00Z"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.about);
    const auto schedule = CronSchedule::parse(row.schedule);
    ASSERT_TRUE(schedule);
    const Time after = *parse_rfc3339(row.after);
    const auto next = cron_slots(*schedule, row.schedule, after, after, berlin).next;
    ASSERT_TRUE(next);
    EXPECT_EQ(rfc3339(*next), row.next);
  }
}

}  // namespace
}  // namespace yard
