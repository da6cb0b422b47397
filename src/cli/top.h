#pragma once
// top: what pods and nodes use, beside what they asked for.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/requests.h"

namespace yard {

// Measured over a moment.
struct PodUse {
  int64_t cpu_milli = 0, memory_bytes = 0;
};
struct NodeUse {
  double cpu_share = 0;  // of all processors, 0 to 1
  int64_t memory_bytes = 0;
};
struct UseSample {
  std::map<std::string, PodUse> pods;  // by uid
  NodeUse node;                        // this machine
};

struct TopRequest {
  std::string what = "pods";
  std::string name_space = "default";
  bool all_namespaces = false;
};
int run_top(Session& session, const TopRequest& request, const std::function<UseSample()>& measure);

std::string cpu_text(int64_t milli);     // 250m
std::string memory_text(int64_t bytes);  // 12Mi

}  // namespace yard
