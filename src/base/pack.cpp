// A packed text is a row of: how many bytes follow as they are, these bytes, the length of a
// repetition (0: the end), and how far before here it began. The sample stands right before the
// text. Numbers have seven bits a byte, the low ones first.

#include "base/pack.h"

#include <algorithm>
#include <cstring>

namespace yard {
namespace {

constexpr size_t kShortestMatch = 6;  // a repetition costs about four bytes to note
constexpr int kSampleBits = 15, kTextBits = 12;

uint64_t eight_bytes(const char* at) {
  uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

size_t hash(const char* at, int bits) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  constexpr int kUnused = 8 * (sizeof(uint64_t) - kShortestMatch);
  return (eight_bytes(at) << kUnused) * kOdd >> (64 - bits);
}

class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : bytes_(bytes) {}
  // False past the end, or for a number that no text has.
  bool number(size_t& value) {
    value = 0;
    for (int shift = 0; shift < 56; shift += 7) {
      if (bytes_.empty()) return false;
      const auto byte = static_cast<uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool copy(size_t size, char* to) {
    if (size > bytes_.size()) return false;
    std::memcpy(to, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return true;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

// `size` bytes that began `distance` before text + done; they may reach into themselves.
void repeat(std::string_view sample, char* text, size_t done, size_t distance, size_t size) {
  if (distance > done) {
    const size_t from_sample = std::min(size, distance - done);
    std::memcpy(text + done, sample.data() + sample.size() - (distance - done), from_sample);
    done += from_sample;
    size -= from_sample;
  }
  if (distance >= size) {
    if (size > 0) std::memcpy(text + done, text + done - distance, size);
    return;
  }
  for (; size > 0; --size, ++done)
    text[done] = text[done - distance];
}

}  // namespace

Packer::Packer(std::string_view sample)
    : sample_size_(sample.size()),
      all_(sample),
      sample_(size_t{1} << kSampleBits),
      text_(size_t{1} << kTextBits) {
  for (size_t at = 0; at + sizeof(uint64_t) <= sample_size_; ++at)
    sample_[hash(all_.data() + at, kSampleBits)] = static_cast<uint32_t>(at + 1);
}

std::string_view Packer::pack(std::string_view text) {
  all_.resize(sample_size_);
  all_ += text;
  out_.clear();
  std::ranges::fill(text_, 0);
  size_t at = sample_size_, literals_from = at;
  while (at + sizeof(uint64_t) <= all_.size()) {
    const Match found = longest_match(at);
    if (found.size < kShortestMatch) {
      // Where nothing repeats for long, it is looked at less closely.
      at += 1 + (at - literals_from) / 64;
      continue;
    }
    // It may have begun before here.
    size_t begin = at, from = found.from;
    while (begin > literals_from && from > 0 && all_[begin - 1] == all_[from - 1]) {
      --begin;
      --from;
    }
    literals(literals_from, begin);
    note(found.size + (at - begin));
    note(begin - from);
    at += found.size;
    literals_from = at;
  }
  literals(literals_from, all_.size());
  note(0);
  return out_;
}

Packer::Match Packer::longest_match(size_t at) {
  const char* here = all_.data() + at;
  uint32_t& last = text_[hash(here, kTextBits)];
  const size_t in_text = last, in_sample = sample_[hash(here, kSampleBits)];
  last = static_cast<uint32_t>(at + 1);
  const Match one = match_behind(in_text, at), other = match_behind(in_sample, at);
  return one.size > other.size ? one : other;
}

Packer::Match Packer::match_behind(size_t place, size_t at) const {
  if (place == 0) return {};
  const size_t from = place - 1;
  size_t size = 0;
  while (at + size + sizeof(uint64_t) <= all_.size()) {
    const uint64_t differs =
        eight_bytes(all_.data() + from + size) ^ eight_bytes(all_.data() + at + size);
    if (differs != 0) return {from, size + static_cast<size_t>(__builtin_ctzll(differs)) / 8};
    size += sizeof(uint64_t);
  }
  while (at + size < all_.size() && all_[from + size] == all_[at + size])
    ++size;
  return {from, size};
}

void Packer::note(size_t size) {
  for (; size >= 0x80; size >>= 7)
    out_ += static_cast<char>(size | 0x80);
  out_ += static_cast<char>(size);
}

void Packer::literals(size_t from, size_t to) {
  note(to - from);
  out_.append(all_, from, to - from);
}

bool unpack(std::string_view packed, std::string_view sample, char* text, size_t size) {
  PackedReader in(packed);
  size_t done = 0;
  while (true) {
    size_t count, distance;
    if (!in.number(count) || count > size - done || !in.copy(count, text + done)) return false;
    done += count;
    if (!in.number(count)) return false;
    if (count == 0) return done == size && in.at_end();
    if (!in.number(distance) || distance == 0 || distance > sample.size() + done) return false;
    if (count > size - done) return false;
    repeat(sample, text, done, distance, count);
    done += count;
  }
}

}  // namespace yard
