#pragma once
// The log of one run of a container: `<RFC3339Nano> stdout|stderr F|P <text>` lines, rotated and
// bounded
// (<run>.log, then <run>.log.1 the newest of the full ones). F ends a line, P is a piece of one:
// what a program has written without a newline is in the file at once.

#include <cstdint>
#include <string>
#include <string_view>

namespace shim {

constexpr uint64_t kMostLogBytes = 10 << 20;  // of one file
constexpr int kMostLogFiles = 6;              // five full ones: the newest 50 MB are always there

class LogFile {
 public:
  LogFile() = default;
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  bool open(std::string path);  // appends to what is there
  // What one read of the program's output brought. A full disk never holds the program up: what
  // could not be written is counted, and said in the log when it takes lines again.
  void append(std::string_view stream, std::string_view bytes, int64_t now_ns);

 private:
  void rotate();
  std::string loss_notice(const std::string& time) const;

  std::string path_;
  std::string buffer_;
  int fd_ = -1;
  uint64_t size_ = 0;
  uint64_t lost_bytes_ = 0;  // of the program's
  std::string open_line_;    // the stream whose last piece in the file has no end yet
};

std::string timestamp(int64_t unix_ns);  // 2026-11-15T06:05:54.123456789Z

}  // namespace shim
