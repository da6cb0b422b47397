#include "net/http.h"

#include <gtest/gtest.h>

#include "net/deadlines.h"
#include "net/http_parser.h"
#include "net/outgoing.h"

namespace yard {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(HttpRequest, knows_its_parts) {
  HttpRequest request;
  request.target = "/api/v1/pods?limit=5&watch=1";
  request.headers = {{"Content-Type", "application/json"}};
  EXPECT_EQ(request.path(), "/api/v1/pods");
  EXPECT_EQ(request.query(), "limit=5&watch=1");
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("accept"), "");
  request.target = "/";
  EXPECT_EQ(request.path(), "/");
  EXPECT_EQ(request.query(), "");
}

TEST(PercentDecode, table) {
  struct Case {
    const char* about;
    const char* text;
    bool plus_is_space;
    const char* decoded;
    bool ok;
  };
  const Case cases[] = {
      {"plain text stays", "abc", false, "abc", true},
      {"an escape at the end", "a%41", false, "aA", true},
      {"lower case digits", "%2f", false, "/", true},
      {"a plus in a path stays", "a+b", false, "a+b", true},
      {"a plus in a query is a space", "a+b", true, "a b", true},
      {"a lone percent is broken", "100%", false, "100%", false},
      {"a cut escape is broken", "%4", false, "%4", false},
      {"no digits are broken", "%zz", false, "%zz", false},
  };
  for (const Case& row : cases) {
    bool ok = !row.ok;
    EXPECT_EQ(percent_decode(row.text, row.plus_is_space, &ok), row.decoded) << row.about;
    EXPECT_EQ(ok, row.ok) << row.about;
  }
}

TEST(ParseQuery, table) {
  struct Case {
    const char* about;
    const char* query;
    Pairs pairs;
  };
  const Case cases[] = {
      {"nothing", "", {}},
      {"order and repeats are kept", "b=1&a=2&b=3", {{"b", "1"}, {"a", "2"}, {"b", "3"}}},
      {"a key alone has an empty value", "watch", {{"watch", ""}}},
      {"only the first = divides", "labelSelector=a%3Db=c", {{"labelSelector", "a=b=c"}}},
      {"empty pairs are no pairs", "&&a=1&", {{"a", "1"}}},
      {"a broken escape drops its pair", "a=%zz&b=2", {{"b", "2"}}},
      {"a semicolon drops its pair", "a=1;b=2&c=3", {{"c", "3"}}},
  };
  for (const Case& row : cases) {
    EXPECT_EQ(parse_query(row.query), row.pairs) << row.about;
  }
}

struct Parsed {
  int failure = 0;  // 0: none
  HttpRequest request;
  bool keep_alive = false, complete = false;
  std::string rest;
};

// Feeds `step` bytes at a time, as a slow network would.
Parsed parse_in_steps(std::string_view bytes, size_t step, ParserLimits limits) {
  RequestParser parser(limits);
  Parsed parsed;
  std::string pending;
  for (size_t at = 0; at < bytes.size(); at += step) {
    pending += bytes.substr(at, step);
    RequestParser::Step result = parser.feed(pending);
    pending.erase(0, result.used);
    if (result.outcome == RequestParser::Outcome::Failed) {
      parsed.failure = parser.failure().status;
      return parsed;
    }
    if (result.outcome == RequestParser::Outcome::Complete) {
      parsed.complete = true;
      parsed.keep_alive = parser.wants_keep_alive();
      parsed.request = parser.take_request();
      parsed.rest = pending + std::string(bytes.substr(std::min(bytes.size(), at + step)));
      return parsed;
    }
  }
  return parsed;
}

