// Commands and connections of a real pod: a real shim, a real container, the production loop.

#include "node/shim_calls.h"

#include <fcntl.h>
#include <filesystem>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "net/loop.h"
#include "node/real_pod_runtime.h"
#include "node/shim_program.h"

namespace yard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ShimCallsTest : public ::testing::Test {
 protected:
  ShimCallsTest() : state_(testing::TempDir() + "yard-calls-" + std::to_string(getpid())) {
    std::filesystem::remove_all(state_);
    std::filesystem::create_directories(state_ + "/run");
    const auto shim = install_shim(state_);
    check(shim.has_value(), "the shim can be installed");
    runtime_ = std::make_unique<RealPodRuntime>(*loop_, state_, *shim, network_);
    runtime_->on_change([this](const std::string&) { look(); });
    thread_ = std::thread([this] { loop_->run(); });
    PodLaunch pod;
    pod.uid = "uid-1";
    pod.ns = "ns";
    pod.name = "p";
    pod.hostname = "p";
    run([&](auto done) {
      runtime_->start_pod(pod, [this, done](Result<void> made) {
        check(made.has_value(), "the pod has a shim");
        ContainerLaunch launch;
        launch.container = "c";
        launch.argv = {"sleep", "1000"};
        launch.env = {"PATH=/usr/bin:/bin", "COLOUR=green"};
        launch.working_folder = "/srv";
        launch.uid = 0;
        launch.capabilities = 0;
        runtime_->start("uid-1", launch, [done](Result<void>) { done(); });
      });
    });
    until([this] { return main_pid() > 0; });
  }
  ~ShimCallsTest() override {
    run([this](auto done) {
      runtime_->stop("uid-1");
      done();
    });
    until([this] { return !runtime_->find("uid-1")->alive; });
    run([this](auto done) {
      runtime_->remove("uid-1");
      loop_->run_blocking([] {}, done);
    });
    loop_->stop();
    thread_.join();
    runtime_.reset();
    loop_.reset();
    std::error_code code;  // what `remove` began may still be at it
    std::filesystem::remove_all(state_, code);
  }
  int main_pid() const {
    const PodRecord* record = runtime_->find("uid-1");
    const ContainerRun* run = record == nullptr ? nullptr : record->newest_run("c");
    return run != nullptr && run->is_running() ? run->pid : 0;
  }
  // On the loop, until the work calls what it is given.
  void run(const std::function<void(std::function<void()>)>& work) {
    std::promise<void> finished;
    loop_->post([&] { work([&] { finished.set_value(); }); });
    ASSERT_EQ(finished.get_future().wait_for(seconds(20)), std::future_status::ready);
  }
  void until(const std::function<bool()>& wanted) {
    run([&](auto done) {
      wanted_ = wanted;
      reached_ = done;
      look();
    });
  }
  void look() {
    if (!wanted_ || !wanted_()) return;
    wanted_ = nullptr;
    std::exchange(reached_, nullptr)();
  }
  Result<CommandOutcome> command(std::vector<std::string> argv, Duration timeout = seconds(10)) {
    Result<CommandOutcome> out = error(Reason::InternalError, "not answered");
    run([&](auto done) {
      runtime_->run_command("uid-1", "c", argv, timeout, [&out, done](auto outcome) {
        out = std::move(outcome);
        done();
      });
    });
    return out;
  }
  Result<int> dial(const std::string& host, int port) {
    Result<int> out = error(Reason::InternalError, "not answered");
    run([&](auto done) {
      runtime_->dial("uid-1", host, port, seconds(5), [&out, done](Result<int> fd) {
        out = fd;
        done();
      });
    });
    return out;
  }

  std::string state_;
  std::unique_ptr<AsioLoop> loop_ = make_asio_loop();
  SharedNetwork network_;
  std::unique_ptr<RealPodRuntime> runtime_;
  std::thread thread_;
  std::function<bool()> wanted_;
  std::function<void()> reached_;
};

