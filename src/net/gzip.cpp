#include "net/gzip.h"

#include <algorithm>
#include <zlib.h>

#include "base/check.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr int kFastest = 1;           // as upstream
constexpr int kGzipWindow = 15 + 16;  // the largest window, with gzip's head
constexpr size_t kOutputStep = 64 * 1024;

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  for (const std::string_view part : split(accept_encoding, ',')) {
    if (trim(part) == "gzip") return true;
  }
  return false;
}

struct GzipBody::Stream {
  Stream() {
    check(deflateInit2(&state, kFastest, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib has memory for a stream");
  }
  ~Stream() { deflateEnd(&state); }
  z_stream state{};
};

GzipBody::GzipBody(HttpResponse response)
    : response_(std::move(response)), stream_(std::make_unique<Stream>()) {}

GzipBody::~GzipBody() = default;

size_t GzipBody::pieces() const {
  return response_.slices.empty() ? response_.body.size() : response_.slices.size();
}

std::string_view GzipBody::piece(size_t index) const {
  if (!response_.slices.empty()) return response_.slices[index];
  const SharedBytes& bytes = response_.body[index];
  return bytes ? std::string_view(*bytes) : std::string_view();
}

void GzipBody::deflate_into(std::string& out, std::string_view input, bool last) {
  z_stream& state = stream_->state;
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
  state.avail_in = static_cast<uInt>(input.size());
  int code = Z_OK;
  do {
    const size_t before = out.size();
    out.resize(before + kOutputStep);
    state.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    state.avail_out = kOutputStep;
    code = deflate(&state, last ? Z_FINISH : Z_NO_FLUSH);
    out.resize(before + kOutputStep - state.avail_out);
  } while (state.avail_out == 0 || (last && code != Z_STREAM_END));
}

std::string GzipBody::next(size_t input) {
  std::string out;
  while (index_ < pieces() && input > 0) {
    const std::string_view rest = piece(index_).substr(offset_);
    const std::string_view part = rest.substr(0, std::min(rest.size(), input));
    if (!part.empty()) deflate_into(out, part, false);
    input -= part.size();
    offset_ += part.size();
    if (part.size() < rest.size()) break;
    ++index_;
    offset_ = 0;
  }
  if (index_ == pieces() && !done_) {
    deflate_into(out, {}, true);
    done_ = true;
  }
  return out;
}

}  // namespace yard
