// yard_bench: load for one server, the same for ours and for the peer.
//
//   yard_bench create|get|patch|list|table|watch|ready --kubeconfig FILE [--pids 1,2] [--OPTION
//   VALUE]...
//
//   create          --connections 32 --count 1000 --prefix NAME [--first N]
//                   [--body FILE --path URL-PATH: of another kind, with NAME in it replaced]
//   get, patch      --connections 16 --objects 5000 --prefix NAME --seconds 2
//   list, table     --connections 1 --seconds 2
//   watch           --watchers 1000 --rate 10 --seconds 10
//   ready           waits until /readyz is answered --seconds 30
//   plan            what a look at a training job of --replicas 1000 costs; needs no server
//
// All but `ready` take --namespace. One JSON object is printed; 1 is returned when the load could
// not be carried out, with a sentence on the error stream.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <time.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "load/closed_loop.h"
#include "load/costs.h"
#include "load/plan_load.h"
#include "load/requests.h"
#include "load/watch_load.h"

namespace yard::bench {
namespace {

constexpr uint64_t kNoLimit = 1'000'000'000;
constexpr double kLongest = 300;  // seconds: no phase is without an end

class Options {
 public:
  static Result<Options> read(int count, char** words) {
    Options options;
    for (int i = 2; i < count; i += 2) {
      const std::string_view name = words[i];
      if (!name.starts_with("--") || i + 1 >= count) {
        return error(Reason::BadRequest, fmt::format("{}: options are --NAME VALUE", name));
      }
      options.values_[std::string(name.substr(2))] = words[i + 1];
    }
    return options;
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  double number(const std::string& name, double otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
  }
  uint64_t count(const std::string& name, uint64_t otherwise) const {
    return static_cast<uint64_t>(number(name, static_cast<double>(otherwise)));
  }
  double seconds(double otherwise) const {
    return std::min(kLongest, number("seconds", otherwise));
  }
  std::vector<int> pids() const {
    std::vector<int> pids;
    for (const std::string_view pid : split(text("pids", ""), ',')) {
      if (const auto parsed = parse_int64(pid)) pids.push_back(static_cast<int>(*parsed));
    }
    return pids;
  }

 private:
  std::map<std::string, std::string> values_;
};

Result<std::string> run_requests(const std::string& verb, const Target& target,
                                 const Options& options) {
  const Requests requests(target, options.text("namespace", "default"));
  const std::string prefix = options.text("prefix", "bench");
  const uint64_t first = options.count("first", 0);
  const uint64_t objects = std::max<uint64_t>(1, options.count("objects", 1));
  ClosedLoop load;
  load.server_pids = options.pids();
  load.max_operations = options.count("count", kNoLimit);
  load.connections = options.count("connections", 1);
  load.max_seconds = options.seconds(verb == "create" ? kLongest : 2);
  // A label's value differs from the last one an object got, in this phase and in the one before.
  const int64_t salt = Clock::now().time_since_epoch().count();
  if (verb == "create") {
    load.expected_status = 201;
    std::ifstream file(options.text("body", ""));
    load.request = [&, path = options.text("path", ""),
                    body = std::string(std::istreambuf_iterator<char>(file), {})](uint64_t number) {
      const std::string name = job_name(prefix, first + number);
      return body.empty() ? requests.create(name) : requests.create_from(path, body, name);
    };
  } else if (verb == "get") {
    load.request = [&](uint64_t number) {
      return requests.get(job_name(prefix, number % objects));
    };
  } else if (verb == "patch") {
    load.request = [&](uint64_t number) {
      return requests.label(job_name(prefix, number % objects), fmt::format("{}-{}", salt, number));
    };
  } else {
    load.request = [&, accept = verb == "list" ? kJson : kTable](uint64_t) {
      return requests.list(accept);
    };
  }
  return run_closed_loop(target, load);
}

Result<std::string> run_watch(const Target& target, const Options& options) {
  WatchLoad load;
  load.watchers = options.count("watchers", 1000);
  load.writes_per_second = options.number("rate", 10);
  load.seconds = options.seconds(10);
  load.ns = options.text("namespace", "kube-public");
  load.server_pids = options.pids();
  return run_watch_load(target, load);
}

// The kubeconfig may appear only while we wait.
Result<std::string> wait_until_ready(const std::string& kubeconfig, const Options& options) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(options.seconds(30)));
  std::string last = "no kubeconfig";
  while (Clock::now() < deadline) {
    auto target = read_target(kubeconfig);
    if (target) {
      auto answer = ask(*target, Requests(*target, "default").ready(), 200);
      if (answer) return std::string("{}");
      last = answer.error().message;
    }
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return error(Reason::Timeout, "not ready: " + last);
}

Result<std::string> run(const std::string& verb, const Options& options) {
  const std::string kubeconfig = options.text("kubeconfig", "");
  if (verb == "ready") return wait_until_ready(kubeconfig, options);
  if (verb == "plan") return measure_plans(static_cast<int>(options.count("replicas", 1000)));
  const Target target = TRY(read_target(kubeconfig));
  if (verb == "watch") return run_watch(target, options);
  for (const char* known : {"create", "get", "patch", "list", "table"}) {
    if (verb == known) return run_requests(verb, target, options);
  }
  return error(Reason::BadRequest, "unknown load " + verb);
}

void allow_many_sockets() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace yard::bench

int main(int count, char** words) {
  using namespace yard::bench;
  signal(SIGPIPE, SIG_IGN);
  allow_many_sockets();
  const auto options = Options::read(count, words);
  const auto report = options ? run(count > 1 ? words[1] : "", *options)
                              : yard::Result<std::string>(options.error());
  if (!report) {
    std::fprintf(stderr, "yard_bench: %s\n", report.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", report->c_str());
  return 0;
}
