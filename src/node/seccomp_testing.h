#pragma once
// Runs a filter of system calls as the kernel would.

#include <cstring>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <vector>

#include <gtest/gtest.h>

#include "node/filter_program.h"
#include "node/seccomp.h"

namespace yard {

// The kernel's machine, as far as our filters use it.
inline uint32_t verdict(const std::vector<FilterStep>& filter, const seccomp_data& call) {
  uint32_t held = 0;
  for (size_t at = 0; at < filter.size(); ++at) {
    const FilterStep& step = filter[at];
    const auto jump = [&](bool yes) { at += yes ? step.if_true : step.if_false; };
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&held, reinterpret_cast<const char*>(&call) + step.operand, sizeof held);
        break;
      case BPF_JMP | BPF_JEQ | BPF_K: jump(held == step.operand); break;
      case BPF_JMP | BPF_JGT | BPF_K: jump(held > step.operand); break;
      case BPF_JMP | BPF_JGE | BPF_K: jump(held >= step.operand); break;
      case BPF_ALU | BPF_AND | BPF_K: held &= step.operand; break;
      case BPF_JMP | BPF_JSET | BPF_K: jump((held & step.operand) != 0); break;
      case BPF_RET | BPF_K: return step.operand;
      default: ADD_FAILURE() << "an instruction the test does not know: " << step.code; return 0;
    }
  }
  ADD_FAILURE() << "the filter runs off its end";
  return 0;
}

#if defined(__x86_64__)
inline constexpr uint32_t kHere = AUDIT_ARCH_X86_64, kElsewhere = AUDIT_ARCH_I386;
#else
inline constexpr uint32_t kHere = AUDIT_ARCH_AARCH64, kElsewhere = AUDIT_ARCH_ARM;
#endif
constexpr uint32_t denied(int number) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(number);
}

}  // namespace yard
