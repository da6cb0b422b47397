#include "net/gzip.h"

#include <zlib.h>

#include "net/server_testing.h"

namespace yard {
namespace {

std::string inflated(std::string_view compressed) {
  z_stream state{};
  check(inflateInit2(&state, 15 + 16) == Z_OK, "zlib has memory");
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  state.avail_in = static_cast<uInt>(compressed.size());
  std::string out;
  int code = Z_OK;
  while (code == Z_OK) {
    const size_t before = out.size();
    out.resize(before + 65536);
    state.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    state.avail_out = 65536;
    code = inflate(&state, Z_NO_FLUSH);
    out.resize(before + 65536 - state.avail_out);
  }
  inflateEnd(&state);
  return code == Z_STREAM_END ? out : "broken";
}

std::string long_text() {
  std::string out;
  for (int i = 0; out.size() < 900'000; ++i)
    out += "{\"name\":\"object-" + std::to_string(i) + "\"},";
  return out;
}

TEST(Gzip, WhoAcceptsIt) {
  const struct {
    const char* header;
    bool accepted;
  } rows[] = {{"gzip", true},      {"gzip, deflate", true}, {"deflate, gzip", true}, {"", false},
              {"identity", false}, {"gzip;q=0", false},     {"gzipped", false}};
  for (const auto& row : rows)
    EXPECT_EQ(accepts_gzip(row.header), row.accepted) << row.header;
}

TEST(Gzip, PiecesGiveTheWholeBack) {
  const std::string text = long_text();
  for (const bool in_slices : {false, true}) {
    HttpResponse response;
    for (size_t at = 0; at < text.size(); at += 70'000) {
      auto part = std::make_shared<const std::string>(text.substr(at, 70'000));
      response.body.push_back(part);
      if (in_slices) response.slices.emplace_back(*part);
    }
    GzipBody body(std::move(response));
    std::string compressed;
    int steps = 0;
    for (; !body.is_done(); ++steps)
      compressed += body.next(100'000);
    EXPECT_GE(steps, 9);
    EXPECT_LT(compressed.size(), text.size() / 2);
    EXPECT_EQ(inflated(compressed), text);
  }
}

TEST(HttpServer, compresses_long_answers_for_those_who_accept_it) {
  const std::string text = long_text();
  RunningServer running([&](HttpRequest request, std::shared_ptr<Responder> responder) {
    responder->send(text_response(request.target == "/long" ? text : text.substr(0, 1000)));
  });
  const struct {
    const char* about;
    const char* target;
    Headers headers;
    bool compressed;
  } rows[] = {{"a long one", "/long", {{"Accept-Encoding", "gzip"}}, true},
              {"a short one", "/short", {{"Accept-Encoding", "gzip"}}, false},
              {"a client that did not ask", "/long", {}, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.about);
    for (const ClientTarget& target : {running.tls_target(), running.unix_target()}) {
      const auto client = make_http_client(target);
      // Twice: the connection goes on.
      for (int i = 0; i < 2; ++i) {
        const auto answer = client->call("GET", row.target, row.headers, "");
        ASSERT_TRUE(answer.has_value()) << answer.error().message;
        std::string encoding;
        for (const auto& [name, value] : answer->headers)
          if (name == "Content-Encoding") encoding = value;
        EXPECT_EQ(encoding, row.compressed ? "gzip" : "");
        const std::string body = row.compressed ? inflated(answer->body) : answer->body;
        EXPECT_EQ(body, row.target == std::string("/long") ? text : text.substr(0, 1000));
      }
    }
  }
}

}  // namespace
}  // namespace yard
