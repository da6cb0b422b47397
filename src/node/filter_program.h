#pragma once
// The kernel's packet filter machine, written step by step: what decides about one system call.

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <vector>

#include "node/seccomp.h"

namespace yard {

#if defined(__x86_64__)
inline constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
inline constexpr uint32_t kSecondTable = 0x40000000;  // x32 shares the architecture's number
#elif defined(__aarch64__)
inline constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
inline constexpr uint32_t kSecondTable = 0;
#else
#error "no system call table for this machine"
#endif

inline constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t deny(int error_number) {
  return SECCOMP_RET_ERRNO | (static_cast<uint32_t>(error_number) & SECCOMP_RET_DATA);
}

// Steps in the order they run; each rule falls through to the next.
class FilterProgram {
 public:
  // Calls by another machine's numbers; then the number of the call is what is compared.
  void refuse_other_tables() {
    refuse_other_machines();
    if (kSecondTable != 0) if_above(kSecondTable - 1, deny(EPERM));
  }
  void refuse_other_machines() {
    load(offsetof(seccomp_data, arch));
    unless_equal(kArchitecture, deny(EPERM));
    load_number();
  }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  void load(uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset); }
  void keep_bits(uint32_t mask) { add(BPF_ALU | BPF_AND | BPF_K, 0, 0, mask); }
  void if_equal(uint32_t value, uint32_t verdict) { test(BPF_JEQ, value, verdict); }
  void unless_equal(uint32_t value, uint32_t verdict) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
    give(verdict);
  }
  void if_above(uint32_t value, uint32_t verdict) { test(BPF_JGT, value, verdict); }
  // Goes on `if_true` or `if_false` steps further; 0 is the next one.
  void jump(int comparison, uint32_t value, uint8_t if_true, uint8_t if_false) {
    add(BPF_JMP | comparison | BPF_K, if_true, if_false, value);
  }
  void give(uint32_t verdict) { add(BPF_RET | BPF_K, 0, 0, verdict); }
  std::vector<FilterStep> steps;

 private:
  void add(int code, uint8_t if_true, uint8_t if_false, uint32_t operand) {
    steps.push_back({static_cast<uint16_t>(code), if_true, if_false, operand});
  }
  void test(int comparison, uint32_t value, uint32_t verdict) {
    jump(comparison, value, 0, 1);
    give(verdict);
  }
};

}  // namespace yard
