#include "main/follow_world.h"

#include <mutex>
#include <signal.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

#include "main/connect.h"
#include "net/loop.h"

namespace yard {
namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

// Whoever follows is told of the first Ctrl-C; before anybody does, and from the second on, it ends
// us as it would end any program.
struct Interrupts {
  std::mutex mutex;
  bool happened = false;
  std::function<void()> told;
};

std::shared_ptr<Interrupts> begin_interrupts() {
  auto interrupts = std::make_shared<Interrupts>();
  std::thread([interrupts] {
    const sigset_t set = ending_signals();
    int number = 0;
    if (sigwait(&set, &number) != 0) return;
    {
      const std::lock_guard lock(interrupts->mutex);
      interrupts->happened = true;
      if (interrupts->told) {
        interrupts->told();
      } else {
        _exit(kInterrupted);
      }
    }
    if (sigwait(&set, &number) == 0) _exit(kInterrupted);
  }).detach();
  return interrupts;
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::function<Time()> wall_clock() {
  return [loop = std::shared_ptr<AsioLoop>(make_asio_loop())] { return loop->now(); };
}

FollowWorld follow_world(const StateFolder& folder) {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_DFL);  // `| head` ends us as it ends others
  FollowWorld world;
  world.connect = [&folder] { return connect_to(folder); };
  world.now = wall_clock();
  world.on_interrupt = [interrupts = begin_interrupts()](std::function<void()> told) {
    const std::lock_guard lock(interrupts->mutex);
    if (interrupts->happened) told();
    interrupts->told = std::move(told);
  };
  const char* kind = std::getenv("TERM");
  world.shows_progress =
      isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
  world.columns = terminal_columns();
  return world;
}

}  // namespace yard
