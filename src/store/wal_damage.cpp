#include "store/wal_damage.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/descriptor.h"

namespace yard {
namespace {

constexpr size_t kHeader = 32, kFrameHeader = 24;
constexpr size_t kSmallestPage = 512, kLargestPage = 65536, kOurPage = 4096;
// Checksums of words with the lowest byte first, or the highest.
constexpr uint32_t kMagicLittle = 0x377f0682, kMagicBig = 0x377f0683;

uint32_t big_endian(const char* at) {
  uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return __builtin_bswap32(word);
}

struct Checksum {
  uint32_t first = 0, second = 0;
  bool operator==(const Checksum&) const = default;

  void add(std::string_view bytes, bool little) {  // of pairs of words
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      uint32_t words[2];
      std::memcpy(words, bytes.data() + at, sizeof words);
      if (!little) words[0] = __builtin_bswap32(words[0]), words[1] = __builtin_bswap32(words[1]);
      first += words[0] + second;
      second += words[1] + first;
    }
  }
};

class Frames {
 public:
  explicit Frames(std::string_view wal)
      : wal_(wal), page_(big_endian(wal.data() + 8)), little_(big_endian(wal.data()) != kMagicBig) {
    if (page_ < kSmallestPage || page_ > kLargestPage || (page_ & (page_ - 1)) != 0)
      page_ = kOurPage;
    count_ = (wal.size() - kHeader) / (kFrameHeader + page_);
  }
  size_t count() const { return count_; }
  uint64_t place(size_t i) const { return kHeader + i * (kFrameHeader + page_); }
  bool is_commit(size_t i) const { return big_endian(at(i) + 4) != 0; }
  Checksum written(size_t i) const { return {big_endian(at(i) + 16), big_endian(at(i) + 20)}; }
  Checksum written_in_header() const {
    return {big_endian(wal_.data() + 24), big_endian(wal_.data() + 28)};
  }
  Checksum of_header() const {
    Checksum sum;
    sum.add(wal_.substr(0, 24), little_);
    return sum;
  }
  // A frame of an earlier round of the log, whose pages are in the store's file, has other salts.
  bool is_of_this_round(size_t i) const { return std::memcmp(at(i) + 8, wal_.data() + 16, 8) == 0; }
  // Whether it is whole, and was written on top of what had that checksum.
  bool follows(size_t i, Checksum sum) const {
    sum.add({at(i), 8}, little_);
    sum.add({at(i) + kFrameHeader, page_}, little_);
    return sum == written(i);
  }

 private:
  const char* at(size_t i) const { return wal_.data() + place(i); }

  std::string_view wal_;
  size_t page_, count_ = 0;
  bool little_;
};

// A commit with another on top of it. One that failed has none: the next was put in its place.
bool has_synced_commit(const Frames& frames, size_t first) {
  for (size_t i = first; i + 1 < frames.count(); ++i) {
    if (frames.is_commit(i) && frames.is_of_this_round(i) && frames.is_of_this_round(i + 1) &&
        frames.follows(i + 1, frames.written(i)))
      return true;
  }
  return false;
}

}  // namespace

std::optional<uint64_t> find_wal_damage(std::string_view wal) {
  if (wal.size() < kHeader) return std::nullopt;  // its first commit was never written
  const Frames frames(wal);
  const uint32_t magic = big_endian(wal.data());
  const Checksum header = frames.of_header(), written = frames.written_in_header();
  if ((magic != kMagicLittle && magic != kMagicBig) || written != header) {
    // A header is synced before the first frame is written on top of it. (Nothing but zeros, as a
    // file has that grew and was never written, would follow zeros.)
    const bool was_whole = frames.count() > 0 && frames.written(0) != Checksum{} &&
                           (frames.follows(0, header) || frames.follows(0, written));
    return was_whole ? std::optional<uint64_t>(0) : std::nullopt;
  }
  size_t readable = 0;
  for (Checksum sum = header; readable < frames.count() && frames.is_of_this_round(readable) &&
                              frames.follows(readable, sum);
       ++readable)
    sum = frames.written(readable);
  if (!has_synced_commit(frames, readable)) return std::nullopt;
  return frames.place(readable);
}

Result<void> refuse_spoiled_wal(const std::string& path) {
  const std::string wal_path = path + "-wal";
  const Descriptor file(open(wal_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return {};
  struct stat facts {};
  std::string wal;
  size_t size = 0;
  if (file.is_open() && fstat(file.get(), &facts) == 0) {
    wal.resize(static_cast<size_t>(facts.st_size));
    while (size < wal.size()) {
      const ssize_t count =
          pread(file.get(), wal.data() + size, wal.size() - size, static_cast<off_t>(size));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      size += static_cast<size_t>(count);
    }
  }
  if (!file.is_open() || size < wal.size())
    return error(Reason::ServiceUnavailable,
                 fmt::format("cannot read {}: {}", wal_path, strerror(errno)));
  const auto damage = find_wal_damage(wal);
  if (!damage) return {};
  return error(Reason::InternalError,
               fmt::format("{} is damaged at byte {}, and writes that were acknowledged lie behind "
                           "it; it was left as it is. Restore a backup, or, to go on without "
                           "those writes, keep a copy and run: truncate -s {} {}",
                           wal_path, *damage, *damage, wal_path));
}

}  // namespace yard
