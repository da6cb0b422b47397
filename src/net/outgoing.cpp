#include "net/outgoing.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace yard {

namespace {

constexpr size_t kChunkFrame = 8;  // four hexadecimal digits and two line ends

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Request Entity Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

size_t body_size(const HttpResponse& response) {
  size_t total = 0;
  for (std::string_view slice : response.slices) {
    total += slice.size();
  }
  if (!response.slices.empty()) return total;
  for (const SharedBytes& bytes : response.body) {
    if (bytes) total += bytes->size();
  }
  return total;
}

void append_header(std::string& head, std::string_view name, std::string_view value) {
  auto append_clean = [&head](std::string_view text) {
    for (char c : text) {
      head += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
    }
  };
  append_clean(name);
  head += ": ";
  append_clean(value);
  head += "\r\n";
}

void Outgoing::set_response(std::string head, HttpResponse response, bool has_body) {
  clear();
  head_ = std::move(head);
  response_ = std::move(response);
  has_body_ = has_body;
}

void Outgoing::open_stream(std::string head, Framing framing) {
  clear();
  head_ = std::move(head);
  framing_ = framing;
  is_stream_ = true;
}

void Outgoing::add_frame(SharedBytes frame) {
  if (frame->empty()) return;
  if (framing_ == Framing::NoBody) {
    frame_bytes_sent_ += frame->size();
    return;
  }
  frames_waiting_ += frame->size();
  frames_.push_back(std::move(frame));
}

void Outgoing::end_stream() {
  owes_last_chunk_ = framing_ == Framing::Chunked;
}

bool Outgoing::empty() const {
  if (head_at_ < head_.size() || owes_last_chunk_) return false;
  return is_stream_ ? frames_waiting_ == 0 : !has_body_ || index_ >= pieces();
}

std::string_view Outgoing::next(std::span<char> record, SharedChunk& chunk) {
  if (is_one_chunk()) return take_one_chunk(chunk);
  // A large piece is encrypted where it lies.
  if (head_at_ == head_.size() && !is_stream_ && has_body_ && index_ < pieces()) {
    std::string_view rest = piece(index_).substr(offset_);
    if (rest.size() >= record.size()) {
      rest = rest.substr(0, record.size());
      offset_ += rest.size();
      if (offset_ == piece(index_).size()) {
        ++index_;
        offset_ = 0;
      }
      return rest;
    }
  }
  size_t size = std::min(head_.size() - head_at_, record.size());
  std::memcpy(record.data(), head_.data() + head_at_, size);
  head_at_ += size;
  if (head_at_ == head_.size()) {
    size += is_stream_ ? join_chunk(record.subspan(size)) : join_pieces(record.subspan(size));
  }
  return {record.data(), size};
}

size_t Outgoing::take_frame_bytes_sent() {
  return std::exchange(frame_bytes_sent_, 0);
}

void Outgoing::clear() {
  *this = Outgoing();
}

size_t Outgoing::pieces() const {
  return response_.slices.empty() ? response_.body.size() : response_.slices.size();
}

std::string_view Outgoing::piece(size_t index) const {
  if (!response_.slices.empty()) return response_.slices[index];
  const SharedBytes& bytes = response_.body[index];
  return bytes ? std::string_view(*bytes) : std::string_view();
}

size_t Outgoing::join_pieces(std::span<char> into) {
  size_t size = 0;
  if (!has_body_) return 0;
  while (index_ < pieces()) {
    std::string_view rest = piece(index_).substr(offset_);
    size_t part = std::min(rest.size(), into.size() - size);
    if (part > 0) std::memcpy(into.data() + size, rest.data(), part);
    size += part;
    offset_ += part;
    if (part < rest.size()) break;
    ++index_;
    offset_ = 0;
  }
  return size;
}

// A single frame that fits: the event of a watch that keeps up.
bool Outgoing::is_one_chunk() const {
  return is_stream_ && framing_ == Framing::Chunked && head_at_ == head_.size() &&
         !owes_last_chunk_ && frames_.size() == 1 && offset_ == 0 &&
         frames_waiting_ + kChunkFrame <= kRecordSize;
}

std::string_view Outgoing::take_one_chunk(SharedChunk& chunk) {
  if (chunk.frame != frames_.front()) {
    chunk.frame = frames_.front();
    chunk.bytes.clear();
    fmt::format_to(std::back_inserter(chunk.bytes), "{:x}\r\n", frames_waiting_);
    chunk.bytes.append(*chunk.frame).append("\r\n");
  }
  frames_.clear();
  frame_bytes_sent_ += std::exchange(frames_waiting_, 0);
  return chunk.bytes;
}

// All that waits and fits becomes one chunk; the last chunk follows when the stream has ended.
size_t Outgoing::join_chunk(std::span<char> into) {
  static constexpr std::string_view kLastChunk = "0\r\n\r\n";
  size_t size = 0;
  size_t overhead = framing_ == Framing::Chunked ? kChunkFrame : 0;
  if (frames_waiting_ > 0 && into.size() > overhead) {
    size_t chunk = std::min(frames_waiting_, into.size() - overhead);
    if (overhead > 0) size += fmt::format_to_n(into.data(), into.size(), "{:x}\r\n", chunk).size;
    size_t end = size + chunk;
    while (size < end) {
      const std::string& frame = *frames_[index_];
      size_t part = std::min(frame.size() - offset_, end - size);
      std::memcpy(into.data() + size, frame.data() + offset_, part);
      size += part;
      offset_ += part;
      if (offset_ < frame.size()) continue;
      frames_[index_++].reset();
      offset_ = 0;
    }
    frames_waiting_ -= chunk;
    frame_bytes_sent_ += chunk;
    if (overhead > 0) {
      into[size++] = '\r';
      into[size++] = '\n';
    }
    if (frames_waiting_ == 0) {
      frames_.clear();
      index_ = 0;
      if (frames_.capacity() > 16) frames_.shrink_to_fit();
    } else if (index_ > 64 && index_ * 2 > frames_.size()) {
      frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(index_));
      index_ = 0;
    }
  }
  if (frames_waiting_ == 0 && owes_last_chunk_ && into.size() - size >= kLastChunk.size()) {
    std::memcpy(into.data() + size, kLastChunk.data(), kLastChunk.size());
    size += kLastChunk.size();
    owes_last_chunk_ = false;
  }
  return size;
}

}  // namespace yard
