#include "node/seccomp_profile.h"

#include <cerrno>
#include <linux/capability.h>
#include <sys/syscall.h>

#include <gtest/gtest.h>

#include "node/files.h"
#include "node/seccomp_testing.h"
#include "node/system_call_names.h"

namespace yard {
namespace {

constexpr uint64_t kAdmin = uint64_t{1} << CAP_SYS_ADMIN;
constexpr uint32_t kKillProcess = SECCOMP_RET_KILL_PROCESS, kLog = SECCOMP_RET_LOG;

Json parsed(const std::string& text) {
  auto out = parse_json(text);
  EXPECT_TRUE(out.has_value()) << text;
  return out ? out->value : Json();
}

uint32_t answer(const std::string& profile, uint64_t capabilities, int call, uint64_t argument) {
  auto filter = profile_filter(parsed(profile), capabilities);
  EXPECT_TRUE(filter.has_value()) << profile;
  if (!filter) return 0;
  seccomp_data data{};
  data.arch = kHere;
  data.nr = call;
  data.args[1] = argument;
  return verdict(*filter, data);
}

TEST(SystemCallNames, AreTheKernels) {
  EXPECT_EQ(system_call_number("read"), SYS_read);
  EXPECT_EQ(system_call_number("execve"), SYS_execve);
  EXPECT_EQ(system_call_number("finit_module"), SYS_finit_module);
  EXPECT_EQ(system_call_number("clone3"), SYS_clone3);
  EXPECT_EQ(system_call_number("futex_waitv"), SYS_futex_waitv);
  EXPECT_EQ(system_call_number("mseal"), 462u);
  EXPECT_EQ(system_call_number("-"), std::nullopt);
  EXPECT_EQ(system_call_number("open_the_door"), std::nullopt);
}

TEST(SeccompProfile, WhatAProfileAnswers) {
  const std::string allows =
      R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
          {"names": ["read", "mseal", "open_the_door"], "action": "SCMP_ACT_ALLOW"},
          {"names": ["mount"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
          {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38, "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
          {"names": ["write"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["s390x"]}},
          {"names": ["close"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "4.8"}},
          {"name": "dup", "action": "SCMP_ACT_LOG"}]})";
  const std::string denies =
      R"({"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"], "syscalls": [
          {"names": ["mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 13},
          {"names": ["unlinkat"], "action": "SCMP_ACT_KILL_PROCESS"}]})";
  struct Row {
    const char* about;
    const std::string& profile;
    uint64_t capabilities;
    long call;
    uint32_t answer;
  };
  const Row rows[] = {
      {"what is named is allowed", allows, 0, SYS_read, kAllow},
      {"the rest is refused", allows, 0, SYS_socket, denied(EPERM)},
      {"the older way to name one call", allows, 0, SYS_dup, kLog},
      {"a rule for those with a capability", allows, kAdmin, SYS_mount, kAllow},
      {"is not there for others", allows, 0, SYS_mount, denied(EPERM)},
      {"an errno of its own", allows, 0, SYS_clone3, denied(ENOSYS)},
      {"a rule that a capability takes away", allows, kAdmin, SYS_clone3, denied(EPERM)},
      {"a rule for another machine", allows, 0, SYS_write, denied(EPERM)},
      {"a rule for younger kernels than 4.8", allows, 0, SYS_close, kAllow},
      {"a call younger than all that is named", allows, 0, 463, denied(ENOSYS)},
      {"a list of what is refused", denies, 0, SYS_mkdirat, denied(EACCES)},
      {"with another action", denies, 0, SYS_unlinkat, kKillProcess},
      {"allows all else", denies, 0, SYS_read, kAllow},
      {"also what came later", denies, 0, 900, kAllow},
  };
  for (const Row& row : rows)
    EXPECT_EQ(answer(row.profile, row.capabilities, static_cast<int>(row.call), 0), row.answer)
        << row.about;
}

TEST(SeccompProfile, OtherMachinesCallsAreRefused) {
  auto filter = profile_filter(parsed(R"({"defaultAction": "SCMP_ACT_ALLOW"})"), 0);
  ASSERT_TRUE(filter.has_value());
  seccomp_data data{};
  data.arch = kElsewhere;
  data.nr = SYS_read;
  EXPECT_EQ(verdict(*filter, data), denied(EPERM));
}

TEST(SeccompProfile, Arguments) {
  struct Row {
    const char* comparison;
    uint64_t value, value_two, argument;
    bool holds;
  };
  constexpr uint64_t kBig = 0x1'0000'0005;  // above what one word holds
  const Row rows[] = {
      {"EQ", kBig, 0, kBig, true},
      {"EQ", kBig, 0, 5, false},
      {"EQ", 5, 0, kBig, false},
      {"NE", kBig, 0, 5, true},
      {"NE", 5, 0, kBig, true},
      {"NE", kBig, 0, kBig, false},
      {"GT", kBig, 0, kBig, false},
      {"GT", kBig, 0, kBig + 1, true},
      {"GT", kBig, 0, 7, false},
      {"GT", 7, 0, kBig, true},
      {"GE", kBig, 0, kBig, true},
      {"GE", kBig, 0, kBig - 1, false},
      {"GE", 7, 0, kBig, true},
      {"LT", kBig, 0, kBig, false},
      {"LT", kBig, 0, kBig - 1, true},
      {"LT", kBig, 0, 7, true},
      {"LT", 7, 0, kBig, false},
      {"LE", kBig, 0, kBig, true},
      {"LE", kBig, 0, kBig + 1, false},
      {"LE", 7, 0, kBig, false},
      {"MASKED_EQ", 0xf0, 0x50, 0x5f, true},
      {"MASKED_EQ", 0xf0, 0x50, 0x6f, false},
      {"MASKED_EQ", kBig, kBig, ~uint64_t{0}, true},
      {"MASKED_EQ", kBig, kBig, 5, false},
  };
  for (const Row& row : rows) {
    const std::string profile =
        R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW",
            "args": [{"index": 1, "op": "SCMP_CMP_)" +
        std::string(row.comparison) + R"(", "value": )" + std::to_string(row.value) +
        R"(, "valueTwo": )" + std::to_string(row.value_two) +
        "}]}, {\"names\": [\"write\"], \"action\": \"SCMP_ACT_ALLOW\"}]}";
    EXPECT_EQ(answer(profile, 0, SYS_read, row.argument), row.holds ? kAllow : denied(EPERM))
        << row.comparison << " " << row.value << " " << row.argument;
    EXPECT_EQ(answer(profile, 0, SYS_write, row.argument), kAllow) << "the rule behind it";
  }
}

TEST(SeccompProfile, SeveralRulesOfOneCall) {
  const std::string either =
      R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
          {"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 1, "value": 1, "op": "SCMP_CMP_EQ"}]},
          {"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 1, "value": 8, "op": "SCMP_CMP_GE"},
                                                                   {"index": 1, "value": 9, "op": "SCMP_CMP_LE"}]}]})";
  for (const auto& [argument, allowed] : std::map<uint64_t, bool>{
           {0, false}, {1, true}, {7, false}, {8, true}, {9, true}, {10, false}})
    EXPECT_EQ(answer(either, 0, SYS_read, argument), allowed ? kAllow : denied(EPERM)) << argument;
  const std::string settled =
      R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
          {"names": ["read"], "action": "SCMP_ACT_KILL_PROCESS", "args": [{"index": 1, "value": 1, "op": "SCMP_CMP_EQ"}]},
          {"names": ["read"], "action": "SCMP_ACT_ALLOW"}]})";
  EXPECT_EQ(answer(settled, 0, SYS_read, 1), kAllow) << "a rule without conditions settles it";
}

