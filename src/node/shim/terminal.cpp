#include "node/shim/terminal.h"

#include <cerrno>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "node/sandbox/user_namespace.h"
#include "node/shim/descriptors.h"

namespace shim {
namespace {

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

}  // namespace

std::string open_terminal(const Container& container, int socket) {
  const int ours = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (ours < 0) return failure("cannot make a terminal");
  int unlocked = 0;
  if (ioctl(ours, TIOCSPTLCK, &unlocked) != 0) return failure("cannot unlock the terminal");
  const int theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (theirs < 0) return failure("cannot open the terminal");
  // In a user namespace there is one user, whatever the container calls it.
  if (!in_user_namespace() && fchown(theirs, container.uid, static_cast<gid_t>(-1)) != 0)
    return failure("cannot give away the terminal");
  if (ioctl(theirs, TIOCSCTTY, 0) != 0) return failure("cannot take the terminal");
  if (!send_message(socket, "terminal", ours)) return failure("cannot hand over the terminal");
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    dup2(theirs, standard);
  close(ours);
  return "";
}

}  // namespace shim
