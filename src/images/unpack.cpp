#include "images/unpack.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "images/in_root.h"
#include "images/registry/registry_fault.h"
#include "images/user_namespace.h"

namespace yard {
namespace {

constexpr std::string_view kWhiteout = ".wh.", kOpaque = ".wh..wh..opq", kAufs = ".wh..wh.";

bool is_whiteout(const struct stat& facts) {
  return S_ISCHR(facts.st_mode) && facts.st_rdev == 0;
}

timespec time_of(std::int64_t seconds, std::int32_t nanoseconds) {
  return {static_cast<time_t>(seconds), nanoseconds};
}

}  // namespace

Result<std::string> entry_path(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..")
      return error(Reason::Invalid, fmt::format("the layer has an entry {} that leads out of the "
                                                "image: `..` is refused",
                                                quoted(path.substr(0, 200))));
    if (part.find('\0') != std::string_view::npos || part.size() > 255)
      return error(Reason::Invalid, "the layer has an entry whose name no file can have");
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

LayerUnpacker::LayerUnpacker(const std::string& folder, const UnpackLimits& limits)
    : limits_(limits),
      is_root_(::geteuid() == 0),
      is_outermost_(is_root_ && !in_namespace_to_unpack()),
      root_(::open(folder.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC)) {}

Error LayerUnpacker::failure(std::string_view doing, std::string_view path) const {
  if (errno == ENOSPC || errno == EDQUOT) {
    Error full = error(Reason::InternalError,
                       fmt::format("no space left on the disk of the images at {} of the layer",
                                   quoted(path.substr(0, 200))));
    set_mend(full,
             "make room there: `trainyard image prune --all` removes the images that no pod uses");
    return full;
  }
  return error(Reason::InternalError,
               fmt::format("cannot {} {} of the layer: {}", doing, quoted(path.substr(0, 200)),
                           std::strerror(errno)));
}

Result<void> LayerUnpacker::make_parents(const std::string& path) {
  for (std::size_t at = path.find('/');; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    const std::size_t slash = part.rfind('/');
    const std::string above = slash == std::string::npos ? "." : part.substr(0, slash);
    const std::string name = slash == std::string::npos ? part : part.substr(slash + 1);
    const Descriptor folder(open_in_root(root_.get(), above.c_str(), O_PATH | O_DIRECTORY));
    if (!folder.is_open()) return failure("make the folders above", path);
    if (::mkdirat(folder.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      return failure("make the folder", part);
    if (at == std::string::npos) return {};
  }
}

Result<LayerUnpacker::Place> LayerUnpacker::place_of(const std::string& path, bool make) {
  const std::size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "" : path.substr(0, slash);
  Place out{-1, slash == std::string::npos ? path : path.substr(slash + 1)};
  if (above.empty()) {
    out.folder = root_.get();
    return out;
  }
  if (!parent_.is_open() || parent_path_ != above) {
    const char* start = above.c_str();
    int fd = open_in_root(root_.get(), start, O_PATH | O_DIRECTORY);
    if (fd < 0 && errno == ENOENT && make) {
      TRY(make_parents(above));
      fd = open_in_root(root_.get(), start, O_PATH | O_DIRECTORY);
    }
    if (fd < 0) return failure("reach", path);
    parent_.reset(fd);
    parent_path_ = above;
  }
  out.folder = parent_.get();
  return out;
}

Result<bool> LayerUnpacker::clear(const Place& place) {
  struct stat facts {};
  if (::fstatat(place.folder, place.name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Result<bool>(false) : failure("look at", place.name);
  if (S_ISDIR(facts.st_mode)) {
    // A folder gives way only when it is empty, as with every other unpacker.
    if (::unlinkat(place.folder, place.name.c_str(), AT_REMOVEDIR) != 0)
      return failure("replace the folder", place.name);
    parent_path_.clear();
    return false;
  }
  if (::unlinkat(place.folder, place.name.c_str(), 0) != 0) return failure("replace", place.name);
  parent_path_.clear();  // it may have been a link on the way to that folder
  return is_whiteout(facts);
}

Result<void> LayerUnpacker::begin(const TarEntry& entry) {
  if (!root_.is_open()) return failure("open the folder", "/");
  if (++entries_ > limits_.entries)
    return error(Reason::Invalid,
                 fmt::format("the layer has more than {} entries", limits_.entries));
  if (entry.type == '0') {
    bytes_ += entry.size;
    if (bytes_ > limits_.bytes)
      return error(Reason::Invalid,
                   fmt::format("the layer unpacks to more than {} MiB", limits_.bytes >> 20));
  }
  const std::string path = TRY(entry_path(entry.path));
  if (path.starts_with(kAufs) ||
      path.find(std::string("/") + std::string(kAufs)) != std::string::npos) {
    if (!path.ends_with(kOpaque)) return {};  // what aufs kept for itself
  }
  if (path.empty()) {
    if (entry.type == '5') folders_.push_back({".", entry.mode, entry.seconds, entry.nanoseconds});
    return {};
  }
  const Place place = TRY(place_of(path, true));
  if (place.name.starts_with(kWhiteout)) return make_whiteout(place);
  switch (entry.type) {
    case '0': return make_file(place, entry);
    case '1': return make_hard_link(place, entry);
    case '2': return make_link(place, entry);
    case '5': return make_folder(place, entry, path);
    case '6':
      TRY(clear(place));
      if (::mkfifoat(place.folder, place.name.c_str(), entry.mode) != 0)
        return failure("make the fifo", path);
      return set_owner(place, entry);
    default: ++notes_.devices; return {};
  }
}

Result<void> LayerUnpacker::hide_lower_folder(int folder_fd) {
  const char* name = is_outermost_ ? "trusted.overlay.opaque" : "user.overlay.opaque";
  const std::string path = fmt::format("/proc/self/fd/{}", folder_fd);
  if (::setxattr(path.c_str(), name, "y", 1, 0) != 0)
    return failure("mark as opaque a folder", "of it");
  return {};
}

Result<void> LayerUnpacker::make_whiteout(const Place& place) {
  if (place.name == kOpaque) return hide_lower_folder(place.folder);
  const std::string hidden = place.name.substr(kWhiteout.size());
  if (hidden.empty() || hidden == "." || hidden == "..")
    return error(Reason::Invalid, "the layer has a whiteout of nothing");
  struct stat facts {};
  if (::fstatat(place.folder, hidden.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0) {
    // The layer brings something of that name too: only what lies below is hidden.
    if (!S_ISDIR(facts.st_mode)) return {};
    const Descriptor folder(
        ::openat(place.folder, hidden.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return hide_lower_folder(folder.get());
  }
  if (::mknodat(place.folder, hidden.c_str(), S_IFCHR, ::makedev(0, 0)) != 0)
    return failure("hide", hidden);
  return {};
}

Result<void> LayerUnpacker::set_owner(const Place& place, const TarEntry& entry) {
  const auto uid = static_cast<uid_t>(entry.uid);
  const auto gid = static_cast<gid_t>(entry.gid);
  if (entry.uid < 0 || entry.gid < 0 || entry.uid > UINT32_MAX - 1 || entry.gid > UINT32_MAX - 1)
    return error(Reason::Invalid, "the layer has an owner no file can have");
  if (!is_outermost_) {
    if (uid != 0 || gid != 0) ++notes_.owners;
    return {};
  }
  if (::fchownat(place.folder, place.name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) == 0) return {};
  if (errno != EINVAL && errno != EPERM) return failure("give to its owner", place.name);
  ++notes_.owners;
  return {};
}

void LayerUnpacker::set_attributes(int file, const TarEntry& entry) {
  for (const auto& [name, value] : entry.attributes) {
    // Overlayfs keeps its own marks in these: a layer must not speak to it.
    const bool is_allowed = (name.starts_with("user.") && !name.starts_with("user.overlay.")) ||
                            name == "security.capability";
    if (!is_allowed || name.find('\0') != std::string::npos ||
        ::fsetxattr(file, name.c_str(), value.data(), value.size(), 0) != 0)
      ++notes_.attributes;
  }
}

Result<void> LayerUnpacker::make_folder(const Place& place, const TarEntry& entry,
                                        const std::string& path) {
  bool hides = false;
  if (::mkdirat(place.folder, place.name.c_str(), 0700) != 0) {
    struct stat facts {};
    if (errno != EEXIST ||
        ::fstatat(place.folder, place.name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
      return failure("make the folder", path);
    if (!S_ISDIR(facts.st_mode)) {
      hides = TRY(clear(place));
      if (::mkdirat(place.folder, place.name.c_str(), 0700) != 0)
        return failure("make the folder", path);
    }
  }
  TRY(set_owner(place, entry));
  const Descriptor made(
      ::openat(place.folder, place.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.is_open()) return failure("open the folder", path);
  if (hides) TRY(hide_lower_folder(made.get()));
  set_attributes(made.get(), entry);
  folders_.push_back({path, entry.mode, entry.seconds, entry.nanoseconds});
  return {};
}

Result<void> LayerUnpacker::make_file(const Place& place, const TarEntry& entry) {
  constexpr int kFlags = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
  int fd = ::openat(place.folder, place.name.c_str(), kFlags, 0600);
  if (fd < 0 && errno == EEXIST) {
    TRY(clear(place));
    fd = ::openat(place.folder, place.name.c_str(), kFlags, 0600);
  }
  if (fd < 0) return failure("make the file", entry.path);
  file_.reset(fd);
  current_ = entry;
  if (is_outermost_ && entry.uid >= 0 && entry.gid >= 0 && entry.uid < UINT32_MAX &&
      entry.gid < UINT32_MAX) {
    if (::fchown(fd, static_cast<uid_t>(entry.uid), static_cast<gid_t>(entry.gid)) != 0)
      ++notes_.owners;
  } else if (entry.uid != 0 || entry.gid != 0) {
    ++notes_.owners;
  }
  return {};
}

Result<void> LayerUnpacker::data(std::int64_t offset, std::string_view bytes) {
  if (!file_.is_open()) return {};
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), offset);
    if (written < 0) {
      if (errno == EINTR) continue;
      return failure("write", current_.path);
    }
    offset += written;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> LayerUnpacker::end() {
  if (!file_.is_open()) return {};
  const int fd = file_.get();
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 ||
      (facts.st_size < current_.size && ::ftruncate(fd, current_.size) != 0))
    return failure("write", current_.path);
  if (::fchmod(fd, current_.mode) != 0) return failure("set the mode of", current_.path);
  set_attributes(fd, current_);
  const timespec when = time_of(current_.seconds, current_.nanoseconds);
  const timespec times[2] = {when, when};
  ::futimens(fd, times);
  file_.reset();
  return {};
}

Result<void> LayerUnpacker::make_link(const Place& place, const TarEntry& entry) {
  if (entry.link.empty()) return error(Reason::Invalid, "the layer has a link to nothing");
  if (::symlinkat(entry.link.c_str(), place.folder, place.name.c_str()) != 0) {
    if (errno != EEXIST) return failure("make the link", entry.path);
    TRY(clear(place));
    if (::symlinkat(entry.link.c_str(), place.folder, place.name.c_str()) != 0)
      return failure("make the link", entry.path);
  }
  TRY(set_owner(place, entry));
  const timespec when = time_of(entry.seconds, entry.nanoseconds);
  const timespec times[2] = {when, when};
  ::utimensat(place.folder, place.name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return {};
}

Result<void> LayerUnpacker::make_hard_link(const Place& place, const TarEntry& entry) {
  const std::string target = TRY(entry_path(entry.link));
  const std::size_t slash = target.rfind('/');
  const std::string above = slash == std::string::npos ? "." : target.substr(0, slash);
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  const Descriptor folder(open_in_root(root_.get(), above.c_str(), O_PATH | O_DIRECTORY));
  if (!folder.is_open() || name.empty())
    return error(Reason::Invalid,
                 fmt::format("the layer has a hard link {} to {}, which is not in it",
                             quoted(entry.path.substr(0, 200)), quoted(entry.link.substr(0, 200))));
  if (::linkat(folder.get(), name.c_str(), place.folder, place.name.c_str(), 0) == 0) return {};
  if (errno == EEXIST) {
    struct stat from {
    }, to{};
    if (::fstatat(folder.get(), name.c_str(), &from, AT_SYMLINK_NOFOLLOW) == 0 &&
        ::fstatat(place.folder, place.name.c_str(), &to, AT_SYMLINK_NOFOLLOW) == 0 &&
        from.st_ino == to.st_ino)
      return {};
    TRY(clear(place));
    if (::linkat(folder.get(), name.c_str(), place.folder, place.name.c_str(), 0) == 0) return {};
  }
  return failure("make the hard link", entry.path);
}

Result<void> LayerUnpacker::finish() {
  for (auto each = folders_.rbegin(); each != folders_.rend(); ++each) {
    const Descriptor folder(open_in_root(root_.get(), each->path.c_str(), O_RDONLY | O_DIRECTORY));
    if (!folder.is_open()) continue;  // a later entry took its place
    if (::fchmod(folder.get(), each->mode) != 0) return failure("set the mode of", each->path);
    const timespec when = time_of(each->seconds, each->nanoseconds);
    const timespec times[2] = {when, when};
    ::futimens(folder.get(), times);
  }
  folders_.clear();
  return {};
}

}  // namespace yard
