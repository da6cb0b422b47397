// Both ends of a shim's socket, and the files that go with it: whatever bytes and however many
// descriptors come in a message, each end reads it within its bounds and keeps none of them open.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/strings.h"
#include "node/journal.h"
#include "node/shim/descriptors.h"
#include "node/shim/launch.h"
#include "node/shim/order.h"
#include "node/shim_socket.h"

namespace {

using namespace yard;

// The number the next descriptor would have: it grows when one was left open.
int next_descriptor() {
  const int fd = dup(STDERR_FILENO);
  close(fd);
  return fd;
}

void send_both_ways(const std::string& text, size_t count) {
  int ends[2];
  check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "there is a socket");
  const std::vector<int> descriptors(count, STDERR_FILENO);
  if (send_to_shim(ends[0], text, descriptors)) {
    char message[4096];
    std::vector<int> came;
    const ssize_t size = shim::receive_message(ends[1], message, sizeof message, came);
    check(size == static_cast<ssize_t>(std::min(text.size(), sizeof message)), "as much as fits");
    // None where the kernel left one out, as it may (shim_socket_test has both).
    check(came.size() == count || came.empty(), "every descriptor comes, or none");
    for (const int fd : came)
      close(fd);
  }
  if (shim::send_message(ends[1], text, descriptors)) {
    const auto message = receive_from_shim(ends[0]);
    check(message.has_value() && text.starts_with(message->text), "the server reads it");
    check(!message->descriptor.is_open() || count > 0, "one is kept");
  }
  close(ends[0]);
  close(ends[1]);
}

void read_as_files(const std::string& text) {
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  check(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "it is written");
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  shim::Pod pod;
  (void)shim::read_pod(path.c_str(), pod);
  shim::Container container;
  if (shim::read_container(path, container).empty())
    check(!container.argv.empty(), "a container has a command");
  close(fd);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int before = next_descriptor();
  send_both_ways(text, data[0] % 9);
  read_as_files(text);
  check(next_descriptor() == before, "nothing stays open");

  const shim::Order order = shim::read_order(text);
  check((order.words >= 1) == !order.verb.empty() && order.verb.size() < 16, "a verb is a word");
  check((order.words >= 2) == !order.container.empty() && order.container.size() < 256,
        "a container is a word");
  shim::CommandRequest request;
  if (shim::read_command(text, request).empty()) check(!request.argv.empty(), "there is a command");
  PodRecord record;
  const std::vector<std::string_view> lines = split(text, '\n');
  for (const std::string_view line : lines)
    add_journal_line(record, line);
  check(record.runs.size() + record.refusals.size() <= lines.size(), "a line says one thing");
  mark_lost(record, from_unix_seconds(1));
  return 0;
}