TEST(RequestParser, whole_requests) {
  struct Case {
    const char* about;
    const char* bytes;
    const char *method, *target, *body, *rest;
    bool keep_alive;
  };
  const Case cases[] = {
      {"a get", "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", "GET", "/a?b=c", "", "", true},
      {"the next request stays", "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /2", "GET", "/", "",
       "GET /2", true},
      {"close is heard", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "GET", "/", "",
       "", false},
      {"HTTP/1.0 closes and needs no host", "GET / HTTP/1.0\r\n\r\n", "GET", "/", "", "", false},
      {"a body by length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET",
       "POST", "/", "hello", "GET", true},
      {"a body in chunks, with an extension and a trailer",
       "PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
       "chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\nX",
       "PUT", "/c", "abcde", "X", true},
      {"an absolute target", "GET http://host:1/p?q HTTP/1.1\r\nHost: x\r\n\r\n", "GET", "/p?q", "",
       "", true},
      {"an absolute target without a path", "GET http://host HTTP/1.1\r\nHost: x\r\n\r\n", "GET",
       "/", "", "", true},
      {"any method", "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", "BREW", "/", "", "", true},
  };
  for (const Case& row : cases) {
    for (size_t step : {1000, 7, 1}) {
      Parsed parsed = parse_in_steps(row.bytes, step, {});
      ASSERT_TRUE(parsed.complete) << row.about << " by " << step << " status " << parsed.failure;
      EXPECT_EQ(parsed.request.method, row.method) << row.about;
      EXPECT_EQ(parsed.request.target, row.target) << row.about;
      EXPECT_EQ(parsed.request.body, row.body) << row.about;
      EXPECT_EQ(parsed.rest, row.rest) << row.about;
      EXPECT_EQ(parsed.keep_alive, row.keep_alive) << row.about;
    }
  }
}

