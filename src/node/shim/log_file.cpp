#include "node/shim/log_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "node/shim/files.h"

namespace shim {

std::string timestamp(int64_t unix_ns) {
  const time_t seconds = unix_ns / 1'000'000'000;
  struct tm parts;
  gmtime_r(&seconds, &parts);
  char text[40];
  const int size =
      snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ",
               (parts.tm_year + 1900) % 10000, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
               parts.tm_min, parts.tm_sec, static_cast<int>(unix_ns % 1'000'000'000));
  return std::string(text, static_cast<size_t>(size));
}

LogFile::~LogFile() {
  if (fd_ >= 0) close(fd_);
}

bool LogFile::open(std::string path) {
  path_ = std::move(path);
  if (!make_folders(parent_of(path_))) return false;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (fd_ < 0) return false;
  struct stat facts;
  size_ = fstat(fd_, &facts) == 0 ? static_cast<uint64_t>(facts.st_size) : 0;
  return true;
}

void LogFile::append(std::string_view stream, std::string_view bytes, int64_t now_ns) {
  if (bytes.empty()) return;
  const std::string time = timestamp(now_ns);
  const size_t said = bytes.size();
  const bool is_whole = bytes.back() == '\n';
  buffer_.clear();
  if (lost_bytes_ > 0) buffer_ = loss_notice(time);
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view text = bytes.substr(0, end);
    buffer_.append(time)
        .append(" ")
        .append(stream)
        .append(end == std::string_view::npos ? " P " : " F ")
        .append(text)
        .append("\n");
    bytes = end == std::string_view::npos ? std::string_view() : bytes.substr(end + 1);
  }
  if (size_ > 0 && size_ + buffer_.size() > kMostLogBytes) rotate();
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (fd_ >= 0 && write_all(fd_, buffer_.data(), buffer_.size())) {
    size_ += buffer_.size();
    lost_bytes_ = 0;
    open_line_ = is_whole ? "" : stream;
    return;
  }
  lost_bytes_ += said;
  // A line cut in the middle would be read as two.
  if (fd_ >= 0 && ftruncate(fd_, static_cast<off_t>(size_)) != 0) size_ = kMostLogBytes;
}

std::string LogFile::loss_notice(const std::string& time) const {
  // What was lost had the end of the last line in it.
  const std::string end = open_line_.empty() ? "" : time + " " + open_line_ + " F \n";
  return end + time + " stderr F [trainyard] " + std::to_string(lost_bytes_) +
         " bytes of log could not be written and are lost\n";
}

void LogFile::rotate() {
  for (int number = kMostLogFiles - 2; number >= 0; --number) {
    const std::string from = number == 0 ? path_ : path_ + "." + std::to_string(number);
    rename(from.c_str(), (path_ + "." + std::to_string(number + 1)).c_str());
  }
  const int fresh = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (fd_ >= 0) close(fd_);
  fd_ = fresh;
  size_ = 0;
}

}  // namespace shim
