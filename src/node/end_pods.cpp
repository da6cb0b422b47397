#include "node/end_pods.h"

#include <algorithm>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "node/files.h"
#include "node/launch_files.h"
#include "node/shim_socket.h"

namespace yard {
namespace {

constexpr size_t kMostMessage = 4096;

struct Shim {
  int fd = -1;
  std::string folder;
  bool told = false;     // SIGTERM has been sent
  bool stopped = false;  // and then stop
};

void say(const Shim& shim, const std::string& message) {
  send(shim.fd, message.data(), message.size(), MSG_NOSIGNAL);
}

// The answer to `stat` names what runs: container:run:pid.
void on_message(Shim& shim, std::string_view message) {
  if (message.starts_with("journal")) return say(shim, "stat");
  if (!message.starts_with("stat")) return;
  const auto words = split(message, ' ');
  if (words.size() == 1) {
    shim.stopped = true;
    return say(shim, "stop");
  }
  if (shim.told) return;
  shim.told = true;
  // The next server tells why it ended.
  if (auto marked = write_text(PodFolders{shim.folder, "", ""}.shutdown_mark(), "", 0600); !marked)
    log_warning("{}", marked.error().message);
  for (size_t i = 1; i < words.size(); ++i) {
    const auto parts = split(words[i], ':');
    if (parts.size() == 3) say(shim, fmt::format("signal {} {} {}", parts[0], parts[1], SIGTERM));
  }
}

int deadline_fd(std::chrono::milliseconds grace) {
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  itimerspec when{};
  when.it_value.tv_sec = grace.count() / 1000;
  when.it_value.tv_nsec = std::max<long>(1, grace.count() % 1000 * 1'000'000);
  timerfd_settime(fd, 0, &when, nullptr);
  return fd;
}

}  // namespace

int count_pods(const std::string& state_folder) {
  int count = 0;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(state_folder + "/run", code)) {
    const int fd = connect_to_shim(entry.path().string(), true);
    if (fd < 0) continue;
    ++count;
    close(fd);
  }
  return count;
}

int end_pods(const std::string& state_folder, std::chrono::milliseconds grace) {
  std::vector<Shim> shims;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(state_folder + "/run", code)) {
    if (const int fd = connect_to_shim(entry.path().string(), true); fd >= 0)
      shims.push_back({fd, entry.path().string()});
  }
  const int count = static_cast<int>(shims.size());
  for (const Shim& shim : shims)
    say(shim, "stat");
  const int deadline = deadline_fd(grace);
  bool expired = false;
  while (!shims.empty()) {
    std::vector<pollfd> waiting{{expired ? -1 : deadline, POLLIN, 0}};
    for (const Shim& shim : shims)
      waiting.push_back({shim.fd, POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[0].revents != 0) {
      expired = true;
      for (const Shim& shim : shims)
        say(shim, "stop");
    }
    for (size_t i = 1; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      Shim& shim = shims[i - 1];
      char message[kMostMessage];
      const ssize_t size = recv(shim.fd, message, sizeof message, 0);
      if (size > 0) {
        on_message(shim, std::string_view(message, static_cast<size_t>(size)));
      } else {
        close(shim.fd);
        shim.fd = -1;
      }
    }
    std::erase_if(shims, [](const Shim& shim) { return shim.fd < 0; });
  }
  close(deadline);
  return count;
}

}  // namespace yard
