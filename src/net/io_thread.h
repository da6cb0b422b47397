#pragma once
// One thread that moves bytes, and what its connections share: the inbox for other threads, one
// timer for all timeouts, and scratch buffers, so that an idle connection owns none.

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "net/asio.h"
#include "net/deadlines.h"
#include "net/http.h"
#include "net/inbox.h"
#include "net/outgoing.h"
#include "net/server.h"

namespace yard {

class Connection;
struct StreamState;

// Of a whole server; written by its I/O threads, read by any.
struct ServerCounters {
  std::atomic<size_t> connections = 0, streams = 0;
  std::atomic<uint64_t> accepted = 0, refused = 0, bytes_in = 0, bytes_out = 0;
};

class IoThread {
 public:
  IoThread(HttpHandler handler, const ServerLimits& limits,
           std::shared_ptr<ServerCounters> counters);
  ~IoThread();
  IoThread(const IoThread&) = delete;

  void start();
  // Connections finish what they are saying, for a bounded time; then the thread ends and is
  // joined.
  void begin_stop();
  void join();

  // Any thread. False when the thread has ended; the task is then destroyed unrun.
  bool post(Task task);
  bool post_frame(std::shared_ptr<StreamState> stream, SharedBytes frame);

  // What follows is for the thread itself.
  boost::asio::io_context& context() { return context_; }
  const HttpHandler& handler() const { return handler_; }
  const ServerLimits& limits() const { return limits_; }
  ServerCounters& counters() { return *counters_; }
  bool is_stopping() const { return stopping_; }
  void add(std::shared_ptr<Connection> connection);
  void remove(const std::shared_ptr<Connection>& connection);
  void flush_at_end_of_turn(std::shared_ptr<Connection> connection);
  void arm(Deadlines::Slot& slot, Connection* connection, Wait wait);
  // Closes the connection that has had nothing to say for longest; false when all are busy.
  bool make_room();
  void disarm(Deadlines::Slot& slot) { deadlines_.disarm(slot); }
  // Runs when the server stops, before connections are asked to finish.
  void on_stop(Task task) { stop_tasks_.push_back(std::move(task)); }
  std::string_view date();  // of now, as the Date header has it

  size_t receiving = 0;                  // bytes of bodies that are not whole yet
  std::string output;                    // bytes on their way to one socket
  std::array<char, kRecordSize> record;  // plaintext on its way into one TLS record
  SharedChunk chunk;                     // the same, for many
  std::array<char, 64 * 1024> input;     // bytes just read

 private:
  struct Message {
    Task task;  // or a frame for a stream:
    std::shared_ptr<StreamState> stream;
    SharedBytes frame;
  };

  bool push(Message message);
  void drain();
  void flush_turn();
  void run();
  void stop_connections();
  void finish_if_stopped();
  void set_timer(Deadlines::Instant due);
  void on_timer();

  HttpHandler handler_;
  ServerLimits limits_;
  std::shared_ptr<ServerCounters> counters_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_, stop_timer_;
  std::optional<Deadlines::Instant> timer_due_;
  Deadlines deadlines_;
  Inbox<Message> inbox_;
  std::vector<Message> batch_;
  std::vector<std::shared_ptr<Connection>> to_flush_;
  std::string sealed_;  // of the connections being flushed, each up to its end
  std::vector<size_t> sealed_ends_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::vector<Task> stop_tasks_;
  bool stopping_ = false, draining_ = false;
  int64_t date_second_ = -1;
  std::string date_;
  std::thread thread_;
};

}  // namespace yard
