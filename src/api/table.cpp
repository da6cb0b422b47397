#include "api/table.h"

#include <charconv>

namespace yard {

namespace {

// Marks are control characters, which JSON text never holds unescaped: no value of a client can
// fake one.
constexpr char kMarkBegin = '\x01';
constexpr char kMarkEnd = '\x02';

void append_mark(std::string& out, Time since) {
  out += kMarkBegin;
  out += std::to_string(unix_seconds(since));
  out += kMarkEnd;
}

}  // namespace

void RowWriter::next() {
  if (out_.size() > 1) out_ += ',';
}

RowWriter& RowWriter::text(std::string_view value) {
  next();
  append_quoted(out_, value);
  return *this;
}

RowWriter& RowWriter::number(int64_t value) {
  next();
  out_ += std::to_string(value);
  return *this;
}

RowWriter& RowWriter::boolean(bool value) {
  next();
  out_ += value ? "true" : "false";
  return *this;
}

RowWriter& RowWriter::null() {
  next();
  out_ += "null";
  return *this;
}

RowWriter& RowWriter::json(const Json& value) {
  next();
  append_text(out_, value);
  return *this;
}

RowWriter& RowWriter::age(std::optional<Time> since) {
  if (!since) return text("<unknown>");
  return text_with_age("", *since, "");
}

RowWriter& RowWriter::text_with_age(std::string_view before, Time since, std::string_view after) {
  next();
  append_quoted(out_, before);
  out_.pop_back();
  append_mark(out_, since);
  // The quoted tail without its opening quote continues the same string.
  std::string tail;
  append_quoted(tail, after);
  out_.append(tail, 1);
  return *this;
}

std::string RowWriter::finish() {
  out_ += ']';
  return std::move(out_);
}

void append_rendered_cells(std::string& out, std::string_view cells, Time now) {
  size_t from = 0;
  while (true) {
    size_t begin = cells.find(kMarkBegin, from);
    size_t end = begin == cells.npos ? cells.npos : cells.find(kMarkEnd, begin);
    if (end == cells.npos) break;
    out.append(cells, from, begin - from);
    int64_t since = 0;
    std::from_chars(cells.data() + begin + 1, cells.data() + end, since);
    out += human_duration(now - from_unix_seconds(since));
    from = end + 1;
  }
  out.append(cells, from);
}

}  // namespace yard
