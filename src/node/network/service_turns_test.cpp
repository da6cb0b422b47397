#include "node/network/service_turns.h"

#include <arpa/inet.h>

#include <gtest/gtest.h>

namespace yard {
namespace {

// Who has the next clients' connections, a letter for each target; `a` is 10.244.0.2.
std::string asked(ServiceTurns& turns, const std::vector<std::pair<Ipv4, int64_t>>& clients) {
  std::string out;
  for (const auto& [client, now_s] : clients)
    out += static_cast<char>('a' + (ntohl(turns.next(client, now_s).sin_addr.s_addr) & 0xff) - 2);
  return out;
}

TEST(ServiceTurns, Table) {
  struct Row {
    const char *about, *targets;
    std::vector<std::pair<Ipv4, int64_t>> clients;  // who, when
    const char* answer;
  };
  const char* plain = "10.244.0.2:80,10.244.0.3:80,10.244.0.4:80";
  const char* kept = "10.244.0.2:80,10.244.0.3:80,10.244.0.4:80,affinity=100";
  const Row rows[] = {
      {"all take turns", plain, {{1, 0}, {1, 0}, {1, 0}, {1, 0}}, "abca"},
      {"a client stays with its target", kept, {{1, 0}, {2, 1}, {1, 2}, {2, 3}, {3, 4}}, "ababc"},
      {"as long as it comes again in time", kept, {{1, 0}, {1, 99}, {1, 198}, {1, 298}}, "aaab"},
  };
  for (const Row& row : rows) {
    ServiceTurns turns;
    ASSERT_TRUE(turns.set(row.targets)) << row.about;
    EXPECT_EQ(asked(turns, row.clients), row.answer) << row.about;
  }
}

TEST(ServiceTurns, AClientMovesWhenItsTargetIsGone) {
  ServiceTurns turns;
  ASSERT_TRUE(turns.set("10.244.0.2:80,10.244.0.3:80,affinity=100"));
  EXPECT_EQ(asked(turns, {{1, 0}, {2, 0}}), "ab");
  ASSERT_TRUE(turns.set("10.244.0.3:80,10.244.0.4:80,affinity=100"));
  EXPECT_EQ(asked(turns, {{2, 1}}), "b") << "the other stays";
  EXPECT_NE(asked(turns, {{1, 1}}), "a");
}

TEST(ServiceTurns, WhatIsNoTargetIsPassedOver) {
  ServiceTurns turns;
  EXPECT_FALSE(turns.set(""));
  EXPECT_FALSE(turns.set("affinity=5"));
  EXPECT_FALSE(turns.set("10.244.0.2,x:80,10.244.0.2:0,10.244.0.2:70000"));
  EXPECT_TRUE(turns.set("nobody,10.244.0.2:80"));
}

TEST(ServiceTurns, NoMoreClientsAreRememberedThanThereIsRoomFor) {
  ServiceTurns turns;
  ASSERT_TRUE(turns.set("10.244.0.2:80,10.244.0.3:80,affinity=10000"));
  for (Ipv4 client = 1; client <= 4097; ++client)
    turns.next(client, client);
  EXPECT_EQ(asked(turns, {{2, 4098}, {2, 4098}}), "bb")
      << "the first was forgotten, not the second";
}

}  // namespace
}  // namespace yard
