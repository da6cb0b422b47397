// How many worlds a simulation lives through, and how one that failed is lived through again.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace yard {

// Under a sanitizer a step costs twenty times as much, and looks at memory, which few worlds show
// as well as many: the many are for the release build.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSimSeeds = 50;
#else
constexpr uint64_t kSimSeeds = 500;
#endif

inline uint64_t seed_setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Calls `live(seed)` until one fails: SEED=n lives through that one alone, YARD_SIM_SEEDS=n through
// 1 to n, rather than `otherwise`.
template <typename Live>
void for_each_seed(Live live, uint64_t otherwise = kSimSeeds) {
  const uint64_t only = seed_setting("SEED", 0);
  const uint64_t last = only != 0 ? only : seed_setting("YARD_SIM_SEEDS", otherwise);
  for (uint64_t seed = only != 0 ? only : 1; seed <= last; ++seed) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    SCOPED_TRACE(fmt::format("replay with SEED={} build/yard_sim --gtest_filter={}.{}", seed,
                             test->test_suite_name(), test->name()));
    live(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace yard
