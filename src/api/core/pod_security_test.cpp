#include "api/core/pod_security.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

constexpr SecurityStandard kBaseline{SecurityLevel::Baseline},
    kRestricted{SecurityLevel::Restricted};

struct Row {
  const char* sentence;
  const char* change;
  const char* baseline;
  const char* restricted;
};

// A pod that holds the restricted standard, until a row changes it.
constexpr const char* kGood =
    "{metadata: {name: p}, spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: "
    "RuntimeDefault}}, containers: [{name: c, securityContext: {allowPrivilegeEscalation: false, "
    "capabilities: {drop: [ALL]}}}]}}";

const Row kRows[] = {
    {"a pod of the restricted standard", "{}", "", ""},
    {"the machine's namespaces", "{spec: {hostNetwork: true, hostPID: true, hostIPC: true}}",
     "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
     "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)"},
    {"folders of the machine",
     "{spec: {volumes: [{name: a, hostPath: {path: /}}, {name: b, hostPath: {path: /}}]}}",
     "hostPath volumes (volumes \"a\", \"b\")",
     "restricted volume types (volumes \"a\", \"b\" use restricted volume type \"hostPath\")"},
    {"a volume of a network",
     "{spec: {volumes: [{name: a, nfs: {server: s}}, {name: b, emptyDir: {}}]}}", "",
     "restricted volume types (volume \"a\" uses restricted volume type \"nfs\")"},
    {"kernel settings",
     "{spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: Localhost}, sysctls: "
     "[{name: kernel.msgmax}, {name: net.ipv4.tcp_syncookies}]}}}",
     "forbidden sysctls (kernel.msgmax)", "forbidden sysctls (kernel.msgmax)"},
    {"no filter of system calls",
     "{spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: Unconfined}}}}",
     "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")",
     "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")"},
    {"nothing said of users and filters", "{spec: {securityContext: null}}", "",
     "runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true), "
     "seccompProfile (pod or container \"c\" must set securityContext.seccompProfile.type to "
     "\"RuntimeDefault\" or \"Localhost\")"},
    {"root by number",
     "{spec: {securityContext: {runAsUser: 0, runAsNonRoot: true, seccompProfile: {type: "
     "RuntimeDefault}}}}",
     "", "runAsUser=0 (pod must not set runAsUser=0)"},
    {"labels of SELinux",
     "{spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}, "
     "seLinuxOptions: {type: spc_t, user: u, role: r}}}}",
     "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"spc_t\"; user may "
     "not be set; role may not be set)",
     "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"spc_t\"; user may "
     "not be set; role may not be set)"},
    {"AppArmor switched off by the old annotation",
     "{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/c: unconfined}}}",
     "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
     "\"container.apparmor.security.beta.kubernetes.io/c=\"unconfined\"\")",
     "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
     "\"container.apparmor.security.beta.kubernetes.io/c=\"unconfined\"\")"},
};

TEST(PodSecurity, WholePods) {
  for (const Row& row : kRows) {
    const Json pod = changed(yaml(kGood), row.change);
    EXPECT_EQ(security_breaches(pod, kBaseline), row.baseline) << row.sentence;
    EXPECT_EQ(security_breaches(pod, kRestricted), row.restricted) << row.sentence;
    EXPECT_EQ(security_breaches(pod, {}), "") << row.sentence;
  }
}

