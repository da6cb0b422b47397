#include "net/io_thread.h"

#include <pthread.h>
#include <time.h>

#include "base/check.h"
#include "net/asio.h"
#include "net/connection.h"

namespace yard {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr Duration kLinger = std::chrono::seconds(2);
// Answers under way when the server stops get this long.
constexpr auto kStopGrace = std::chrono::seconds(2);
constexpr size_t kSealedTogether = 256 * 1024;

std::array<Duration, kWaits> lengths_of(const ServerLimits& limits) {
  return {limits.header_timeout,
          limits.body_timeout,
          limits.idle_timeout,
          limits.write_timeout,
          kLinger,
          limits.tunnel_timeout};
}

}  // namespace

IoThread::IoThread(HttpHandler handler, const ServerLimits& limits,
                   std::shared_ptr<ServerCounters> counters)
    : handler_(std::move(handler)),
      limits_(limits),
      counters_(std::move(counters)),
      work_(context_.get_executor()),
      timer_(context_),
      stop_timer_(context_),
      deadlines_(lengths_of(limits)) {}

IoThread::~IoThread() {
  check(!thread_.joinable(), "an I/O thread is joined before it goes");
}

void IoThread::start() {
  thread_ = std::thread([this] { run(); });
}

void IoThread::run() {
  pthread_setname_np(pthread_self(), "yard-io");
  context_.run();
}

void IoThread::begin_stop() {
  post([this] { stop_connections(); });
}

void IoThread::join() {
  if (thread_.joinable()) thread_.join();
  stop_tasks_
      .clear();  // a server that never started has not run them, and they hold their listeners
  // Destroyed here, outside the lock: what a task owns may post again.
  std::vector<Message> dropped = inbox_.close();
}

bool IoThread::post(Task task) {
  Message message;
  message.task = std::move(task);
  return push(std::move(message));
}

bool IoThread::post_frame(std::shared_ptr<StreamState> stream, SharedBytes frame) {
  return push({{}, std::move(stream), std::move(frame)});
}

bool IoThread::push(Message message) {
  switch (inbox_.push(message)) {
    case Inbox<Message>::Pushed::Closed: return false;
    case Inbox<Message>::Pushed::Wake:
      boost::asio::post(context_, [this] { drain(); });
      return true;
    case Inbox<Message>::Pushed::Quiet: return true;
  }
  return true;
}

void IoThread::drain() {
  draining_ = true;
  inbox_.take(batch_);
  for (Message& message : batch_) {
    if (!message.frame) {
      message.task();
    } else if (Connection* connection = message.stream->connection) {
      connection->add_frame(message.stream, std::move(message.frame));
    }
    message = Message();
  }
  batch_.clear();
  if (batch_.capacity() > 65536) batch_.shrink_to_fit();
  flush_turn();
  draining_ = false;
}

// One flush a connection and turn: what came together leaves together. Encrypted in groups, sent in
// groups: who reads several of the connections is woken for the first and finds the others, where
// it would go to sleep between one and the next.
void IoThread::flush_turn() {
  for (size_t first = 0; first < to_flush_.size();) {
    output.clear();
    size_t last = first;
    for (; last < to_flush_.size() && output.size() < kSealedTogether; ++last) {
      to_flush_[last]->seal();
      sealed_ends_.push_back(output.size());
    }
    output.swap(sealed_);
    size_t begin = 0;
    for (const size_t end : sealed_ends_) {
      const std::shared_ptr<Connection> connection = std::move(to_flush_[first++]);
      connection->send_sealed(std::string_view(sealed_).substr(begin, end - begin));
      begin = end;
    }
    sealed_ends_.clear();
  }
  to_flush_.clear();
  chunk = SharedChunk();
}

void IoThread::add(std::shared_ptr<Connection> connection) {
  counters_->connections.fetch_add(1, std::memory_order_relaxed);
  connections_.insert(std::move(connection));
}

void IoThread::remove(const std::shared_ptr<Connection>& connection) {
  if (connections_.erase(connection) == 0) return;
  counters_->connections.fetch_sub(1, std::memory_order_relaxed);
  finish_if_stopped();
}

void IoThread::flush_at_end_of_turn(std::shared_ptr<Connection> connection) {
  // Outside of the inbox's turn nobody comes by: a tunnel's process has something to say.
  if (!draining_) {
    boost::asio::post(context_, [connection = std::move(connection)] { connection->flush(); });
    return;
  }
  to_flush_.push_back(std::move(connection));
}

void IoThread::stop_connections() {
  stopping_ = true;
  for (Task& task : stop_tasks_) {
    task();
  }
  stop_tasks_.clear();
  auto connections = std::vector(connections_.begin(), connections_.end());
  for (const auto& connection : connections) {
    connection->shut_down();
  }
  stop_timer_.expires_after(kStopGrace);
  stop_timer_.async_wait([this](const boost::system::error_code& code) {
    if (code) return;
    auto late = std::vector(connections_.begin(), connections_.end());
    for (const auto& connection : late) {
      connection->close();
    }
  });
  finish_if_stopped();
}

void IoThread::finish_if_stopped() {
  if (!stopping_ || !connections_.empty()) return;
  stop_timer_.cancel();
  timer_.cancel();
  work_.reset();
}

void IoThread::arm(Deadlines::Slot& slot, Connection* connection, Wait wait) {
  deadlines_.arm(slot, connection, wait, SteadyClock::now());
  if (!timer_due_ || (*slot)->due < *timer_due_) set_timer((*slot)->due);
}

bool IoThread::make_room() {
  const auto entry = deadlines_.longest_waiting();
  if (!entry) return false;
  entry->connection->on_deadline(entry->wait);
  return true;
}

// A timer that is too early is left to fire and set again then: cheaper than moving it at every
// request.
void IoThread::set_timer(Deadlines::Instant due) {
  timer_due_ = due;
  timer_.expires_at(due);
  timer_.async_wait([this](const boost::system::error_code& code) {
    if (!code) on_timer();
  });
}

void IoThread::on_timer() {
  timer_due_.reset();
  auto now = SteadyClock::now();
  while (auto entry = deadlines_.overdue(now)) {
    entry->connection->on_deadline(entry->wait);
  }
  auto next = deadlines_.earliest();
  if (next && (!timer_due_ || *next < *timer_due_)) set_timer(*next);
}

std::string_view IoThread::date() {
  time_t now = ::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    tm parts{};
    gmtime_r(&now, &parts);
    char text[64];
    date_.assign(text, strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts));
  }
  return date_;
}

}  // namespace yard
