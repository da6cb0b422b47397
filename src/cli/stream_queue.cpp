#include "cli/stream_queue.h"

#include <sstream>
#include <thread>

#include "api/tree.h"
#include "base/strings.h"
#include "cli/resources.h"

namespace yard {
namespace {

constexpr int kMostFailures = 5;  // in a row, of a watch
constexpr size_t kLongestLine = 1 << 20;

// Lists, then follows; again when the server ends the watch, as it does from time to time.
class Watching {
 public:
  Watching(std::unique_ptr<ServerConnection> connection, StreamQueuePtr queue,
           WatchedCollection collection)
      : connection_(std::move(connection)),
        queue_(std::move(queue)),
        collection_(std::move(collection)) {}

  void run() {
    int failures = 0;
    while (!queue_->is_closed()) {
      Result<void> done = list_and_watch();
      if (done || done.error().reason == Reason::Expired) {
        failures = 0;
      } else if (++failures >= kMostFailures || done.error().reason == Reason::ServiceUnavailable) {
        queue_->push({Heard::Type::Lost, "", done.error().message});
        return;
      }
    }
  }

 private:
  Result<void> list_and_watch() {
    const std::string selector =
        collection_.name.empty() ? "" : "metadata.name=" + collection_.name;
    const Json list =
        TRY(session_.get(collection_.path + query_text({{"fieldSelector", selector}})));
    const JsonArray& items = list_at(list, {"items"});
    for (const Json& item : items)
      tell(item, false);
    if (items.empty() && !collection_.name.empty()) tell(Json(), true);
    return session_.watch(
        collection_.path +
            query_text(
                {{"watch", "true"},
                 {"fieldSelector", selector},
                 {"resourceVersion", std::string(text_at(list, {"metadata", "resourceVersion"}))}}),
        kJsonType, [&](const Json& event) {
          const std::string_view type = text_at(event, {"type"});
          const Json* object = find(event, "object");
          if (object != nullptr && type != "BOOKMARK") tell(*object, type == "DELETED");
          return !queue_->is_closed();
        });
  }

  void tell(const Json& object, bool is_gone) {
    using Type = Heard::Type;
    const Type type = collection_.is_pods ? (is_gone ? Type::PodGone : Type::Pod)
                                          : (is_gone ? Type::ObjectGone : Type::Object);
    queue_->push({type, collection_.source, "", object});
  }

  std::unique_ptr<ServerConnection> connection_;
  StreamQueuePtr queue_;
  WatchedCollection collection_;
  std::ostringstream unseen_;
  Terminal terminal_{unseen_, unseen_};
  Session session_{*connection_, terminal_};
};

void push_lines(StreamQueue& queue, const std::string& source, std::string& pending,
                std::string_view bytes) {
  pending.append(bytes);
  size_t start = 0;
  for (size_t end; (end = pending.find('\n', start)) != std::string::npos; start = end + 1)
    queue.push({Heard::Type::Line, source, pending.substr(start, end - start)});
  pending.erase(0, start);
  if (pending.size() > kLongestLine)
    queue.push({Heard::Type::Line, source, std::exchange(pending, "")});
}

}  // namespace

void StreamQueue::push(Heard heard) {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [&] { return heard_.size() < kMostQueued || closed_; });
  if (closed_) return;
  heard_.push_back(std::move(heard));
  filled_.notify_one();
}

std::optional<Heard> StreamQueue::pop(Duration longest) {
  std::unique_lock lock(mutex_);
  if (!filled_.wait_for(lock, longest, [&] { return !heard_.empty(); })) return std::nullopt;
  Heard heard = std::move(heard_.front());
  heard_.pop_front();
  drained_.notify_one();
  return heard;
}

void StreamQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  drained_.notify_all();
}

bool StreamQueue::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void read_log_lines(const Connect& connect, StreamQueuePtr queue, std::string target,
                    std::string source) {
  std::thread([connection = std::shared_ptr<ServerConnection>(connect()), queue = std::move(queue),
               target = std::move(target), source = std::move(source)] {
    std::string pending;
    const auto done = connection->stream(target, {}, [&](std::string_view bytes) {
      push_lines(*queue, source, pending, bytes);
      return !queue->is_closed();
    });
    const bool is_log = done && done->status == 200;
    if (is_log && !pending.empty()) queue->push({Heard::Type::Line, source, pending});
    queue->push({Heard::Type::LogEnded, source, is_log ? "" : "no log"});
  }).detach();
}

void watch_objects(const Connect& connect, StreamQueuePtr queue, WatchedCollection collection) {
  auto watching = std::make_shared<Watching>(connect(), std::move(queue), std::move(collection));
  std::thread([watching] { watching->run(); }).detach();
}

}  // namespace yard
