#pragma once
// What one connection still has to say, handed out in pieces that fit a TLS record. A list of
// thousands of slices is never joined, and many small frames of a watch become one record.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace yard {

constexpr size_t kRecordSize = 16 * 1024;  // the most plaintext one TLS record carries

std::string_view reason_phrase(int status);
// Bytes of the body, as Content-Length says them.
size_t body_size(const HttpResponse& response);
// A value a handler gave must not be able to end the head.
void append_header(std::string& head, std::string_view name, std::string_view value);

// One frame as the chunk that carries it, kept while one connection after the other sends it.
struct SharedChunk {
  SharedBytes frame;
  std::string bytes;
};

class Outgoing {
 public:
  enum class Framing { Chunked, UntilClose, NoBody };

  // One whole answer. `has_body` is false for HEAD, 204 and 304.
  void set_response(std::string head, HttpResponse response, bool has_body);
  // An answer whose body comes in frames.
  void open_stream(std::string head, Framing framing);
  void add_frame(SharedBytes frame);
  void end_stream();

  bool empty() const;
  // The next at most kRecordSize bytes: a view of what is queued, or joined in `record` (of
  // kRecordSize), or `chunk`. Valid until the next call.
  std::string_view next(std::span<char> record, SharedChunk& chunk);
  // Frame bytes that next() has handed out since this was last asked.
  size_t take_frame_bytes_sent();
  void clear();

 private:
  std::string_view piece(size_t index) const;
  size_t pieces() const;
  size_t join_pieces(std::span<char> into);
  size_t join_chunk(std::span<char> into);
  bool is_one_chunk() const;
  std::string_view take_one_chunk(SharedChunk& chunk);

  std::string head_;
  HttpResponse response_;
  std::vector<SharedBytes> frames_;
  size_t head_at_ = 0;
  size_t index_ = 0, offset_ = 0;  // of the piece or the frame that is next
  size_t frames_waiting_ = 0;      // bytes
  size_t frame_bytes_sent_ = 0;
  Framing framing_ = Framing::Chunked;
  bool is_stream_ = false, has_body_ = false, owes_last_chunk_ = false;
};

}  // namespace yard
