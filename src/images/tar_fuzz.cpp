// A layer's tar stream, whole and in pieces: the same entries, and never out of bounds.
#include "base/check.h"
#include "images/tar.h"

namespace {

class Counter : public yard::TarSink {
 public:
  yard::Result<void> begin(const yard::TarEntry& entry) override {
    seen += entry.path.size() + entry.link.size() + 1;
    size_ = entry.size;
    return {};
  }
  yard::Result<void> data(std::int64_t offset, std::string_view bytes) override {
    yard::check(offset >= 0 && offset + static_cast<std::int64_t>(bytes.size()) <= size_,
                "data lies within its file");
    seen += bytes.size();
    return {};
  }
  yard::Result<void> end() override { return {}; }
  std::size_t seen = 0;

 private:
  std::int64_t size_ = 0;
};

// Every block gets the sum a header needs: changed headers are then read on, not refused at once.
std::string with_sums(std::string bytes) {
  for (std::size_t at = 0; at + yard::kTarBlock <= bytes.size(); at += yard::kTarBlock) {
    bytes.replace(at + 148, 8, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < yard::kTarBlock; ++i)
      sum += static_cast<unsigned char>(bytes[at + i]);
    for (std::size_t digit = 6; digit-- > 0; sum /= 8)
      bytes[at + 148 + digit] = static_cast<char>('0' + sum % 8);
    bytes[at + 154] = '\0';
  }
  return bytes;
}

void read_both_ways(std::string_view bytes) {
  Counter whole, pieces;
  yard::TarStream first(whole), second(pieces);
  const bool is_good = static_cast<bool>(first.feed(bytes));
  bool is_good_too = true;
  for (std::size_t at = 0; at < bytes.size() && is_good_too; at += 7)
    is_good_too = static_cast<bool>(second.feed(bytes.substr(at, 7)));
  yard::check(is_good == is_good_too && (!is_good || whole.seen == pieces.seen),
              "pieces read as the whole does");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_both_ways(bytes);
  read_both_ways(with_sums(std::string(bytes)));
  return 0;
}
