#include "load/watch_load.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <memory>

#include <fmt/format.h>

#include "load/closed_loop.h"
#include "load/costs.h"
#include "load/requests.h"

namespace yard::bench {
namespace {

using namespace std::chrono_literals;

constexpr size_t kHandshakesAtOnce = 32;
constexpr size_t kWriters = 32;    // enough for the timetable to hold while answers are slow
constexpr uint64_t kObjects = 64;  // several, so that writers do not meet in one
constexpr auto kOpenLimit = 90s;
constexpr auto kSettle = 500ms;
constexpr auto kDrainLimit = 20s;
constexpr auto kHeartbeat = 100ms;

int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

// Splits the body of one watch into lines and finds in each when its event was sent.
class Watcher {
 public:
  template <typename OnEvent>
  void feed(std::string_view piece, const OnEvent& on_event) {
    while (!piece.empty()) {
      const size_t end = piece.find('\n');
      if (end == std::string_view::npos) {
        rest_.append(piece);
        return;
      }
      if (rest_.empty()) {
        on_event(piece.substr(0, end));
      } else {
        rest_.append(piece.substr(0, end));
        on_event(rest_);
        rest_.clear();
        rest_.shrink_to_fit();
      }
      piece.remove_prefix(end + 1);
    }
  }

 private:
  std::string rest_;
};

int64_t sent_time(std::string_view event) {
  static const std::string kNeedle = fmt::format("\"{}\":\"", kSentAnnotation);
  const size_t at = event.find(kNeedle);
  if (at == std::string_view::npos) return 0;
  int64_t sent = 0;
  const char* digits = event.data() + at + kNeedle.size();
  std::from_chars(digits, event.data() + event.size(), sent);
  return sent;
}

class Watching : public Workload {
 public:
  Watching(Engine& engine, const Target& target, const WatchLoad& load)
      : engine_(engine), target_(target), load_(load), requests_(target, load.ns) {}

  Result<void> prepare();
  Result<void> open_watches();
  Result<void> write_and_wait();
  std::string report(double server_seconds, double own_seconds);

  void opened(Connection& connection) override {
    --shaking_;
    if (connection.id() >= load_.watchers) {
      idle_writers_.push_back(&connection);
    } else {
      connection.send(requests_.watch(revision_));
    }
    ++open_;
    open_more();
    if (open_ == total()) engine_.stop();
  }
  void body(Connection& connection, std::string_view piece) override {
    if (connection.id() >= load_.watchers) {
      answer_.append(piece.substr(0, 300));
      return;
    }
    watchers_[connection.id()].feed(piece, [this](std::string_view event) { take_event(event); });
  }
  void answered(Connection& connection, int status) override {
    if (connection.id() < load_.watchers) return connection.close("the watch ended");
    if (status != 200) fail(fmt::format("a write was answered {}: {}", status, answer_));
    answer_.clear();
    --writes_in_flight_;
    idle_writers_.push_back(&connection);
  }
  void closed(Connection& connection, const std::string& why) override {
    if (is_over_) return;
    connection.id() < load_.watchers ? ++dropped_ : ++failures_;
    if (first_failure_.empty()) first_failure_ = why;
    if (is_opening_) engine_.stop();
  }

 private:
  size_t total() const { return load_.watchers + kWriters; }
  void open_more() {
    while (shaking_ < kHandshakesAtOnce && begun_ < total() && dropped_ == 0) {
      ++shaking_;
      connections_[begun_++]->open();
    }
  }
  void take_event(std::string_view event) {
    if (!is_measuring_) return;
    const int64_t sent = sent_time(event);
    if (sent < measure_began_) return;
    last_arrival_ = nanoseconds_now();
    latencies_ms_.push_back(static_cast<float>(static_cast<double>(last_arrival_ - sent) / 1e6));
    bytes_ += event.size();
  }
  void fail(const std::string& why) {
    ++failures_;
    if (first_failure_.empty()) first_failure_ = why;
  }
  Clock::time_point write_what_is_due();
  bool is_complete() const { return latencies_ms_.size() >= writes_ * (load_.watchers - dropped_); }

