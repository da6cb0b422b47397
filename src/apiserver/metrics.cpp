#include "apiserver/metrics.h"

#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

namespace yard {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void RequestMetrics::count(const RequestLabels& labels, int code, Duration took) {
  const std::string about = fmt::format(
      "verb=\"{}\",group=\"{}\",version=\"{}\",resource=\"{}\",subresource=\"{}\",scope=\"{}\"",
      labels.verb, labels.group, labels.version, labels.resource, labels.subresource, labels.scope);
  const double seconds = std::chrono::duration<double>(took).count();
  const std::lock_guard lock(mutex_);
  ++totals_[fmt::format("{},code=\"{}\"", about, code)];
  if (labels.verb == "WATCH") return;  // how long a watch lasts is no latency
  Latency& latency = latencies_[about];
  size_t bucket = 0;
  while (bucket < kBuckets.size() && seconds > kBuckets[bucket])
    ++bucket;
  ++latency.counts[bucket];
  ++latency.total;
  latency.sum += seconds;
}

std::string RequestMetrics::text() const {
  std::string out =
      "# HELP apiserver_request_total Requests answered, by verb, resource and code.\n# TYPE "
      "apiserver_request_total counter\n";
  const std::lock_guard lock(mutex_);
  for (const auto& [labels, total] : totals_)
    out += fmt::format("apiserver_request_total{{{}}} {}\n", labels, total);
  out +=
      "# HELP apiserver_request_duration_seconds From the request's last byte to the answer.\n# "
      "TYPE apiserver_request_duration_seconds histogram\n";
  for (const auto& [labels, latency] : latencies_) {
    uint64_t sum = 0;
    for (size_t i = 0; i < kBuckets.size(); ++i) {
      sum += latency.counts[i];
      out += fmt::format("apiserver_request_duration_seconds_bucket{{{},le=\"{}\"}} {}\n", labels,
                         kBuckets[i], sum);
    }
    out += fmt::format(
        "apiserver_request_duration_seconds_bucket{{{0},le=\"+Inf\"}} "
        "{1}\napiserver_request_duration_seconds_sum{{{0}}} {2}\n"
        "apiserver_request_duration_seconds_count{{{0}}} {1}\n",
        labels, latency.total, latency.sum);
  }
  out +=
      "# HELP apiserver_current_inflight_requests Requests being answered now.\n# TYPE "
      "apiserver_current_inflight_requests gauge\n";
  out += fmt::format("apiserver_current_inflight_requests{{request_kind=\"readOnly\"}} {}\n",
                     reads_in_flight.load());
  out += fmt::format("apiserver_current_inflight_requests{{request_kind=\"mutating\"}} {}\n",
                     writes_in_flight.load());
  return out;
}

std::string process_metrics() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::error_code ignored;
  size_t descriptors = 0, threads = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored))
    descriptors += entry.path().empty() ? 0 : 1;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored))
    threads += entry.path().empty() ? 0 : 1;
  return fmt::format(
      "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total {}\n# TYPE "
      "process_resident_memory_bytes gauge\n"
      "process_resident_memory_bytes {}\n# TYPE process_virtual_memory_bytes "
      "gauge\nprocess_virtual_memory_bytes {}\n"
      "# TYPE process_open_fds gauge\nprocess_open_fds {}\n# TYPE process_threads "
      "gauge\nprocess_threads {}\n",
      seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), resident * page, pages * page,
      descriptors, threads);
}

}  // namespace yard
