#pragma once
// Descriptors that came with a message: whole or not at all. The shim, which no library of ours is
// part of, reads them with the same lines.

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace yard {

// Adds them to `descriptors`. False: the kernel left some out (this process may have no more open,
// or may not have those), and what did come is closed. Whoever counts on their order would else
// take one for another: a pod's network for its neighbour's.
inline bool take_passed_descriptors(msghdr& message, std::vector<int>& descriptors) {
  const size_t before = descriptors.size();
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t there = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < there; ++i) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      descriptors.push_back(fd);
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) == 0) return true;
  for (size_t i = before; i < descriptors.size(); ++i)
    close(descriptors[i]);
  descriptors.resize(before);
  return false;
}

}  // namespace yard
