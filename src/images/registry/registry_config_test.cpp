#include "images/registry/registry_config.h"

#include <gtest/gtest.h>

#include "images/registry/registry_endpoint.h"
#include "images/registry/registry_fault.h"
#include "images/registry/retry.h"
#include "json/yaml.h"

namespace yard {
namespace {

std::string read(const std::string& yaml, RegistryConfig& config) {
  const auto parsed = parse_yaml(yaml).value();
  const Json section = parsed.empty() ? Json() : parsed.front().parsed.value;
  auto problem = read_registry_config(section, "/home/me", config);
  if (!problem) return "";
  std::string out;
  for (const std::string& key : problem->path)
    out += key + " ";
  return out + problem->words;
}

TEST(RegistryConfig, MistakesAreNamed) {
  const struct {
    const char *yaml, *words;
  } cases[] = {
      {"{}", ""},
      {"null", ""},
      {"r.io: {}", ""},
      {"'*': {mirrors: [cache.lab]}", ""},
      {"[]", "must be a mapping of registries to their settings"},
      {"r.io: 1", "r.io must be a mapping with ca, insecure, mirrors and plainHttp"},
      {"r.io: {mirror: []}",
       "r.io mirror is no setting of a registry; known are ca, insecure, mirrors and plainHttp"},
      {"r.io: {insecure: 1}", "r.io insecure must be true or false"},
      {"r.io: {ca: relative.pem}", "r.io ca must be the absolute path of a PEM file"},
      {"r.io: {mirrors: x}", "r.io mirrors must be a list of at most 16 addresses"},
      {"r.io: {mirrors: ['ftp://x']}",
       "r.io mirrors has an entry that is no [http[s]://]HOST[:PORT][/PREFIX]"},
      {"r.io: {mirrors: ['http://u:p@x']}",
       "r.io mirrors has an entry that is no [http[s]://]HOST[:PORT][/PREFIX]"},
      {"r.io/team: {}", "r.io/team is no registry as images name it, HOST[:PORT]"},
      {"plain: {}", "plain is no registry as images name it, HOST[:PORT]"},
  };
  for (const auto& each : cases) {
    RegistryConfig config;
    EXPECT_EQ(read(each.yaml, config), each.words) << each.yaml;
  }
}

std::string endpoints(const RegistryConfig& config, const char* image) {
  std::string out;
  const auto found = registry_endpoints(config, parse_reference(image).value()).value();
  for (const auto& endpoint : found) {
    out += endpoint.base.origin() + " " + endpoint.repository;
    if (!endpoint.ca_file.empty()) out += " ca=" + endpoint.ca_file;
    if (!endpoint.verifies) out += " insecure";
    out += endpoint.is_mirror ? " (mirror)\n" : "\n";
  }
  return out;
}

TEST(RegistryConfig, SaysWhereAnImageCanBeHad) {
  RegistryConfig config;
  ASSERT_EQ(read(R"(
docker.io: {mirrors: ["http://10.0.0.5:5000", "mirror.lab/hub/", plain.lab]}
r.lab:5000: {ca: ~/ca.pem}
plain.lab: {plainHttp: true}
mirror.lab: {insecure: true}
'*': {mirrors: ["[::1]:5000"]}
)",
                 config),
            "");
  EXPECT_EQ(endpoints(config, "busybox"),
            "http://10.0.0.5:5000 library/busybox (mirror)\n"
            "https://mirror.lab:443 hub/library/busybox insecure (mirror)\n"
            "http://plain.lab:80 library/busybox (mirror)\n"
            "https://" +
                default_registry_host() + ":443 library/busybox\n");
  EXPECT_EQ(endpoints(config, "r.lab:5000/x"), "https://r.lab:5000 x ca=/home/me/ca.pem\n");
  EXPECT_EQ(endpoints(config, "plain.lab/x"), "http://plain.lab:80 x\n");
  EXPECT_EQ(endpoints(config, "other.lab/x"),
            "https://[::1]:5000 x (mirror)\nhttps://other.lab:443 x\n");
  EXPECT_EQ(endpoints({}, "127.0.0.1:5000/x"), "https://127.0.0.1:5000 x\n")
      << "loopback is plain only where the config says so";
  RegistryConfig again;
  ASSERT_FALSE(read_registry_config(to_json(config), "", again));
  EXPECT_EQ(to_text(to_json(again)), to_text(to_json(config)));
}

TEST(Retry, IsBoundedAndOnlyForWhatPasses) {
  const auto failed = [](RegistryFault fault, int after = 0, bool unreached = false) {
    Error out = registry_error(fault, "x");
    out.details.retry_after_seconds = after;
    if (unreached) out.details.causes.push_back({"Unreachable", "", ""});
    return out;
  };
  const struct {
    const char* about;
    Error failure;
    int failures;
    bool is_mirror;
    int wait_ms;  // -1: no more
  } cases[] = {
      {"a broken server: soon", failed(RegistryFault::Unavailable), 1, false, 500},
      {"then later", failed(RegistryFault::Unavailable), 3, false, 2000},
      {"five times at most", failed(RegistryFault::Unavailable), 5, false, -1},
      {"nobody there: three times", failed(RegistryFault::Unavailable, 0, true), 2, false, 1000},
      {"and no more", failed(RegistryFault::Unavailable, 0, true), 3, false, -1},
      {"a mirror: twice", failed(RegistryFault::Unavailable), 1, true, 500},
      {"then the next", failed(RegistryFault::Unavailable), 2, true, -1},
      {"as long as it asks", failed(RegistryFault::TooMany, 7), 1, false, 7000},
      {"never for minutes", failed(RegistryFault::TooMany, 3600), 1, false, -1},
      {"not when we are refused", failed(RegistryFault::Unauthorized), 1, false, -1},
      {"nor denied", failed(RegistryFault::Denied), 1, false, -1},
      {"nor when it is not there", failed(RegistryFault::NotFound), 1, false, -1},
      {"nor when the bytes are others", failed(RegistryFault::DigestMismatch), 1, false, -1},
      {"nor when it cannot be trusted", failed(RegistryFault::Untrusted), 1, false, -1},
      {"nor of any other error", error(Reason::InternalError, "disk full"), 1, false, -1},
  };
  for (const auto& each : cases) {
    const auto wait = wait_before_retry({&each.failure, each.failures, each.is_mirror, 0.5});
    EXPECT_EQ(wait ? std::chrono::duration_cast<std::chrono::milliseconds>(*wait).count() : -1,
              each.wait_ms)
        << each.about;
  }
}

TEST(RegistryFault, SurvivesTheWayToAnotherProcessAndNamesTheMend) {
  Error failure = registry_error(RegistryFault::Denied, "no");
  set_mend(failure, mend_for(RegistryFault::Denied, {.registry = "r.io"}));
  EXPECT_EQ(fault_of(failure), RegistryFault::Denied);
  EXPECT_NE(mend_of(failure).find("podman login r.io"), std::string::npos);
  const std::string text = with_mend(failure);
  EXPECT_EQ(split_mend(text).words, "no");
  EXPECT_EQ(split_mend(text).mend, mend_of(failure));
  EXPECT_EQ(with_mend(error(Reason::InternalError, "disk full")), "disk full");
  EXPECT_EQ(split_mend("disk full").mend, "");
  EXPECT_EQ(fault_of(error(Reason::InternalError, "x")), RegistryFault::BadAnswer);
  for (int i = 0; i <= static_cast<int>(RegistryFault::DigestMismatch); ++i) {
    const auto fault = static_cast<RegistryFault>(i);
    EXPECT_EQ(fault_of(registry_error(fault, "x")), fault) << wire_name(fault);
    EXPECT_NE(mend_for(fault, {.registry = "r.io"}).find("r.io"), std::string::npos)
        << wire_name(fault);
  }
}

}  // namespace
}  // namespace yard
