#pragma once
// Reads a tar stream as it comes, in pieces of any size: ustar, pax and GNU's long names and sparse
// files. The bytes are anybody's: everything is bounded, nothing is trusted. Pure but for its sink.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace yard {

// Where bytes go as they come; an error stops whoever sends them.
using ByteSink = std::function<Result<void>(std::string_view)>;

struct TarEntry {
  // The letters of the format: '0' file, '1' hard link, '2' symbolic link, '3' and '4' devices,
  // '5' folder, '6' fifo.
  char type = '0';
  std::string path, link;
  std::int64_t size = 0;  // of the file as it will be, holes included
  std::uint32_t mode = 0;
  std::int64_t uid = 0, gid = 0;
  std::int64_t seconds = 0;  // of its last change
  std::int32_t nanoseconds = 0;
  std::vector<std::pair<std::string, std::string>> attributes;  // xattrs
};

class TarSink {
 public:
  virtual ~TarSink() = default;
  virtual Result<void> begin(const TarEntry& entry) = 0;
  virtual Result<void> data(std::int64_t offset, std::string_view bytes) = 0;
  virtual Result<void> end() = 0;
};

inline constexpr std::size_t kTarBlock = 512;

class TarStream {
 public:
  explicit TarStream(TarSink& sink) : sink_(sink) {}
  Result<void> feed(std::string_view bytes);
  Result<void> finish();  // an error when the stream stopped within an entry

  // How much of what comes next is a file's data that the caller may pass over instead of feeding.
  std::int64_t skippable() const;
  Result<void> skip();  // all of it

 private:
  enum class Step { Header, Extra, SparseBlocks, SparseMap, Data, Padding, End };
  struct Extent {
    std::int64_t offset = 0, size = 0;
  };

  Result<void> take_header();
  Result<void> take_extra();
  Result<void> take_pax(std::string_view records);
  Result<void> take_pax_record(std::string_view key, std::string_view value);
  Result<void> take_sparse_block();
  Result<void> take_sparse_map();
  Result<void> take_data(std::string_view bytes);
  Result<void> add_extent(std::int64_t offset, std::int64_t size);
  Result<void> begin_entry();
  Result<void> end_entry();
  void begin_padding(std::int64_t of);
  bool fill_block(std::string_view& bytes);

  TarSink& sink_;
  Step step_ = Step::Header;
  std::string block_;            // the block being gathered
  std::string extra_;            // long name or pax records being gathered
  char extra_type_ = 0;          // 'x', 'L' or 'K'
  std::int64_t extra_left_ = 0;  // of extra_, of the stored data, or of the padding
  std::int64_t padding_ = 0, stored_left_ = 0, stored_size_ = 0;
  std::int64_t after_end_ = 0;  // bytes behind the last entry

  TarEntry entry_;
  // From extended headers, for the next entry only.
  std::string long_path_, long_link_;
  std::vector<std::pair<std::string, std::string>> overrides_;
  std::vector<std::pair<std::string, std::string>> attributes_;
  // Sparse files: where the stored bytes belong.
  std::vector<Extent> extents_;
  std::size_t extent_ = 0;
  std::int64_t extent_used_ = 0, real_size_ = -1;
  std::int64_t pending_offset_ = -1;
  bool is_sparse_ = false, has_map_in_data_ = false;
  std::string map_;
};

}  // namespace yard
