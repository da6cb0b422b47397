#include "cli/resources.h"

#include <gtest/gtest.h>

#include "cli/fake_connection.h"

namespace yard {
namespace {

std::vector<ResourceType> known_types() {
  FakeSession fake;
  add_discovery(fake.connection);
  auto types = discover(fake.session);
  check(types.has_value(), "discovery answers");
  return *types;
}

TEST(Resources, WordsForTypes) {
  struct Case {
    const char* about;
    const char* words;
    std::vector<std::string> types;  // as api_version/plural; empty: refused
  };
  const Case cases[] = {
      {"the plural", "configmaps", {"v1/configmaps"}},
      {"the singular", "configmap", {"v1/configmaps"}},
      {"a short name", "cm", {"v1/configmaps"}},
      {"the kind, as it is written in manifests", "ConfigMap", {"v1/configmaps"}},
      {"with a group", "jobs.batch", {"batch/v1/jobs"}},
      {"with version and group", "jobs.v1beta1.batch", {"batch/v1beta1/jobs"}},
      {"a type two groups have is the core's", "events", {"v1/events"}},
      {"unless the group is said", "events.events.k8s.io", {"events.k8s.io/v1/events"}},
      {"several", "pods,job,po", {"v1/pods", "batch/v1/jobs"}},
      {"a category, each type once", "all", {"v1/pods", "batch/v1/jobs"}},
      {"a word for nothing", "trains", {}},
      {"a group that has no such type", "pods.batch", {}},
      {"an empty word", "pods,", {}},
  };
  for (const Case& each : cases) {
    const auto found = types_named(known_types(), each.words);
    std::vector<std::string> names;
    if (found) {
      for (const ResourceType& type : *found)
        names.push_back(type.api_version() + "/" + type.plural);
    }
    EXPECT_EQ(names, each.types) << each.about;
  }
}

TEST(Resources, ASlipIsMet) {
  EXPECT_EQ(types_named(known_types(), "trains").error().message,
            "the server doesn't have a resource type \"trains\"");
  EXPECT_EQ(types_named(known_types(), "cofigmaps").error().message,
            "the server doesn't have a resource type \"cofigmaps\"; did you mean \"configmaps\"?");
}

TEST(Resources, OlderServersAnswerGroupByGroup) {
  FakeSession fake;
  fake.connection.replies["GET /api"] = {200, {}, R"({"kind":"APIVersions","versions":["v1"]})"};
  fake.connection.replies["GET /api/v1"] = {
      200, {}, R"({"kind":"APIResourceList","groupVersion":"v1","resources":[
        {"name":"pods","singularName":"","namespaced":true,"kind":"Pod","shortNames":["po"],"verbs":["list"]},
        {"name":"pods/status","namespaced":true,"kind":"Pod","verbs":["get"]}]})"};
  fake.connection.replies["GET /apis"] = {
      200,
      {},
      R"({"kind":"APIGroupList","groups":[{"name":"batch","versions":[{"groupVersion":"batch/v1"}],
        "preferredVersion":{"groupVersion":"batch/v1"}}]})"};
  fake.connection.replies["GET /apis/batch/v1"] = {
      200, {}, R"({"kind":"APIResourceList","groupVersion":"batch/v1","resources":[
        {"name":"jobs","singularName":"job","namespaced":true,"kind":"Job"}]})"};
  const auto types = discover(fake.session);
  ASSERT_TRUE(types.has_value()) << types.error().message;
  ASSERT_EQ(types->size(), 2u);
  EXPECT_EQ((*types)[0].shown(), "pod");
  EXPECT_EQ((*types)[1].shown(), "job.batch");
  EXPECT_EQ(resource_path((*types)[1], {"my ns", "a/b"}),
            "/apis/batch/v1/namespaces/my%20ns/jobs/a%2Fb");
  EXPECT_EQ(resource_path((*types)[0], {"", ""}), "/api/v1/pods");
}

TEST(Resources, WhatTheWordsSelect) {
  struct Case {
    const char* about;
    std::vector<std::string> words;
    std::string selected;  // empty: refused
  };
  const Case cases[] = {
      {"all of a type", {"pods"}, "pods:"},
      {"names after the type", {"pod", "a", "b"}, "pod:a,b"},
      {"types and names in one", {"pod/a", "job/b"}, "pod:a job:b"},
      {"both forms at once", {"pod", "job/b"}, ""},
      {"a name that is missing", {"pod/"}, ""},
      {"too many slashes", {"pod/a/b"}, ""},
      {"nothing", {}, ""},
  };
  for (const Case& each : cases) {
    const auto found = selections(each.words);
    std::vector<std::string> shown;
    if (found) {
      for (const ResourceSelection& one : *found)
        shown.push_back(one.types + ":" + join(one.names, ","));
    }
    EXPECT_EQ(join(shown, " "), each.selected) << each.about;
  }
}

}  // namespace
}  // namespace yard
