#include "node/sandbox/system_calls.h"

#include <cerrno>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <vector>

namespace shim {
namespace {

constexpr size_t kDigitsEach = 16;

bool read_number(const std::string& text, size_t begin, size_t digits, uint32_t& out) {
  out = 0;
  for (size_t i = begin; i < begin + digits; ++i) {
    const char digit = text[i];
    if (digit >= '0' && digit <= '9') {
      out = out << 4 | static_cast<uint32_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      out = out << 4 | static_cast<uint32_t>(digit - 'a' + 10);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string filter_system_calls(const std::string& text) {
  std::vector<sock_filter> steps;
  if (text.size() % kDigitsEach != 0 || text.size() / kDigitsEach > BPF_MAXINSNS)
    return "the filter of system calls is damaged";
  for (size_t at = 0; at < text.size(); at += kDigitsEach) {
    uint32_t code = 0, if_true = 0, if_false = 0, operand = 0;
    if (!read_number(text, at, 4, code) || !read_number(text, at + 4, 2, if_true) ||
        !read_number(text, at + 6, 2, if_false) || !read_number(text, at + 8, 8, operand))
      return "the filter of system calls is damaged";
    steps.push_back({static_cast<uint16_t>(code), static_cast<uint8_t>(if_true),
                     static_cast<uint8_t>(if_false), operand});
  }
  const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return std::string("cannot filter system calls: ") + strerror(errno);
  return "";
}

}  // namespace shim
