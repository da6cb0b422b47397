#include "net/spdy.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace yard {
namespace {

std::string events(std::string_view bytes, size_t step) {
  SpdyReader reader;
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    std::string_view fresh = bytes.substr(at, step);
    while (auto event = reader.next(fresh)) {
      const std::string stream = std::to_string(event->stream);
      const std::string last = event->is_last ? " last" : "";
      switch (event->type) {
        case SpdyEvent::Type::Opened:
        case SpdyEvent::Type::Replied:
          out += (event->type == SpdyEvent::Type::Opened ? "open " : "reply ") + stream + last;
          for (const auto& [name, value] : event->headers)
            out += " " + name + "=" + value;
          break;
        case SpdyEvent::Type::Data: out += "data " + stream + last + " " + event->bytes; break;
        case SpdyEvent::Type::Reset: out += "reset " + stream; break;
        case SpdyEvent::Type::Ping: out += "ping " + stream; break;
        case SpdyEvent::Type::GoAway: out += "goaway"; break;
        case SpdyEvent::Type::Broken: out += "broken: " + event->bytes; break;
      }
      out += "\n";
    }
  }
  return out;
}

TEST(Spdy, streams_opened_by_a_client_are_read_with_their_headers) {
  SpdyWriter client;
  // The second block leans on what the first has said: one compressed stream for all.
  std::string bytes = client.open(1, {{"streamtype", "error"}});
  bytes += client.open(3, {{"port", "80"}, {"streamtype", "data"}});
  bytes += SpdyWriter::data(3, "", true) + SpdyWriter::ping(5) + SpdyWriter::reset(3, 5);
  bytes += client.reply(1);
  const std::string expected =
      "open 1 streamtype=error\n"
      "open 3 port=80 streamtype=data\n"
      "data 3 last \nping 5\nreset 3\nreply 1\n";
  EXPECT_EQ(events(bytes, bytes.size()), expected);
  EXPECT_EQ(events(bytes, 1), expected);
  EXPECT_EQ(events(bytes, 7), expected);
}

TEST(Spdy, data_is_handed_on_in_pieces) {
  const std::string bytes = SpdyWriter::data(7, std::string(100000, 'x'), true);
  const std::string got = events(bytes, bytes.size());
  EXPECT_EQ(std::count(got.begin(), got.end(), 'x'), 100000);
  EXPECT_TRUE(got.ends_with("\n"));
  EXPECT_NE(got.find("data 7 last"), std::string::npos);
}

TEST(Spdy, what_no_client_sends_ends_the_connection) {
  const struct {
    const char* about;
    std::string bytes;
    const char* events;
  } cases[] = {
      {"another version", {"\x80\x02\0\1\0\0\0\0", 8}, "broken: a version other than 3\n"},
      {"a control frame without end",
       {"\x80\x03\0\1\0\xff\xff\xff", 8},
       "broken: a control frame is too long\n"},
      {"a stream without headers",
       {"\x80\x03\0\1\0\0\0\x02\0\0", 10},
       "broken: a control frame is too short\n"},
      {"headers that are not compressed",
       {"\x80\x03\0\1\0\0\0\x0e\0\0\0\1\0\0\0\0\0\0none", 22},
       "broken: headers cannot be decompressed\n"},
      {"settings and windows mean nothing",
       {"\x80\x03\0\4\0\0\0\4\0\0\0\0\x80\x03\0\x09\0\0\0\x08\0\0\0\1\0\0\0\1", 28},
       ""},
      {"a frame cut short says nothing yet", {"\x80\x03\0\6\0\0\0\4\0\0", 10}, ""},
  };
  for (const auto& each : cases)
    EXPECT_EQ(events(each.bytes, each.bytes.size()), each.events) << each.about;
}

TEST(Spdy, headers_that_grow_without_measure_are_refused) {
  SpdyWriter client;
  const std::string bytes = client.open(1, {{"x", std::string(1 << 20, 'a')}});
  EXPECT_LT(bytes.size(), 60000u) << "small on the wire";
  EXPECT_EQ(events(bytes, bytes.size()), "broken: headers cannot be decompressed\n");
}

}  // namespace
}  // namespace yard
