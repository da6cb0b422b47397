#pragma once
// What a phase of load cost: processor time of the servers and of ourselves, and how long things
// took.

#include <string>
#include <vector>

namespace yard::bench {

// User and system time of all the processes, all threads, from /proc/PID/stat; in steps of 10 ms.
double processor_seconds(const std::vector<int>& pids);
double own_processor_seconds();

// The value below which `share` of the samples lie; sorts them. 0 where there are none.
double percentile(std::vector<float>& samples, double share);

std::string json_text(const std::string& text);  // quoted, for the report

}  // namespace yard::bench
