#pragma once
// What only the node can answer about a pod: its logs, its processes, its ports.
// Implemented by node/, called by apiserver/; without a node the server says that there is none.
// Loop thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_streams.h"
#include "base/result.h"
#include "base/time.h"

namespace yard {

struct PodLogRequest {
  std::string ns, pod;
  std::string uid;        // "": of a pod that is gone; the newest of that name is meant
  std::string container;  // may be "" then, where there was only one
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<int64_t> tail_lines, limit_bytes;
  std::optional<Time> since;
};

// Where the bytes go. `write` answers how many are still queued, so that the reader can hold back.
class PodLogSink {
 public:
  virtual ~PodLogSink() = default;
  virtual size_t write(std::string bytes) = 0;
  virtual void end() = 0;
  virtual bool is_gone() const = 0;  // the client has left
};

// exec and attach: which process, and which of its streams the client wants.
struct PodProcessRequest {
  std::string ns, pod, uid, container;
  std::vector<std::string> argv;  // of exec
  bool input = false, output = false, errors = false, terminal = false;
};

class PodStreams {
 public:
  virtual ~PodStreams() = default;
  // An error is answered before the first byte; after that the sink gets bytes until end().
  virtual void read_log(PodLogRequest request,
                        std::function<Result<std::shared_ptr<PodLogSink>>()> open_sink,
                        std::function<void(Error)> failed) = 0;
  // A new process beside the container's, and the container's own. The answer owns the descriptors;
  // closing them leaves the process (exec: it is hung up).
  virtual void exec(PodProcessRequest request,
                    std::function<void(Result<ProcessStreams>)> done) = 0;
  virtual void attach(PodProcessRequest request,
                      std::function<void(Result<ProcessStreams>)> done) = 0;
  // A connection to a port of the pod itself; the caller owns the descriptor.
  virtual void dial(std::string uid, int port, std::function<void(Result<int>)> done) = 0;
};

}  // namespace yard
