#include "images/tar.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr std::int64_t kMostExtra = 1 << 20, kMostAfterEnd = 16 << 20,
                       kMostFile = std::int64_t{1} << 42;
constexpr std::size_t kMostExtents = 100'000, kMostMap = 4 << 20, kMostPath = 4096;

Error bad(std::string message) {
  return error(Reason::Invalid, "the tar stream is damaged: " + std::move(message));
}

std::string_view text_in(std::string_view block, std::size_t at, std::size_t size) {
  const std::string_view field = block.substr(at, size);
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

// Octal text, or with the highest bit set a big-endian number, as GNU writes large ones.
Result<std::int64_t> number_in(std::string_view block, std::size_t at, std::size_t size) {
  const std::string_view field = block.substr(at, size);
  const auto first = static_cast<unsigned char>(field[0]);
  if (first & 0x80) {
    std::uint64_t value = first & 0x40 ? ~std::uint64_t{0} : first & 0x3f;
    for (std::size_t i = 1; i < field.size(); ++i) {
      if (i + 8 < field.size() && value != 0 && value != ~std::uint64_t{0})
        return bad("a number is too large");
      value = value << 8 | static_cast<unsigned char>(field[i]);
    }
    return static_cast<std::int64_t>(value);
  }
  std::int64_t value = 0;
  for (const char digit : trim(text_in(field, 0, size))) {
    if (digit < '0' || digit > '7') return bad("a number is not octal");
    value = value * 8 + (digit - '0');
  }
  return value;
}

bool is_blank(std::string_view block) {
  return block.find_first_not_of('\0') == std::string_view::npos;
}

bool sums_up(std::string_view block) {
  const auto stated = number_in(block, 148, 8);
  std::int64_t plain = 0, with_sign = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const char each = i >= 148 && i < 156 ? ' ' : block[i];
    plain += static_cast<unsigned char>(each);
    with_sign += static_cast<signed char>(each);
  }
  return stated && (*stated == plain || *stated == with_sign);
}

// "1700000000.123456789", as pax writes times.
void set_time(TarEntry& entry, std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto seconds = parse_int64(text.substr(0, dot));
  if (!seconds) return;
  entry.seconds = *seconds;
  entry.nanoseconds = 0;
  if (dot == std::string_view::npos || text.starts_with('-')) return;
  std::string fraction(text.substr(dot + 1, 9));
  fraction.resize(9, '0');
  entry.nanoseconds = static_cast<std::int32_t>(parse_int64(fraction).value_or(0));
}

}  // namespace

std::int64_t TarStream::skippable() const {
  return step_ == Step::Data ? stored_left_ : 0;
}

Result<void> TarStream::skip() {
  if (step_ != Step::Data) return {};
  stored_left_ = 0;
  return end_entry();
}

bool TarStream::fill_block(std::string_view& bytes) {
  const std::size_t taken = std::min(kTarBlock - block_.size(), bytes.size());
  block_.append(bytes.substr(0, taken));
  bytes.remove_prefix(taken);
  return block_.size() == kTarBlock;
}

Result<void> TarStream::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    switch (step_) {
      case Step::Header:
        if (fill_block(bytes)) {
          TRY(take_header());
          block_.clear();
        }
        break;
      case Step::SparseBlocks:
        if (fill_block(bytes)) {
          TRY(take_sparse_block());
          block_.clear();
        }
        break;
      case Step::SparseMap:
        if (fill_block(bytes)) {
          TRY(take_sparse_map());
          block_.clear();
        }
        break;
      case Step::Extra: {
        const auto taken =
            std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(extra_left_));
        extra_.append(bytes.substr(0, taken));
        bytes.remove_prefix(taken);
        extra_left_ -= static_cast<std::int64_t>(taken);
        if (extra_left_ == 0) TRY(take_extra());
        break;
      }
      case Step::Data: {
        const auto taken =
            std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(stored_left_));
        TRY(take_data(bytes.substr(0, taken)));
        bytes.remove_prefix(taken);
        break;
      }
      case Step::Padding: {
        const auto taken = std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(padding_));
        bytes.remove_prefix(taken);
        padding_ -= static_cast<std::int64_t>(taken);
        if (padding_ == 0) step_ = Step::Header;
        break;
      }
      case Step::End:
        // Tools fill up their last record; nobody needs more, but a bomb has it.
        after_end_ += static_cast<std::int64_t>(bytes.size());
        return after_end_ <= kMostAfterEnd ? Result<void>() : bad("it goes on after its end");
    }
  }
  return {};
}

Result<void> TarStream::finish() {
  const bool is_whole = step_ == Step::End || (step_ == Step::Header && block_.empty());
  return is_whole ? Result<void>() : bad("it stops within an entry");
}

void TarStream::begin_padding(std::int64_t of) {
  const auto block = static_cast<std::int64_t>(kTarBlock);
  padding_ = (block - of % block) % block;
  step_ = padding_ == 0 ? Step::Header : Step::Padding;
}

