#include "node/images/real_node_images.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "images/stored_image.h"

namespace yard {
namespace {

constexpr int kMostWorkers = 2;
constexpr std::size_t kMostLine = 64 << 10;

std::string order_text(const PullOrder& order, const ImageConfig& config, std::int64_t now) {
  JsonArray secrets;
  for (const ImagePullSecret& each : order.secrets)
    secrets.push_back(JsonObject{{"type", each.type}, {"content", each.content}});
  JsonArray stores;
  if (order.from.from_stores)
    for (const std::string& each : config.stores.value_or(std::vector<std::string>()))
      stores.emplace_back(each);
  return to_text(JsonObject{{"image", order.image},
                            {"now", now},
                            {"secrets", std::move(secrets)},
                            {"sizeLimit", config.size_limit},
                            {"stores", std::move(stores)},
                            {"fromRegistry", order.from.from_registry},
                            {"registries", to_json(config.registries)}}) +
         "\n";
}

// One image asked for with other logins is another pull: nobody gets what others may see.
std::string key_of(const PullOrder& order) {
  std::string out = fmt::format("{} {} {}", full_image_name(order.image), order.from.from_stores,
                                order.from.from_registry);
  for (const ImagePullSecret& each : order.secrets)
    out += "\n" + hex(hash_bytes(each.content));
  return out;
}

}  // namespace

RealNodeImages::RealNodeImages(Loop& loop, PullerOptions options)
    : loop_(loop),
      options_(std::move(options)),
      catalog_(options_.state_folder),
      stores_(options_.config.stores.value_or(std::vector<std::string>())) {}

RealNodeImages::~RealNodeImages() {
  *alive_ = false;
  for (const auto& [key, job] : jobs_) {
    if (job->output.is_open()) loop_.forget_readable(job->output.get());
    if (job->pid <= 0) continue;
    ::kill(job->pid, SIGKILL);
    ::waitpid(job->pid, nullptr, 0);
  }
}

bool RealNodeImages::asks_registry(std::string_view image, bool has_secrets) const {
  if (options_.config.prefer == ImagePrefer::Host) return false;
  return has_secrets || options_.config.prefer == ImagePrefer::Image ||
         names_registry_of(options_.config, image);
}

std::string RealNodeImages::local_id(std::string_view image) {
  if (options_.config.prefer == ImagePrefer::Host) return "";
  std::string id = stores_.find(image);
  return unreadable_.contains(id) ? "" : id;
}

void RealNodeImages::pull(PullOrder order, PullListener listener) {
  const std::string key = key_of(order);
  auto& job = jobs_[key];
  if (job != nullptr) {
    job->listeners.push_back(std::move(listener));
    return;
  }
  job = std::make_unique<Job>();
  job->order = std::move(order);
  job->listeners.push_back(std::move(listener));
  job->asked = loop_.now();
  waiting_.push_back(key);
  loop_.post([this, alive = alive_] {
    if (*alive) begin_waiting();
  });
}

void RealNodeImages::begin_waiting() {
  while (running_ < kMostWorkers && !waiting_.empty()) {
    const std::string key = std::move(waiting_.front());
    waiting_.pop_front();
    Job& job = *jobs_.at(key);
    job.began = loop_.now();
    ++running_;
    if (auto begun = spawn(job); !begun) {
      job.problem = begun.error().message;
      loop_.post([this, key, alive = alive_] {
        if (*alive) finish(key);
      });
      continue;
    }
    loop_.on_readable(job.output.get(), [this, key] { on_readable(key); });
  }
}

// Order and answer go through one socket: a Secret is neither on the command line nor in a file.
Result<void> RealNodeImages::spawn(Job& job) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return error(Reason::InternalError, fmt::format("no socket: {}", std::strerror(errno)));
  Descriptor ours(ends[0]), theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
  std::vector<char*> argv;
  for (std::string& word : options_.command)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  const int problem =
      ::posix_spawn(&job.pid, options_.command[0].c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0)
    return error(Reason::InternalError,
                 fmt::format("cannot start {}: {}", options_.command[0], std::strerror(problem)));
  const std::string order = order_text(job.order, options_.config, unix_seconds(loop_.now()));
  std::string_view rest = order;
  while (!rest.empty()) {
    const ssize_t sent = ::send(ours.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  job.output = std::move(ours);
  return {};
}

void RealNodeImages::on_readable(const std::string& key) {
  Job& job = *jobs_.at(key);
  char buffer[4096];
  const ssize_t got = ::read(job.output.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return finish(key);
  job.text.append(buffer, static_cast<std::size_t>(got));
  for (std::size_t end = job.text.find('\n'); end != std::string::npos; end = job.text.find('\n')) {
    read_line(job, std::string_view(job.text).substr(0, end));
    job.text.erase(0, end + 1);
  }
  if (job.text.size() > kMostLine) job.text.clear();
}

void RealNodeImages::read_line(Job& job, std::string_view line) {
  const auto parsed = parse_json(line);
  if (!parsed) return;
  const std::string_view type = text_at(parsed->value, {"type"});
  if (type == "error") job.problem = text_at(parsed->value, {"message"});
  if (type == "unreadable") {
    log_warning("image {} is not taken from this machine's other tools: {}", job.order.image,
                text_at(parsed->value, {"message"}));
    unreadable_.emplace(text_at(parsed->value, {"id"}));
  }
  if (type == "done") {
    job.bytes = int_at(parsed->value, {"bytes"});
    job.was_local = bool_at(parsed->value, {"wasLocal"});
  }
  if (type == "progress") {
    const auto count = [&](const char* key) { return int_at(parsed->value, {key}); };
    const TakeProgress progress{static_cast<std::size_t>(count("layersDone")),
                                static_cast<std::size_t>(count("layers")), count("bytes"),
                                count("totalBytes")};
    for (const PullListener& each : job.listeners)
      each.progress(progress, loop_.now() - job.began);
  }
}

void RealNodeImages::finish(const std::string& key) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return;
  const std::unique_ptr<Job> job = std::move(found->second);
  jobs_.erase(found);
  --running_;
  if (job->output.is_open()) loop_.forget_readable(job->output.get());
  if (job->pid > 0) {
    loop_.run_blocking([pid = job->pid] { ::waitpid(pid, nullptr, 0); }, [] {});
  }
  if (job->bytes < 0 && job->problem.empty())
    job->problem = "the process that pulled it ended before its time";
  const Time now = loop_.now();
  const Result<PulledImage> outcome =
      job->problem.empty() ? Result<PulledImage>(PulledImage{job->bytes, now - job->began,
                                                             now - job->asked, job->was_local})
                           : Result<PulledImage>(error(Reason::InternalError, job->problem));
  if (!outcome)
    log_warning("image {} was not pulled: {}", job->order.image, outcome.error().message);
  for (const PullListener& each : job->listeners)
    each.done(outcome);
  begin_waiting();
}

}  // namespace yard
