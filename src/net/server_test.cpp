// HTTP over the Unix socket, byte by byte: what a connection answers and when it closes.

#include <sys/stat.h>
#include <thread>

#include "net/server_testing.h"

namespace yard {
namespace {

using std::chrono::milliseconds;

// Answers with what it was asked.
void echo(HttpRequest request, std::shared_ptr<Responder> responder) {
  responder->send(text_response(request.method + " " + request.target + " " + request.body));
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(HttpServer, keeps_the_connection_and_answers_head_without_a_body) {
  RunningServer running(echo);
  auto client = make_http_client(running.unix_target());
  for (int i = 0; i < 3; ++i) {
    auto response = client->call("GET", "/a", {}, "");
    ASSERT_TRUE(response.has_value()) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "GET /a ");
    EXPECT_FALSE(response->header("date").empty());
    EXPECT_EQ(response->header("content-length"), "7");
  }
  auto head = client->call("HEAD", "/a", {}, "");
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(head->header("content-length"), "8");
  EXPECT_EQ(client->call("GET", "/b", {}, "")->body, "GET /b ");
  EXPECT_EQ(running.server->statistics().accepted, 1u);
}

TEST(HttpServer, answers_pipelined_requests_in_order) {
  RunningServer running(echo);
  RawSocket socket = RawSocket::to_unix(running);
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nz";
  }
  socket.send(all + "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  std::string answers = socket.read_until_closed();
  EXPECT_EQ(count(answers, "HTTP/1.1 200 OK\r\n"), 51u);
  size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    size_t next = answers.find("POST /" + std::to_string(i) + " z", at);
    ASSERT_NE(next, std::string::npos) << i;
    at = next;
  }
  EXPECT_TRUE(answers.ends_with("GET /last "));
  EXPECT_EQ(count(answers, "Connection: close\r\n"), 1u);
}

TEST(HttpServer, what_one_connection_is_answered) {
  struct Case {
    const char* about;
    std::string sent;
    std::string begins, ends;
  };
  const std::string kStatus =
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)";
  const Case cases[] = {
      {"garbage is 400 and a close", "what\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n",
       "\"code\":400}\n"},
      {"HTTP/1.0 is answered and closed", "GET /x HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n",
       "\r\n\r\nGET /x "},
      {"empty lines before a request are skipped", "\r\n\r\nGET /x HTTP/1.0\r\n\r\n",
       "HTTP/1.1 200 OK\r\n", "GET /x "},
      {"chunks make a body",
       "PUT /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: "
       "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
       "HTTP/1.1 200 OK\r\n", "PUT /c abc"},
      {"a body above the limit is 413 in the API's words",
       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3145729\r\n\r\n",
       "HTTP/1.1 413 Request Entity Too Large\r\n",
       kStatus +
           R"("Request entity too large: limit is 3145728","reason":"RequestEntityTooLarge","code":413})" +
           "\n"},
      {"413 comes instead of 100 Continue",
       "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3145729\r\n\r\n",
       "HTTP/1.1 413 ", "\"code\":413}\n"},
      {"a head above the limit is 431",
       "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(70000, 'a') + "\r\n\r\n", "HTTP/1.1 431 ",
       "\"code\":431}\n"},
      {"two ways to end a body are one too many",
       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n",
       "HTTP/1.1 400 ", "\"code\":400}\n"},
      {"what follows a refused request is not read",
       "bad\r\n\r\nGET /x HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 ", "\"code\":400}\n"},
  };
  RunningServer running(echo);
  for (const Case& row : cases) {
    RawSocket socket = RawSocket::to_unix(running);
    socket.send(row.sent);
    std::string answer = socket.read_until_closed();
    EXPECT_TRUE(answer.starts_with(row.begins)) << row.about << ": " << answer.substr(0, 500);
    EXPECT_TRUE(answer.ends_with(row.ends)) << row.about << ": " << answer;
    EXPECT_TRUE(contains(answer, "Connection: close\r\n")) << row.about;
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1u) << row.about;
  }
}

TEST(HttpServer, a_body_of_exactly_the_limit_is_taken_and_one_that_streams_past_it_is_not) {
  RunningServer running([](HttpRequest request, std::shared_ptr<Responder> responder) {
    responder->send(text_response(std::to_string(request.body.size())));
  });
  auto client = make_http_client(running.tls_target());
  auto fits = client->call("POST", "/", {}, std::string(3145728, 'x'));
  ASSERT_TRUE(fits.has_value()) << fits.error().message;
  EXPECT_EQ(fits->body, "3145728");
  // The client is still sending when the answer comes; it must be able to read it.
  auto refused = client->call("POST", "/", {}, std::string(8 << 20, 'x'));
  ASSERT_TRUE(refused.has_value()) << refused.error().message;
  EXPECT_EQ(refused->status, 413);
  EXPECT_EQ(client->call("POST", "/", {}, "abc")->body, "3");
}

