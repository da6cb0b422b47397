#pragma once
// Where a command prints, and how it ends.

#include <ostream>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace yard {

// Exit codes scripts may rely on.
enum ExitCode {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kJobFailed = 3,  // run: the job itself failed
  kNotFound = 5,
  kUnreachable = 6,
  kInterrupted = 130
};

enum class Style { Plain, Bold, Good, Busy, Bad };

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool colour = false;  // a terminal reads it and NO_COLOR is not set
  Time now{};           // for ages
};

std::string styled(std::string_view text, Style style);
// Green, yellow or red for the words Kubernetes uses for how something fares; Plain for any other.
Style status_style(std::string_view word);

// Text of others made safe to print: escape sequences and other control characters become visible.
std::string printable(std::string_view text);

// Prints the error as a sentence and answers the exit code that belongs to its reason.
int print_failure(Terminal& terminal, const Error& failure);

}  // namespace yard
