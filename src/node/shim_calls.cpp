#include "node/shim_calls.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/json.h"
#include "node/files.h"
#include "node/shim_socket.h"

namespace yard {
namespace {

constexpr size_t kMostOutput = 10 << 10, kMostAddresses = 4;
constexpr const char* kOwnAddresses[] = {"127.0.0.1", "::1"};

Error no_answer() {
  return error(Reason::InternalError,
               "the pod's shim gave no answer: it has ended, or is older than this server");
}

// The command travels in a file of its own: it may be longer than a message can be.
Result<Descriptor> request_file(const CommandLaunch& launch) {
  JsonArray argv;
  for (const std::string& word : launch.argv)
    argv.emplace_back(word);
  const std::string text = to_text(JsonObject{{"argv", std::move(argv)},
                                              {"terminal", launch.terminal},
                                              {"killWhenLeft", launch.kill_when_left}});
  Descriptor file(memfd_create("command", MFD_CLOEXEC));
  if (!file.is_open() ||
      write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return system_error("cannot write down the command");
  return file;
}

void note(std::string& problem, const std::string& why) {
  if (problem.empty()) problem = why;
}

// Numeric addresses of a name; blocking.
std::vector<std::string> addresses_of(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<std::string> out;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return out;
  for (const addrinfo* each = found; each != nullptr && out.size() < kMostAddresses;
       each = each->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) == 0)
      out.emplace_back(text);
  }
  freeaddrinfo(found);
  return out;
}

}  // namespace

struct ShimCalls::Call {
  virtual ~Call() = default;
  Descriptor answers;
  TimerId timer = 0;
  std::vector<int> watched;
};
struct ShimCalls::Start : Call {
  Descriptor terminal;
  std::function<void(Result<StartedCommand>)> done;
};
struct ShimCalls::Run : Call {
  Descriptor output;
  CommandOutcome outcome;
  std::function<void(Result<CommandOutcome>)> done;
};
struct ShimCalls::Dial : Call {
  Descriptor shim;
  int port = 0;
  std::vector<std::string> addresses;  // still to try
  Descriptor connection, connected;    // `connected` turns readable when `connection` is made
  std::string problem;  // of the first address that was tried: the others are only second best
  std::function<void(Result<int>)> done;
};

struct ShimCalls::Input : Call {
  std::function<void(Result<Descriptor>)> done;
};

ShimCalls::ShimCalls(Loop& loop) : loop_(loop) {}

ShimCalls::~ShimCalls() {
  *alive_ = false;
  while (!calls_.empty())
    end(*calls_.begin()->first);
}

template <typename T>
std::shared_ptr<T> ShimCalls::add(std::shared_ptr<T> call) {
  calls_[call.get()] = call;
  return call;
}

void ShimCalls::end(Call& call) {
  for (const int fd : call.watched)
    loop_.forget_readable(fd);
  call.watched.clear();
  if (call.timer != 0) loop_.cancel(call.timer);
  call.timer = 0;
  calls_.erase(&call);
}

void ShimCalls::watch(Call& call, int fd, Task task) {
  call.watched.push_back(fd);
  loop_.on_readable(fd, std::move(task));
}

Result<void> ShimCalls::ask(Call& call, int shim, const std::string& message,
                            std::vector<int> descriptors) {
  if (shim < 0) return error(Reason::ServiceUnavailable, "the pod's shim has ended");
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return system_error("cannot make a socket for the pod's answer");
  call.answers.reset(ends[0]);
  const Descriptor theirs(ends[1]);
  descriptors.insert(descriptors.begin(), theirs.get());
  return send_to_shim(shim, message, descriptors);
}

void ShimCalls::start_command(int shim, std::string_view container, CommandLaunch launch,
                              std::function<void(Result<StartedCommand>)> done) {
  auto start = add(std::make_shared<Start>());
  start->done = std::move(done);
  const auto asked = [&]() -> Result<void> {
    const Descriptor request = TRY(request_file(launch));
    std::vector<int> descriptors{request.get()};
    if (!launch.terminal)
      descriptors.insert(descriptors.end(), {launch.in.get(), launch.out.get(), launch.err.get()});
    return ask(*start, shim, fmt::format("exec {}", container), std::move(descriptors));
  }();
  if (asked) return watch(*start, start->answers.get(), [this, start] { read_start(*start); });
  end(*start);
  loop_.post([start, failure = asked.error()] { start->done(failure); });
}

void ShimCalls::read_start(Start& start) {
  const auto kept = calls_[&start];  // until the callback has returned
  while (true) {
    auto message = receive_from_shim(start.answers.get());
    if (!message) return;  // nothing there yet
    if (message->text == "terminal") {
      start.terminal = std::move(message->descriptor);
      fcntl(start.terminal.get(), F_SETFL, O_NONBLOCK);
      continue;
    }
    end(start);
    if (message->text == "started")
      return start.done(StartedCommand{std::move(start.answers), std::move(start.terminal)});
    if (message->text.starts_with("failed "))
      return start.done(error(Reason::InternalError, message->text.substr(7)));
    return start.done(no_answer());
  }
}