TEST_F(ShimCallsTest, a_command_has_what_its_container_has) {
  const struct {
    const char* about;
    const char* script;
    int code;
    const char* output;
  } cases[] = {
      {"the exit code is the command's", "exit 7", 7, ""},
      {"a signal's is 128 and more", "kill -9 $$", 137, ""},
      {"its environment", "echo $COLOUR", 0, "green\n"},
      {"its working folder", "pwd", 0, "/srv\n"},
      {"its processes: the first one is the container's", "cat /proc/1/comm", 0, "sleep\n"},
      {"its files", "ls -d /home/*", 2, "ls: cannot access '/home/*': No such file or directory\n"},
      {"its name", "uname -n", 0, "p\n"},
      {"its rights", "grep CapEff /proc/self/status", 0, "CapEff:\t0000000000000000\n"},
      {"stdout and stderr as they came", "echo one; echo two >&2; echo three", 0,
       "one\ntwo\nthree\n"},
      {"no input", "cat", 0, ""},
      {"no descriptor of the shim", "ls /proc/self/fd | wc -l", 0, "4\n"},
  };
  for (const auto& each : cases) {
    const auto outcome = command({"sh", "-c", each.script});
    ASSERT_TRUE(outcome) << each.about << ": " << outcome.error().message;
    EXPECT_EQ(outcome->code, each.code) << each.about;
    EXPECT_EQ(outcome->output, each.output) << each.about;
    EXPECT_FALSE(outcome->timed_out) << each.about;
  }
  const auto missing = command({"no-such-program"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "exec: \"no-such-program\": executable file not found in $PATH");
}

TEST_F(ShimCallsTest, output_beyond_ten_kilobytes_is_read_and_dropped) {
  const auto outcome = command({"sh", "-c", "head -c 1000000 /dev/zero"});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->output.size(), 10u << 10);
}

TEST_F(ShimCallsTest, a_command_past_its_time_is_killed_with_all_it_started) {
  // A session of its own does not save a child from the group's end.
  const auto outcome =
      command({"sh", "-c", "setsid sleep 991 & echo begun; exec sleep 992"}, milliseconds(1500));
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->timed_out);
  EXPECT_EQ(outcome->output, "begun\n");
  // The shim answers what comes after the kill only when it is done with it.
  const auto left = command({"sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"});
  ASSERT_TRUE(left);
  EXPECT_EQ(left->output.find("sleep 99"), std::string::npos) << left->output;
  EXPECT_NE(left->output.find("sleep 1000"), std::string::npos) << left->output;
}

TEST_F(ShimCallsTest, what_a_command_leaves_behind_lives_until_the_container_ends) {
  ASSERT_TRUE(command({"sh", "-c", "sleep 993 >/dev/null 2>&1 &"}));
  // Between its fork and its program it has no command line: asked until it has, within the
  // command's own time.
  const auto there = command({"sh", "-c",
                              "until cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o "
                              "'[s]leep 993'; do :; done"});
  ASSERT_TRUE(there);
  EXPECT_NE(there->output.find("sleep 993"), std::string::npos);
}

TEST_F(ShimCallsTest, a_terminal_is_the_commands_own) {
  CommandLaunch launch;
  launch.argv = {"sh", "-c", "test -t 0 && test -t 2 && tty && echo $TERM && exit 3"};
  launch.terminal = true;
  StartedCommand started;
  run([&](auto done) {
    runtime_->start_command("uid-1", "c", std::move(launch), [&, done](auto answer) {
      check(answer.has_value(), "the command starts");
      started = std::move(*answer);
      done();
    });
  });
  std::string text, end;
  run([&](auto done) {
    loop_->on_readable(started.terminal.get(), [&, done] {
      char buffer[256];
      const ssize_t count = read(started.terminal.get(), buffer, sizeof buffer);
      if (count > 0) return static_cast<void>(text.append(buffer, static_cast<size_t>(count)));
      loop_->forget_readable(started.terminal.get());
      done();
    });
  });
  EXPECT_EQ(text, "/dev/pts/0\r\nxterm\r\n");
  run([&](auto done) {
    loop_->on_readable(started.answers.get(), [&, done] {
      char buffer[64];
      const ssize_t count = recv(started.answers.get(), buffer, sizeof buffer, 0);
      if (count > 0) end.assign(buffer, static_cast<size_t>(count));
      loop_->forget_readable(started.answers.get());
      done();
    });
  });
  EXPECT_EQ(end, "exit 3");
}

TEST_F(ShimCallsTest, a_connection_is_made_from_the_pods_network) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int port = ntohs(address.sin_port);
  const auto refused = dial("localhost", port);  // bound, and nobody listens
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("refused"), std::string::npos) << refused.error().message;
  ASSERT_EQ(listen(listener, 1), 0);
  const auto made = dial("", port);
  ASSERT_TRUE(made) << made.error().message;
  const Descriptor ours(*made), theirs(accept(listener, nullptr, nullptr));
  ASSERT_EQ(send(theirs.get(), "hello", 5, 0), 5);
  char buffer[8];
  fcntl(ours.get(), F_SETFL, 0);
  EXPECT_EQ(recv(ours.get(), buffer, sizeof buffer, 0), 5);
  close(listener);
  EXPECT_FALSE(dial("no-such-name.invalid", port));
}

}  // namespace
}  // namespace yard
