#pragma once
// Reads HTTP/1.1 answers from a stream of bytes and hands out their bodies piece by piece: a list
// is 20 MB and a watch never ends, so nothing is kept.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace yard::bench {

class AnswerReader {
 public:
  using OnBody = std::function<void(std::string_view)>;

  // Takes bytes up to the end of one answer and says how many those were.
  size_t feed(std::string_view bytes, const OnBody& on_body);
  bool is_done() const { return step_ == Step::Done; }
  bool is_bad() const { return step_ == Step::Bad; }
  int status() const { return status_; }
  void begin_next();

 private:
  enum class Step { Head, Counted, ChunkSize, Chunk, ChunkEnd, Trailer, Done, Bad };

  bool take_line(std::string_view bytes, size_t& at);
  void end_line();
  void end_head_line();
  void end_head();

  Step step_ = Step::Head;
  int status_ = 0;
  size_t left_ = 0;  // of the counted body or of the chunk
  bool chunked_ = false;
  std::string line_;
};

}  // namespace yard::bench