Result<void> TarStream::take_header() {
  if (is_blank(block_)) {
    step_ = Step::End;
    return {};
  }
  if (!sums_up(block_)) return bad("the sum of a header is wrong, or it is no tar stream at all");
  const std::int64_t size = TRY(number_in(block_, 124, 12));
  if (size < 0 || size > kMostFile) return bad("the size of an entry is not sensible");
  const char type = block_[156];
  if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
    if (size > kMostExtra) return bad("a header is longer than 1 MiB");
    extra_type_ = type;
    extra_.clear();
    extra_left_ = stored_size_ = size;
    step_ = Step::Extra;
    return size == 0 ? take_extra() : Result<void>();
  }
  entry_ = {};
  entry_.type = type == '\0' || type == '7' ? '0' : type;
  entry_.path = text_in(block_, 0, 100);
  const bool is_ustar = std::string_view(block_).substr(257, 6) == std::string_view("ustar\0", 6);
  if (const std::string_view prefix = text_in(block_, 345, 155); is_ustar && !prefix.empty())
    entry_.path = fmt::format("{}/{}", prefix, entry_.path);
  entry_.link = text_in(block_, 157, 100);
  const std::int64_t mode = TRY(number_in(block_, 100, 8));
  entry_.mode = static_cast<std::uint32_t>(mode) & 07777;
  entry_.uid = TRY(number_in(block_, 108, 8));
  entry_.gid = TRY(number_in(block_, 116, 8));
  entry_.seconds = TRY(number_in(block_, 136, 12));
  stored_size_ = size;
  if (entry_.type == 'S') {
    is_sparse_ = true;
    entry_.type = '0';
    real_size_ = TRY(number_in(block_, 483, 12));
    for (std::size_t at = 386; at < 386 + 4 * 24; at += 24) {
      if (block_[at] == '\0') break;
      const std::int64_t offset = TRY(number_in(block_, at, 12));
      const std::int64_t length = TRY(number_in(block_, at + 12, 12));
      TRY(add_extent(offset, length));
    }
    if (block_[482] != '\0') {
      step_ = Step::SparseBlocks;
      return {};
    }
  }
  return begin_entry();
}

Result<void> TarStream::add_extent(std::int64_t offset, std::int64_t size) {
  if (extents_.size() >= kMostExtents) return bad("a sparse file has too many pieces");
  const std::int64_t end = extents_.empty() ? 0 : extents_.back().offset + extents_.back().size;
  if (offset < end || size < 0 || offset > kMostFile || size > kMostFile)
    return bad("the map of a sparse file is not sensible");
  extents_.push_back({offset, size});
  return {};
}

Result<void> TarStream::take_sparse_block() {
  for (std::size_t at = 0; at < 21 * 24; at += 24) {
    if (block_[at] == '\0') break;
    const std::int64_t offset = TRY(number_in(block_, at, 12));
    const std::int64_t length = TRY(number_in(block_, at + 12, 12));
    TRY(add_extent(offset, length));
  }
  if (block_[504] != '\0') return {};
  return begin_entry();
}

// pax 1.0: decimal lines at the start of the data: how many pieces, then offset and size of each.
Result<void> TarStream::take_sparse_map() {
  map_ += block_;
  stored_left_ -= static_cast<std::int64_t>(kTarBlock);
  if (map_.size() > kMostMap) return bad("the map of a sparse file is too long");
  std::vector<std::int64_t> numbers;
  std::string_view rest = map_;
  while (numbers.empty() || numbers.size() < 1 + 2 * static_cast<std::size_t>(numbers[0])) {
    const std::size_t line = rest.find('\n');
    if (line == std::string_view::npos) {
      if (stored_left_ < static_cast<std::int64_t>(kTarBlock))
        return bad("the map of a sparse file is cut off");
      return {};  // the next block has more
    }
    const auto number = parse_int64(rest.substr(0, line));
    if (!number || *number < 0 ||
        (numbers.empty() && *number > static_cast<std::int64_t>(kMostExtents)))
      return bad("the map of a sparse file is not sensible");
    numbers.push_back(*number);
    rest.remove_prefix(line + 1);
  }
  for (std::size_t i = 1; i + 1 < numbers.size(); i += 2)
    TRY(add_extent(numbers[i], numbers[i + 1]));
  map_.clear();
  has_map_in_data_ = false;
  TRY(sink_.begin(entry_));
  step_ = Step::Data;
  return stored_left_ == 0 ? end_entry() : Result<void>();
}

Result<void> TarStream::take_extra() {
  const char type = extra_type_;
  begin_padding(stored_size_);
  if (type == 'x') return take_pax(extra_);
  std::string text = extra_.substr(0, std::min(extra_.find('\0'), extra_.size()));
  if (type == 'L') long_path_ = std::move(text);
  if (type == 'K') long_link_ = std::move(text);
  return {};  // 'g' speaks of the whole archive: nothing of it decides what is unpacked
}

