#include "node/pod_logs.h"

#include <algorithm>
#include <filesystem>
#include <sys/inotify.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/log_reader.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"};
constexpr size_t kReadBudget = 256 << 10, kMostQueued = 1 << 20;
constexpr Duration kSlowClientPause = std::chrono::milliseconds(50);

// The runs that have a log, oldest first.
std::vector<int> runs_with_log(const std::string& folder) {
  std::vector<int> out;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".log")) continue;
    const auto number = parse_int64(std::string_view(name).substr(0, name.size() - 4));
    if (number) out.push_back(static_cast<int>(*number));
  }
  std::ranges::sort(out);
  return out;
}

// Containers have DNS labels for names; this one comes from a client and becomes part of a path.
bool is_container_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && std::ranges::all_of(name, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
  });
}

}  // namespace

struct PodLogs::Stream {
  PodLogRequest request;
  int run = 0;
  std::string folder;
  std::unique_ptr<LogReader> reader;
  std::shared_ptr<PodLogSink> sink;
  LogReader::Piece piece;
  int inotify = -1;
  bool reading = false;     // on the pool
  bool look_again = false;  // something came while it was read
  bool was_ended = false;   // before the read that is under way: its end is the end
  bool finished = false;
  bool is_own = false;  // of the server itself
};

PodLogs::PodLogs(Client& client, Loop& loop, RealPodRuntime& runtime)
    : client_(client), loop_(loop), runtime_(runtime) {
  runtime_.on_change([this, alive = alive_](const std::string& uid) {
    if (*alive) wake(uid);
  });
}

PodLogs::~PodLogs() {
  *alive_ = false;
  for (const auto& [uid, stream] : following_) {
    if (stream->inotify < 0) continue;
    loop_.forget_readable(stream->inotify);
    close(stream->inotify);
    stream->inotify = -1;
  }
}

// The previous run is the one the status calls last; without --previous it is the newest with a
// log.
std::optional<int> PodLogs::run_of(const PodLogRequest& request, bool archived) const {
  const std::string any =
      runtime_.log_path(request.ns, request.pod, request.uid, request.container, 0);
  const std::vector<int> runs = runs_with_log(any.substr(0, any.find_last_of('/')));
  const size_t from_end = request.previous ? 2 : 1;
  if (archived || !request.previous) {
    if (runs.size() < from_end) return std::nullopt;
    return runs[runs.size() - from_end];
  }
  const ObjectPtr object = client_.get(kPod, request.ns, request.pod);
  if (object == nullptr) return std::nullopt;
  const Json tree = object->tree();
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& status : list_at(tree, {"status", list})) {
      if (text_at(status, {"name"}) != request.container) continue;
      const std::string_view id = text_at(status, {"lastState", "terminated", "containerID"});
      const auto run = parse_int64(id.substr(id.find_last_of('/') + 1));
      if (run) return static_cast<int>(*run);
    }
  }
  return std::nullopt;
}

Result<void> PodLogs::find_in_archive(PodLogRequest& request) const {
  const auto folder = archive_ == nullptr ? std::nullopt : archive_->find(request.ns, request.pod);
  if (!folder)
    return error(Reason::NotFound, fmt::format("pods {} not found", yard::quoted(request.pod)));
  request.uid = folder->uid;
  if (request.container.empty()) {
    std::vector<std::string> names;
    std::error_code code;
    const std::string any = runtime_.log_path(request.ns, request.pod, request.uid, "c", 0);
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(any).parent_path().parent_path(), code)) {
      if (entry.is_directory(code)) names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    if (names.size() != 1)
      return error(Reason::BadRequest,
                   fmt::format("a container name must be specified for pod {}, choose one of: [{}]",
                               request.pod, join(names, " ")));
    request.container = names.front();
  }
  if (!is_container_name(request.container))
    return error(Reason::BadRequest, fmt::format("container {} is not valid for pod {}",
                                                 request.container, request.pod));
  return {};
}

// Answers whether it was that pod's.
bool PodLogs::read_own_log(PodLogRequest& request,
                           std::function<Result<std::shared_ptr<PodLogSink>>()>& open_sink,
                           std::function<void(Error)>& failed) {
  const std::string path = own_log_ && !request.uid.empty() ? own_log_(request.uid) : "";
  if (path.empty()) return false;
  LogReadOptions options{request.tail_lines, request.limit_bytes, request.since,
                         request.timestamps};
  options.own = true;
  auto reader = LogReader::open(path, std::move(options));
  if (!reader || request.previous) {
    failed(error(Reason::BadRequest,
                 fmt::format("{}container {} in pod {} not found",
                             request.previous ? "previous terminated " : "the log of ",
                             yard::quoted(request.container), yard::quoted(request.pod))));
    return true;
  }
  auto sink = open_sink();
  if (!sink) {
    failed(sink.error());
    return true;
  }
  auto stream = std::make_shared<Stream>();
  stream->request = std::move(request);
  stream->folder = path.substr(0, path.find_last_of('/'));
  stream->reader = std::move(*reader);
  stream->sink = std::move(*sink);
  stream->is_own = true;
  if (stream->request.follow) watch(stream);
  read_on(stream);
  return true;
}