TEST(HttpServer, says_continue_to_a_client_that_waits_for_it) {
  RunningServer running(echo);
  RawSocket socket = RawSocket::to_unix(running);
  socket.send(
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\nExpect: "
      "100-continue\r\n\r\n");
  EXPECT_EQ(socket.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.send("ok");
  EXPECT_TRUE(socket.read_until_closed().ends_with("POST / ok"));
}

TEST(HttpServer, answers_a_client_that_has_ended_its_side) {
  RunningServer running(echo);
  RawSocket socket = RawSocket::to_unix(running);
  socket.send("GET /half HTTP/1.1\r\nHost: x\r\n\r\n");
  socket.end_sending();
  EXPECT_TRUE(socket.read_until_closed().ends_with("GET /half "));
}

TEST(HttpServer, half_sent_requests_are_closed_when_their_time_is_over) {
  ServerLimits limits;
  limits.header_timeout = limits.body_timeout = limits.idle_timeout = milliseconds(50);
  RunningServer running(echo, limits);
  for (const char* sent :
       {"GET / HT", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", ""}) {
    RawSocket socket = RawSocket::to_unix(running);
    socket.send(sent);
    EXPECT_EQ(socket.read_until_closed(), "") << sent;
  }
  RawSocket kept = RawSocket::to_unix(running);
  kept.send("GET /idle HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(kept.read_until_closed().ends_with("GET /idle ")) << "then closed for idleness";
  RawSocket handshake = RawSocket::to_tls_port(running);
  handshake.send("\x16\x03\x01");
  EXPECT_EQ(handshake.read_until_closed(), "");
}

TEST(HttpServer, a_request_nobody_answers_is_500) {
  RunningServer running([](HttpRequest, std::shared_ptr<Responder>) {});
  auto response = make_http_client(running.unix_target())->call("GET", "/", {}, "");
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 500);
  EXPECT_TRUE(contains(response->body, "\"reason\":\"InternalError\""));
}

TEST(HttpServer, answers_may_come_from_any_thread_and_without_a_body) {
  std::vector<std::thread> threads;
  {
    RunningServer running([&threads](HttpRequest, std::shared_ptr<Responder> responder) {
      threads.emplace_back([responder] {
        HttpResponse response;
        response.status = 204;
        responder->send(std::move(response));
        responder->send(text_response("a second answer is not one"));
      });
    });
    auto client = make_http_client(running.tls_target());
    for (int i = 0; i < 5; ++i) {
      auto response = client->call("DELETE", "/", {}, "");
      ASSERT_TRUE(response.has_value()) << response.error().message;
      EXPECT_EQ(response->status, 204);
      EXPECT_EQ(response->body, "");
      EXPECT_EQ(response->header("content-length"), "");
    }
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

TEST(HttpServer, runs_tasks_on_the_io_thread) {
  RunningServer running([](HttpRequest, std::shared_ptr<Responder> responder) {
    auto here = std::this_thread::get_id();
    std::thread([responder, here] {
      responder->run_on_io([responder, here] {
        responder->send(text_response(std::this_thread::get_id() == here ? "same" : "other"));
      });
    }).join();
  });
  EXPECT_EQ(make_http_client(running.unix_target())->call("GET", "/", {}, "")->body, "same");
}

TEST(HttpServer, sends_a_large_answer_from_slices) {
  auto owner = bytes_of(std::string(4096, 'j'));
  constexpr size_t kSlices = 5000;
  RunningServer running([&](HttpRequest, std::shared_ptr<Responder> responder) {
    HttpResponse response;
    response.owners = {owner};
    response.slices.assign(kSlices, *owner);
    responder->send(std::move(response));
  });
  for (const ClientTarget& target : {running.tls_target(), running.unix_target()}) {
    auto response = make_http_client(target)->call("GET", "/", {}, "");
    ASSERT_TRUE(response.has_value()) << response.error().message;
    EXPECT_EQ(response->body.size(), kSlices * 4096);
    EXPECT_EQ(response->body.find_first_not_of('j'), std::string::npos);
  }
}

TEST(HttpServer, closes_the_one_idle_for_longest_above_the_limit) {
  ServerLimits limits;
  limits.max_connections = 2;
  RunningServer running(echo, limits);
  RawSocket first = RawSocket::to_unix(running), second = RawSocket::to_unix(running);
  for (RawSocket* one : {&first, &second}) {
    one->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(one->read_until("GET / ").find("200"), std::string::npos);
  }
  auto third = make_http_client(running.unix_target());
  EXPECT_TRUE(third->call("GET", "/", {}, "").has_value());
  first.read_until_closed();
  EXPECT_TRUE(third->call("GET", "/", {}, "").has_value());
  EXPECT_EQ(running.server->statistics().refused, 1u);
}

TEST(HttpServer, makes_room_on_whichever_thread_has_one_idle) {
  ServerLimits limits;
  limits.max_connections = 2;
  std::promise<std::shared_ptr<Responder>> asked;
  RunningServer running(
      [&asked](HttpRequest request, std::shared_ptr<Responder> responder) {
        if (request.target == "/slow") return asked.set_value(std::move(responder));
        responder->send(text_response("at once"));
      },
      limits, 2);
  // One on each thread; the first thread's is busy, the other's idle.
  RawSocket busy = RawSocket::to_unix(running), idle = RawSocket::to_unix(running);
  idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(idle.read_until("at once").find("200"), std::string::npos);
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto responder = asked.get_future().get();
  auto third = make_http_client(running.unix_target());
  EXPECT_TRUE(third->call("GET", "/", {}, "").has_value());
  idle.read_until_closed();
  responder->send(text_response("late"));
  EXPECT_NE(busy.read_until("late").find("200"), std::string::npos);
}

TEST(HttpServer, closes_the_newest_when_all_others_are_being_answered) {
  ServerLimits limits;
  limits.max_connections = 1;
  std::promise<std::shared_ptr<Responder>> asked;
  RunningServer running(
      [&asked](HttpRequest, std::shared_ptr<Responder> responder) {
        asked.set_value(std::move(responder));
      },
      limits);
  RawSocket first = RawSocket::to_unix(running);
  first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto responder = asked.get_future().get();
  RawSocket second = RawSocket::to_unix(running);
  EXPECT_EQ(second.read_until_closed(), "");
  responder->send(text_response("late"));
  EXPECT_NE(first.read_until("late").find("200"), std::string::npos);
}

TEST(HttpServer, turns_away_bodies_that_together_are_too_many) {
  ServerLimits limits;
  limits.max_receiving = 100'000;
  RunningServer running(echo, limits);
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n";
  RawSocket first = RawSocket::to_unix(running), second = RawSocket::to_unix(running);
  first.send(head + std::string(80'000, 'a'));
  while (running.server->statistics().bytes_in < 80'000)
    std::this_thread::yield();
  second.send(head + std::string(80'000, 'b'));
  const std::string refused = second.read_until_closed();
  EXPECT_NE(refused.find("429"), std::string::npos) << refused;
  EXPECT_NE(refused.find("Retry-After: 1"), std::string::npos) << refused;
  EXPECT_TRUE(make_http_client(running.unix_target())->call("POST", "/", {}, "small").has_value());
  first.send(std::string(10'000, 'a'));
  EXPECT_NE(first.read_until("a").find("200"), std::string::npos);
}

TEST(HttpServer, knows_the_owner_on_the_unix_socket_and_guards_the_file) {
  RunningServer running([](HttpRequest request, std::shared_ptr<Responder> responder) {
    responder->send(text_response(request.peer.local_owner ? "owner" : "stranger"));
  });
  EXPECT_EQ(make_http_client(running.unix_target())->call("GET", "/", {}, "")->body, "owner");
  struct stat info {};
  ASSERT_EQ(::stat(running.unix_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((running.folder + "/sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(HttpServer, says_why_it_cannot_listen) {
  RunningServer running(echo);
  const auto& made = TestCertificates::get();
  TlsFiles files{made.server.certificate_pem, made.server.key_pem, made.ca.certificate_pem};
  auto second = make_http_server(echo);
  auto port = second->listen_tls("127.0.0.1", running.port, files);
  ASSERT_FALSE(port.has_value());
  EXPECT_EQ(port.error().reason, Reason::ServiceUnavailable);
  EXPECT_EQ(port.error().message,
            "cannot listen on 127.0.0.1:" + std::to_string(running.port) +
                ": another program uses this port; stop it, or choose another port with --port");
  EXPECT_FALSE(second->listen_tls("nowhere", 0, files).has_value());
  EXPECT_FALSE(second->listen_tls("127.0.0.1", 0, {"no", "pem", "here"}).has_value());
  EXPECT_FALSE(
      second->listen_tls("127.0.0.1", 0, {made.server.certificate_pem, made.alice.key_pem, ""})
          .has_value());
  auto socket = second->listen_unix(running.unix_path);
  ASSERT_FALSE(socket.has_value());
  EXPECT_TRUE(contains(socket.error().message, "another server answers there"));
  EXPECT_FALSE(second->listen_unix("/tmp/" + std::string(200, 'x')).has_value());
  EXPECT_FALSE(second->listen_unix("/etc/passwd").has_value());
}

TEST(HttpServer, takes_the_place_of_a_socket_left_by_a_dead_server) {
  RunningServer running(echo);
  std::string path = running.folder + "/stale.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(dead);
  auto server = make_http_server(echo);
  EXPECT_TRUE(server->listen_unix(path).has_value());
}

}  // namespace
}  // namespace yard
