#pragma once
// What /metrics says about requests. Any thread.

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/time.h"

namespace yard {

struct RequestLabels {
  std::string verb, group, version, resource, subresource, scope;
};

class RequestMetrics {
 public:
  void count(const RequestLabels& labels, int code, Duration took);
  std::string text() const;  // Prometheus 0.0.4

  std::atomic<int> reads_in_flight{0}, writes_in_flight{0};

 private:
  static constexpr std::array<double, 10> kBuckets = {0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                      0.025,  0.1,   0.5,    2.5,   10};
  struct Latency {
    std::array<uint64_t, kBuckets.size() + 1> counts{};
    double sum = 0;
    uint64_t total = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> totals_;  // by rendered labels
  std::map<std::string, Latency> latencies_;
};

// process_* lines of this process, from /proc.
std::string process_metrics();

}  // namespace yard
