#include "cli/exec.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

TEST(Exec, the_request_names_streams_and_words) {
  ExecOptions options;
  options.pod = "p";
  options.argv = {"sh", "-c", "echo a&b"};
  EXPECT_EQ(exec_target(options),
            "/api/v1/namespaces/default/pods/p/exec?stdout=true&stderr=true&command=sh&command=-c"
            "&command=echo%20a%26b");
  options.container = "c";
  options.input = options.terminal = true;
  options.argv = {"sh"};
  EXPECT_EQ(exec_target(options),
            "/api/v1/namespaces/default/pods/p/exec?stdout=true&tty=true&stdin=true&container=c"
            "&command=sh");
}

TEST(Exec, it_ends_as_the_command_did) {
  const struct {
    const char* about;
    int http;
    const char* text;
    int code;
    const char* complaint;
  } cases[] = {
      {"well", 101, R"({"metadata":{},"status":"Success"})", 0, ""},
      {"with a code", 101,
       R"({"status":"Failure","reason":"NonZeroExitCode","message":"m","details":{"causes":[{"reason":"ExitCode","message":"7"}]}})",
       7, ""},
      {"without having begun", 101,
       R"({"status":"Failure","reason":"InternalError","message":"no such program"})", 1,
       "no such program"},
      {"refused", 404, R"({"kind":"Status","status":"Failure","message":"pods \"p\" not found"})",
       5, "pods \"p\" not found"},
      {"refused as a kubelet refuses", 500, "container not found (\"c\")", 1,
       "container not found (\"c\")"},
      {"broken off", 101, "", 1, "the connection to the control plane broke"},
  };
  for (const auto& each : cases) {
    const ExecEnd end = exec_end(each.http, each.text);
    EXPECT_EQ(end.code, each.code) << each.about;
    EXPECT_EQ(end.complaint, each.complaint) << each.about;
  }
}

}  // namespace
}  // namespace yard
