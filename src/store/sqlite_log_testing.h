#pragma once
// A log in a folder of its own, for the tests of the store's files.

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/sqlite_log.h"

namespace yard {

namespace fs = std::filesystem;

// Posts come from the writer's thread; the test waits for them on its own.
class WaitingLoop : public Loop {
 public:
  Time now() const override { return from_unix_seconds(1'700'000'000); }
  void post(Task task) override {
    {
      const std::lock_guard guard(mutex_);
      tasks_.push_back(std::move(task));
    }
    wakes_.notify_one();
  }
  TimerId after(Duration, Task) override { return 1; }
  void cancel(TimerId) override {}
  Random& random() override { return random_; }
  void run_blocking(Task, Task) override {}
  void on_readable(int, Task) override {}
  void forget_readable(int) override {}

  void run_until(const std::function<bool()>& condition) {
    while (!condition()) {
      std::unique_lock lock(mutex_);
      wakes_.wait(lock, [this] { return !tasks_.empty(); });
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Task> tasks_;
  Random random_{1};
};

inline LogRecord record(Revision revision, const std::string& name, Revision supersedes = 0,
                        size_t bytes = 10) {
  const Json tree = {{"kind", "ConfigMap"},
                     {"apiVersion", "v1"},
                     {"metadata", {{"name", name}, {"namespace", "default"}}},
                     {"data", {{"text", std::string(bytes, 'x')}}}};
  const ObjectPtr plain = Object::encode(tree, {"field"}, "[1]");
  return {revision,  supersedes, "configmaps",
          "default", name,       Object::with_revision(*plain, revision)};
}

inline LogRecord deletion(Revision revision, const std::string& name, Revision supersedes) {
  return {revision, supersedes, "configmaps", "default", name, nullptr};
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class SqliteLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "yard-log-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/store.db";
  }
  void TearDown() override {
    log_.reset();
    fs::remove_all(folder_);
  }

  std::string open() {  // "" or the sentence
    auto log = open_sqlite_log(path_, loop_);
    if (!log) return log.error().message;
    log_ = std::move(*log);
    return "";
  }
  std::string commit(std::vector<LogRecord> records, Revision reserve = 0) {
    std::optional<std::string> answer;
    log_->commit(std::move(records), reserve, [&answer](const Result<void>& result) {
      answer = result ? "" : result.error().message;
    });
    loop_.run_until([&] { return answer.has_value(); });
    return *answer;
  }
  // `2:a 3:-b` and what replay answered, or the sentence.
  std::string replay() {
    std::string text;
    const auto replayed = log_->replay([&text](const LogRecord& one) {
      text += fmt::format("{}:{}{} ", one.revision, one.object ? "" : "-", one.name);
      EXPECT_EQ(one.storage, "configmaps");
    });
    if (!replayed) return replayed.error().message;
    return fmt::format("{}reserved {} compacted {}", text, replayed->reserved, replayed->compacted);
  }
  std::string reopen_and_replay() {
    log_.reset();
    const std::string sentence = open();
    return sentence.empty() ? replay() : sentence;
  }

  WaitingLoop loop_;
  std::string folder_, path_;
  std::unique_ptr<Log> log_;
};

}  // namespace yard
