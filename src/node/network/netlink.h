#pragma once
// The kernel's network configuration by rtnetlink: messages are built by pure functions, a socket
// sends them. A socket stays in the network namespace where it was made.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "node/network/ipv4.h"

namespace yard {

// Messages that go out in one send; the kernel obeys them in order and answers each.
class NetlinkBatch {
 public:
  // `body` is the fixed part of the message (ifinfomsg, ifaddrmsg, rtmsg).
  template <typename Body>
  void begin(uint16_t type, uint16_t flags, const Body& body) {
    begin_message(type, flags, {reinterpret_cast<const char*>(&body), sizeof body});
  }
  void put(uint16_t attribute, std::string_view bytes);
  void put_u8(uint16_t attribute, uint8_t value);
  void put_u32(uint16_t attribute, uint32_t value);
  void put_text(uint16_t attribute, std::string_view text);  // with its final zero
  void put_address(uint16_t attribute, Ipv4 address);        // in network order
  void open_nest(uint16_t attribute);
  // Bytes that stand inside a nest before its attributes.
  template <typename Body>
  void put_raw(const Body& body) {
    bytes_.append(reinterpret_cast<const char*>(&body), sizeof body);
  }
  void close_nest();

  std::string_view bytes();  // sealed
  int count() const { return count_; }

 private:
  void begin_message(uint16_t type, uint16_t flags, std::string_view body);
  void seal();
  void pad();

  std::string bytes_;
  std::string nests_;  // a stack of offsets
  size_t message_ = 0;
  int count_ = 0;
};

inline constexpr int kPodInterface = 2;  // the index of eth0; lo is 1

void add_link_up(NetlinkBatch& batch, int index);
void add_address(NetlinkBatch& batch, int index, Ipv4 address, int prefix);
// Whichever address the interface has; its routes and neighbours go with the last.
void add_address_removal(NetlinkBatch& batch, int index);
// The hardware address that belongs to a pod's.
void add_hardware_address(NetlinkBatch& batch, int index, Ipv4 address);
void add_default_route(NetlinkBatch& batch, int index, Ipv4 gateway);
// Every address of the range is this namespace's own: a listener on any of them is reached.
void add_local_range(NetlinkBatch& batch, int index, Ipv4Range range);
void add_bridge(NetlinkBatch& batch, std::string_view name);
// A pair: one end a port of `bridge`, up; the other is eth0 in the namespace of `pod_namespace`. It
// cannot be made up: its own namespace raises it.
void add_pod_link(NetlinkBatch& batch, int bridge, int pod_namespace, Ipv4 address);

class NetlinkSocket {
 public:
  static Result<NetlinkSocket> open();
  ~NetlinkSocket();
  NetlinkSocket(NetlinkSocket&& other) noexcept;
  NetlinkSocket& operator=(NetlinkSocket&&) = delete;

  int fd() const { return fd_; }
  // Whether changes of interfaces are told on this socket.
  void follow_links(bool follow);
  // The first refusal of the kernel; `what` was tried.
  Result<void> send(NetlinkBatch& batch, std::string_view what);
  // The index of an interface of the socket's namespace; 0: there is none of that name.
  int index_of(std::string_view name);
  // How many ports `bridge` has.
  int count_ports(int bridge);

 private:
  explicit NetlinkSocket(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace yard
