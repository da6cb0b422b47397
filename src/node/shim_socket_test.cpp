// Messages with descriptors, where this process may have as many open as it likes and where it may
// not: they come whole or not at all.

#include "node/shim_socket.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "node/network/keeper_channel.h"
#include "node/shim/descriptors.h"

namespace yard {
namespace {

struct Pair {
  explicit Pair(int type) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
    near.reset(ends[0]);
    far.reset(ends[1]);
  }
  Descriptor near, far;
};

// The number the next descriptor would have: it grows when one was left open.
int next_descriptor() {
  return Descriptor(dup(STDERR_FILENO)).get();
}

// While it lives, this process may open so many descriptors more.
class RoomForDescriptors {
 public:
  explicit RoomForDescriptors(size_t count) {
    std::vector<Descriptor> free(count + 1);
    for (Descriptor& each : free)
      each.reset(dup(STDERR_FILENO));
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit low{static_cast<rlim_t>(free.back().get()), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  }
  ~RoomForDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

struct Row {
  const char* that;
  size_t sent, room, come;
};
constexpr Row kRows[] = {{"none was sent", 0, 8, 0},
                         {"one comes", 1, 8, 1},
                         {"as many as a message has", 8, 8, 8},
                         {"there is room for all but one", 4, 3, 0},
                         {"there is room for none", 4, 0, 0}};

TEST(ShimSocket, DescriptorsComeWholeOrNotAtAll) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.that);
    Pair ends(SOCK_SEQPACKET);
    ASSERT_TRUE(
        send_to_shim(ends.near.get(), "exec main", std::vector<int>(row.sent, STDERR_FILENO))
            .has_value());
    const int before = next_descriptor();
    char text[64];
    std::vector<int> came;
    {
      const RoomForDescriptors room(row.room);
      EXPECT_EQ(shim::receive_message(ends.far.get(), text, sizeof text, came), 9);
    }
    EXPECT_EQ(came.size(), row.come);
    for (const int fd : came)
      close(fd);
    EXPECT_EQ(next_descriptor(), before);
  }
}

TEST(ShimSocket, AServerHearsTheTextOfAMessageWhoseDescriptorCouldNotCome) {
  Pair ends(SOCK_SEQPACKET);
  ASSERT_TRUE(shim::send_message(ends.far.get(), "started", STDERR_FILENO));
  const RoomForDescriptors none(0);
  const auto message = receive_from_shim(ends.near.get());
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->text, "started");
  EXPECT_FALSE(message->descriptor.is_open());
}

// A frame that lost its descriptor would take that of the next one: a pod the network of another.
TEST(KeeperChannel, EndsWhereADescriptorCouldNotCome) {
  Pair ends(SOCK_STREAM);
  KeeperChannel keeper(ends.near.release()), server(ends.far.release());
  keeper.send("made 10.0.0.1", {dup(STDERR_FILENO)});
  keeper.send("made 10.0.0.2", {dup(STDERR_FILENO)});
  std::vector<std::string> frames;
  const auto keep = [&](std::string_view text) { frames.emplace_back(text); };
  const int before = next_descriptor();
  {
    const RoomForDescriptors one(1);
    EXPECT_FALSE(server.receive(keep));
  }
  EXPECT_EQ(frames, std::vector<std::string>{"made 10.0.0.1"});
  const auto kept = server.take_descriptor();
  ASSERT_TRUE(kept.has_value());
  close(*kept);
  EXPECT_FALSE(server.take_descriptor().has_value());
  EXPECT_EQ(next_descriptor(), before);
}

}  // namespace
}  // namespace yard