Result<void> TarStream::take_pax(std::string_view records) {
  while (!records.empty() && records[0] != '\0') {
    const std::size_t space = records.find(' ');
    const auto size =
        space == std::string_view::npos ? std::nullopt : parse_int64(records.substr(0, space));
    if (!size || *size < static_cast<std::int64_t>(space) + 2 ||
        *size > static_cast<std::int64_t>(records.size()) ||
        records[static_cast<std::size_t>(*size) - 1] != '\n')
      return bad("an extended header is not readable");
    const std::string_view record =
        records.substr(space + 1, static_cast<std::size_t>(*size) - space - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return bad("an extended header is not readable");
    TRY(take_pax_record(record.substr(0, equals), record.substr(equals + 1)));
    records.remove_prefix(static_cast<std::size_t>(*size));
  }
  return {};
}

Result<void> TarStream::take_pax_record(std::string_view key, std::string_view value) {
  constexpr std::string_view kAttribute = "SCHILY.xattr.", kSparse = "GNU.sparse.";
  if (key.starts_with(kAttribute)) {
    attributes_.emplace_back(key.substr(kAttribute.size()), value);
    return {};
  }
  if (!key.starts_with(kSparse)) {
    overrides_.emplace_back(key, value);
    return {};
  }
  key.remove_prefix(kSparse.size());
  is_sparse_ = true;
  const auto number = parse_int64(value);
  if (key == "name") {
    overrides_.emplace_back("path", value);
  } else if (key == "realsize" || (key == "size" && real_size_ < 0)) {
    real_size_ = number.value_or(-1);
  } else if (key == "major") {
    has_map_in_data_ = value == "1";
  } else if (key == "offset") {
    pending_offset_ = number.value_or(-1);
  } else if (key == "numbytes") {
    return add_extent(pending_offset_, number.value_or(-1));
  } else if (key == "map") {
    const auto parts = split(value, ',');
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
      TRY(add_extent(parse_int64(parts[i]).value_or(-1), parse_int64(parts[i + 1]).value_or(-1)));
  }
  return {};
}

Result<void> TarStream::begin_entry() {
  if (!long_path_.empty()) entry_.path = std::exchange(long_path_, {});
  if (!long_link_.empty()) entry_.link = std::exchange(long_link_, {});
  for (auto& [key, value] : overrides_) {
    const auto number = parse_int64(value);
    if (key == "path") entry_.path = value;
    if (key == "linkpath") entry_.link = value;
    if (key == "mtime") set_time(entry_, value);
    if (key == "size" && number) stored_size_ = *number;
    if (key == "uid" && number) entry_.uid = *number;
    if (key == "gid" && number) entry_.gid = *number;
  }
  overrides_.clear();
  entry_.attributes = std::exchange(attributes_, {});
  if (stored_size_ < 0 || stored_size_ > kMostFile)
    return bad("the size of an entry is not sensible");
  if (entry_.path.size() > kMostPath || entry_.link.size() > kMostPath)
    return bad("a path is longer than 4096 bytes");
  entry_.size = is_sparse_ ? real_size_ : stored_size_;
  if (entry_.size < 0 || entry_.size > kMostFile)
    return bad("the size of an entry is not sensible");
  stored_left_ = stored_size_;
  extent_ = 0;
  extent_used_ = 0;
  if (is_sparse_ && has_map_in_data_) {
    if (stored_left_ < static_cast<std::int64_t>(kTarBlock))
      return bad("the map of a sparse file is cut off");
    step_ = Step::SparseMap;
    return {};
  }
  TRY(sink_.begin(entry_));
  step_ = Step::Data;
  return stored_left_ == 0 ? end_entry() : Result<void>();
}

Result<void> TarStream::take_data(std::string_view bytes) {
  const std::int64_t done = stored_size_ - stored_left_;
  stored_left_ -= static_cast<std::int64_t>(bytes.size());
  if (!is_sparse_) {
    TRY(sink_.data(done, bytes));
  }
  while (is_sparse_ && !bytes.empty()) {
    while (extent_ < extents_.size() && extent_used_ == extents_[extent_].size) {
      ++extent_;
      extent_used_ = 0;
    }
    if (extent_ == extents_.size()) return bad("a sparse file has more bytes than its map");
    const Extent& extent = extents_[extent_];
    const auto taken =
        std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(extent.size - extent_used_));
    if (extent.offset + extent.size > entry_.size)
      return bad("the map of a sparse file leads past its end");
    TRY(sink_.data(extent.offset + extent_used_, bytes.substr(0, taken)));
    extent_used_ += static_cast<std::int64_t>(taken);
    bytes.remove_prefix(taken);
  }
  return stored_left_ == 0 ? end_entry() : Result<void>();
}

Result<void> TarStream::end_entry() {
  TRY(sink_.end());
  extents_.clear();
  is_sparse_ = has_map_in_data_ = false;
  real_size_ = pending_offset_ = -1;
  begin_padding(stored_size_);
  return {};
}

}  // namespace yard
