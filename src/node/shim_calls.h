#pragma once
// What is asked of a running shim and answered on a socket made for that one question: a command in
// a container, a connection in the pod's network (node/shim/commands.h has the answers). Loop
// thread; a callback never runs before the call that leads to it has returned. Calls under way when
// this is destroyed are not answered; their commands end as their requests say.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/loop.h"
#include "node/pod_runtime.h"

namespace yard {

// A command whose bytes somebody else moves. Without a terminal all three streams must be open;
// they are the command's ends.
struct CommandLaunch {
  std::vector<std::string> argv;
  bool terminal = false;
  bool kill_when_left = false;  // closing `answers` kills it and all it started; else SIGHUP
  Descriptor in, out, err;
};
struct StartedCommand {
  Descriptor answers;   // hears "exit <code>", then closes; SEQPACKET, non-blocking
  Descriptor terminal;  // our end of it, where one was asked for; non-blocking
};

class ShimCalls {
 public:
  explicit ShimCalls(Loop& loop);
  ~ShimCalls();
  ShimCalls(const ShimCalls&) = delete;
  ShimCalls& operator=(const ShimCalls&) = delete;

  void start_command(int shim, std::string_view container, CommandLaunch launch,
                     std::function<void(Result<StartedCommand>)> done);
  void run_command(int shim, std::string_view container, std::vector<std::string> argv,
                   Duration timeout, std::function<void(Result<CommandOutcome>)> done);
  // What the container's own process reads, if it has such a thing; else not open.
  void take_input(int shim, std::string_view container,
                  std::function<void(Result<Descriptor>)> done);
  // `host` is an address, a name, or empty for the pod itself.
  void dial(int shim, std::string host, int port, Duration timeout,
            std::function<void(Result<int>)> done);

 private:
  struct Call;
  struct Start;
  struct Run;
  struct Dial;
  struct Input;
  template <typename T>
  std::shared_ptr<T> add(std::shared_ptr<T> call);
  void end(Call& call);
  Result<void> ask(Call& call, int shim, const std::string& message, std::vector<int> descriptors);
  void watch(Call& call, int fd, Task task);
  void read_start(Start& start);
  void follow(Run& run, StartedCommand started);
  void read_output(Run& run);
  void read_end(Run& run);
  void dial_next(Dial& dial);
  void read_dialed(Dial& dial);
  void read_connected(Dial& dial);

  Loop& loop_;
  std::map<Call*, std::shared_ptr<Call>> calls_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
