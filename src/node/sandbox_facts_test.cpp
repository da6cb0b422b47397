#include "node/sandbox_facts.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

constexpr const char* kAllWell =
    "mount ok\ntmpfs ok\noverlay ok\npid ok\nproc ok\ndevpts ok\nipc ok\nuts ok\nseccomp ok\n";

TEST(SandboxFacts, EachRefusalIsASentence) {
  struct Row {
    const char* about;
    SandboxFacts facts;
    std::vector<std::string> beginnings;
  };
  const Row rows[] = {
      {"root on a whole machine", {true, kAllWell, {}}, {}},
      {"no probe", {true, "", {}}, {"what the kernel allows pods is unknown"}},
      {"no memory limits",
       {true, kAllWell, {"memory limits: Permission denied in /m"}},
       {"not enforced by control groups: memory limits: Permission denied in /m"}},
      {"an ordinary user",
       {false, std::string("user ok\n") + kAllWell, {}},
       {"pods run as one ordinary user: "}},
      {"a user without namespaces",
       {false,
        "user no user namespace: Operation not permitted\nmount Operation not permitted\n",
        {}},
       {"user namespaces are refused, and without one", "mount namespaces are refused",
        "pods run as one ordinary user: "}},
      {"an old kernel",
       {true, "mount ok\noverlay No such device\nseccomp Invalid argument\n", {}},
       {"overlay mounts are refused: ", "system calls are not filtered"}},
  };
  for (const Row& row : rows) {
    const auto sentences = sandbox_degradations(row.facts);
    ASSERT_EQ(sentences.size(), row.beginnings.size()) << row.about;
    for (size_t i = 0; i < sentences.size(); ++i)
      EXPECT_TRUE(sentences[i].starts_with(row.beginnings[i])) << row.about << ": " << sentences[i];
  }
}

}  // namespace
}  // namespace yard
