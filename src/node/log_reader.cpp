#include "node/log_reader.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/files.h"
#include "node/log_layout.h"

namespace yard {
namespace {

constexpr size_t kMostFileBytes = 64 << 20;  // a file is rotated at 10 MB; one line may be longer
constexpr size_t kHead = 30;                 // of the timestamp
constexpr std::string_view kDropped =
    "[trainyard] older lines of this log were dropped before they could be read\n";

struct Line {
  std::string_view time, stream, text;
  bool whole = true;
};

// `<time> <stream> <tag> <text>`
std::optional<Line> parse_line(std::string_view line) {
  const size_t stream = line.find(' ');
  if (stream == std::string_view::npos || stream != kHead) return std::nullopt;
  const size_t tag = line.find(' ', stream + 1);
  if (tag == std::string_view::npos || line.size() < tag + 3) return std::nullopt;
  return Line{line.substr(0, stream), line.substr(stream + 1, tag - stream - 1),
              line.substr(tag + 3), line[tag + 1] == 'F'};
}

// The server's own: `<time> <level> <text>`.
std::optional<Line> parse_own_line(std::string_view line) {
  return Line{line.substr(0, line.find(' ')), "stderr", line, true};
}

using ParseLine = std::optional<Line> (*)(std::string_view);
ParseLine parser_of(const LogReadOptions& options) {
  return options.own ? parse_own_line : parse_line;
}

// Where the last `lines` lines of a file's text begin; `lines` is what is still missing after it.
size_t tail_offset(std::string_view text, int64_t& lines, ParseLine parse) {
  size_t at = text.size();
  // From the end: a record that ends a line begins a new one to count; pieces belong to the line
  // they end in.
  bool first = true;
  while (at > 0) {
    const size_t begin = at < 2 ? 0 : text.rfind('\n', at - 2) + 1;
    const auto line = parse(text.substr(begin, at - 1 - begin));
    if (line && (line->whole || first)) {
      if (lines == 0) return at;
      --lines;
    }
    first = false;
    at = begin;
  }
  return 0;
}

}  // namespace

LogReader::LogReader(std::string path, LogReadOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  if (options_.since)
    since_ = options_.own ? rfc3339_micro(*options_.since) : rfc3339_nano(*options_.since);
}

LogReader::~LogReader() {
  if (fd_ >= 0) close(fd_);
}

std::string LogReader::file(int number) const {
  return number == 0 ? path_ : path_ + "." + std::to_string(number);
}

bool LogReader::open_file(int number, int64_t offset) {
  const int fd = ::open(file(number).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
  lseek(fd_, offset, SEEK_SET);
  return true;
}

Result<std::unique_ptr<LogReader>> LogReader::open(std::string path, LogReadOptions options) {
  std::unique_ptr<LogReader> reader(new LogReader(std::move(path), std::move(options)));
  struct stat facts;
  int oldest = -1;
  for (int number = 0; number < kMostLogFiles; ++number) {
    if (stat(reader->file(number).c_str(), &facts) == 0) oldest = number;
  }
  if (oldest < 0) return error(Reason::NotFound, "there is no log");
  if (reader->options_.tail_lines) {
    reader->find_tail(oldest);
  } else if (!reader->open_file(oldest, 0)) {
    return system_error("cannot read the log");
  }
  return reader;
}

void LogReader::find_tail(int oldest) {
  int64_t lines = *options_.tail_lines;
  struct stat newest;
  if (lines == 0 && stat(file(0).c_str(), &newest) == 0 && open_file(0, newest.st_size)) return;
  for (int number = 0; number <= oldest; ++number) {
    std::string text = read_text(file(number), kMostFileBytes).value_or("");
    text.resize(text.rfind('\n') + 1);  // what is just being written is read later
    const size_t offset = tail_offset(text, lines, parser_of(options_));
    if (offset > 0 || number == oldest) {
      open_file(number, static_cast<int64_t>(offset));
      return;
    }
  }
}

// The file we have read to its end has been rotated away: the next newer one follows.
bool LogReader::go_to_newer_file(std::string& note) {
  struct stat ours, there;
  if (fstat(fd_, &ours) != 0) return false;
  int oldest = -1;
  for (int number = 0; number < kMostLogFiles; ++number) {
    if (stat(file(number).c_str(), &there) != 0) continue;
    if (there.st_ino == ours.st_ino && there.st_dev == ours.st_dev)
      return number > 0 && open_file(number - 1, 0);
    oldest = number;
  }
  if (oldest < 0 || !open_file(oldest, 0)) return false;
  note = kDropped;
  return true;
}

void LogReader::show(std::string_view text, std::string& out) {
  const auto line = parser_of(options_)(text);
  if (!line || (!since_.empty() && line->time < since_)) return;
  if (!options_.stream.empty() && line->stream != options_.stream) return;
  if (options_.timestamps && at_line_start_) out.append(line->time).append(" ");
  out.append(line->text);
  if (line->whole) out += '\n';
  at_line_start_ = line->whole;
}

LogReader::Piece LogReader::read(size_t budget) {
  Piece out;
  std::string buffer(std::min<size_t>(budget, 256 << 10), '\0');
  size_t taken = 0;
  while (taken < budget && !out.finished) {
    const ssize_t count = fd_ < 0 ? 0 : ::read(fd_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      std::string note;
      if (fd_ < 0 || !go_to_newer_file(note)) {
        out.at_end = true;
        break;
      }
      out.bytes += note;
      continue;
    }
    taken += static_cast<size_t>(count);
    pending_.append(buffer, 0, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end = pending_.find('\n'); end != std::string::npos;
         end = pending_.find('\n', begin)) {
      show(std::string_view(pending_).substr(begin, end - begin), out.bytes);
      begin = end + 1;
    }
    pending_.erase(0, begin);
    if (options_.limit_bytes &&
        shown_ + static_cast<int64_t>(out.bytes.size()) >= *options_.limit_bytes) {
      out.bytes.resize(static_cast<size_t>(*options_.limit_bytes - shown_));
      out.finished = true;
    }
  }
  shown_ += static_cast<int64_t>(out.bytes.size());
  return out;
}

}  // namespace yard
