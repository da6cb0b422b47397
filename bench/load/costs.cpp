#include "load/costs.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "json/json.h"

namespace yard::bench {

double processor_seconds(const std::vector<int>& pids) {
  unsigned long ticks = 0;
  for (const int pid : pids) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    // The name in brackets may hold spaces; state is the field after it, utime the 12th after that.
    const size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream fields(line.substr(name_end + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i)
      fields >> skipped;
    unsigned long user = 0;
    unsigned long system = 0;
    fields >> user >> system;
    ticks += user + system;
  }
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double percentile(std::vector<float>& samples, double share) {
  if (samples.empty()) return 0;
  const auto rank = static_cast<size_t>(share * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(rank),
                   samples.end());
  return samples[rank];
}

std::string json_text(const std::string& text) {
  std::string quoted_text;
  append_quoted(quoted_text, text);
  return quoted_text;
}

}  // namespace yard::bench
