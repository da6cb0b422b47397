#include "apiserver/access/standing_rights.h"

#include <gtest/gtest.h>

#include "sim/api_harness.h"

namespace yard {
namespace {

using std::chrono::seconds;

class StandingRightsTest : public testing::Test {
 protected:
  StandingRightsTest() : rights(std::make_unique<StandingRights>(yard.loop, *yard.store)) {
    yard.make_namespace("a");
  }
  StandingRights::Hold hold(StreamRights what) {
    return rights->hold(std::move(what), [this] { ++ended; });
  }
  void change_a_role() {
    yard.call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles",
              R"({"metadata":{"generateName":"r-"},"rules":[]})");
    yard.loop.advance(seconds(1));
  }

  ApiHarness yard;
  std::unique_ptr<StandingRights> rights;
  int ended = 0;
};

TEST_F(StandingRightsTest, EndOnceWhenRolesSaySo) {
  bool allowed = true;
  const auto kept = hold({.ends = {}, .bound_uids = {}, .is_allowed = [&] { return allowed; }});
  change_a_role();
  EXPECT_EQ(ended, 0);
  allowed = false;
  EXPECT_EQ(ended, 0) << "nothing has been written";
  change_a_role();
  change_a_role();
  EXPECT_EQ(ended, 1);
}

TEST_F(StandingRightsTest, EndWithTheirCredential) {
  const auto kept = hold({.ends = yard.loop.now() + seconds(60), .bound_uids = {}});
  yard.loop.advance(seconds(59));
  EXPECT_EQ(ended, 0);
  yard.loop.advance(seconds(2));
  EXPECT_EQ(ended, 1);
}

TEST_F(StandingRightsTest, EndWithTheHolderOfTheToken) {
  const Answer made =
      yard.call("POST", "/api/v1/namespaces/a/serviceaccounts", R"({"metadata":{"name":"robot"}})");
  const std::string uid(made.json.at("metadata").at("uid").as_string());
  const auto is_there = [&] {
    return yard.store->get(Key{"serviceaccounts", "a", "robot"}) != nullptr;
  };
  const auto kept = hold({.ends = {}, .bound_uids = {uid}, .is_allowed = is_there});
  yard.patch("/api/v1/namespaces/a/serviceaccounts/robot", R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(ended, 0);
  yard.call("DELETE", "/api/v1/namespaces/a/serviceaccounts/robot");
  yard.loop.advance(seconds(1));
  EXPECT_EQ(ended, 1);
}

TEST_F(StandingRightsTest, WhatIsGivenBackIsNotCalled) {
  auto gone = hold({.ends = yard.loop.now() + seconds(1), .bound_uids = {"u"}, .is_allowed = [] {
                      return false;
                    }});
  gone.reset();
  change_a_role();
  yard.loop.advance(seconds(5));
  EXPECT_EQ(ended, 0);
}

TEST_F(StandingRightsTest, AnEndMayTakeOthersAlong) {
  StandingRights::Hold second;
  const auto never = [] { return false; };
  const auto first = rights->hold({.ends = {}, .bound_uids = {}, .is_allowed = never}, [&] {
    ++ended;
    second.reset();
  });
  second = hold({.ends = {}, .bound_uids = {}, .is_allowed = never});
  change_a_role();
  EXPECT_EQ(ended, 1);
}

TEST_F(StandingRightsTest, AHoldMayOutliveThem) {
  const auto kept =
      hold({.ends = yard.loop.now() + seconds(1), .bound_uids = {"u"}, .is_allowed = [] {
              return false;
            }});
  rights.reset();
  change_a_role();
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace yard
