#include "images/write_tar.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/descriptor.h"

namespace yard {
namespace {

constexpr int kMostDepth = 256;
constexpr std::size_t kPiece = 256 << 10;

Error failure(std::string_view doing, const std::string& path) {
  return error(Reason::InternalError,
               fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
}

void put_octal(std::string& block, std::size_t at, std::size_t size, std::int64_t value) {
  const std::string digits = fmt::format("{:0{}o}", value, size - 1);
  block.replace(at, size - 1, digits, 0, size - 1);
}

// Whether the number has its place in the old header.
bool fits(std::int64_t value, std::size_t digits) {
  return value >= 0 && value < std::int64_t{1} << (3 * digits);
}

std::string header(const TarEntry& entry, char type, std::int64_t size) {
  std::string block(kTarBlock, '\0');
  const auto put = [&block](std::size_t at, std::size_t most, std::string_view text) {
    block.replace(at, std::min(most, text.size()), text, 0, most);
  };
  put(0, 100, entry.path);
  put_octal(block, 100, 8, entry.mode);
  put_octal(block, 108, 8, fits(entry.uid, 7) ? entry.uid : 0);
  put_octal(block, 116, 8, fits(entry.gid, 7) ? entry.gid : 0);
  put_octal(block, 124, 12, fits(size, 11) ? size : 0);
  put_octal(block, 136, 12, fits(entry.seconds, 11) ? entry.seconds : 0);
  block[156] = type;
  put(157, 100, entry.link);
  put(257, 8,
      std::string_view("ustar\0"
                       "00",
                       8));
  block.replace(148, 8, 8, ' ');
  std::int64_t sum = 0;
  for (const char each : block)
    sum += static_cast<unsigned char>(each);
  put_octal(block, 148, 7, sum);
  block[154] = '\0';
  return block;
}

// `27 path=…\n`: the length counts its own digits.
void add_record(std::string& records, std::string_view key, std::string_view value) {
  std::size_t size = key.size() + value.size() + 3;
  std::size_t digits = std::to_string(size).size();
  if (std::to_string(size + digits).size() > digits) ++digits;
  size += digits;
  records += fmt::format("{} {}={}\n", size, key, value);
}

std::string extended_records(const TarEntry& entry) {
  std::string out;
  if (entry.path.size() > 100) add_record(out, "path", entry.path);
  if (entry.link.size() > 100) add_record(out, "linkpath", entry.link);
  if (!fits(entry.size, 11)) add_record(out, "size", std::to_string(entry.size));
  if (!fits(entry.uid, 7)) add_record(out, "uid", std::to_string(entry.uid));
  if (!fits(entry.gid, 7)) add_record(out, "gid", std::to_string(entry.gid));
  if (!fits(entry.seconds, 11)) add_record(out, "mtime", std::to_string(entry.seconds));
  for (const auto& [name, value] : entry.attributes)
    add_record(out, "SCHILY.xattr." + name, value);
  return out;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

class FolderWalk {
 public:
  explicit FolderWalk(TarWriter& writer) : writer_(writer) {}

  Result<void> walk(int parent, const std::string& name, const std::string& path, int depth) {
    if (depth > kMostDepth) return error(Reason::Invalid, "the folder is too deep");
    const int fd = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return failure("open", path);
    const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(fd));
    std::vector<std::string> names;
    while (const dirent* each = ::readdir(folder.get()))
      names.emplace_back(each->d_name);
    std::ranges::sort(names);
    if (is_opaque(fd)) {
      TarEntry mark;
      mark.path = path + ".wh..wh..opq";
      TRY(writer_.entry(mark));
    }
    for (const std::string& each : names) {
      if (each == "." || each == "..") continue;
      TRY(add(fd, each, path + each, depth));
    }
    return {};
  }

 private:
  static bool is_opaque(int fd) {
    char mark = 0;
    return (::fgetxattr(fd, "trusted.overlay.opaque", &mark, 1) == 1 ||
            ::fgetxattr(fd, "user.overlay.opaque", &mark, 1) == 1) &&
           mark == 'y';
  }

  Result<void> add(int parent, const std::string& name, const std::string& path, int depth) {
    struct stat facts {};
    if (::fstatat(parent, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
      return failure("look at", path);
    TarEntry entry;
    entry.path = path;
    entry.mode = facts.st_mode & 07777;
    entry.uid = facts.st_uid;
    entry.gid = facts.st_gid;
    entry.seconds = facts.st_mtim.tv_sec;
    if (S_ISCHR(facts.st_mode) && facts.st_rdev == 0) {
      entry.path = path.substr(0, path.size() - name.size()) + ".wh." + name;
      return writer_.entry(entry);
    }
    if (S_ISDIR(facts.st_mode)) {
      entry.type = '5';
      entry.path += '/';
      TRY(writer_.entry(entry));
      return walk(parent, name, entry.path, depth + 1);
    }
    if (S_ISLNK(facts.st_mode)) return add_link(parent, name, std::move(entry));
    if (S_ISFIFO(facts.st_mode)) {
      entry.type = '6';
      return writer_.entry(entry);
    }
    if (!S_ISREG(facts.st_mode)) return {};
    if (facts.st_nlink > 1) {
      const auto [first, is_new] = seen_.try_emplace({facts.st_dev, facts.st_ino}, path);
      if (!is_new) {
        entry.type = '1';
        entry.link = first->second;
        return writer_.entry(entry);
      }
    }
    entry.size = facts.st_size;
    return add_file(parent, name, std::move(entry));
  }

  Result<void> add_link(int parent, const std::string& name, TarEntry entry) {
    std::string target(4096, '\0');
    const ssize_t size = ::readlinkat(parent, name.c_str(), target.data(), target.size());
    if (size < 0) return failure("read the link", entry.path);
    entry.type = '2';
    entry.link = target.substr(0, static_cast<std::size_t>(size));
    return writer_.entry(entry);
  }

  Result<void> add_file(int parent, const std::string& name, TarEntry entry) {
    const Descriptor file(::openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.is_open()) return failure("open", entry.path);
    char capability[256];
    const ssize_t size =
        ::fgetxattr(file.get(), "security.capability", capability, sizeof capability);
    if (size > 0)
      entry.attributes.emplace_back("security.capability",
                                    std::string(capability, static_cast<std::size_t>(size)));
    TRY(writer_.entry(entry));
    std::int64_t left = entry.size;
    while (left > 0) {
      const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(left, kPiece));
      const ssize_t got = ::read(file.get(), buffer_.data(), wanted);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        return error(Reason::Conflict,
                     fmt::format("{} became shorter while it was read", entry.path));
      TRY(writer_.data({buffer_.data(), static_cast<std::size_t>(got)}));
      left -= got;
    }
    return writer_.end_data();
  }

  TarWriter& writer_;
  std::vector<char> buffer_ = std::vector<char>(kPiece);
  std::map<std::pair<dev_t, ino_t>, std::string> seen_;
};

}  // namespace

Result<void> TarWriter::entry(const TarEntry& entry) {
  if (const std::string records = extended_records(entry); !records.empty()) {
    TarEntry extended;
    extended.path = "PaxHeaders/entry";
    extended.mode = 0644;
    const std::string block = header(extended, 'x', static_cast<std::int64_t>(records.size()));
    TRY(data(block));
    TRY(data(records));
    TRY(end_data());
  }
  return data(header(entry, entry.type, entry.type == '0' ? entry.size : 0));
}

Result<void> TarWriter::data(std::string_view bytes) {
  written_ += static_cast<std::int64_t>(bytes.size());
  return sink_(bytes);
}

Result<void> TarWriter::end_data() {
  const auto block = static_cast<std::int64_t>(kTarBlock);
  return data(std::string(static_cast<std::size_t>((block - written_ % block) % block), '\0'));
}

Result<void> TarWriter::file(const std::string& path, std::string_view bytes) {
  TarEntry head;
  head.path = path;
  head.mode = 0644;
  head.size = static_cast<std::int64_t>(bytes.size());
  TRY(entry(head));
  TRY(data(bytes));
  return end_data();
}

Result<void> TarWriter::finish() {
  return data(std::string(2 * kTarBlock, '\0'));
}

Result<void> write_folder(TarWriter& writer, const std::string& folder) {
  FolderWalk walk(writer);
  // The folder itself may be reached through a link.
  const Descriptor top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top.is_open()) return failure("open", folder);
  return walk.walk(top.get(), ".", "", 0);
}

}  // namespace yard
