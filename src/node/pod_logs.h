#pragma once
// kubectl logs: from the files of a pod's runs to the API server's sinks. Loop thread; files are
// read on the pool.

#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "client/client.h"
#include "client/pod_streams.h"
#include "node/log_archive.h"
#include "node/real_pod_runtime.h"

namespace yard {

class PodLogs {
 public:
  PodLogs(Client& client, Loop& loop, RealPodRuntime& runtime);
  ~PodLogs();
  PodLogs(const PodLogs&) = delete;
  PodLogs& operator=(const PodLogs&) = delete;
  // Pods that are gone are looked for there.
  void set_archive(const LogArchive* archive) { archive_ = archive; }
  // The server's own log, for the pod that stands for it; "" for all others.
  void set_own_log(std::function<std::string(const std::string& uid)> own_log) {
    own_log_ = std::move(own_log);
  }

  void read_log(PodLogRequest request,
                std::function<Result<std::shared_ptr<PodLogSink>>()> open_sink,
                std::function<void(Error)> failed);
  // What the newest run of a container writes from now on, of one stream ("stdout", "stderr").
  void follow(PodLogRequest request, std::string stream, std::shared_ptr<PodLogSink> sink);
  void wake(const std::string& uid);  // looks whether its sinks are still there

 private:
  struct Stream;
  using StreamPtr = std::shared_ptr<Stream>;
  Result<void> find_in_archive(PodLogRequest& request) const;
  std::optional<int> run_of(const PodLogRequest& request, bool archived) const;
  bool read_own_log(PodLogRequest& request,
                    std::function<Result<std::shared_ptr<PodLogSink>>()>& open_sink,
                    std::function<void(Error)>& failed);
  bool has_ended(const Stream& stream) const;
  void read_on(const StreamPtr& stream);
  void take(const StreamPtr& stream);
  void watch(const StreamPtr& stream);
  void finish(const StreamPtr& stream);

  Client& client_;
  Loop& loop_;
  RealPodRuntime& runtime_;
  const LogArchive* archive_ = nullptr;
  std::function<std::string(const std::string& uid)> own_log_;
  std::multimap<std::string, StreamPtr> following_;  // by the pod's uid
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
