#include "node/sandbox/connect_gate.h"

#include <arpa/inet.h>
#include <cerrno>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "node/shim/descriptors.h"

namespace shim {
namespace {

constexpr int kPauseMs = 10;
constexpr size_t kMostWaiting = 256;  // more go on unheld
#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// The descriptor on which connects are asked about; -1: the kernel refuses.
int ask_for_connects() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
  };
  const sock_fprog program{sizeof steps / sizeof *steps, steps};
  return static_cast<int>(
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

// Whether somebody takes connections there. On one machine a refusal comes at once.
bool accepts(const AwaitedPort& awaited) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(static_cast<uint16_t>(awaited.port));
  const bool is_four = inet_pton(AF_INET, awaited.address.c_str(), &four.sin_addr) == 1;
  if (!is_four && inet_pton(AF_INET6, awaited.address.c_str(), &six.sin6_addr) != 1) return true;
  const int fd = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  const timeval patience{0, 1000 * kPauseMs};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const bool connected = is_four ? connect(fd, reinterpret_cast<sockaddr*>(&four), sizeof four) == 0
                                 : connect(fd, reinterpret_cast<sockaddr*>(&six), sizeof six) == 0;
  close(fd);
  return connected;
}

// Where a connect() leads, as its caller's memory says now; only what need not wait is sure.
bool leads_elsewhere(pid_t pid, uint64_t address, uint64_t size, int port) {
  struct {
    sa_family_t family;
    in_port_t port;
  } target{};
  if (size < sizeof target) return true;
  iovec here{&target, sizeof target};
  iovec there{reinterpret_cast<void*>(address), sizeof target};
  if (process_vm_readv(pid, &here, 1, &there, 1, 0) != static_cast<ssize_t>(sizeof target))
    return false;
  if (target.family != AF_INET && target.family != AF_INET6) return true;
  return ntohs(target.port) != port;
}

}  // namespace

void hold_connects(const AwaitedPort& awaited, int socket) {
  const int questions = ask_for_connects();
  if (questions >= 0) {
    send_message(socket, "gate", questions);
    close(questions);
    return;
  }
  for (int64_t waited = 0; waited < awaited.for_ms && !accepts(awaited); waited += kPauseMs)
    usleep(1000 * kPauseMs);
}

void ConnectGate::open(int questions, const AwaitedPort& awaited, int64_t now_ns) {
  questions_ = questions;
  awaited_ = awaited;
  until_ns_ = now_ns + awaited.for_ms * 1'000'000;
}

void ConnectGate::close_questions() {
  if (questions_ >= 0) close(questions_);
  questions_ = -1;
}

void ConnectGate::let_go(uint64_t question) {
  seccomp_notif_resp answer{};
  answer.id = question;
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ioctl(questions_, SECCOMP_IOCTL_NOTIF_SEND, &answer);  // who asked may be gone
}

void ConnectGate::answer_next(short events) {
  if ((events & POLLIN) == 0) {
    if ((events & (POLLHUP | POLLERR | POLLNVAL)) != 0) close_questions();
    return;
  }
  // A later kernel may tell more than this header knows.
  alignas(seccomp_notif) char room[512] = {};
  auto& question = *reinterpret_cast<seccomp_notif*>(room);
  if (ioctl(questions_, SECCOMP_IOCTL_NOTIF_RECV, room) != 0) return;
  const bool goes_on = is_open_ || waiting_.size() >= kMostWaiting ||
                       leads_elsewhere(static_cast<pid_t>(question.pid), question.data.args[1],
                                       question.data.args[2], awaited_.port);
  if (goes_on) return let_go(question.id);
  waiting_.push_back(question.id);
}

int ConnectGate::look(int64_t now_ns) {
  if (questions_ < 0 || is_open_ || waiting_.empty()) return -1;
  if (now_ns < until_ns_ && !accepts(awaited_)) return kPauseMs;
  is_open_ = true;
  for (const uint64_t question : waiting_)
    let_go(question);
  waiting_.clear();
  return -1;
}

}  // namespace shim
