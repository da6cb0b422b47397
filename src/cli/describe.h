#pragma once
// describe: what there is to say of an object of any kind, for a person.

#include <string>
#include <vector>

#include "cli/requests.h"

namespace yard {

// Name and namespace, labels, what was asked for, how it fares, its conditions and its events.
// Values of Secrets are only counted.
std::string description(const Json& object, const JsonArray& events, Time now, bool colour = false);

struct DescribeOptions {
  std::vector<std::string> words;
  std::string name_space = "default";
  std::string label_selector{};
};
int run_describe(Session& session, const DescribeOptions& options);

}  // namespace yard
