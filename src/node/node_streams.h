#pragma once
// kubectl's ways into a pod: logs, exec, attach, port-forward. Descriptors are opened here and
// their bytes moved elsewhere. Loop thread.

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/loop.h"
#include "client/client.h"
#include "client/pod_streams.h"
#include "node/pod_logs.h"
#include "node/real_pod_runtime.h"

namespace yard {

class NodeStreams : public PodStreams {
 public:
  NodeStreams(Client& client, Loop& loop, RealPodRuntime& runtime);
  ~NodeStreams() override;
  void set_archive(const LogArchive* archive) { logs_.set_archive(archive); }
  void set_own_log(std::function<std::string(const std::string& uid)> own_log) {
    logs_.set_own_log(std::move(own_log));
  }

  void read_log(PodLogRequest request,
                std::function<Result<std::shared_ptr<PodLogSink>>()> open_sink,
                std::function<void(Error)> failed) override;
  void exec(PodProcessRequest request, std::function<void(Result<ProcessStreams>)> done) override;
  void attach(PodProcessRequest request, std::function<void(Result<ProcessStreams>)> done) override;
  void dial(std::string uid, int port, std::function<void(Result<int>)> done) override;

 private:
  struct Attachment;
  using AttachmentPtr = std::shared_ptr<Attachment>;
  class PipeSink;
  Result<ProcessStreams> follow_output(const PodProcessRequest& request, Descriptor input);
  Result<Descriptor> follow_stream(const AttachmentPtr& attachment,
                                   const PodProcessRequest& request, const char* stream);
  void leave(const AttachmentPtr& attachment);

  Loop& loop_;
  RealPodRuntime& runtime_;
  PodLogs logs_;
  std::set<AttachmentPtr> attachments_;
};

}  // namespace yard
