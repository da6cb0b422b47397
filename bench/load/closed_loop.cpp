#include "load/closed_loop.h"

#include <memory>

#include <fmt/format.h>

#include "load/costs.h"

namespace yard::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kOpenLimit = 20s;
constexpr auto kAnswerLimit = 30s;  // for what is in flight when no more may begin
constexpr size_t kKeptBody = 64 << 10;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

class Loop : public Workload {
 public:
  Loop(Engine& engine, const ClosedLoop& load)
      : engine_(engine), load_(load), sent_(load.connections) {}

  void begin(std::vector<std::unique_ptr<Connection>>& connections) {
    began_ = Clock::now();
    last_start_ = began_ + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(load_.max_seconds));
    for (auto& connection : connections)
      send_next(*connection);
  }
  void opened(Connection&) override {
    if (++open_ == load_.connections) engine_.stop();
  }
  void body(Connection&, std::string_view piece) override {
    bytes_ += piece.size();
    if (first_failure_.empty() && body_.size() < kKeptBody) body_.append(piece);
  }
  void answered(Connection& connection, int status) override {
    const auto now = Clock::now();
    latencies_ms_.push_back(
        std::chrono::duration<float, std::milli>(now - sent_[connection.id()]).count());
    --in_flight_;
    ended_ = now;
    if (status != load_.expected_status)
      fail(fmt::format("status {}: {}", status, body_.substr(0, 300)));
    // With several connections bodies mix here; only the text of a first failure suffers.
    body_.clear();
    send_next(connection);
  }
  void closed(Connection& connection, const std::string& why) override {
    fail(why);
    if (sent_[connection.id()] != Clock::time_point{}) --in_flight_;
    if (in_flight_ <= 0) engine_.stop();
  }

  std::string report(double server_seconds, double own_seconds) {
    const double seconds = seconds_between(began_, ended_);
    const double operations = static_cast<double>(latencies_ms_.size());
    return fmt::format(
        R"({{"operations":{},"failures":{},"first_failure":{},"seconds":{:.4f},"per_second":{:.1f},)"
        R"("p50_ms":{:.4f},"p99_ms":{:.4f},"bytes_each":{:.0f},"server_cpu_s":{:.2f},"cpu_us_each":{:.2f},"client_cpu_s":{:.3f}}})",
        latencies_ms_.size(), failures_, json_text(first_failure_), seconds, operations / seconds,
        percentile(latencies_ms_, 0.5), percentile(latencies_ms_, 0.99),
        static_cast<double>(bytes_) / operations, server_seconds, server_seconds * 1e6 / operations,
        own_seconds);
  }
  bool is_all_open() const { return open_ == load_.connections; }
  size_t answers() const { return latencies_ms_.size(); }
  const std::string& first_failure() const { return first_failure_; }

 private:
  void send_next(Connection& connection) {
    const auto now = Clock::now();
    if (next_ >= load_.max_operations || now >= last_start_) {
      sent_[connection.id()] = {};
      if (in_flight_ <= 0) engine_.stop();
      return;
    }
    sent_[connection.id()] = now;
    ++in_flight_;
    connection.send(load_.request(next_++));
  }
  void fail(const std::string& why) {
    ++failures_;
    if (first_failure_.empty()) first_failure_ = why;
  }

  Engine& engine_;
  const ClosedLoop& load_;
  std::vector<Clock::time_point> sent_;
  std::vector<float> latencies_ms_;
  std::string body_;
  std::string first_failure_;
  Clock::time_point began_, ended_, last_start_;
  size_t open_ = 0;
  uint64_t next_ = 0, failures_ = 0, bytes_ = 0;
  int64_t in_flight_ = 0;
};

class OneAnswer : public Workload {
 public:
  OneAnswer(Engine& engine, const std::string& request) : engine_(engine), request_(request) {}
  void opened(Connection& connection) override { connection.send(request_); }
  void body(Connection&, std::string_view piece) override {
    if (text.size() < kKeptBody) text.append(piece);
  }
  void answered(Connection&, int answer_status) override {
    status = answer_status;
    engine_.stop();
  }
  void closed(Connection&, const std::string& why) override {
    text = why;
    is_closed = true;
    engine_.stop();
  }

  std::string text;
  int status = 0;
  bool is_closed = false;

 private:
  Engine& engine_;
  const std::string& request_;
};

}  // namespace

Result<std::string> run_closed_loop(const Target& target, const ClosedLoop& load) {
  Engine engine;
  Loop loop(engine, load);
  std::vector<std::unique_ptr<Connection>> connections;
  for (size_t i = 0; i < load.connections; ++i) {
    connections.push_back(std::make_unique<Connection>(engine, target, loop, i));
    connections.back()->open();
  }
  if (!engine.run_until(Clock::now() + kOpenLimit) || !loop.is_all_open()) {
    return error(Reason::Timeout, "the connections did not open: " + loop.first_failure());
  }
  const double server_before = processor_seconds(load.server_pids);
  const double own_before = own_processor_seconds();
  loop.begin(connections);
  const auto limit =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(load.max_seconds));
  if (!engine.run_until(Clock::now() + limit + kAnswerLimit)) {
    return error(Reason::Timeout, "requests are still unanswered; " + loop.first_failure());
  }
  if (loop.answers() == 0)
    return error(Reason::InternalError, "nothing was answered: " + loop.first_failure());
  return loop.report(processor_seconds(load.server_pids) - server_before,
                     own_processor_seconds() - own_before);
}

Result<std::string> ask(const Target& target, const std::string& request, int expected_status) {
  Engine engine;
  OneAnswer answer(engine, request);
  Connection connection(engine, target, answer, 0);
  connection.open();
  if (!answer.is_closed && !engine.run_until(Clock::now() + kAnswerLimit)) {
    return error(Reason::Timeout, "no answer");
  }
  if (answer.is_closed) return error(Reason::ServiceUnavailable, answer.text);
  if (answer.status != expected_status) {
    return error(Reason::InternalError,
                 fmt::format("status {}: {}", answer.status, answer.text.substr(0, 300)));
  }
  return std::move(answer.text);
}

}  // namespace yard::bench
