#pragma once
// Completion scripts for shells, generated from what the program says of itself.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace yard {

struct FlagWords {
  std::vector<std::string> names;  // with their dashes
  std::string about;
  bool takes_value = false;
  std::vector<std::string> choices;  // of the value; empty: any, files are offered
};

struct CommandWords {
  std::string name, about;
  std::vector<FlagWords> flags;
  std::vector<std::string> choices;  // of its first argument
};

struct ProgramWords {
  std::string name;
  std::vector<FlagWords> flags;
  std::vector<CommandWords> commands;
};

Result<std::string> completion_script(const ProgramWords& program, std::string_view shell);

}  // namespace yard
