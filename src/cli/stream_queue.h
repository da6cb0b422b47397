#pragma once
// What the threads of follow() hear, in order. Only follow.cpp and its neighbours include this.

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "cli/follow.h"
#include "json/json.h"

namespace yard {

struct Heard {
  enum class Type { Line, LogEnded, Pod, PodGone, Object, ObjectGone, Lost, Interrupted };
  Type type = Type::Line;
  std::string source;  // of a line: pod uid/container/run; of an object: the watch's
  std::string text;    // the line; why, for Lost
  Json object = {};
};

// Shared by the threads; it outlives whoever began them, as they end when their stream does.
class StreamQueue {
 public:
  void push(Heard heard);
  // Nothing when `longest` has passed.
  std::optional<Heard> pop(Duration longest);
  void close();
  bool is_closed() const;

 private:
  // A reader that is not fast enough holds the streams back: the server keeps the rest.
  static constexpr size_t kMostQueued = 10'000;
  mutable std::mutex mutex_;
  std::condition_variable filled_, drained_;
  std::deque<Heard> heard_;
  bool closed_ = false;
};

using StreamQueuePtr = std::shared_ptr<StreamQueue>;
using Connect = std::function<std::unique_ptr<ServerConnection>()>;

// Each begins a thread. `target` of a log has its query; lines are queued under `source`.
void read_log_lines(const Connect& connect, StreamQueuePtr queue, std::string target,
                    std::string source);
// Objects of a collection as they are and as they change; `name`: only that one.
struct WatchedCollection {
  std::string path, name;
  bool is_pods = true;
  std::string source = {};  // told with every object
};
void watch_objects(const Connect& connect, StreamQueuePtr queue, WatchedCollection collection);

}  // namespace yard