  Engine& engine_;
  const Target& target_;
  const WatchLoad& load_;
  Requests requests_;
  std::string revision_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Watcher> watchers_;
  std::deque<Connection*> idle_writers_;
  std::vector<float> latencies_ms_;
  std::string answer_, first_failure_;
  size_t begun_ = 0, shaking_ = 0, open_ = 0, dropped_ = 0;
  uint64_t writes_ = 0, failures_ = 0, bytes_ = 0;
  int64_t writes_in_flight_ = 0, measure_began_ = 0, last_arrival_ = 0;
  Clock::time_point began_, writes_end_;
  bool is_opening_ = true, is_measuring_ = false, is_over_ = false;
};

Result<void> Watching::prepare() {
  for (uint64_t i = 0; i < kObjects; ++i) {
    const std::string name = job_name("watched", i);
    // Left there by an earlier round, an object serves again.
    auto made = ask(target_, requests_.create(name), 201);
    if (!made && made.error().message.find("AlreadyExists") == std::string::npos)
      return made.error();
  }
  const std::string job = TRY(ask(target_, requests_.annotate(job_name("watched", 0), "0"), 200));
  constexpr std::string_view kKey = "\"resourceVersion\":\"";
  const size_t at = job.find(kKey);
  if (at == std::string::npos) return error(Reason::InternalError, "a Job without resourceVersion");
  const size_t from = at + kKey.size();
  revision_ = job.substr(from, job.find('"', from) - from);
  return {};
}

Result<void> Watching::open_watches() {
  watchers_.resize(load_.watchers);
  for (size_t i = 0; i < total(); ++i) {
    connections_.push_back(std::make_unique<Connection>(engine_, target_, *this, i));
  }
  open_more();
  if (!engine_.run_until(Clock::now() + kOpenLimit) || open_ < total()) {
    return error(Reason::Timeout,
                 fmt::format("{} of {} watches opened; {}", open_, total(), first_failure_));
  }
  is_opening_ = false;
  engine_.run_until(Clock::now() + kSettle);
  return {};
}

Result<void> Watching::write_and_wait() {
  latencies_ms_.reserve(static_cast<size_t>(load_.writes_per_second * load_.seconds + 2) *
                        load_.watchers);
  is_measuring_ = true;
  began_ = Clock::now();
  measure_began_ = nanoseconds_now();
  writes_end_ = began_ + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(load_.seconds));
  engine_.run_until(writes_end_ + kDrainLimit, [this] { return write_what_is_due(); });
  is_over_ = true;
  if (latencies_ms_.empty())
    return error(Reason::InternalError, "no event arrived; " + first_failure_);
  return {};
}

// On an absolute timetable: a slow server gets no fewer writes, unless all writers wait for it.
Clock::time_point Watching::write_what_is_due() {
  const auto now = Clock::now();
  const auto due_at = [this](uint64_t number) {
    return began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                        static_cast<double>(number) / load_.writes_per_second));
  };
  while (now < writes_end_ && due_at(writes_) <= now && !idle_writers_.empty()) {
    Connection* writer = idle_writers_.front();
    idle_writers_.pop_front();
    ++writes_in_flight_;
    writer->send(requests_.annotate(job_name("watched", writes_ % kObjects),
                                    std::to_string(nanoseconds_now())));
    ++writes_;
  }
  if (now >= writes_end_ && writes_in_flight_ <= 0 && is_complete()) engine_.stop();
  if (now < writes_end_ && !idle_writers_.empty()) return std::min(due_at(writes_), writes_end_);
  return now + kHeartbeat;
}

std::string Watching::report(double server_seconds, double own_seconds) {
  const double events = static_cast<double>(latencies_ms_.size());
  const double seconds = static_cast<double>(last_arrival_ - measure_began_) / 1e9;
  const uint64_t expected = writes_ * load_.watchers;
  const uint64_t missed = expected > latencies_ms_.size() ? expected - latencies_ms_.size() : 0;
  return fmt::format(
      R"({{"operations":{},"writes":{},"writes_per_second":{:.1f},"missed":{},"dropped":{},"failures":{},"first_failure":{},"seconds":{:.3f},)"
      R"("per_second":{:.1f},"p50_ms":{:.3f},"p99_ms":{:.3f},"bytes_each":{:.0f},"server_cpu_s":{:.2f},)"
      R"("cpu_us_each":{:.3f},"client_cpu_s":{:.3f}}})",
      latencies_ms_.size(), writes_, static_cast<double>(writes_) / load_.seconds, missed, dropped_,
      failures_, json_text(first_failure_), seconds, events / seconds,
      percentile(latencies_ms_, 0.5), percentile(latencies_ms_, 0.99),
      static_cast<double>(bytes_) / events, server_seconds, server_seconds * 1e6 / events,
      own_seconds);
}

}  // namespace

Result<std::string> run_watch_load(const Target& target, const WatchLoad& load) {
  Engine engine;
  Watching watching(engine, target, load);
  TRY(watching.prepare());
  TRY(watching.open_watches());
  const double server_before = processor_seconds(load.server_pids);
  const double own_before = own_processor_seconds();
  TRY(watching.write_and_wait());
  return watching.report(processor_seconds(load.server_pids) - server_before,
                         own_processor_seconds() - own_before);
}

}  // namespace yard::bench
