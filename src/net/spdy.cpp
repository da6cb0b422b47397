#include "net/spdy.h"

#include <algorithm>
#include <initializer_list>
#include <zlib.h>

#include "base/check.h"

namespace yard {
namespace {

constexpr size_t kHead = 8;
constexpr uint32_t kMostControl = 64 * 1024, kMostHeaders = 64 * 1024;
constexpr size_t kMostPiece = 64 * 1024;
enum FrameType { kOpen = 1, kReply = 2, kReset = 3, kPing = 6, kGoAway = 7 };

// The words both sides of a SPDY/3 connection know before the first byte (draft-mbelshe-httpbis-
// spdy-00, 2.6.10.1): each with its length before it, then a run of text.
const std::string& dictionary() {
  static const std::string text = [] {
    std::string out;
    for (const std::string_view word : {"options",
                                        "head",
                                        "post",
                                        "put",
                                        "delete",
                                        "trace",
                                        "accept",
                                        "accept-charset",
                                        "accept-encoding",
                                        "accept-language",
                                        "accept-ranges",
                                        "age",
                                        "allow",
                                        "authorization",
                                        "cache-control",
                                        "connection",
                                        "content-base",
                                        "content-encoding",
                                        "content-language",
                                        "content-length",
                                        "content-location",
                                        "content-md5",
                                        "content-range",
                                        "content-type",
                                        "date",
                                        "etag",
                                        "expect",
                                        "expires",
                                        "from",
                                        "host",
                                        "if-match",
                                        "if-modified-since",
                                        "if-none-match",
                                        "if-range",
                                        "if-unmodified-since",
                                        "last-modified",
                                        "location",
                                        "max-forwards",
                                        "pragma",
                                        "proxy-authenticate",
                                        "proxy-authorization",
                                        "range",
                                        "referer",
                                        "retry-after",
                                        "server",
                                        "te",
                                        "trailer",
                                        "transfer-encoding",
                                        "upgrade",
                                        "user-agent",
                                        "vary",
                                        "via",
                                        "warning",
                                        "www-authenticate",
                                        "method",
                                        "get",
                                        "status",
                                        "200 OK",
                                        "version",
                                        "HTTP/1.1",
                                        "url",
                                        "public",
                                        "set-cookie",
                                        "keep-alive",
                                        "origin"}) {
      out.append(3, '\0');
      out += static_cast<char>(word.size());
      out += word;
    }
    out +=
        "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
        "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 "
        "Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 "
        "Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, "
        "Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
        "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age="
        "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
    return out;
  }();
  return text;
}

const Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

uint32_t number_at(std::string_view bytes, size_t at) {
  uint32_t out = 0;
  for (size_t i = 0; i < 4; ++i)
    out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

void append_number(std::string& out, uint32_t number) {
  for (const int shift : {24, 16, 8, 0})
    out += static_cast<char>(number >> shift & 0xff);
}

std::string control(FrameType type, std::string_view payload) {
  std::string out{'\x80', '\x03', '\0', static_cast<char>(type)};
  append_number(out, static_cast<uint32_t>(payload.size()));  // no flags
  return out.append(payload);
}

std::optional<SpdyHeaders> parse_headers(std::string_view block) {
  SpdyHeaders out;
  const auto take = [&](std::string& into) {
    if (block.size() < 4) return false;
    const uint32_t size = number_at(block, 0);
    if (block.size() - 4 < size) return false;
    into = block.substr(4, size);
    block.remove_prefix(4 + size);
    return true;
  };
  if (block.size() < 4) return std::nullopt;
  uint32_t count = number_at(block, 0);
  block.remove_prefix(4);
  for (; count > 0; --count) {
    auto& [name, value] = out.emplace_back();
    if (!take(name) || !take(value)) return std::nullopt;
  }
  return out;
}

}  // namespace

// One compressed stream runs through all header blocks of a direction.
class SpdyReader::Inflater {
 public:
  Inflater() { check(inflateInit(&stream_) == Z_OK, "zlib has memory for a stream"); }
  ~Inflater() { inflateEnd(&stream_); }
  std::optional<std::string> take(std::string_view compressed) {
    std::string out(kMostHeaders, '\0');
    stream_.next_in = const_cast<Bytef*>(bytes_of(compressed));
    stream_.avail_in = static_cast<uInt>(compressed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    int code = inflate(&stream_, Z_SYNC_FLUSH);
    if (code == Z_NEED_DICT) {
      const std::string& words = dictionary();
      if (inflateSetDictionary(&stream_, bytes_of(words), static_cast<uInt>(words.size())) != Z_OK)
        return std::nullopt;
      code = inflate(&stream_, Z_SYNC_FLUSH);
    }
    // What is left over did not fit: nobody sends so many headers.
    if ((code != Z_OK && code != Z_BUF_ERROR) || stream_.avail_in != 0 || stream_.avail_out == 0)
      return std::nullopt;
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  z_stream stream_{};
};

class SpdyWriter::Deflater {
 public:
  Deflater() {
    const std::string& words = dictionary();
    check(deflateInit(&stream_, Z_DEFAULT_COMPRESSION) == Z_OK &&
              deflateSetDictionary(&stream_, bytes_of(words), static_cast<uInt>(words.size())) ==
                  Z_OK,
          "zlib has memory for a stream");
  }
  ~Deflater() { deflateEnd(&stream_); }
  std::string take(const SpdyHeaders& headers) {
    std::string block;
    append_number(block, static_cast<uint32_t>(headers.size()));
    for (const auto& [name, value] : headers) {
      for (const std::string& text : {name, value}) {
        append_number(block, static_cast<uint32_t>(text.size()));
        block += text;
      }
    }
    std::string out(deflateBound(&stream_, block.size()) + 64, '\0');
    stream_.next_in = const_cast<Bytef*>(bytes_of(block));
    stream_.avail_in = static_cast<uInt>(block.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    check(deflate(&stream_, Z_SYNC_FLUSH) == Z_OK && stream_.avail_out > 0,
          "a header block fits its bound");
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  z_stream stream_{};
};

SpdyReader::SpdyReader() : inflater_(std::make_unique<Inflater>()) {}
SpdyReader::~SpdyReader() = default;
SpdyWriter::SpdyWriter() : deflater_(std::make_unique<Deflater>()) {}
SpdyWriter::~SpdyWriter() = default;

SpdyEvent SpdyReader::broken(const char* why) {
  is_broken_ = true;
  SpdyEvent out;
  out.type = SpdyEvent::Type::Broken;
  out.bytes = why;
  return out;
}

std::optional<SpdyEvent> SpdyReader::next(std::string_view& bytes) {
  while (!is_broken_) {
    if (in_data_) {
      const size_t taken = std::min<size_t>({left_, bytes.size(), kMostPiece});
      if (taken == 0 && left_ > 0) return std::nullopt;
      SpdyEvent out;
      out.stream = stream_;
      out.bytes = bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      left_ -= static_cast<uint32_t>(taken);
      in_data_ = left_ > 0;
      out.is_last = !in_data_ && is_last_;
      return out;
    }
    if (head_.size() < kHead) {
      const size_t taken = std::min(kHead - head_.size(), bytes.size());
      head_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (head_.size() < kHead) return std::nullopt;
      left_ = number_at(head_, 4) & 0xffffff;
      is_last_ = (head_[4] & 1) != 0;
      if ((head_[0] & 0x80) == 0) {
        in_data_ = true;
        stream_ = number_at(head_, 0);
        head_.clear();
        continue;
      }
      if (head_[1] != 3) return broken("a version other than 3");
      if (left_ > kMostControl) return broken("a control frame is too long");
      payload_.clear();
    }
    const size_t taken = std::min<size_t>(left_, bytes.size());
    payload_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    left_ -= static_cast<uint32_t>(taken);
    if (left_ > 0) return std::nullopt;
    if (auto event = control_frame()) return event;
  }
  return std::nullopt;
}

// Nullopt for frames that mean nothing here: settings, windows, credentials.
std::optional<SpdyEvent> SpdyReader::control_frame() {
  const int type = static_cast<unsigned char>(head_[2]) << 8 | static_cast<unsigned char>(head_[3]);
  head_.clear();
  SpdyEvent out;
  if (type != kOpen && type != kReply && type != kReset && type != kPing && type != kGoAway)
    return std::nullopt;
  const size_t least = type == kOpen ? 10 : type == kReset ? 8 : 4;
  if (payload_.size() < least) return broken("a control frame is too short");
  out.stream = number_at(payload_, 0);
  switch (type) {
    case kReset: out.type = SpdyEvent::Type::Reset; return out;
    case kPing: out.type = SpdyEvent::Type::Ping; return out;
    case kGoAway: out.type = SpdyEvent::Type::GoAway; return out;
    default: break;
  }
  const auto block = inflater_->take(std::string_view(payload_).substr(least));
  if (!block) return broken("headers cannot be decompressed");
  auto headers = parse_headers(*block);
  if (!headers) return broken("headers cannot be read");
  out.type = type == kOpen ? SpdyEvent::Type::Opened : SpdyEvent::Type::Replied;
  out.is_last = is_last_;
  out.headers = std::move(*headers);
  return out;
}

std::string SpdyWriter::open(uint32_t stream, const SpdyHeaders& headers) {
  std::string payload;
  append_number(payload, stream);
  append_number(payload, 0);
  payload.append(2, '\0');  // priority and slot
  return control(kOpen, payload + deflater_->take(headers));
}

std::string SpdyWriter::reply(uint32_t stream) {
  std::string payload;
  append_number(payload, stream);
  return control(kReply, payload + deflater_->take({}));
}

std::string SpdyWriter::data(uint32_t stream, std::string_view bytes, bool is_last) {
  std::string out;
  out.reserve(kHead + bytes.size());
  append_number(out, stream);
  append_number(out, static_cast<uint32_t>(bytes.size()) | (is_last ? 1u << 24 : 0));
  return out.append(bytes);
}

std::string SpdyWriter::reset(uint32_t stream, uint32_t status) {
  std::string payload;
  append_number(payload, stream);
  append_number(payload, status);
  return control(kReset, payload);
}

std::string SpdyWriter::ping(uint32_t id) {
  std::string payload;
  append_number(payload, id);
  return control(kPing, payload);
}

}  // namespace yard
