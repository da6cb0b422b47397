#include "images/decompress.h"

#include <vector>
#include <zlib.h>
#include <zstd.h>

#include <fmt/format.h>

namespace yard {
namespace {

constexpr std::size_t kOut = 256 << 10;
constexpr std::string_view kGzipStart("\x1f\x8b", 2), kZstdStart("\x28\xb5\x2f\xfd", 4);

Error bad(std::string_view what) {
  return error(Reason::Invalid, fmt::format("the compressed stream is damaged: {}", what));
}

}  // namespace

struct Decompressor::Streams {
  z_stream gzip{};
  bool gzip_ready = false;
  ZSTD_DStream* zstd = nullptr;
  std::vector<char> out = std::vector<char>(kOut);
  ~Streams() {
    if (gzip_ready) inflateEnd(&gzip);
    if (zstd != nullptr) ZSTD_freeDStream(zstd);
  }
};

Decompressor::Decompressor(ByteSink sink)
    : sink_(std::move(sink)), streams_(std::make_unique<Streams>()) {}
Decompressor::~Decompressor() = default;

Result<void> Decompressor::begin() {
  if (start_.starts_with(kGzipStart)) {
    sort_ = Sort::Gzip;
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&streams_->gzip, kGzipOnly) != Z_OK) return bad("no memory to read it");
    streams_->gzip_ready = true;
  } else if (start_.starts_with(kZstdStart)) {
    sort_ = Sort::Zstd;
    streams_->zstd = ZSTD_createDStream();
    if (streams_->zstd == nullptr) return bad("no memory to read it");
  } else {
    sort_ = Sort::Plain;
  }
  const std::string start = std::exchange(start_, {});
  return feed(start);
}

Result<void> Decompressor::feed(std::string_view bytes) {
  switch (sort_) {
    case Sort::Unknown: {
      const std::size_t wanted = kZstdStart.size() - start_.size();
      if (bytes.size() < wanted) {
        start_.append(bytes);
        return {};
      }
      start_.append(bytes.substr(0, wanted));
      TRY(begin());
      return feed(bytes.substr(wanted));
    }
    case Sort::Plain: return bytes.empty() ? Result<void>() : sink_(bytes);
    case Sort::Gzip: return inflate_some(bytes);
    case Sort::Zstd: return unzstd_some(bytes);
  }
  return {};
}

Result<void> Decompressor::inflate_some(std::string_view bytes) {
  z_stream& stream = streams_->gzip;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  // The last output may still wait inside although the input is used up.
  while (stream.avail_in > 0 || (!at_end_of_frame_ && stream.avail_out == 0)) {
    if (at_end_of_frame_) {  // several members in a row are one stream; zeros after them are
                             // padding
      if (*stream.next_in == 0) return {};
      inflateReset(&stream);
      at_end_of_frame_ = false;
    }
    stream.next_out = reinterpret_cast<Bytef*>(streams_->out.data());
    stream.avail_out = static_cast<uInt>(streams_->out.size());
    const int answer = inflate(&stream, Z_NO_FLUSH);
    if (answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR)
      return bad(stream.msg == nullptr ? "not gzip" : stream.msg);
    const std::size_t made = streams_->out.size() - stream.avail_out;
    if (made > 0) TRY(sink_({streams_->out.data(), made}));
    at_end_of_frame_ = answer == Z_STREAM_END;
  }
  return {};
}

Result<void> Decompressor::unzstd_some(std::string_view bytes) {
  if (bytes.empty()) return {};
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  bool is_full = true;
  while (in.pos < in.size || is_full) {
    ZSTD_outBuffer out{streams_->out.data(), streams_->out.size(), 0};
    const std::size_t answer = ZSTD_decompressStream(streams_->zstd, &out, &in);
    if (ZSTD_isError(answer)) return bad(ZSTD_getErrorName(answer));
    if (out.pos > 0) TRY(sink_({streams_->out.data(), out.pos}));
    is_full = out.pos == out.size;
    at_end_of_frame_ = answer == 0;
    if (in.pos == in.size && (!is_full || at_end_of_frame_)) break;
  }
  return {};
}

Result<void> Decompressor::finish() {
  if (sort_ == Sort::Unknown) {
    sort_ = Sort::Plain;
    return start_.empty() ? Result<void>() : sink_(start_);
  }
  if (sort_ == Sort::Plain || at_end_of_frame_) return {};
  return bad("it is cut off");
}

}  // namespace yard
