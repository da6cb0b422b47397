#include "node/sandbox/job_memory.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "node/sandbox/user_namespace.h"
#include "node/shim/descriptors.h"
#include "node/shim/files.h"

namespace shim {
namespace {

constexpr int kPatienceMs = 2000;  // with one that lives and does not answer
constexpr int kMostMessages = 1000;
constexpr size_t kMostMembers = 4096;

int connect_to(const std::string& folder) {
  const int directory = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/sock";
  strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const bool connected =
      fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(directory);
  if (connected) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

// The list may be removed by the server between our opening and our locking it.
int open_locked(const std::string& path) {
  for (;;) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    struct stat facts;
    if (flock(fd, LOCK_EX) == 0 && fstat(fd, &facts) == 0 && facts.st_nlink > 0) return fd;
    close(fd);
  }
}

}  // namespace

JobMembership::~JobMembership() {
  for (const int fd : {list_, found_.memory, found_.ipc, found_.user}) {
    if (fd >= 0) close(fd);
  }
}

bool JobMembership::ask(const std::string& folder) {
  const int socket = connect_to(folder);
  if (socket < 0) return false;
  std::vector<int> descriptors;
  bool answered = false;
  if (send_message(socket, "share")) {
    // It greets every caller, and tells all of them what happens meanwhile.
    for (int messages = 0; messages < kMostMessages && !answered; ++messages) {
      pollfd waiting{socket, POLLIN, 0};
      char message[64];
      if (poll(&waiting, 1, kPatienceMs) <= 0) break;
      const ssize_t size = receive_message(socket, message, sizeof message, descriptors);
      if (size <= 0) break;
      answered = std::string_view(message, static_cast<size_t>(size)) == "shared";
    }
  }
  close(socket);
  if (!answered || descriptors.size() < 2) {
    for (const int fd : descriptors)
      close(fd);
    return false;
  }
  found_ = {descriptors[0], descriptors[1], descriptors.size() > 2 ? descriptors[2] : -1};
  return true;
}

std::string JobMembership::join(const std::string& folder, const std::string& job) {
  const std::string runs = parent_of(folder), lists = parent_of(runs) + "/shared";
  own_name_ = folder.substr(runs.size() + 1);
  if (!make_folders(lists, 0700) || (list_ = open_locked(lists + "/" + job)) < 0)
    return std::string("no memory shared with the job's other pods: ") + strerror(errno);
  std::string text;
  read_whole((lists + "/" + job).c_str(), text);
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string name = text.substr(begin, end - begin);
    if (name.empty() || name == own_name_ || name.find('/') != std::string::npos) continue;
    if (members_.size() >= kMostMembers) break;
    // One answer is enough; the others stay on the list until they are asked.
    if (found_.memory >= 0 || ask(runs + "/" + name)) members_.push_back(name);
  }
  return "";
}

void JobMembership::say_so() {
  if (list_ < 0) return;
  std::string text;
  for (const std::string& name : members_)
    text += name + "\n";
  text += own_name_ + "\n";
  if (ftruncate(list_, 0) == 0 && lseek(list_, 0, SEEK_SET) == 0)
    write_all(list_, text.data(), text.size());
}

JobMemory offered_memory(const std::string& folder) {
  JobMemory out;
  out.memory = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, (folder + "/shm").c_str(),
                                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  out.ipc = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
  if (in_user_namespace()) out.user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  return out;
}

}  // namespace shim