void ShimCalls::run_command(int shim, std::string_view container, std::vector<std::string> argv,
                            Duration timeout, std::function<void(Result<CommandOutcome>)> done) {
  auto run = add(std::make_shared<Run>());
  run->done = std::move(done);
  int ends[2] = {-1, -1};
  CommandLaunch launch;
  launch.argv = std::move(argv);
  launch.kill_when_left = true;
  launch.in.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (pipe2(ends, O_CLOEXEC) == 0) {
    run->output.reset(ends[0]);
    launch.out.reset(ends[1]);
    launch.err.reset(fcntl(ends[1], F_DUPFD_CLOEXEC, 0));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  // The time the command may take begins with the question: a shim that does not answer is no
  // excuse.
  run->timer = loop_.after(timeout, [this, run] {
    run->timer = 0;
    run->outcome.timed_out = true;
    read_output(*run);
    end(*run);
    run->answers.reset();
    run->done(std::move(run->outcome));
  });
  start_command(shim, container, std::move(launch),
                [this, run, alive = alive_](Result<StartedCommand> started) {
                  if (!*alive || !calls_.contains(run.get())) return;  // timed out
                  if (started) return follow(*run, std::move(*started));
                  end(*run);
                  run->done(started.error());
                });
}

void ShimCalls::follow(Run& run, StartedCommand started) {
  const auto kept = std::static_pointer_cast<Run>(calls_[&run]);
  run.answers = std::move(started.answers);
  watch(run, run.output.get(), [this, kept] { read_output(*kept); });
  watch(run, run.answers.get(), [this, kept] { read_end(*kept); });
}

void ShimCalls::read_output(Run& run) {
  char buffer[16384];
  ssize_t count = 0;
  while ((count = read(run.output.get(), buffer, sizeof buffer)) > 0) {
    const size_t room = kMostOutput - run.outcome.output.size();
    run.outcome.output.append(buffer, std::min(room, static_cast<size_t>(count)));
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  loop_.forget_readable(run.output.get());
  std::erase(run.watched, run.output.get());
}

void ShimCalls::read_end(Run& run) {
  const auto message = receive_from_shim(run.answers.get());
  if (!message) return;
  const auto kept = calls_[&run];
  read_output(run);
  end(run);
  const auto code = message->text.starts_with("exit ")
                        ? parse_int64(std::string_view(message->text).substr(5))
                        : std::nullopt;
  if (!code) return run.done(no_answer());
  run.outcome.code = static_cast<int>(*code);
  run.done(std::move(run.outcome));
}

void ShimCalls::take_input(int shim, std::string_view container,
                           std::function<void(Result<Descriptor>)> done) {
  auto input = add(std::make_shared<Input>());
  input->done = std::move(done);
  const auto asked = ask(*input, shim, fmt::format("input {}", container), {});
  if (!asked) {
    end(*input);
    return loop_.post([input, failure = asked.error()] { input->done(failure); });
  }
  watch(*input, input->answers.get(), [this, input] {
    auto message = receive_from_shim(input->answers.get());
    if (!message) return;
    end(*input);
    if (message->text.empty()) return input->done(no_answer());
    input->done(std::move(message->descriptor));
  });
}

void ShimCalls::dial(int shim, std::string host, int port, Duration timeout,
                     std::function<void(Result<int>)> done) {
  auto dial = add(std::make_shared<Dial>());
  dial->shim.reset(fcntl(shim, F_DUPFD_CLOEXEC, 0));  // ours may end while a name is looked up
  dial->port = port;
  dial->done = std::move(done);
  dial->timer = loop_.after(timeout, [this, dial] {
    dial->timer = 0;
    end(*dial);
    dial->done(error(Reason::Timeout, "i/o timeout"));
  });
  const auto begin = [this, dial, alive = alive_] {
    if (*alive && calls_.contains(dial.get())) dial_next(*dial);
  };
  if (host.empty() || host == "localhost") {
    dial->addresses.assign(std::begin(kOwnAddresses), std::end(kOwnAddresses));
    return loop_.post(begin);
  }
  loop_.run_blocking([dial, host] { dial->addresses = addresses_of(host); }, begin);
}

void ShimCalls::dial_next(Dial& dial) {
  const auto kept = std::static_pointer_cast<Dial>(calls_[&dial]);
  while (!dial.addresses.empty()) {
    const std::string address = dial.addresses.front();
    dial.addresses.erase(dial.addresses.begin());
    const auto asked =
        ask(dial, dial.shim.get(), fmt::format("dial {} {}", address, dial.port), {});
    if (asked) return watch(dial, dial.answers.get(), [this, kept] { read_dialed(*kept); });
    note(dial.problem, asked.error().message);
  }
  end(dial);
  note(dial.problem, "no such host");
  dial.done(error(Reason::InternalError, dial.problem));
}

void ShimCalls::read_dialed(Dial& dial) {
  auto message = receive_from_shim(dial.answers.get());
  if (!message) return;
  const auto kept = std::static_pointer_cast<Dial>(calls_[&dial]);
  loop_.forget_readable(dial.answers.get());
  std::erase(dial.watched, dial.answers.get());
  if (message->text != "dialed" || !message->descriptor.is_open()) {
    const std::string why = message->text.starts_with("failed ") ? message->text.substr(7) : "";
    if (why.empty()) dial.addresses.clear();
    note(dial.problem, why.empty() ? no_answer().message : "connect: " + why);
    return dial_next(dial);
  }
  dial.connection = std::move(message->descriptor);
  // The loop tells what can be read. A set of descriptors can be, once one in it can be written to.
  dial.connected.reset(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLOUT;
  epoll_ctl(dial.connected.get(), EPOLL_CTL_ADD, dial.connection.get(), &event);
  watch(dial, dial.connected.get(), [this, kept] { read_connected(*kept); });
}

void ShimCalls::read_connected(Dial& dial) {
  const auto kept = calls_[&dial];
  int problem = 0;
  socklen_t size = sizeof problem;
  getsockopt(dial.connection.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
  loop_.forget_readable(dial.connected.get());
  std::erase(dial.watched, dial.connected.get());
  dial.connected.reset();
  if (problem != 0) {
    note(dial.problem, std::string("connect: ") + std::strerror(problem));
    return dial_next(dial);
  }
  end(dial);
  dial.done(dial.connection.release());
}

}  // namespace yard
