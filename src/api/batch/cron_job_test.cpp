#include <gtest/gtest.h>

#include "api/batch/cron_schedule.h"
#include "api/kinds.h"
#include "testing/objects.h"

namespace yard {
namespace {

TEST(CronSchedule, RefusesWhatItCannotRead) {
  struct Case {
    const char* schedule;
    const char* message;
  };
  const Case cases[] = {
      {"", "empty spec string"},
      {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
      {"* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"},
      {"60 * * * *", "end of range (60) above maximum (59): 60"},
      {"* 24 * * *", "end of range (24) above maximum (23): 24"},
      {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
      {"* * * 13 *", "end of range (13) above maximum (12): 13"},
      {"* * * * 7", "end of range (7) above maximum (6): 7"},
      {"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
      {"*/0 * * * *", "step of range should be a positive number: */0"},
      {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
      {"1/2/3 * * * *", "too many slashes: 1/2/3"},
      {"x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
      {"@often", "unrecognized descriptor: @often"},
      {"@every soon", "failed to parse duration @every soon"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.schedule);
    const Result<CronSchedule> schedule = CronSchedule::parse(c.schedule);
    ASSERT_FALSE(schedule);
    EXPECT_EQ(schedule.error().message, c.message);
  }
}

TEST(CronSchedule, FindsTheNextSlot) {
  struct Case {
    const char* about;
    const char* schedule;
    const char* from;
    const char* next;  // null: never
  };
  const Case cases[] = {
      {"every minute", "* * * * *", "2026-11-15T10:00:30Z", "2026-11-15T10:01:00Z"},
      {"strictly after a slot", "* * * * *", "2026-11-15T10:00:00Z", "2026-11-15T10:01:00Z"},
      {"steps", "*/15 * * * *", "2026-11-15T10:46:00Z", "2026-11-15T11:00:00Z"},
      {"a later hour begins anew", "5,30 9,17 * * *", "2026-11-15T09:40:00Z",
       "2026-11-15T17:05:00Z"},
      {"tomorrow", "5 9 * * *", "2026-11-15T09:05:00Z", "2026-11-16T09:05:00Z"},
      {"names of days", "0 9 * * MON-FRI", "2026-11-14T00:00:00Z", "2026-11-16T09:00:00Z"},
      {"Sunday is zero", "0 0 * * 0", "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"},
      {"names of months", "0 0 1 jan *", "2026-11-15T00:00:00Z", "2027-01-01T00:00:00Z"},
      {"either day counts where both are named", "0 0 20 * MON", "2026-11-15T00:00:00Z",
       "2026-11-16T00:00:00Z"},
      {"a stepped star restricts", "0 0 */10 * MON", "2026-11-17T00:00:00Z",
       "2026-11-21T00:00:00Z"},
      {"a question mark is any day", "0 0 ? * MON", "2026-11-17T00:00:00Z", "2026-11-23T00:00:00Z"},
      {"a start with a step", "50/5 * * * *", "2026-11-15T10:51:00Z", "2026-11-15T10:55:00Z"},
      {"leap days", "0 0 29 2 *", "2026-11-15T00:00:00Z", "2028-02-29T00:00:00Z"},
      {"a day that never comes", "0 0 30 2 *", "2026-11-15T00:00:00Z", nullptr},
      {"@hourly", "@hourly", "2026-11-15T10:59:59Z", "2026-11-15T11:00:00Z"},
      {"@weekly", "@weekly", "2026-11-14T10:00:00Z", "2026-11-15T00:00:00Z"},
      {"@yearly", "@annually", "2026-11-14T10:00:00Z", "2027-01-01T00:00:00Z"},
      {"@every counts from now", "@every 90m", "2026-11-15T10:00:30Z", "2026-11-15T11:30:30Z"},
      {"before the epoch", "0 * * * *", "1969-12-31T23:30:00Z", "1970-01-01T00:00:00Z"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    const Result<CronSchedule> schedule = CronSchedule::parse(c.schedule);
    ASSERT_TRUE(schedule);
    const std::optional<Time> next = schedule->next_after(*parse_rfc3339(c.from));
    EXPECT_EQ(next ? rfc3339(*next) : "never", c.next ? c.next : "never");
  }
}

const Kind& cron_jobs() {
  static const Kind kKind = cron_job_kind();
  return kKind;
}

Json defaulted(std::string_view change) {
  Json cron_job = changed(
      yaml("{apiVersion: batch/v1, kind: CronJob, metadata: {name: c, namespace: ns}, spec: "
           "{schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, "
           "containers: [{name: c, image: b}]}}}}}}"),
      change);
  cron_jobs().set_defaults(cron_job);
  return cron_job;
}

TEST(CronJob, HasDefaults) {
  const Json cron_job = defaulted("{}");
  EXPECT_EQ(text_at(cron_job, {"spec", "concurrencyPolicy"}), "Allow");
  EXPECT_EQ(int_at(cron_job, {"spec", "successfulJobsHistoryLimit"}), 3);
  EXPECT_EQ(int_at(cron_job, {"spec", "failedJobsHistoryLimit"}), 1);
  EXPECT_FALSE(bool_at(cron_job, {"spec", "suspend"}, true));
  EXPECT_EQ(text_at(cron_job, {"spec", "jobTemplate", "spec", "template", "spec", "schedulerName"}),
            "default-scheduler");
  EXPECT_EQ(find_path(cron_job, {"spec", "jobTemplate", "spec", "backoffLimit"}), nullptr);
  EXPECT_NE(cron_jobs().schema, nullptr);
}

TEST(CronJob, SaysWhatIsWrong) {
  struct Case {
    const char* about;
    std::string change;
    std::string complaint;
  };
  const Case cases[] = {
      {"a small one is fine", "{}", ""},
      {"a schedule is needed", "{spec: {schedule: null}}", "spec.schedule: Required value"},
      {"a schedule is read", "{spec: {schedule: 'a b c d'}}",
       "spec.schedule: Invalid value: \"a b c d\": expected exactly 5 fields, found 4: [a b c d]"},
      {"zones have their own field", "{spec: {schedule: 'TZ=UTC 0 * * * *'}}",
       "spec.schedule: Invalid value: \"TZ=UTC 0 * * * *\": cannot use TZ or CRON_TZ in schedule, "
       "use timeZone field instead"},
      {"a zone has a name", "{spec: {timeZone: Asia/Shanghai}}", ""},
      {"a zone is not local", "{spec: {timeZone: local}}",
       "spec.timeZone: Invalid value: \"local\": timeZone must be an explicit time zone as defined "
       "in https://www.iana.org/time-zones"},
      {"a zone is no path", "{spec: {timeZone: ../etc/passwd}}",
       "spec.timeZone: Invalid value: \"../etc/passwd\": unknown time zone ../etc/passwd"},
      {"a zone is not empty", "{spec: {timeZone: ''}}",
       "spec.timeZone: Invalid value: \"\": timeZone must be nil or non-empty string"},
      {"the policy is one of three", "{spec: {concurrencyPolicy: Maybe}}",
       "spec.concurrencyPolicy: Unsupported value: \"Maybe\": supported values: \"Allow\", "
       "\"Forbid\", \"Replace\""},
      {"the deadline is not negative", "{spec: {startingDeadlineSeconds: -1}}",
       "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0"},
      {"no history is fine", "{spec: {successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0}}",
       ""},
      {"history is not negative", "{spec: {failedJobsHistoryLimit: -1}}",
       "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"},
      {"the name leaves room for its jobs'", "{metadata: {name: " + std::string(53, 'a') + "}}",
       "metadata.name: Invalid value: \"" + std::string(53, 'a') +
           "\": must be no more than 52 characters"},
      {"the job is validated", "{spec: {jobTemplate: {spec: {parallelism: -1}}}}",
       "spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
      {"the job's selector is made later",
       "{spec: {jobTemplate: {spec: {selector: {matchLabels: {a: b}}}}}}",
       "spec.jobTemplate.spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\"}}: `selector` "
       "will be auto-generated"},
      {"the job's selector is not manual", "{spec: {jobTemplate: {spec: {manualSelector: true}}}}",
       "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: \"nil\", "
       "\"false\""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    EXPECT_EQ(told(cron_jobs().validate(defaulted(c.change))), c.complaint);
  }
}

}  // namespace
}  // namespace yard