const Row kContainers[] = {
    {"an ordinary container", "[{name: c}]", "",
     "allowPrivilegeEscalation != false (container \"c\" must set "
     "securityContext.allowPrivilegeEscalation=false), "
     "unrestricted capabilities (container \"c\" must set "
     "securityContext.capabilities.drop=[\"ALL\"])"},
    {"two of them", "[{name: c}, {name: d}]", "",
     "allowPrivilegeEscalation != false (containers \"c\", \"d\" must set "
     "securityContext.allowPrivilegeEscalation=false), "
     "unrestricted capabilities (containers \"c\", \"d\" must set "
     "securityContext.capabilities.drop=[\"ALL\"])"},
    {"all of the machine",
     "[{name: c, securityContext: {privileged: true, allowPrivilegeEscalation: false, "
     "capabilities: {drop: [ALL]}}}]",
     "privileged (container \"c\" must not set securityContext.privileged=true)",
     "privileged (container \"c\" must not set securityContext.privileged=true)"},
    {"more capabilities",
     "[{name: c, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL], "
     "add: [SYS_ADMIN, CHOWN, NET_BIND_SERVICE]}}}]",
     "non-default capabilities (container \"c\" must not include \"SYS_ADMIN\" in "
     "securityContext.capabilities.add)",
     "unrestricted capabilities (container \"c\" must not include \"CHOWN\", \"SYS_ADMIN\" in "
     "securityContext.capabilities.add)"},
    {"ports of the machine",
     "[{name: c, ports: [{hostPort: 80}, {hostPort: 443}], securityContext: "
     "{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]",
     "hostPort (container \"c\" uses hostPorts 443, 80)",
     "hostPort (container \"c\" uses hostPorts 443, 80)"},
    {"a probe of another host",
     "[{name: c, livenessProbe: {httpGet: {host: 169.254.169.254}}, securityContext: "
     "{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]",
     "probe or lifecycle host (container \"c\" uses probe or lifecycle host \"169.254.169.254\")",
     "probe or lifecycle host (container \"c\" uses probe or lifecycle host \"169.254.169.254\")"},
    {"all of /proc",
     "[{name: c, securityContext: {procMount: Unmasked, allowPrivilegeEscalation: false, "
     "capabilities: {drop: [ALL]}}}]",
     "procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")",
     "procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")"},
    {"root, against what the pod says",
     "[{name: c, securityContext: {runAsNonRoot: false, runAsUser: 0, allowPrivilegeEscalation: "
     "false, capabilities: {drop: [ALL]}}}]",
     "",
     "runAsNonRoot != true (container \"c\" must not set securityContext.runAsNonRoot=false), "
     "runAsUser=0 (container \"c\" must not set runAsUser=0)"},
};

TEST(PodSecurity, ContainersOfEveryList) {
  for (const Row& row : kContainers) {
    for (const char* list : {"containers", "initContainers"}) {
      Json pod = yaml(kGood);
      pod.at("spec").get_object().erase("containers");
      pod.at("spec").get_object()[list] = yaml(row.change);
      EXPECT_EQ(security_breaches(pod, kBaseline), row.baseline) << row.sentence;
      EXPECT_EQ(security_breaches(pod, kRestricted), row.restricted) << row.sentence;
    }
  }
}

TEST(PodSecurity, OlderRulesKnowNoProbeHosts) {
  const Json pod = yaml("{spec: {containers: [{name: c, livenessProbe: {tcpSocket: {host: h}}}]}}");
  EXPECT_EQ(security_breaches(pod, {SecurityLevel::Baseline, 33}), "");
  EXPECT_NE(security_breaches(pod, {SecurityLevel::Baseline, 34}), "");
}

struct LabelRow {
  const char* sentence;
  const char* labels;
  const char *enforce, *warn;
  const char* problem;
};
const LabelRow kLabels[] = {
    {"no label", "{}", "privileged:latest", "privileged:latest", ""},
    {"warnings follow what is enforced", "{pod-security.kubernetes.io/enforce: baseline}",
     "baseline:latest", "baseline:latest", ""},
    {"a version",
     "{pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: "
     "v1.30}",
     "restricted:v1.30", "restricted:v1.30", ""},
    {"only warnings", "{pod-security.kubernetes.io/warn: restricted}", "privileged:latest",
     "restricted:latest", ""},
    {"audits change nothing", "{pod-security.kubernetes.io/audit: restricted}", "privileged:latest",
     "privileged:latest", ""},
    {"and are checked all the same", "{pod-security.kubernetes.io/audit: strict}",
     "privileged:latest", "privileged:latest", "metadata.labels[pod-security.kubernetes.io/audit]"},
    {"with their version", "{pod-security.kubernetes.io/audit-version: '1.30'}",
     "privileged:latest", "privileged:latest",
     "metadata.labels[pod-security.kubernetes.io/audit-version]"},
    {"a word that is none", "{pod-security.kubernetes.io/enforce: strict}", "restricted:latest",
     "privileged:latest", "metadata.labels[pod-security.kubernetes.io/enforce]"},
};

TEST(PodSecurity, PolicyOfLabels) {
  for (const LabelRow& row : kLabels) {
    FieldErrors problems;
    const SecurityPolicy policy = security_policy_of(yaml(row.labels), &problems);
    EXPECT_EQ(policy.enforce.text(), row.enforce) << row.sentence;
    EXPECT_EQ(policy.warn.text(), row.warn) << row.sentence;
    EXPECT_EQ(problems.empty() ? std::string() : problems[0].field, row.problem) << row.sentence;
  }
}

}  // namespace
}  // namespace yard
