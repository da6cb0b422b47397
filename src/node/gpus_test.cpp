#include "node/gpus.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "testing/objects.h"

namespace yard {
namespace {

struct Asked {
  const char *about, *spec;
  int64_t count;
};

TEST(Gpus, WhatAPodAsksFor) {
  const Asked rows[] = {
      {"nothing", "{containers: [{name: a}]}", 0},
      {"one", "{containers: [{name: a, resources: {limits: {nvidia.com/gpu: '1'}}}]}", 1},
      {"a number", "{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2}}}]}", 2},
      {"containers together",
       "{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}, {name: b, resources: "
       "{limits: {nvidia.com/gpu: 2}}}]}",
       3},
      {"a hungrier init container",
       "{initContainers: [{name: i, resources: {limits: {nvidia.com/gpu: 4}}}], containers: "
       "[{name: "
       "a, resources: {limits: {nvidia.com/gpu: 1}}}]}",
       4},
  };
  for (const Asked& row : rows)
    EXPECT_EQ(gpus_asked(JsonObject{{"spec", yaml(row.spec)}}), row.count) << row.about;
}

TEST(Gpus, TheFirstFreeOnesArePicked) {
  const std::vector<Gpu> all = pretended_gpus(4);
  const GpuProcess first{"0", 77, "python3"}, third{"2", 78, "jupyter"};
  struct Row {
    const char* about;
    std::set<std::string> taken;
    std::vector<GpuProcess> outsiders;
    int64_t count;
    std::optional<std::vector<std::string>> answer;
  };
  const Row rows[] = {
      {"in order", {}, {}, 2, {{"0", "1"}}},
      {"without those of other pods", {"0", "2"}, {}, 2, {{"1", "3"}}},
      {"or none at all", {"0", "2"}, {}, 3, std::nullopt},
      {"nothing is asked", {}, {}, 0, {{}}},
      {"outsiders are left alone", {}, {first}, 2, {{"1", "2"}}},
      {"while there are others", {"1"}, {first, third}, 2, {{"3", "0"}}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(pick_gpus(all, row.taken, row.outsiders, row.count), row.answer) << row.about;
}

TEST(Gpus, OutsidersKeepOthersFromTheirDevices) {
  const std::vector<Gpu> all = pretended_gpus(3);
  const std::vector<GpuProcess> outsiders{
      {"0", 77, "python3"}, {"0", 78, "python3"}, {"2", 79, "jupyter"}, {"9", 80, "gone"}};
  struct Row {
    const char* about;
    std::set<std::string> given;
    std::vector<GpuProcess> outsiders;
    const char* answer;
  };
  const Row rows[] = {
      {"nobody is there", {}, {}, ""},
      {"a device once, whoever is on it",
       {},
       outsiders,
       "GPU 0: process 77 (python3), GPU 2: process 79 (jupyter)"},
      {"what a pod has is the pod's", {"0"}, outsiders, "GPU 2: process 79 (jupyter)"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(outsiders_text(gpus_of_outsiders(all, row.given, row.outsiders)), row.answer)
        << row.about;
}

TEST(Gpus, ContainersShareThoseOfTheirPodInOrder) {
  const Json pod = JsonObject{
      {"spec", yaml("{initContainers: [{name: i, resources: {limits: {nvidia.com/gpu: 2}}}], "
                    "containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}, {name: b}, "
                    "{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}")}};
  const std::vector<std::string> given{"x", "q", "z"};
  EXPECT_EQ(join(gpus_of_container(pod, "i", given), ","), "x,q");
  EXPECT_EQ(join(gpus_of_container(pod, "a", given), ","), "x");
  EXPECT_EQ(join(gpus_of_container(pod, "b", given), ","), "");
  EXPECT_EQ(join(gpus_of_container(pod, "c", given), ","), "q,z");
}

struct Seen {
  const char* about;
  std::optional<std::string_view> wished;
  const char* answer;
};

TEST(Gpus, WhatAContainerSees) {
  const std::vector<std::string> given{"GPU-a", "GPU-b"};
  const Seen rows[] = {
      {"all it was given", std::nullopt, "GPU-a,GPU-b"},
      {"its own numbers count within that", "1", "GPU-b"},
      {"in its own order", "1, 0", "GPU-b,GPU-a"},
      {"never what it was not given", "0,2,1", "GPU-a"},
      {"none, when it says so", "", ""},
      {"another's name is not taken", "GPU-c", ""},
  };
  for (const Seen& row : rows)
    EXPECT_EQ(visible_devices(given, row.wished), row.answer) << row.about;
}

TEST(Gpus, OutsidersAreThoseWhoCameOfNoPod) {
  const std::vector<GpuProcess> there{{"g0", 50}, {"g0", 60}, {"g1", 10}, {"g1", 70}};
  const std::map<int, int> parents{{50, 40}, {40, 10}, {10, 1}, {60, 1}, {70, 71}, {71, 70}};
  std::string pids;
  for (const GpuProcess& process : outsiders_among(there, {10}, parents))
    pids += process.gpu + ":" + std::to_string(process.pid) + " ";
  EXPECT_EQ(pids, "g0:60 g1:70 ") << "a child's child of a container is ours";
}

}  // namespace
}  // namespace yard
