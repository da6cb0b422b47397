#pragma once
// Two looks at the counters a moment apart, when somebody asks: nothing is measured for nobody. A
// look stays good as the first of the next two for a minute. Loop thread.

#include <memory>
#include <optional>
#include <vector>

#include "base/loop.h"
#include "client/usage_source.h"
#include "node/pod_runtime.h"
#include "node/usage.h"

namespace yard {

struct UsageSample {
  Time at{};
  std::vector<ContainerUsage> containers;
  MachineUsage machine;
};

// What was used between the two. Pure.
UsageReport usage_between(const UsageSample& before, const UsageSample& after, int64_t cpus);

class UsageMeter : public UsageSource {
 public:
  using Look = std::function<UsageSample(const std::vector<ContainerProcess>&)>;  // blocking
  // `node` is this machine's; "": pods are played, and nothing is used.
  UsageMeter(Loop& loop, const PodRuntime& runtime, std::string node, int64_t cpus, Look look)
      : loop_(loop),
        runtime_(runtime),
        node_(std::move(node)),
        cpus_(cpus),
        look_(std::move(look)) {}
  ~UsageMeter() override { *alive_ = false; }
  void measure(std::function<void(const UsageReport&)> done) override;

 private:
  void look(std::function<void(UsageSample)> done);
  void answer(const UsageSample& after);

  Loop& loop_;
  const PodRuntime& runtime_;
  std::string node_;
  int64_t cpus_;
  Look look_;
  std::optional<UsageSample> before_;
  std::vector<std::function<void(const UsageReport&)>> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The look at this machine.
UsageMeter::Look look_at_machine(std::string state_folder, const Loop& loop);

}  // namespace yard
