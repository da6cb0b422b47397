#include <gtest/gtest.h>

#include "api/kinds.h"
#include "testing/objects.h"

namespace yard {
namespace {

const Kind& jobs() {
  static const Kind kKind = job_kind();
  return kKind;
}

Json written(std::string_view change) {
  return changed(
      yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: ns, uid: u}, "
           "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "
           "'b:1'}]}}}}"),
      change);
}

// As stored: defaulted and prepared.
Json stored(std::string_view change) {
  Json job = written(change);
  jobs().set_defaults(job);
  const ClusterFacts cluster;
  Random random(1);
  std::vector<std::string> warnings;
  EXPECT_TRUE(jobs().prepare_create(job, Admission{cluster, Time{}, random, warnings}));
  return job;
}

TEST(JobDefaults, AreSetOnDecode) {
  struct Case {
    const char* about;
    const char* change;
    const char* member;
    const char* value;  // null: absent
  };
  const Case cases[] = {
      {"one pod at a time", "{}", "parallelism", "1"},
      {"one completion when neither is said", "{}", "completions", "1"},
      {"a work queue has no completions", "{spec: {parallelism: 2}}", "completions", nullptr},
      {"completions alone leave parallelism at one", "{spec: {completions: 5}}", "parallelism",
       "1"},
      {"six failures", "{}", "backoffLimit", "6"},
      {"failures count per index", "{spec: {backoffLimitPerIndex: 1}}", "backoffLimit",
       "2147483647"},
      {"no index", "{}", "completionMode", "\"NonIndexed\""},
      {"not suspended", "{}", "suspend", "false"},
      {"pods are replaced at once", "{}", "podReplacementPolicy", "\"TerminatingOrFailed\""},
      {"a failure policy waits for the end", "{spec: {podFailurePolicy: {rules: []}}}",
       "podReplacementPolicy", "\"Failed\""},
      {"the selector is ours", "{}", "manualSelector", "false"},
      {"a condition pattern means True",
       "{spec: {podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: "
       "DisruptionTarget}]}]}}}",
       "podFailurePolicy",
       "{\"rules\":[{\"action\":\"Ignore\",\"onPodConditions\":[{\"type\":\"DisruptionTarget\","
       "\"status\":\"True\"}]}]}"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    Json job = written(c.change);
    jobs().set_defaults(job);
    const Json* value = find_path(job, {"spec", c.member});
    EXPECT_EQ(value ? to_text(*value) : "absent", c.value ? c.value : "absent");
  }
}

TEST(JobCreate, GeneratesSelectorAndLabels) {
  const Json job = stored("{}");
  EXPECT_EQ(to_text(*find_path(job, {"spec", "selector"})),
            "{\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":\"u\"}}");
  const char* labels =
      "{\"batch.kubernetes.io/controller-uid\":\"u\",\"batch.kubernetes.io/job-name\":\"j\","
      "\"controller-uid\":\"u\",\"job-name\":\"j\"}";
  EXPECT_EQ(to_text(*find_path(job, {"spec", "template", "metadata", "labels"})), labels);
  EXPECT_EQ(to_text(*find_path(job, {"metadata", "labels"})), labels);
  EXPECT_EQ(to_text(*find(job, "status")), "{}");
  EXPECT_EQ(told(jobs().validate(job)), "");
}

TEST(JobCreate, ShowsTheTemplatesLabelsWhereItHasNone) {
  const Json copied = stored("{spec: {template: {metadata: {labels: {app: a}}}}}");
  EXPECT_EQ(to_text(*find_path(copied, {"metadata", "labels"})), "{\"app\":\"a\"}");
  const Json own = stored("{metadata: {labels: {mine: m}}}");
  EXPECT_EQ(to_text(*find_path(own, {"metadata", "labels"})), "{\"mine\":\"m\"}");
}

TEST(JobValidation, SaysWhatIsWrong) {
  struct Case {
    const char* about;
    std::string change;
    std::string complaint;
  };
  const std::string indexed = "completionMode: Indexed, completions: 3";
  const Case cases[] = {
      {"pods of a job do not start forever", "{spec: {template: {spec: {restartPolicy: Always}}}}",
       "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""},
      {"an unset policy is Always", "{spec: {template: {spec: {restartPolicy: null}}}}",
       "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""},
      {"counts are not negative", "{spec: {parallelism: -1}}",
       "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
      {"the deadline is not negative", "{spec: {activeDeadlineSeconds: -1}}",
       "spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0"},
      {"a ttl of nothing is fine", "{spec: {ttlSecondsAfterFinished: 0}}", ""},
      {"the mode is one of two", "{spec: {completionMode: Some}}",
       "spec.completionMode: Unsupported value: \"Some\": supported values: \"NonIndexed\", "
       "\"Indexed\""},
      {"an index needs an end", "{spec: {completionMode: Indexed, parallelism: 1}}",
       "spec.completions: Required value: when completion mode is Indexed"},
      {"an index has a bound on parallelism",
       "{spec: {completionMode: Indexed, completions: 1, parallelism: 100001}}",
       "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when "
       "completion mode is Indexed"},
      {"failures per index need an index", "{spec: {backoffLimitPerIndex: 1}}",
       "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"},
      {"failed indexes need a limit each", "{spec: {" + indexed + ", maxFailedIndexes: 1}}",
       "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"},
      {"no more fail than there are",
       "{spec: {" + indexed + ", backoffLimitPerIndex: 0, maxFailedIndexes: 4}}",
       "spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions"},
      {"very many completions need a bound on failures",
       "{spec: {completionMode: Indexed, completions: 100001, parallelism: 1, "
       "backoffLimitPerIndex: 1}}",
       "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"},
      {"the last pod's name is a label", "{metadata: {name: a.b}, spec: {" + indexed + "}}",
       "metadata.name: Invalid value: \"a.b\": will not able to create pod with invalid DNS label: "
       "a.b-2"},
      {"a foreign label is refused", "{spec: {template: {metadata: {labels: {job-name: other}}}}}",
       "spec.template.metadata.labels[job-name]: Invalid value: "
       "{\"job-name\":\"other\",\"batch.kubernetes.io/controller-uid\":\"u\","
       "\"batch.kubernetes.io/job-name\":\"j\",\"controller-uid\":\"u\"}: must be 'j'"},
      {"a selector of one's own is not generated",
       "{spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}}",
       "spec.selector: Invalid value: "
       "{\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u\"}}: `selector` "
       "not auto-generated"},
      {"a manual selector matches the template",
       "{spec: {manualSelector: true, selector: {matchLabels: {a: b}}}}",
       "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template "
       "`labels`"},
      {"a manual selector is needed", "{spec: {manualSelector: true}}",
       "spec.selector: Required value"},
      {"a manager has a domain", "{spec: {managedBy: me}}",
       "spec.managedBy: Invalid value: \"me\": must be a domain-prefixed path (such as "
       "\"acme.io/foo\")"},
      {"a failure policy needs Never",
       "{spec: {podFailurePolicy: {rules: []}, template: {spec: {restartPolicy: OnFailure}}}}",
       "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is "
       "supported "
       "when podFailurePolicy is specified"},
      {"a rule has an action",
       "{spec: {podFailurePolicy: {rules: [{onExitCodes: {operator: In, values: [1]}}]}}}",
       "spec.podFailurePolicy.rules[0].action: Required value: valid values: [\"Count\" "
       "\"FailIndex\" \"FailJob\" \"Ignore\"]"},
      {"a rule looks at something", "{spec: {podFailurePolicy: {rules: [{action: Ignore}]}}}",
       "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and "
       "OnPodConditions is required"},
      {"an index fails only where indexes count",
       "{spec: {podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: "
       "[1]}}]}}}",
       "spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the "
       "backoffLimitPerIndex to be set"},
      {"exit codes are ordered",
       "{spec: {podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: "
       "[2, 1]}}]}}}",
       "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be ordered"},
      {"success is no failure",
       "{spec: {podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: "
       "[0, 1]}}]}}}",
       "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for "
       "the In operator"},
      {"the container of a rule exists",
       "{spec: {podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: x, "
       "operator: In, values: [1]}}]}}}",
       "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"x\": must be "
       "one "
       "of the container or initContainer names in the pod template"},
      {"replacement waits under a failure policy",
       "{spec: {podReplacementPolicy: TerminatingOrFailed, podFailurePolicy: {rules: []}}}",
       "spec.podReplacementPolicy: Unsupported value: \"TerminatingOrFailed\": supported values: "
       "\"Failed\""},
      {"success is by index", "{spec: {successPolicy: {rules: [{succeededCount: 1}]}}}",
       "spec.successPolicy: Invalid value: {\"rules\":[{\"succeededCount\":1}]}: requires indexed "
       "completion mode"},
      {"a success policy has a rule", "{spec: {" + indexed + ", successPolicy: {rules: []}}}",
       "spec.successPolicy.rules: Required value: at least one rules must be specified when the "
       "successPolicy is specified"},
      {"indexes exist",
       "{spec: {" + indexed + ", successPolicy: {rules: [{succeededIndexes: 0-3}]}}}",
       "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"0-3\": error parsing "
       "succeededIndexes: too large index: \"3\""},
      {"indexes grow",
       "{spec: {" + indexed + ", successPolicy: {rules: [{succeededIndexes: '2,1'}]}}}",
       "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"2,1\": error parsing "
       "succeededIndexes: non-increasing order, previous: 2, current: 1"},
      {"no more are counted than listed",
       "{spec: {" + indexed +
           ", successPolicy: {rules: [{succeededIndexes: '0,2', succeededCount: 3}]}}}",
       "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal "
       "to 2 (the number of indexes in the specified succeededIndexes field)"},
      {"the template is validated", "{spec: {template: {spec: {containers: []}}}}",
       "spec.template.spec.containers: Required value"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    EXPECT_EQ(told(jobs().validate(stored(c.change))), c.complaint);
  }
}

TEST(JobUpdates, ChangeOnlyWhatMayChange) {
  struct Case {
    const char* about;
    const char* live;
    const char* change;
    const char* fields;  // of the complaints
  };
  const char* indexed = "{spec: {completionMode: Indexed, completions: 3, parallelism: 3}}";
  const char* suspended = "{spec: {suspend: true}}";
  const char* other_node = "{spec: {template: {spec: {nodeSelector: {a: b}}}}}";
  const Case cases[] = {
      {"parallelism", "{}", "{spec: {parallelism: 5}}", ""},
      {"suspend", "{}", "{spec: {suspend: true}}", ""},
      {"limits and deadlines", "{}",
       "{spec: {backoffLimit: 1, activeDeadlineSeconds: 5, ttlSecondsAfterFinished: 0}}", ""},
      {"completions stay", "{}", "{spec: {completions: 5}}", "spec.completions"},
      {"an elastic job moves both", indexed, "{spec: {completions: 5, parallelism: 5}}", ""},
      {"and not one alone", indexed, "{spec: {completions: 5}}", "spec.completions"},
      {"the mode stays", indexed, "{spec: {completionMode: NonIndexed}}", "spec.completionMode"},
      {"the selector stays", "{}", "{spec: {selector: {matchLabels: {x: z}}}}", "spec.selector"},
      {"the template stays", "{}", other_node, "spec.template"},
      {"a suspended job's pods may go elsewhere", suspended, other_node, ""},
      {"to a node with an affinity", suspended,
       "{spec: {template: {spec: {affinity: {nodeAffinity: {}}}}}}", ""},
      {"with other labels and gates", suspended,
       "{spec: {template: {metadata: {labels: {z: x}}, spec: {schedulingGates: [{name: a.io/b}], "
       "tolerations: [{operator: Exists}]}}}}",
       ""},
      {"even as it is resumed", suspended,
       "{spec: {suspend: false, template: {spec: {nodeSelector: {a: b}}}}}", ""},
      {"but not do something else", suspended,
       "{spec: {template: {spec: {containers: [{name: c, image: other}]}}}}", "spec.template"},
      {"a job that has started is fixed",
       "{spec: {suspend: true}, status: {startTime: '2026-01-01T00:00:00Z'}}", other_node,
       "spec.template"},
      {"what changes is still validated", "{}", "{spec: {backoffLimit: -1}}", "spec.backoffLimit"},
      {"policies stay", "{}", "{spec: {podFailurePolicy: {rules: []}}}", "spec.podFailurePolicy"},
      {"the manager stays", "{}", "{spec: {managedBy: a.io/b}}", "spec.managedBy"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    Json live = stored(c.live);
    const Json given = yaml(c.live);
    if (const Json* status = find(given, "status")) {
      live.as_object()["status"] = *status;
    }
    std::string fields;
    for (const Cause& cause : jobs().validate_update(changed(live, c.change), live)) {
      fields += cause.field;
    }
    EXPECT_EQ(fields, c.fields);
  }
  const Json live = stored(indexed);
  EXPECT_EQ(told(jobs().validate_update(changed(live, "{spec: {completions: 5}}"), live)),
            "spec.completions: Invalid value: 5: can only be modified in tandem with "
            "spec.parallelism");
}

TEST(JobStatus, StaysFinished) {
  const Json live = yaml("{status: {conditions: [{type: Complete, status: 'True'}]}}");
  EXPECT_EQ(told(jobs().validate_status_update(live, live)), "");
  EXPECT_EQ(told(jobs().validate_status_update(yaml("{status: {active: -1}}"), yaml("{}"))),
            "status.active: Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(
      told(jobs().validate_status_update(yaml("{status: {}}"), live)),
      "status.conditions: Invalid value: cannot disable the terminal Complete=True condition");
}

TEST(JobKind, HasItsRow) {
  EXPECT_NE(jobs().schema, nullptr);
  EXPECT_EQ(jobs().group_resource(), "jobs.batch");
  EXPECT_EQ(jobs().default_propagation, DeletePropagation::Orphan);
  EXPECT_EQ(jobs().field_values(yaml("{status: {succeeded: 3}}")), std::vector<std::string>{"3"});
  EXPECT_EQ(jobs().field_values(yaml("{}")), std::vector<std::string>{"0"});
  const std::vector<std::string> warnings = jobs().warnings(written("{metadata: {name: a.b}}"));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with(
      "metadata.name: this is used in Pod names and hostnames, which can result in surprising "
      "behavior; a DNS label is recommended: [a lowercase RFC 1123 label must"));
}

}  // namespace
}  // namespace yard
