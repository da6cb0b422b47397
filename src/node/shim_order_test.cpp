#include <gtest/gtest.h>

#include "node/shim/order.h"

namespace shim {
namespace {

struct Case {
  const char* about;
  std::string message;
  int words;
  std::string verb, container;
  int number = 0, signal = 0;
};

TEST(ShimOrder, IsReadWordByWord) {
  const Case cases[] = {
      {"nothing", "", 0, "", ""},
      {"a verb alone", "stat", 1, "stat", ""},
      {"a start", "start trainer 2", 3, "start", "trainer", 2},
      {"a signal", "signal trainer 2 15", 4, "signal", "trainer", 2, 15},
      {"an address", "dial ::1 8080", 3, "dial", "::1", 8080},
      {"spaces of any sort and number", "  exec\t\n trainer ", 2, "exec", "trainer"},
      {"what follows a zero byte is not read", std::string("stop\0 x 1", 9), 1, "stop", ""},
      {"a number with a tail is none", "signal trainer 2x 15", 2, "signal", "trainer"},
      {"a number no int holds is none", "start trainer 99999999999", 2, "start", "trainer"},
      {"a verb too long", std::string(16, 'v') + " trainer 1", 0, "", ""},
      {"a container too long", "start " + std::string(256, 'c') + " 1", 1, "start", ""},
  };
  for (const Case& each : cases) {
    const Order order = read_order(each.message);
    EXPECT_EQ(order.words, each.words) << each.about;
    EXPECT_EQ(order.verb, each.verb) << each.about;
    EXPECT_EQ(order.container, each.container) << each.about;
    EXPECT_EQ(order.number, each.number) << each.about;
    EXPECT_EQ(order.signal, each.signal) << each.about;
  }
}

TEST(ShimOrder, ACommandIsReadFromItsFile) {
  CommandRequest request;
  EXPECT_EQ(read_command(R"({"argv":["sh","-c","é"],"terminal":true})", request), "");
  EXPECT_EQ(request.argv, (std::vector<std::string>{"sh", "-c", "é"}));
  EXPECT_TRUE(request.terminal && !request.kill_when_left);
  CommandRequest empty;
  EXPECT_EQ(read_command(R"({"argv":[]})", empty), "the command is empty");
  EXPECT_EQ(read_command("{", empty), "the command could not be read");
}

}  // namespace
}  // namespace shim
