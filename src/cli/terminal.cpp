#include "cli/terminal.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace yard {
namespace {

constexpr std::array<std::string_view, 14> kGoodWords{
    "Running", "Ready",     "Active", "Bound", "Complete", "Completed", "Succeeded",
    "True",    "Available", "Normal", "up",    "created",  "Created",   "Healthy"};
constexpr std::array<std::string_view, 10> kBusyWords{
    "Pending",  "ContainerCreating", "Suspended",  "Terminating", "Unknown",
    "Released", "Restarting",        "configured", "Queued",      "PodInitializing"};
constexpr std::array<std::string_view, 10> kBadWords{
    "Failed",  "Error",    "CrashLoopBackOff", "OOMKilled", "Evicted",
    "Warning", "NotReady", "ImagePullBackOff", "Lost",      "ErrImagePull"};

template <size_t count>
bool has(const std::array<std::string_view, count>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string styled(std::string_view text, Style style) {
  switch (style) {
    case Style::Plain: break;
    case Style::Bold: return fmt::format("\033[1m{}\033[0m", text);
    case Style::Good: return fmt::format("\033[32m{}\033[0m", text);
    case Style::Busy: return fmt::format("\033[33m{}\033[0m", text);
    case Style::Bad: return fmt::format("\033[31m{}\033[0m", text);
  }
  return std::string(text);
}

Style status_style(std::string_view word) {
  if (has(kGoodWords, word)) return Style::Good;
  if (has(kBusyWords, word)) return Style::Busy;
  if (has(kBadWords, word)) return Style::Bad;
  return Style::Plain;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) {
      out += '^';
      out += static_cast<char>(byte ^ 0x40);
    } else {
      out += character;
    }
  }
  return out;
}

int print_failure(Terminal& terminal, const Error& failure) {
  const bool is_servers = failure.message.starts_with("Error from server");
  terminal.err << (is_servers ? "" : "error: ") << printable(failure.message) << "\n";
  switch (failure.reason) {
    case Reason::NotFound: return kNotFound;
    case Reason::ServiceUnavailable:
    case Reason::Timeout: return kUnreachable;
    default: return kFailed;
  }
}

}  // namespace yard
