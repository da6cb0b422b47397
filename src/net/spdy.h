#pragma once
// SPDY/3.1 frames as values, as far as kubectl's streams need them: no flow control (those clients
// have none), headers compressed with the draft's dictionary. Bytes of data frames are handed on as
// they come.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace yard {

using SpdyHeaders = std::vector<std::pair<std::string, std::string>>;

struct SpdyEvent {
  enum class Type { Opened, Replied, Data, Reset, Ping, GoAway, Broken };
  Type type = Type::Data;
  uint32_t stream = 0;   // of Ping: its id
  bool is_last = false;  // nothing more comes on the stream
  std::string bytes;     // of Data; of Broken: what is wrong
  SpdyHeaders headers;   // of Opened and Replied
};

class SpdyReader {
 public:
  SpdyReader();
  ~SpdyReader();
  // Takes bytes off the front; nullopt when it needs more of them. Nothing follows Broken.
  std::optional<SpdyEvent> next(std::string_view& bytes);

 private:
  class Inflater;
  SpdyEvent broken(const char* why);
  std::optional<SpdyEvent> control_frame();

  std::unique_ptr<Inflater> inflater_;
  std::string head_, payload_;  // of the frame being read
  bool is_broken_ = false, in_data_ = false;
  uint32_t stream_ = 0, left_ = 0;
  bool is_last_ = false;
};

class SpdyWriter {
 public:
  SpdyWriter();
  ~SpdyWriter();
  std::string open(uint32_t stream, const SpdyHeaders& headers);
  std::string reply(uint32_t stream);
  static std::string data(uint32_t stream, std::string_view bytes, bool is_last);
  static std::string reset(uint32_t stream, uint32_t status);
  static std::string ping(uint32_t id);

 private:
  class Deflater;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace yard
