#pragma once
// Makes texts small by what they repeat: of themselves, and of a sample of their sort that both
// sides have. Made for many texts that are much alike, where it is fast and hardly worse than
// anything else. Packed bytes are no format to keep: who unpacks is the process that packed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace yard {

// For the texts of one sample. One thread at a time.
class Packer {
 public:
  explicit Packer(std::string_view sample);
  // Good until the next call. Never much longer than the text.
  std::string_view pack(std::string_view text);

 private:
  struct Match {
    size_t from = 0, size = 0;
  };
  Match longest_match(size_t at);
  Match match_behind(size_t place, size_t at) const;
  void note(size_t size);
  void literals(size_t from, size_t to);

  const size_t sample_size_;
  std::string all_;                      // the sample and behind it the text
  std::vector<uint32_t> sample_, text_;  // by the hash of the bytes there: the last place behind it
  std::string out_;
};

// Fills `text`, whose size must be that of what was packed. False: these bytes are not of it.
[[nodiscard]] bool unpack(std::string_view packed, std::string_view sample, char* text,
                          size_t size);

}  // namespace yard
