#include "node/shim/journal.h"

#include <cerrno>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "node/shim/files.h"

namespace shim {

void Journal::remember(const std::string& line) {
  char verb[16], container[256];
  int run = 0;
  if (sscanf(line.c_str(), "%15s %255s %d", verb, container, &run) != 3 ||
      std::string(verb) == "refused")
    return;
  runs_[{container, run}] = std::string(verb) != "start";
}

bool Journal::open(const char* path, long long now_ns) {
  fd_ = ::open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd_ < 0 || flock(fd_, LOCK_EX | LOCK_NB) != 0) return false;
  std::string text;
  if (read_whole(path, text)) {
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      remember(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (!text.empty() && text.back() != '\n')
    write_all(fd_, "\n", 1);  // cut by a crash of the machine
  const auto before = runs_;
  for (const auto& [key, ended] : before) {
    if (!ended)
      append("lost " + key.first + " " + std::to_string(key.second) + " " + std::to_string(now_ns));
  }
  return true;
}

void Journal::append(const std::string& line) {
  remember(line);
  unwritten_ += line + "\n";
  write_again();
}

bool Journal::write_again() {
  while (!unwritten_.empty()) {
    const ssize_t count = write(fd_, unwritten_.data(), unwritten_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    unwritten_.erase(0, static_cast<size_t>(count));
    synced_ = false;
  }
  return true;
}

void Journal::sync() {
  // The launch first: a journal that outlives the machine's crash never lacks the names that go
  // with it.
  if (!launch_synced_) {
    const int launch = ::open("launch.json", O_RDONLY | O_CLOEXEC);
    if (launch >= 0) {
      fsync(launch);
      close(launch);
    }
    launch_synced_ = true;
  }
  fdatasync(fd_);
  synced_ = true;
}

}  // namespace shim
