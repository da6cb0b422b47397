#include "images/archive_files.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/descriptor.h"
#include "base/strings.h"
#include "images/decompress.h"
#include "images/unpack.h"

namespace yard {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 256 << 10, kMostFiles = 100'000;

Error failure(std::string_view doing, const std::string& path) {
  return error(errno == ENOENT ? Reason::NotFound : Reason::InternalError,
               fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
}

Result<void> send_range(int fd, std::int64_t offset, std::int64_t size, const ByteSink& sink) {
  std::vector<char> buffer(kPiece);
  while (size > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(size, kPiece));
    const ssize_t got = ::pread(fd, buffer.data(), wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure("read", "the archive");
    if (got == 0) return error(Reason::Invalid, "the archive is cut off");
    TRY(sink({buffer.data(), static_cast<std::size_t>(got)}));
    offset += got;
    size -= got;
  }
  return {};
}

class FolderFiles : public ArchiveFiles {
 public:
  explicit FolderFiles(std::string folder) : folder_(std::move(folder)) {}
  bool has(const std::string& path) const override {
    std::error_code failed;
    return fs::is_regular_file(folder_ + "/" + path, failed);
  }
  std::int64_t size(const std::string& path) const override {
    std::error_code failed;
    const auto size = fs::file_size(folder_ + "/" + path, failed);
    return failed ? 0 : static_cast<std::int64_t>(size);
  }
  Result<void> send(const std::string& path, const ByteSink& sink) const override {
    const std::string inside = TRY(entry_path(path));
    const Descriptor file(::open((folder_ + "/" + inside).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    if (!file.is_open() || ::fstat(file.get(), &facts) != 0)
      return failure("open", folder_ + "/" + inside);
    return send_range(file.get(), 0, facts.st_size, sink);
  }

 private:
  std::string folder_;
};

struct Range {
  std::int64_t offset = 0, size = 0;
};

// Remembers where the data of each entry lies.
class Indexer : public TarSink {
 public:
  Result<void> begin(const TarEntry& entry) override {
    if (files.size() + links.size() > kMostFiles)
      return error(Reason::Invalid, "the archive has too many files to be one of images");
    auto path = entry_path(entry.path);
    if (!path) return {};
    if (entry.type == '0') files[*path] = {-1, entry.size};
    if (entry.type == '1') links[*path] = entry.link;
    if (entry.type == '2')
      links[*path] = (fs::path(*path).parent_path() / entry.link).lexically_normal().string();
    newest = *path;
    return {};
  }
  Result<void> data(std::int64_t, std::string_view) override { return {}; }
  Result<void> end() override { return {}; }

  std::map<std::string, Range> files;
  std::map<std::string, std::string> links;
  std::string newest;
};

class TarFiles : public ArchiveFiles {
 public:
  explicit TarFiles(Descriptor file) : file_(std::move(file)) {}

  Result<void> read_index() {
    TarStream stream(index_);
    std::string block(kTarBlock, '\0');
    std::int64_t at = 0;
    for (;;) {
      const ssize_t got = ::pread(file_.get(), block.data(), block.size(), at);
      if (got < 0) return failure("read", "the archive");
      if (got == 0) break;
      TRY(stream.feed({block.data(), static_cast<std::size_t>(got)}));
      at += got;
      if (const std::int64_t skippable = stream.skippable(); skippable > 0) {
        index_.files[index_.newest].offset = at;
        const auto block_size = static_cast<std::int64_t>(kTarBlock);
        at += (skippable + block_size - 1) / block_size * block_size;
        TRY(stream.skip());
        TRY(stream.feed(std::string((block_size - skippable % block_size) % block_size, '\0')));
      }
    }
    return stream.finish();
  }

  bool has(const std::string& path) const override { return find(path) != nullptr; }
  std::int64_t size(const std::string& path) const override {
    const Range* range = find(path);
    return range == nullptr ? 0 : range->size;
  }
  Result<void> send(const std::string& path, const ByteSink& sink) const override {
    const Range* range = find(path);
    if (range == nullptr)
      return error(Reason::NotFound, fmt::format("the archive has no {}", yard::quoted(path)));
    return send_range(file_.get(), range->offset, range->size, sink);
  }

 private:
  // Some tools write a layer once and link to it.
  const Range* find(const std::string& path) const {
    auto inside = entry_path(path);
    if (!inside) return nullptr;
    for (int hops = 0; hops < 4; ++hops) {
      if (const auto found = index_.files.find(*inside); found != index_.files.end())
        return &found->second;
      const auto link = index_.links.find(*inside);
      if (link == index_.links.end()) return nullptr;
      inside = entry_path(link->second);
      if (!inside) return nullptr;
    }
    return nullptr;
  }

  Descriptor file_;
  Indexer index_;
};

// A stream, or a packed file, becomes a plain one without a name.
Result<Descriptor> unpacked_copy(int from, const std::string& scratch_folder) {
  Descriptor to(::open(scratch_folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!to.is_open()) return failure("make a file in", scratch_folder);
  Decompressor decompressor([&](std::string_view bytes) -> Result<void> {
    while (!bytes.empty()) {
      const ssize_t written = ::write(to.get(), bytes.data(), bytes.size());
      if (written < 0) return failure("write to", scratch_folder);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  });
  std::vector<char> buffer(kPiece);
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure("read", "the archive");
    if (got == 0) break;
    TRY(decompressor.feed({buffer.data(), static_cast<std::size_t>(got)}));
  }
  TRY(decompressor.finish());
  return to;
}

bool is_packed(int fd) {
  char start[4] = {};
  if (::pread(fd, start, sizeof start, 0) != sizeof start) return false;
  const std::string_view bytes(start, sizeof start);
  return bytes.starts_with("\x1f\x8b") || bytes == "\x28\xb5\x2f\xfd";
}

}  // namespace

Result<std::string> ArchiveFiles::read(const std::string& path, std::size_t most) const {
  std::string out;
  TRY(send(path, [&](std::string_view bytes) -> Result<void> {
    out.append(bytes);
    if (out.size() <= most) return {};
    return error(Reason::Invalid, fmt::format("{} of the archive is too long", yard::quoted(path)));
  }));
  return out;
}

Result<std::shared_ptr<const ArchiveFiles>> open_archive(const std::string& path,
                                                         const std::string& scratch_folder) {
  std::error_code failed;
  if (fs::is_directory(path, failed))
    return std::shared_ptr<const ArchiveFiles>(std::make_shared<FolderFiles>(path));
  Descriptor file(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return failure("open", path);
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return failure("open", path);
  if (!S_ISREG(facts.st_mode) || is_packed(file.get()))
    file = TRY(unpacked_copy(file.get(), scratch_folder));
  auto out = std::make_shared<TarFiles>(std::move(file));
  TRY(out->read_index());
  return std::shared_ptr<const ArchiveFiles>(std::move(out));
}

}  // namespace yard
