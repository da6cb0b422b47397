#pragma once
// trainyard exec: what is asked of the server, and how the command ends.

#include <string>
#include <string_view>
#include <vector>

namespace yard {

struct ExecOptions {
  std::string name_space = "default", pod, container;
  std::vector<std::string> argv;
  bool input = false, terminal = false;
};

std::string exec_target(const ExecOptions& options);  // path and query

struct ExecEnd {
  int code = 0;
  std::string complaint;  // to print; "": none
};
// Of the Status on the error channel, or of the server's refusal.
ExecEnd exec_end(int http_status, std::string_view text);

}  // namespace yard
