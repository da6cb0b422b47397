#include "node/network/netlink.h"

#include <cstring>
#include <linux/rtnetlink.h>

#include <gtest/gtest.h>

namespace yard {
namespace {

// Every message and attribute ends where its length says, and the whole is used up.
bool is_well_formed(std::string_view bytes, size_t body, int& messages) {
  while (!bytes.empty()) {
    nlmsghdr header;
    if (bytes.size() < sizeof header) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.nlmsg_len > bytes.size() || header.nlmsg_len % 4 != 0) return false;
    std::string_view attributes =
        bytes.substr(NLMSG_HDRLEN + body, header.nlmsg_len - NLMSG_HDRLEN - body);
    while (!attributes.empty()) {
      rtattr attribute;
      if (attributes.size() < sizeof attribute) return false;
      std::memcpy(&attribute, attributes.data(), sizeof attribute);
      const size_t size = RTA_ALIGN(attribute.rta_len);
      if (attribute.rta_len < sizeof attribute || size > attributes.size()) return false;
      attributes.remove_prefix(size);
    }
    bytes.remove_prefix(header.nlmsg_len);
    ++messages;
  }
  return true;
}

TEST(Netlink, MessagesAreWellFormed) {
  struct Row {
    const char* about;
    void (*add)(NetlinkBatch&);
    size_t body;
    int messages;
  };
  const Row rows[] = {
      {"two links up", [](NetlinkBatch& batch) { add_link_up(batch, 1), add_link_up(batch, 2); },
       sizeof(ifinfomsg), 2},
      {"an address", [](NetlinkBatch& batch) { add_address(batch, 2, 0x0af40005, 16); },
       sizeof(ifaddrmsg), 1},
      {"an address taken away", [](NetlinkBatch& batch) { add_address_removal(batch, 2); },
       sizeof(ifaddrmsg), 1},
      {"a hardware address",
       [](NetlinkBatch& batch) { add_hardware_address(batch, 2, 0x0af40005); }, sizeof(ifinfomsg),
       1},
      {"routes",
       [](NetlinkBatch& batch) {
         add_default_route(batch, 2, kGateway);
         add_local_range(batch, 1, kServiceRange);
       },
       sizeof(rtmsg), 2},
      {"a bridge", [](NetlinkBatch& batch) { add_bridge(batch, "pods"); }, sizeof(ifinfomsg), 1},
      {"a pod's pair", [](NetlinkBatch& batch) { add_pod_link(batch, 2, 9, 0x0af40005); },
       sizeof(ifinfomsg), 1},
  };
  for (const Row& row : rows) {
    NetlinkBatch batch;
    row.add(batch);
    int messages = 0;
    EXPECT_TRUE(is_well_formed(batch.bytes(), row.body, messages)) << row.about;
    EXPECT_EQ(messages, row.messages) << row.about;
    EXPECT_EQ(batch.count(), row.messages) << row.about;
  }
}

TEST(Netlink, AnAddressGoesOutInNetworkOrder) {
  NetlinkBatch batch;
  add_address(batch, 2, 0x0af40005, 16);
  EXPECT_NE(batch.bytes().find(std::string("\x0a\xf4\x00\x05", 4)), std::string_view::npos);
}

}  // namespace
}  // namespace yard
