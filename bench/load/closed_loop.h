#pragma once
// A fixed number of connections, each sending its next request when the last one is answered.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "load/connection.h"

namespace yard::bench {

struct ClosedLoop {
  size_t connections = 1;
  uint64_t max_operations = 0;
  double max_seconds = 0;  // no request begins after them
  int expected_status = 200;
  std::vector<int> server_pids;
  std::function<std::string(uint64_t number)> request;
};

// Opens the connections first, then measures; the report is one JSON object.
Result<std::string> run_closed_loop(const Target& target, const ClosedLoop& load);

// One request on its own connection; the body of the answer, or an error when the status differs.
Result<std::string> ask(const Target& target, const std::string& request, int expected_status);

}  // namespace yard::bench
