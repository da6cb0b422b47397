#pragma once
// Reads the log of one run over its rotated files, as kubectl logs shows it. Blocking: used on the
// pool.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace yard {

struct LogReadOptions {
  std::optional<int64_t> tail_lines = {}, limit_bytes = {};
  std::optional<Time> since = {};
  bool timestamps = false;
  std::string stream = {};  // only this one's; "": all
  bool own = false;         // the server's own log: lines begin with their time and are shown whole
};

class LogReader {
 public:
  // `path` is <run>.log; NotFound when there is none.
  static Result<std::unique_ptr<LogReader>> open(std::string path, LogReadOptions options);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  struct Piece {
    std::string bytes;
    bool at_end = false;    // nothing more now
    bool finished = false;  // nothing more ever: the limit is reached
  };
  // About `budget` bytes of the files, as they are shown.
  Piece read(size_t budget);

 private:
  LogReader(std::string path, LogReadOptions options);
  std::string file(int number) const;  // 0 is the newest
  bool open_file(int number, int64_t offset);
  bool go_to_newer_file(std::string& note);
  void find_tail(int oldest);
  void show(std::string_view line, std::string& out);

  std::string path_;
  LogReadOptions options_;
  std::string since_;    // in the form of the lines: they compare as texts
  std::string pending_;  // a line not read whole yet
  int fd_ = -1;
  bool at_line_start_ = true;
  int64_t shown_ = 0;
};

}  // namespace yard
