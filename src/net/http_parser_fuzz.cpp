// Any bytes, cut anywhere, give the same requests and never more memory than the limits allow.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "net/http_parser.h"

namespace {

constexpr yard::ParserLimits kLimits{4096, 8192};

// Requests as "method target body-size" lines, and "failed" when the stream ends so.
std::vector<std::string> requests_in(std::string_view bytes, size_t step) {
  std::vector<std::string> found;
  std::string pending;
  auto parser = std::make_unique<yard::RequestParser>(kLimits);
  for (size_t at = 0; at < bytes.size(); at += step) {
    pending += bytes.substr(at, step);
    while (!pending.empty()) {
      auto result = parser->feed(pending);
      if (result.used > pending.size()) std::abort();
      pending.erase(0, result.used);
      if (result.outcome == yard::RequestParser::Outcome::Failed) {
        found.push_back("failed");
        return found;
      }
      if (result.outcome != yard::RequestParser::Outcome::Complete) break;
      auto request = parser->take_request();
      if (request.body.size() > kLimits.max_body) std::abort();
      found.push_back(request.method + " " + request.target + " " +
                      std::to_string(request.body.size()));
      parser = std::make_unique<yard::RequestParser>(kLimits);
    }
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 65536) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto whole = requests_in(bytes, size ? size : 1);
  auto cut = requests_in(bytes, 1 + size / 7);
  // A limit may be met earlier or later by the cut, so only streams without failures are compared.
  bool failed =
      (!whole.empty() && whole.back() == "failed") || (!cut.empty() && cut.back() == "failed");
  if (!failed && whole != cut) std::abort();
  return 0;
}