TEST(RequestParser, what_is_refused) {
  struct Case {
    const char* about;
    std::string bytes;
    int status;
  };
  const std::string kHead = "POST / HTTP/1.1\r\nHost: x\r\n";
  const Case cases[] = {
      {"garbage", "\x16\x03\x01 what is this\r\n\r\n", 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"HTTP/1.1 without a host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"a space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
      {"two lengths that differ", kHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      {"a length that is no number", kHead + "Content-Length: -1\r\n\r\n", 400},
      {"a length beyond 64 bits", kHead + "Content-Length: 99999999999999999999999\r\n\r\n", 400},
      {"length, then chunks",
       kHead + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"chunks, then length",
       kHead + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
      {"a coding we do not know", kHead + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
      {"identity with hidden chunks", kHead + "Transfer-Encoding: identity\r\n\r\n", 400},
      {"a chunk size that is no number", kHead + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"a control character in a value", std::string("GET / HTTP/1.1\r\nHost: x\x01\r\n\r\n"), 400},
      {"a length above the limit", kHead + "Content-Length: 101\r\n\r\n", 413},
      {"chunks above the limit",
       kHead + "Transfer-Encoding: chunked\r\n\r\n40\r\n" + std::string(64, 'a') + "\r\n40\r\n" +
           std::string(64, 'a') + "\r\n",
       413},
      {"a header above the limit",
       "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(600, 'a') + "\r\n\r\n", 431},
      {"an endless target", "GET /" + std::string(600, 'a'), 431},
      {"an endless chunk extension",
       kHead + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(2000, 'x'), 431},
  };
  for (const Case& row : cases) {
    for (size_t step : {10000, 1}) {
      Parsed parsed = parse_in_steps(row.bytes, step, {512, 100});
      EXPECT_FALSE(parsed.complete) << row.about;
      EXPECT_EQ(parsed.failure, row.status) << row.about << " by " << step;
    }
  }
}

TEST(RequestParser, asks_for_the_body_a_client_holds_back) {
  RequestParser parser({});
  auto step = parser.feed(
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(step.outcome, RequestParser::Outcome::ExpectsContinue);
  EXPECT_EQ(parser.feed("ab").outcome, RequestParser::Outcome::Complete);
  EXPECT_EQ(parser.take_request().body, "ab");
}

HttpResponse text_body(std::string text) {
  HttpResponse response;
  response.body = {std::make_shared<const std::string>(std::move(text))};
  return response;
}

std::string all_of(Outgoing& outgoing) {
  std::string all, record(kRecordSize, '\0');
  SharedChunk chunk;
  while (!outgoing.empty()) {
    std::string_view piece = outgoing.next(record, chunk);
    EXPECT_LE(piece.size(), kRecordSize);
    if (piece.empty()) {
      ADD_FAILURE() << "no progress";
      break;
    }
    all += piece;
  }
  return all;
}

TEST(Outgoing, sends_head_and_slices_in_order) {
  auto owner = std::make_shared<const std::string>(std::string(40000, 'b'));
  HttpResponse response;
  response.owners = {owner};
  response.slices = {"a", *owner, "", "c"};
  Outgoing outgoing;
  outgoing.set_response("HEAD\r\n\r\n", std::move(response), true);
  EXPECT_EQ(all_of(outgoing), "HEAD\r\n\r\na" + std::string(40000, 'b') + "c");
  outgoing.set_response("HEAD\r\n\r\n", text_body("never"), false);
  EXPECT_EQ(all_of(outgoing), "HEAD\r\n\r\n");
}

TEST(Outgoing, joins_frames_into_one_chunk_and_splits_large_ones) {
  Outgoing outgoing;
  outgoing.open_stream("H", Outgoing::Framing::Chunked);
  outgoing.add_frame(std::make_shared<const std::string>("abc"));
  outgoing.add_frame(std::make_shared<const std::string>("defg"));
  EXPECT_EQ(all_of(outgoing), "H7\r\nabcdefg\r\n");
  EXPECT_EQ(outgoing.take_frame_bytes_sent(), 7u);
  outgoing.add_frame(std::make_shared<const std::string>(std::string(20000, 'x')));
  outgoing.end_stream();
  EXPECT_EQ(all_of(outgoing), "3ff8\r\n" + std::string(16376, 'x') + "\r\ne28\r\n" +
                                  std::string(3624, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(outgoing.take_frame_bytes_sent(), 20000u);
}

TEST(Outgoing, connections_one_after_the_other_share_the_chunk_of_one_frame) {
  const auto one = std::make_shared<const std::string>("event one\n");
  const auto two = std::make_shared<const std::string>("event two\n");
  std::vector<char> record(kRecordSize);
  SharedChunk chunk;
  const char* shared = nullptr;
  for (const SharedBytes& frame : {one, one, two, one}) {
    Outgoing outgoing;
    outgoing.open_stream("", Outgoing::Framing::Chunked);
    outgoing.add_frame(frame);
    const std::string_view sent = outgoing.next(record, chunk);
    EXPECT_EQ(sent, "a\r\n" + *frame + "\r\n");
    EXPECT_TRUE(outgoing.empty());
    EXPECT_EQ(outgoing.take_frame_bytes_sent(), frame->size());
    if (shared == nullptr) shared = sent.data();
    EXPECT_EQ(sent.data(), shared) << "one place for all";
    outgoing.end_stream();
    EXPECT_EQ(outgoing.next(record, chunk), "0\r\n\r\n");
  }
}

TEST(Outgoing, a_header_value_cannot_end_the_head) {
  std::string head;
  append_header(head, "Warning", "a\r\nSet-Cookie: x");
  EXPECT_EQ(head, "Warning: a  Set-Cookie: x\r\n");
}

TEST(Deadlines, each_class_has_its_length_and_the_earliest_is_known) {
  using std::chrono::seconds;
  Deadlines deadlines({seconds(30), seconds(60), seconds(300), seconds(60), seconds(2)});
  Deadlines::Instant start{};
  Deadlines::Slot first, second;
  EXPECT_EQ(deadlines.earliest(), std::nullopt);
  deadlines.arm(first, nullptr, Wait::Idle, start);
  deadlines.arm(second, nullptr, Wait::Header, start);
  EXPECT_EQ(deadlines.earliest(), start + seconds(30));
  EXPECT_FALSE(deadlines.overdue(start + seconds(29)).has_value());
  ASSERT_TRUE(deadlines.overdue(start + seconds(30)).has_value());
  EXPECT_EQ(deadlines.overdue(start + seconds(30))->wait, Wait::Header);
  deadlines.arm(second, nullptr, Wait::Idle, start + seconds(10));
  EXPECT_EQ(deadlines.earliest(), start + seconds(300));
  deadlines.disarm(first);
  EXPECT_EQ(deadlines.earliest(), start + seconds(310));
  deadlines.disarm(second);
  EXPECT_EQ(deadlines.earliest(), std::nullopt);
}

}  // namespace
}  // namespace yard
