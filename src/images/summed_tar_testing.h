#pragma once
// For the fuzzers of layers.

#include <string>

#include "images/tar.h"

namespace yard {

// Every block gets the sum a header needs: changed headers are then read on, not refused at once.
inline std::string with_sums(std::string bytes) {
  for (std::size_t at = 0; at + kTarBlock <= bytes.size(); at += kTarBlock) {
    bytes.replace(at + 148, 8, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kTarBlock; ++i)
      sum += static_cast<unsigned char>(bytes[at + i]);
    for (std::size_t digit = 6; digit-- > 0; sum /= 8)
      bytes[at + 148 + digit] = static_cast<char>('0' + sum % 8);
    bytes[at + 154] = '\0';
  }
  return bytes;
}

}  // namespace yard
