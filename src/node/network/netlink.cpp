#include "node/network/netlink.h"

#include <cerrno>
#include <cstring>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace yard {
namespace {

constexpr size_t kAnswerSize = 32 << 10;
constexpr int kAnswerSeconds = 5;  // the kernel answers at once; nothing waits for it for ever

uint32_t network_order(Ipv4 address) {
  return __builtin_bswap32(address);
}

// Stable for an address, so that peers which remember the last holder's reach the next one.
std::string mac_of(Ipv4 address) {
  return {0x0a,
          0x58,
          static_cast<char>(address >> 24),
          static_cast<char>(address >> 16),
          static_cast<char>(address >> 8),
          static_cast<char>(address)};
}

ifinfomsg link_body(int index, bool up) {
  ifinfomsg out{};
  out.ifi_family = AF_UNSPEC;
  out.ifi_index = index;
  out.ifi_flags = up ? IFF_UP : 0;
  out.ifi_change = up ? IFF_UP : 0;
  return out;
}

}  // namespace

void NetlinkBatch::pad() {
  bytes_.resize(NLMSG_ALIGN(bytes_.size()), '\0');
}

void NetlinkBatch::begin_message(uint16_t type, uint16_t flags, std::string_view body) {
  seal();
  message_ = bytes_.size();
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  header.nlmsg_seq = static_cast<uint32_t>(++count_);
  put_raw(header);
  bytes_.append(body);
  pad();
}

void NetlinkBatch::seal() {
  if (count_ == 0) return;
  check(nests_.empty(), "every nest is closed");
  const uint32_t length = static_cast<uint32_t>(bytes_.size() - message_);
  std::memcpy(bytes_.data() + message_, &length, sizeof length);
}

std::string_view NetlinkBatch::bytes() {
  seal();
  return bytes_;
}

void NetlinkBatch::put(uint16_t attribute, std::string_view bytes) {
  rtattr header{};
  header.rta_len = static_cast<uint16_t>(sizeof header + bytes.size());
  header.rta_type = attribute;
  put_raw(header);
  bytes_.append(bytes);
  pad();
}

void NetlinkBatch::put_u8(uint16_t attribute, uint8_t value) {
  put(attribute, {reinterpret_cast<const char*>(&value), sizeof value});
}

void NetlinkBatch::put_u32(uint16_t attribute, uint32_t value) {
  put(attribute, {reinterpret_cast<const char*>(&value), sizeof value});
}

void NetlinkBatch::put_text(uint16_t attribute, std::string_view text) {
  std::string whole(text);
  whole += '\0';
  put(attribute, whole);
}

void NetlinkBatch::put_address(uint16_t attribute, Ipv4 address) {
  put_u32(attribute, network_order(address));
}

void NetlinkBatch::open_nest(uint16_t attribute) {
  const uint32_t at = static_cast<uint32_t>(bytes_.size());
  nests_.append(reinterpret_cast<const char*>(&at), sizeof at);
  put(attribute, "");
}

void NetlinkBatch::close_nest() {
  check(nests_.size() >= sizeof(uint32_t), "a nest is open");
  uint32_t at = 0;
  std::memcpy(&at, nests_.data() + nests_.size() - sizeof at, sizeof at);
  nests_.resize(nests_.size() - sizeof at);
  const uint16_t length = static_cast<uint16_t>(bytes_.size() - at);
  std::memcpy(bytes_.data() + at, &length, sizeof length);
}

void add_link_up(NetlinkBatch& batch, int index) {
  batch.begin(RTM_NEWLINK, NLM_F_ACK, link_body(index, true));
}

void add_address(NetlinkBatch& batch, int index, Ipv4 address, int prefix) {
  ifaddrmsg body{};
  body.ifa_family = AF_INET;
  body.ifa_prefixlen = static_cast<uint8_t>(prefix);
  body.ifa_index = static_cast<uint32_t>(index);
  batch.begin(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, body);
  batch.put_address(IFA_LOCAL, address);
  batch.put_address(IFA_ADDRESS, address);
}

void add_address_removal(NetlinkBatch& batch, int index) {
  ifaddrmsg body{};
  body.ifa_family = AF_INET;
  body.ifa_index = static_cast<uint32_t>(index);
  batch.begin(RTM_DELADDR, NLM_F_ACK, body);
}

void add_hardware_address(NetlinkBatch& batch, int index, Ipv4 address) {
  batch.begin(RTM_NEWLINK, NLM_F_ACK, link_body(index, false));
  batch.put(IFLA_ADDRESS, mac_of(address));
}

void add_default_route(NetlinkBatch& batch, int index, Ipv4 gateway) {
  rtmsg body{};
  body.rtm_family = AF_INET;
  body.rtm_table = RT_TABLE_MAIN;
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_scope = RT_SCOPE_UNIVERSE;
  body.rtm_type = RTN_UNICAST;
  batch.begin(RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, body);
  batch.put_address(RTA_GATEWAY, gateway);
  batch.put_u32(RTA_OIF, static_cast<uint32_t>(index));
}

void add_local_range(NetlinkBatch& batch, int index, Ipv4Range range) {
  rtmsg body{};
  body.rtm_family = AF_INET;
  body.rtm_dst_len = static_cast<uint8_t>(range.prefix);
  body.rtm_table = RT_TABLE_LOCAL;
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_scope = RT_SCOPE_HOST;
  body.rtm_type = RTN_LOCAL;
  batch.begin(RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, body);
  batch.put_address(RTA_DST, range.first);
  batch.put_u32(RTA_OIF, static_cast<uint32_t>(index));
}