TEST(SeccompProfile, WhatIsNoProfileIsToldSo) {
  const std::pair<const char*, const char*> rows[] = {
      {"[]", "the seccomp profile is no object"},
      {"{}", "the seccomp profile has no defaultAction"},
      {R"({"defaultAction": 7})", "the seccomp profile has an action that is not known: \"\""},
      {R"({"defaultAction": "SCMP_ACT_NOTIFY"})",
       "the seccomp profile asks somebody else (SCMP_ACT_NOTIFY): nobody listens here"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"], "action": "x"}]})",
       "the seccomp profile has an action that is not known: \"x\""},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_LOG", "args": [{"index": 6}]}]})",
       "the seccomp profile looks at an argument that no call has"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_LOG", "args": [{"index": 1, "op": "y"}]}]})",
       "the seccomp profile has a comparison that is not known: \"y\""},
  };
  for (const auto& [text, message] : rows) {
    const auto filter = profile_filter(parsed(text), 0);
    ASSERT_FALSE(filter.has_value()) << text;
    EXPECT_EQ(filter.error().message, message);
  }
  // What has the wrong form inside is passed over.
  for (
      const char* text :
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": 7})",
       R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"action": "SCMP_ACT_LOG", "names": [3], "includes": []}]})"})
    EXPECT_TRUE(profile_filter(parsed(text), 0).has_value()) << text;
}

TEST(SeccompProfile, TheKernelTakesNoMoreThan4096Steps) {
  std::string profile = R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [)";
  for (int number = 0; number < 1000; ++number)
    profile +=
        std::string(number == 0 ? "" : ",") +
        R"({"names": ["read"], "action": "SCMP_ACT_LOG", "args": [{"index": 1, "value": 1, "op": "SCMP_CMP_EQ"}]})";
  const auto filter = profile_filter(parsed(profile + "]}"), 0);
  ASSERT_FALSE(filter.has_value());
  EXPECT_EQ(filter.error().message, "the seccomp profile is longer than the kernel takes");
}

TEST(SeccompProfile, FilesLieBelowTheirFolder) {
  const std::string folder = testing::TempDir() + "yard-profiles-" + std::to_string(getpid());
  ASSERT_TRUE(make_folders(folder + "/profiles/deep", 0700).has_value());
  ASSERT_TRUE(write_text(folder + "/profiles/deep/one.json", "{}", 0600).has_value());
  ASSERT_TRUE(write_text(folder + "/secret", "s", 0600).has_value());
  const auto read = [&](const char* name) { return read_profile(folder + "/profiles", name); };
  const auto found = read("deep/one.json");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, "{}");
  for (const char* name : {"", "../secret", "deep/../../secret", "/etc/passwd", "none.json"})
    EXPECT_FALSE(read(name).has_value()) << name;
  EXPECT_EQ(
      read("none.json").error().message,
      "cannot load seccomp profile \"" + folder +
          "/profiles/none.json\": there is no such file: put it there, or use RuntimeDefault");
  remove_folder(folder);
}

}  // namespace
}  // namespace yard
