#pragma once
// get: one object, some, all of a type, as the server's table or as they are; and on, as they
// change.

#include <string>
#include <vector>

#include "cli/requests.h"

namespace yard {

struct GetOptions {
  std::vector<std::string> words;  // TYPE [NAME...] or TYPE/NAME...
  std::string name_space = "default";
  bool all_namespaces = false;
  std::string label_selector, field_selector;
  std::string output;  // "", wide, json, yaml, name
  bool watch = false;
  bool no_headers = false;
  bool ignore_not_found = false;
};
int run_get(Session& session, const GetOptions& options);

}  // namespace yard
