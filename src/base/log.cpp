#include "base/log.h"

#include <atomic>
#include <chrono>
#include <unistd.h>

#include "base/time.h"

namespace yard {
namespace {

std::atomic<LogLevel> current_level{LogLevel::Info};

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::Debug: return "debug";
    case LogLevel::Info: return "info ";
    case LogLevel::Warning: return "warn ";
    default: return "error";
  }
}

}  // namespace

void set_log_level(LogLevel level) {
  current_level = level;
}
LogLevel log_level() {
  return current_level;
}

void log_line(LogLevel level, std::string_view message) {
  const Time now = std::chrono::system_clock::now();
  std::string line = fmt::format("{} {} {}", rfc3339_micro(now), level_name(level), message);
  // A message is one line, whatever a name in it holds.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  line.push_back('\n');
  // One write keeps lines of several threads whole; a full or closed stderr must not stop the
  // server.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace yard