void add_bridge(NetlinkBatch& batch, std::string_view name) {
  batch.begin(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, link_body(0, true));
  batch.put_text(IFLA_IFNAME, name);
  // Else it takes the lowest of its ports', and changes it as pods come and go.
  batch.put(IFLA_ADDRESS, mac_of(kGateway));
  batch.open_nest(IFLA_LINKINFO);
  batch.put_text(IFLA_INFO_KIND, "bridge");
  batch.open_nest(IFLA_INFO_DATA);
  batch.put_u8(IFLA_BR_MCAST_SNOOPING, 0);
  batch.close_nest();
  batch.close_nest();
}

void add_pod_link(NetlinkBatch& batch, int bridge, int pod_namespace, Ipv4 address) {
  batch.begin(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, link_body(0, true));
  batch.put_u32(IFLA_MASTER, static_cast<uint32_t>(bridge));
  batch.open_nest(IFLA_LINKINFO);
  batch.put_text(IFLA_INFO_KIND, "veth");
  batch.open_nest(IFLA_INFO_DATA);
  batch.open_nest(VETH_INFO_PEER);
  batch.put_raw(link_body(kPodInterface, false));
  batch.put_text(IFLA_IFNAME, "eth0");
  batch.put(IFLA_ADDRESS, mac_of(address));
  batch.put_u32(IFLA_NET_NS_FD, static_cast<uint32_t>(pod_namespace));
  batch.close_nest();
  batch.close_nest();
  batch.close_nest();
}

Result<NetlinkSocket> NetlinkSocket::open() {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0)
    return error(Reason::InternalError, fmt::format("no netlink socket: {}", std::strerror(errno)));
  NetlinkSocket out(fd);
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  const timeval patience{kAnswerSeconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0)
    return error(Reason::InternalError, fmt::format("no netlink socket: {}", std::strerror(errno)));
  return out;
}

void NetlinkSocket::follow_links(bool follow) {
  const int group = RTNLGRP_LINK;
  setsockopt(fd_, SOL_NETLINK, follow ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP, &group,
             sizeof group);
}

NetlinkSocket::~NetlinkSocket() {
  if (fd_ >= 0) close(fd_);
}

NetlinkSocket::NetlinkSocket(NetlinkSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

namespace {

// Calls `each` with every message of what the kernel says; true from it ends the reading.
template <typename Each>
bool read_answers(int fd, Each each) {
  alignas(nlmsghdr) char buffer[kAnswerSize];
  for (;;) {
    const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    auto left = static_cast<unsigned>(size);
    for (auto* header = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(header, left);
         header = NLMSG_NEXT(header, left)) {
      if (each(*header)) return true;
    }
  }
}

int error_of(const nlmsghdr& header) {
  return reinterpret_cast<const nlmsgerr*>(NLMSG_DATA(&header))->error;
}

}  // namespace

Result<void> NetlinkSocket::send(NetlinkBatch& batch, std::string_view what) {
  const std::string_view bytes = batch.bytes();
  if (::send(fd_, bytes.data(), bytes.size(), 0) < 0)
    return error(Reason::InternalError, fmt::format("{}: {}", what, std::strerror(errno)));
  int waiting = batch.count(), problem = 0;
  const bool answered = read_answers(fd_, [&](const nlmsghdr& header) {
    if (header.nlmsg_type != NLMSG_ERROR) return false;
    if (problem == 0) problem = -error_of(header);
    return --waiting == 0;
  });
  if (!answered) problem = errno;
  if (problem != 0)
    return error(Reason::InternalError, fmt::format("{}: {}", what, std::strerror(problem)));
  return {};
}

int NetlinkSocket::index_of(std::string_view name) {
  NetlinkBatch batch;
  batch.begin(RTM_GETLINK, 0, link_body(0, false));
  batch.put_text(IFLA_IFNAME, name);
  const std::string_view bytes = batch.bytes();
  if (::send(fd_, bytes.data(), bytes.size(), 0) < 0) return 0;
  int index = 0;
  read_answers(fd_, [&](const nlmsghdr& header) {
    if (header.nlmsg_type == RTM_NEWLINK)
      index = reinterpret_cast<const ifinfomsg*>(NLMSG_DATA(&header))->ifi_index;
    return header.nlmsg_type == RTM_NEWLINK || header.nlmsg_type == NLMSG_ERROR;
  });
  return index;
}

int NetlinkSocket::count_ports(int bridge) {
  NetlinkBatch batch;
  batch.begin(RTM_GETLINK, NLM_F_DUMP, link_body(0, false));
  const std::string_view bytes = batch.bytes();
  if (::send(fd_, bytes.data(), bytes.size(), 0) < 0) return 0;
  int count = 0;
  read_answers(fd_, [&](const nlmsghdr& header) {
    if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) return true;
    if (header.nlmsg_type != RTM_NEWLINK) return false;
    int length = static_cast<int>(header.nlmsg_len - NLMSG_LENGTH(sizeof(ifinfomsg)));
    auto* link = reinterpret_cast<const ifinfomsg*>(NLMSG_DATA(&header));
    for (auto* part = IFLA_RTA(const_cast<ifinfomsg*>(link)); RTA_OK(part, length);
         part = RTA_NEXT(part, length)) {
      if (part->rta_type != IFLA_MASTER || RTA_PAYLOAD(part) < sizeof(int)) continue;
      int master = 0;
      std::memcpy(&master, RTA_DATA(part), sizeof master);
      count += master == bridge ? 1 : 0;
    }
    return false;
  });
  return count;
}

}  // namespace yard
