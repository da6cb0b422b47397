#include "controllers/lifecycle/api_services.h"

#include <gtest/gtest.h>

#include "api/tree.h"
#include "testing/objects.h"

namespace yard {
namespace {

std::string written(const std::vector<ClientWrite>& writes) {
  std::string out;
  for (const ClientWrite& write : writes)
    out += (write.verb == ClientWrite::Verb::Create ? "+" : "-") + write.name + " ";
  return out;
}

TEST(ApiServices, SayWhatIsServed) {
  const std::vector<ServedVersion> served = {
      {"v1"}, {"batch/v1"}, {"batch/v1"}, {"example.com/v1", true}};
  const std::vector<ClientWrite> made = api_service_writes(served, {});
  EXPECT_EQ(written(made), "+v1. +v1.batch +v1.example.com ");
  EXPECT_EQ(
      text_at(made[2].object, {"metadata", "labels", "kube-aggregator.kubernetes.io/automanaged"}),
      "true");
  EXPECT_EQ(int_at(made[0].object, {"spec", "groupPriorityMinimum"}), 18000);
  std::vector<Json> live;
  for (const ClientWrite& write : made)
    live.push_back(write.object);
  EXPECT_EQ(written(api_service_writes(served, live)), "");
  live.push_back(yaml("{metadata: {name: v1.mine.example.com}}"));
  EXPECT_EQ(written(api_service_writes({{"v1"}, {"batch/v1"}}, live)), "-v1.example.com ");
}

}  // namespace
}  // namespace yard
