// Watches: answers that are not over yet.

#include <mutex>
#include <thread>

#include "net/server_testing.h"

namespace yard {
namespace {

// The streams a handler opened, for the test to write to.
class Streams {
 public:
  HttpHandler handler() {
    return [this](HttpRequest request, std::shared_ptr<Responder> responder) {
      if (!request.target.starts_with("/watch")) {
        responder->send(text_response("ok"));
        return;
      }
      auto stream = responder->stream(200, {{"Content-Type", "application/json"}});
      std::lock_guard lock(mutex_);
      streams_.push_back(std::move(stream));
      changed_.notify_all();
    };
  }
  std::vector<std::shared_ptr<HttpStream>> wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    bool there = changed_.wait_for(lock, kTestPatience, [&] { return streams_.size() >= count; });
    EXPECT_TRUE(there) << streams_.size() << " of " << count;
    return std::exchange(streams_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<HttpStream>> streams_;
};

TEST(HttpStream, arrives_as_it_is_written_and_ends_cleanly_on_a_kept_connection) {
  Streams streams;
  RunningServer running(streams.handler());
  auto client = make_http_client(running.tls_target());
  std::shared_ptr<HttpStream> stream;
  std::string all;
  std::thread writer([&] {
    stream = streams.wait_for(1).at(0);
    stream->write(bytes_of("one "));
  });
  auto response = client->stream("/watch", {}, [&](std::string_view bytes) {
    all += bytes;
    if (all == "one ") {
      writer.join();
      stream->write(bytes_of("two "));
      stream->write(bytes_of(std::string(100'000, 'x')));
      stream->close();
      stream->write(bytes_of("after the end"));
    }
    return true;
  });
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->header("transfer-encoding"), "chunked");
  EXPECT_EQ(all, "one two " + std::string(100'000, 'x'));
  EXPECT_EQ(client->call("GET", "/", {}, "")->body, "ok");
  EXPECT_EQ(running.server->statistics().accepted, 1u);
  EXPECT_EQ(stream->queued_bytes(), 0u);
}

TEST(HttpStream, a_hundred_watchers_share_the_frames) {
  constexpr size_t kWatchers = 100, kFrames = 50;
  Streams streams;
  RunningServer running(streams.handler());
  std::vector<std::thread> clients;
  std::vector<std::string> received(kWatchers);
  for (size_t i = 0; i < kWatchers; ++i) {
    clients.emplace_back([&, i] {
      auto client = make_http_client(i % 2 ? running.tls_target() : running.unix_target());
      auto done = client->stream("/watch", {}, [&, i](std::string_view bytes) {
        received[i] += bytes;
        return true;
      });
      EXPECT_TRUE(done.has_value()) << done.error().message;
    });
  }
  auto open = streams.wait_for(kWatchers);
  std::string expected;
  for (size_t frame = 0; frame < kFrames; ++frame) {
    auto bytes = bytes_of(std::to_string(frame) + std::string(1000, '.') + "\n");
    expected += *bytes;
    for (auto& stream : open) {
      stream->write(bytes);
    }
  }
  for (auto& stream : open) {
    stream->close();
  }
  for (auto& client : clients) {
    client.join();
  }
  for (const std::string& each : received) {
    EXPECT_EQ(each, expected);
  }
}

TEST(HttpStream, tells_when_the_client_has_gone) {
  Streams streams;
  RunningServer running(streams.handler());
  for (bool tls : {true, false}) {
    std::promise<void> closed;
    {
      auto client = make_http_client(tls ? running.tls_target() : running.unix_target());
      std::shared_ptr<HttpStream> stream;
      std::thread writer([&] {
        stream = streams.wait_for(1).at(0);
        stream->on_closed([&] { closed.set_value(); });
        stream->write(bytes_of("hello"));
      });
      auto response = client->stream("/watch", {}, [](std::string_view) { return false; });
      writer.join();
      EXPECT_TRUE(response.has_value());
      wait_for(closed.get_future());
      stream->write(bytes_of("into the void"));
      EXPECT_EQ(stream->queued_bytes(), 0u);
      std::promise<void> again;
      stream->on_closed([&] { again.set_value(); });
      wait_for(again.get_future());
    }
  }
  EXPECT_EQ(running.server->statistics().streams, 0u);
}

TEST(HttpStream, a_client_that_reads_nothing_is_cut_off_and_others_are_unharmed) {
  ServerLimits limits;
  limits.write_timeout = std::chrono::milliseconds(200);
  Streams streams;
  RunningServer running(streams.handler(), limits);
  RawSocket deaf = RawSocket::to_unix(running);
  deaf.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  auto stream = streams.wait_for(1).at(0);
  std::promise<void> closed;
  stream->on_closed([&] { closed.set_value(); });
  auto frame = bytes_of(std::string(1 << 20, 'x'));
  for (int i = 0; i < 16; ++i) {
    stream->write(frame);
  }
  EXPECT_GE(stream->queued_bytes(), 8u << 20) << "the caller sees what the client does not take";
  EXPECT_EQ(make_http_client(running.tls_target())->call("GET", "/", {}, "")->body, "ok");
  wait_for(closed.get_future());
  EXPECT_EQ(stream->queued_bytes(), 0u);
  EXPECT_EQ(make_http_client(running.tls_target())->call("GET", "/", {}, "")->body, "ok");
}

TEST(HttpStream, a_slow_reader_gets_everything) {
  Streams streams;
  RunningServer running(streams.handler());
  auto client = make_http_client(running.tls_target());
  std::thread writer([&] {
    auto stream = streams.wait_for(1).at(0);
    auto frame = bytes_of(std::string(100'000, 'y'));
    for (int i = 0; i < 200; ++i) {
      stream->write(frame);
    }
    // Dropped without close: the stream ends as if it had been called.
  });
  size_t total = 0;
  auto response = client->stream("/watch", {}, [&](std::string_view bytes) {
    total += bytes.size();
    std::this_thread::yield();
    return true;
  });
  writer.join();
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(total, 20'000'000u);
}

TEST(HttpStream, http_10_reads_until_the_connection_closes_and_head_only_the_head) {
  Streams streams;
  RunningServer running(streams.handler());
  RawSocket old = RawSocket::to_unix(running);
  old.send("GET /watch HTTP/1.0\r\n\r\n");
  auto stream = streams.wait_for(1).at(0);
  stream->write(bytes_of("plain"));
  stream->close();
  std::string answer = old.read_until_closed();
  EXPECT_TRUE(answer.ends_with("\r\n\r\nplain")) << answer;
  EXPECT_EQ(answer.find("chunked"), std::string::npos);
  auto client = make_http_client(running.unix_target());
  auto head = client->call("HEAD", "/watch", {}, "");
  ASSERT_TRUE(head.has_value()) << head.error().message;
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(client->call("GET", "/", {}, "")->body, "ok");
}

TEST(HttpServer, stop_ends_streams_idle_connections_and_half_done_handshakes) {
  Streams streams;
  auto running = std::make_unique<RunningServer>(streams.handler());
  RawSocket watcher = RawSocket::to_unix(*running), idle = RawSocket::to_unix(*running),
            handshake = RawSocket::to_tls_port(*running);
  handshake.send("\x16\x03\x01");
  watcher.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  auto stream = streams.wait_for(1).at(0);
  std::promise<void> closed;
  stream->on_closed([&] { closed.set_value(); });
  stream->write(bytes_of("last words"));
  running->server->stop();
  wait_for(closed.get_future());
  EXPECT_TRUE(watcher.read_until_closed().ends_with("last words\r\n0\r\n\r\n"));
  EXPECT_EQ(idle.read_until_closed(), "");
  EXPECT_EQ(handshake.read_until_closed(), "");
  EXPECT_EQ(running->server->statistics().connections, 0u);
  running.reset();
  // The handle outlives the server without harm.
  stream->write(bytes_of("nobody hears this"));
  std::promise<void> late;
  stream->on_closed([&] { late.set_value(); });
  wait_for(late.get_future());
}

TEST(HttpServer, stop_waits_for_answers_under_way_but_not_for_ever) {
  std::promise<std::shared_ptr<Responder>> asked;
  RunningServer running([&](HttpRequest request, std::shared_ptr<Responder> responder) {
    if (request.target == "/slow") asked.set_value(responder);
  });
  RawSocket slow = RawSocket::to_unix(running);
  slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  std::shared_ptr<Responder> responder = wait_for(asked.get_future());
  std::thread stopping([&] { running.server->stop(); });
  responder->send(text_response("just in time"));
  EXPECT_TRUE(slow.read_until_closed().ends_with("just in time"));
  stopping.join();
}

TEST(HttpServer, a_server_that_never_started_can_go) {
  auto server = make_http_server([](HttpRequest, std::shared_ptr<Responder>) {});
  const auto& made = TestCertificates::get();
  auto port =
      server->listen_tls("127.0.0.1", 0, {made.server.certificate_pem, made.server.key_pem, ""});
  EXPECT_TRUE(port.has_value());
  server.reset();
}

}  // namespace
}  // namespace yard
