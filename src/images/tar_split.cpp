#include "images/tar_split.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/descriptor.h"
#include "base/strings.h"
#include "images/decompress.h"
#include "images/in_root.h"
#include "json/json.h"

namespace yard {
namespace {

constexpr std::size_t kPiece = 256 << 10, kMostLine = 16u << 20;
constexpr std::int64_t kFile = 1, kSegment = 2;  // the types of a line

Error failure(std::string_view doing, std::string_view path) {
  return error(Reason::InternalError,
               fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
}

class Joiner {
 public:
  Joiner(const std::string& folder, const ByteSink& sink)
      : root_(::open(folder.c_str(), O_DIRECTORY | O_PATH | O_CLOEXEC)),
        folder_(folder),
        sink_(sink),
        buffer_(kPiece) {}

  Result<void> feed(std::string_view bytes) {
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
         end = bytes.find('\n')) {
      line_ += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      TRY(take_line());
      line_.clear();
    }
    line_ += bytes;
    if (line_.size() > kMostLine)
      return error(Reason::Invalid, "the list of a layer's parts has a line without an end");
    return {};
  }

  Result<void> finish() {
    if (trim(line_).empty()) return {};
    return error(Reason::Invalid, "the list of a layer's parts is cut off");
  }

 private:
  Result<void> take_line() {
    if (trim(line_).empty()) return {};
    const ParsedJson parsed = TRY(parse_json(line_, {.max_depth = 4}));
    const Json& part = parsed.value;
    switch (int_at(part, {"type"})) {
      case kSegment: {
        const auto bytes = base64_decode(text_at(part, {"payload"}));
        if (!bytes) return error(Reason::Invalid, "the list of a layer's parts is damaged");
        return sink_(*bytes);
      }
      case kFile: {
        const std::int64_t size = int_at(part, {"size"});
        if (size <= 0) return {};
        // A name that is no UTF-8 is kept apart.
        const auto raw = base64_decode(text_at(part, {"name_raw"}));
        return send_file(raw && !raw->empty() ? *raw : std::string(text_at(part, {"name"})), size);
      }
      default:
        return error(Reason::Invalid, "the list of a layer's parts has one of no known type");
    }
  }

  Result<void> send_file(const std::string& name, std::int64_t size) {
    const Descriptor file(
        open_in_root(root_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    if (!file.is_open()) return failure("open", folder_ + "/" + name);
    while (size > 0) {
      const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(size, kPiece));
      const ssize_t got = ::read(file.get(), buffer_.data(), wanted);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failure("read", folder_ + "/" + name);
      if (got == 0)
        return error(Reason::Invalid,
                     fmt::format("{} in {} is shorter than it was", quoted(name), folder_));
      TRY(sink_({buffer_.data(), static_cast<std::size_t>(got)}));
      size -= got;
    }
    return {};
  }

  const Descriptor root_;
  const std::string& folder_;
  const ByteSink& sink_;
  std::vector<char> buffer_;
  std::string line_;
};

}  // namespace

Result<void> send_tar_split(const std::string& list, const std::string& folder,
                            const ByteSink& sink) {
  const Descriptor file(::open(list.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return failure("open", list);
  Joiner joiner(folder, sink);
  Decompressor decompressor([&](std::string_view bytes) { return joiner.feed(bytes); });
  std::vector<char> buffer(kPiece);
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure("read", list);
    if (got == 0) break;
    TRY(decompressor.feed({buffer.data(), static_cast<std::size_t>(got)}));
  }
  TRY(decompressor.finish());
  return joiner.finish();
}

}  // namespace yard
