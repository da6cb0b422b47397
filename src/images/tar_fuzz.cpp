// A layer's tar stream, whole and in pieces: the same entries, and never out of bounds.
#include "base/check.h"
#include "images/summed_tar_testing.h"

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
  read_both_ways(yard::with_sums(std::string(bytes)));
  return 0;
}