void PodLogs::read_log(PodLogRequest request,
                       std::function<Result<std::shared_ptr<PodLogSink>>()> open_sink,
                       std::function<void(Error)> failed) {
  if (read_own_log(request, open_sink, failed)) return;
  const bool archived = request.uid.empty();
  if (archived) {
    if (auto found = find_in_archive(request); !found) return failed(found.error());
  }
  const std::optional<int> run = run_of(request, archived);
  if (!run) {
    return failed(
        error(Reason::BadRequest,
              request.previous
                  ? fmt::format("previous terminated container {} in pod {} not found",
                                yard::quoted(request.container), yard::quoted(request.pod))
                  : fmt::format("container {} in pod {} is not available",
                                yard::quoted(request.container), yard::quoted(request.pod))));
  }
  const std::string path =
      runtime_.log_path(request.ns, request.pod, request.uid, request.container, *run);
  auto reader = LogReader::open(
      path, {request.tail_lines, request.limit_bytes, request.since, request.timestamps});
  if (!reader)
    return failed(error(Reason::BadRequest,
                        fmt::format("container {} in pod {} is not available",
                                    yard::quoted(request.container), yard::quoted(request.pod))));
  auto sink = open_sink();
  if (!sink) return failed(sink.error());
  auto stream = std::make_shared<Stream>();
  stream->request = std::move(request);
  stream->run = *run;
  stream->folder = path.substr(0, path.find_last_of('/'));
  stream->reader = std::move(*reader);
  stream->sink = std::move(*sink);
  if (stream->request.follow) watch(stream);
  read_on(stream);
}

void PodLogs::follow(PodLogRequest request, std::string stream_name,
                     std::shared_ptr<PodLogSink> sink) {
  const std::optional<int> run = run_of(request, false);
  const std::string path =
      runtime_.log_path(request.ns, request.pod, request.uid, request.container, run.value_or(0));
  LogReadOptions options;
  options.tail_lines = 0;
  options.stream = std::move(stream_name);
  auto reader = LogReader::open(path, std::move(options));
  if (!run || !reader) return sink->end();
  auto stream = std::make_shared<Stream>();
  stream->request = std::move(request);
  stream->request.follow = true;
  stream->run = *run;
  stream->folder = path.substr(0, path.find_last_of('/'));
  stream->reader = std::move(*reader);
  stream->sink = std::move(sink);
  watch(stream);
  read_on(stream);
}

bool PodLogs::has_ended(const Stream& stream) const {
  if (stream.is_own) return own_log_(stream.request.uid).empty();
  const PodRecord* record = runtime_.find(stream.request.uid);
  if (record == nullptr) return true;
  for (const ContainerRun& run : record->runs) {
    if (run.container == stream.request.container && run.run == stream.run)
      return !run.is_running();
  }
  return !record->alive;
}

void PodLogs::watch(const StreamPtr& stream) {
  following_.emplace(stream->request.uid, stream);
  stream->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (stream->inotify < 0) return;
  inotify_add_watch(stream->inotify, stream->folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO);
  loop_.on_readable(stream->inotify, [this, stream] {
    char buffer[4096];
    while (stream->inotify >= 0 && read(stream->inotify, buffer, sizeof buffer) > 0) {
    }
    read_on(stream);
  });
}

void PodLogs::wake(const std::string& uid) {
  const auto [begin, end] = following_.equal_range(uid);
  std::vector<StreamPtr> streams;
  for (auto each = begin; each != end; ++each)
    streams.push_back(each->second);
  for (const StreamPtr& stream : streams)
    read_on(stream);
}

void PodLogs::read_on(const StreamPtr& stream) {
  if (stream->finished) return;
  if (stream->reading) {
    stream->look_again = true;
    return;
  }
  if (stream->sink->is_gone()) return finish(stream);
  stream->reading = true;
  stream->look_again = false;
  stream->was_ended = !stream->request.follow || has_ended(*stream);
  loop_.run_blocking([stream] { stream->piece = stream->reader->read(kReadBudget); },
                     [this, stream, alive = alive_] {
                       if (*alive) take(stream);
                     });
}

void PodLogs::take(const StreamPtr& stream) {
  stream->reading = false;
  size_t queued = 0;
  const bool at_end = stream->piece.at_end;
  if (!stream->piece.bytes.empty()) queued = stream->sink->write(std::move(stream->piece.bytes));
  stream->piece.bytes.clear();
  if (stream->piece.finished || (at_end && stream->was_ended)) return finish(stream);
  if (queued > kMostQueued) {
    // The client is slow: the files keep what it has not read, up to their bound.
    stream->reading = true;
    loop_.after(kSlowClientPause, [this, stream, alive = alive_] {
      if (!*alive) return;
      stream->reading = false;
      read_on(stream);
    });
    return;
  }
  if (!at_end || stream->look_again || has_ended(*stream)) read_on(stream);
}

void PodLogs::finish(const StreamPtr& stream) {
  stream->finished = true;
  stream->sink->end();
  if (stream->inotify >= 0) {
    loop_.forget_readable(stream->inotify);
    close(stream->inotify);
    stream->inotify = -1;
  }
  std::erase_if(following_, [&](const auto& entry) { return entry.second == stream; });
}

}  // namespace yard
