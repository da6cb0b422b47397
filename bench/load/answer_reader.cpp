#include "load/answer_reader.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"

namespace yard::bench {
namespace {

constexpr size_t kMaxLine = 16 << 10;

bool read_number(std::string_view text, int base, size_t& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number, base).ec == std::errc{};
}

}  // namespace

size_t AnswerReader::feed(std::string_view bytes, const OnBody& on_body) {
  size_t at = 0;
  while (at < bytes.size() && step_ != Step::Done && step_ != Step::Bad) {
    if (step_ != Step::Counted && step_ != Step::Chunk) {
      if (take_line(bytes, at)) end_line();
      continue;
    }
    const size_t length = std::min(left_, bytes.size() - at);
    on_body(bytes.substr(at, length));
    at += length;
    left_ -= length;
    if (left_ == 0) step_ = step_ == Step::Counted ? Step::Done : Step::ChunkEnd;
  }
  return at;
}

void AnswerReader::begin_next() {
  step_ = Step::Head;
  status_ = 0;
  left_ = 0;
  chunked_ = false;
  line_.clear();
}

// True when line_ holds a whole line, without its end.
bool AnswerReader::take_line(std::string_view bytes, size_t& at) {
  const size_t end = bytes.find('\n', at);
  const size_t stop = end == std::string_view::npos ? bytes.size() : end;
  line_.append(bytes.substr(at, stop - at));
  if (line_.size() > kMaxLine) step_ = Step::Bad;
  at = end == std::string_view::npos ? bytes.size() : end + 1;
  if (end == std::string_view::npos || step_ == Step::Bad) return false;
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  return true;
}

void AnswerReader::end_line() {
  if (step_ == Step::Head) {
    line_.empty() ? end_head() : end_head_line();
  } else if (step_ == Step::ChunkSize) {
    if (!read_number(line_, 16, left_)) {
      step_ = Step::Bad;
    } else {
      step_ = left_ == 0 ? Step::Trailer : Step::Chunk;
    }
  } else if (step_ == Step::ChunkEnd) {
    step_ = Step::ChunkSize;
  } else if (step_ == Step::Trailer && line_.empty()) {
    step_ = Step::Done;
  }
  line_.clear();
}

void AnswerReader::end_head_line() {
  if (status_ == 0) {
    size_t status = 0;
    if (line_.size() < 12 || !read_number(std::string_view(line_).substr(9, 3), 10, status)) {
      step_ = Step::Bad;
    }
    status_ = static_cast<int>(status);
    return;
  }
  const size_t colon = line_.find(':');
  if (colon == std::string::npos) return;
  const std::string_view name = std::string_view(line_).substr(0, colon);
  const std::string_view value = trim(std::string_view(line_).substr(colon + 1));
  if (equals_ignore_case(name, "content-length")) {
    if (!read_number(value, 10, left_)) step_ = Step::Bad;
  } else if (equals_ignore_case(name, "transfer-encoding")) {
    chunked_ = equals_ignore_case(value, "chunked");
  }
}

void AnswerReader::end_head() {
  if (chunked_) {
    step_ = Step::ChunkSize;
  } else {
    step_ = left_ == 0 ? Step::Done : Step::Counted;
  }
}

}  // namespace yard::bench
