// Who gets through the TLS port, and what the rest of the world is told.

#include <thread>

#include "net/server_testing.h"

namespace yard {
namespace {

void name_the_peer(HttpRequest request, std::shared_ptr<Responder> responder) {
  std::string text = request.peer.common_name + "|";
  for (const std::string& group : request.peer.organizations) {
    text += group + "|";
  }
  responder->send(text_response(text + (request.peer.local_owner ? "local" : "remote")));
}

TEST(Certificates, name_what_they_were_made_for) {
  const auto& made = TestCertificates::get();
  EXPECT_TRUE(covers_names(made.server.certificate_pem, {"localhost", "127.0.0.1", "::1"}));
  EXPECT_FALSE(covers_names(made.server.certificate_pem, {"localhost", "10.0.0.1"}));
  EXPECT_FALSE(covers_names(made.server.certificate_pem, {"example.org"}));
  EXPECT_FALSE(covers_names("not a certificate", {}));
}

TEST(Certificates, are_valid_in_their_time) {
  const auto& made = TestCertificates::get();
  auto days = [](int count) { return std::chrono::hours(24 * count); };
  struct Case {
    const char* about;
    const std::string& pem;
    Time now;
    Duration ahead;
    bool valid;
  };
  const Case cases[] = {
      {"the CA lasts years", made.ca.certificate_pem, test_now(), days(3600), true},
      {"but not for ever", made.ca.certificate_pem, test_now(), days(4000), false},
      {"the server's a year", made.server.certificate_pem, test_now(), days(365), true},
      {"a client's as long as asked", made.alice.certificate_pem, test_now(), std::chrono::hours(2),
       false},
      {"clocks may be behind by less than an hour", made.ca.certificate_pem,
       test_now() - std::chrono::minutes(50), Duration{0}, true},
      {"but not more", made.ca.certificate_pem, test_now() - std::chrono::minutes(70), Duration{0},
       false},
      {"garbage never is", made.ca.key_pem, test_now(), Duration{0}, false},
  };
  for (const Case& row : cases) {
    EXPECT_EQ(is_valid_for(row.pem, row.now, row.ahead), row.valid) << row.about;
  }
}

TEST(Certificates, cannot_be_made_with_a_broken_authority) {
  const auto& made = TestCertificates::get();
  EXPECT_FALSE(make_server_certificate({"", ""}, {"localhost"}, test_now()).has_value());
  KeyPair mixed{made.ca.certificate_pem, made.other_ca.key_pem};
  EXPECT_FALSE(make_server_certificate(mixed, {"localhost"}, test_now()).has_value());
}

TEST(Tls, the_certificate_names_the_peer_and_without_one_there_is_none) {
  RunningServer running(name_the_peer);
  auto alice = make_http_client(running.tls_target_as(TestCertificates::get().alice));
  EXPECT_EQ(alice->call("GET", "/", {}, "")->body, "alice|system:masters|team,one|remote");
  auto nobody = make_http_client(running.tls_target());
  EXPECT_EQ(nobody->call("GET", "/", {}, "")->body, "|remote");
}

TEST(Tls, a_client_certificate_of_another_authority_is_refused) {
  RunningServer running(name_the_peer);
  const auto& made = TestCertificates::get();
  auto mallory = make_http_client(running.tls_target_as(made.mallory));
  auto response = mallory->call("GET", "/", {}, "");
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().reason, Reason::ServiceUnavailable);
  KeyPair expired = make_client_certificate(made.ca, "old", {}, test_now() - std::chrono::hours(9),
                                            std::chrono::hours(1))
                        .value();
  EXPECT_FALSE(
      make_http_client(running.tls_target_as(expired))->call("GET", "/", {}, "").has_value());
  // A server's certificate does not make a user.
  EXPECT_FALSE(
      make_http_client(running.tls_target_as(made.server))->call("GET", "/", {}, "").has_value());
}

TEST(Tls, the_client_refuses_a_server_it_does_not_know) {
  RunningServer running(name_the_peer);
  ClientTarget wrong_ca = running.tls_target();
  wrong_ca.ca_pem = TestCertificates::get().other_ca.certificate_pem;
  auto response = make_http_client(wrong_ca)->call("GET", "/", {}, "");
  ASSERT_FALSE(response.has_value());
  EXPECT_NE(response.error().message.find("is not the one expected"), std::string::npos)
      << response.error().message;
  ClientTarget wrong_name = running.tls_target();
  wrong_name.host = "127.0.0.2";  // also loopback, but not in the certificate
  auto server = make_http_server(name_the_peer);
  const auto& made = TestCertificates::get();
  wrong_name.port =
      server->listen_tls("127.0.0.2", 0, {made.server.certificate_pem, made.server.key_pem, ""})
          .value();
  server->start();
  EXPECT_FALSE(make_http_client(wrong_name)->call("GET", "/", {}, "").has_value());
}

TEST(Tls, a_name_is_as_good_as_an_address) {
  RunningServer running(name_the_peer);
  ClientTarget target = running.tls_target();
  target.host = "localhost";
  auto response = make_http_client(target)->call("GET", "/", {}, "");
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 200);
}

TEST(Tls, garbage_and_plain_http_are_turned_away_and_others_served) {
  RunningServer running(name_the_peer);
  RawSocket garbage = RawSocket::to_tls_port(running);
  garbage.send(std::string(100, '\xff'));
  garbage.end_sending();
  EXPECT_EQ(garbage.read_until_closed().find("HTTP"), std::string::npos);
  RawSocket plain = RawSocket::to_tls_port(running);
  plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  plain.end_sending();
  EXPECT_TRUE(plain.read_until_closed().starts_with("HTTP/1.0 400 Bad Request\r\n"));
  RawSocket silent = RawSocket::to_tls_port(running);
  silent.close();
  EXPECT_EQ(make_http_client(running.tls_target())->call("GET", "/", {}, "")->status, 200);
}

TEST(Tls, many_clients_on_two_io_threads) {
  RunningServer running(name_the_peer, {}, 2);
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      auto client = make_http_client(running.tls_target_as(TestCertificates::get().alice));
      for (int j = 0; j < 20; ++j) {
        auto response = client->call("GET", "/", {}, "");
        if (response && response->body.starts_with("alice|")) ++answered;
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(answered, 160);
}

TEST(HttpClient, opens_a_new_connection_when_the_kept_one_has_died) {
  ServerLimits limits;
  limits.idle_timeout = std::chrono::milliseconds(20);
  RunningServer running(name_the_peer, limits);
  auto client = make_http_client(running.tls_target());
  ASSERT_EQ(client->call("GET", "/", {}, "")->status, 200);
  // Another connection, idle as long, tells when the first has been closed.
  RawSocket witness = RawSocket::to_unix(running);
  witness.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  witness.read_until_closed();
  EXPECT_EQ(client->call("GET", "/", {}, "")->status, 200);
  EXPECT_EQ(running.server->statistics().accepted, 3u);
}

TEST(HttpClient, sends_the_token_and_gives_up_in_time) {
  std::vector<std::shared_ptr<Responder>> unanswered;
  RunningServer running([&](HttpRequest request, std::shared_ptr<Responder> responder) {
    if (request.target == "/never") {
      unanswered.push_back(responder);
      return;
    }
    responder->send(text_response(std::string(request.header("Authorization"))));
  });
  ClientTarget target = running.tls_target();
  target.bearer_token = "secret";
  auto client = make_http_client(target, std::chrono::milliseconds(500));
  EXPECT_EQ(client->call("GET", "/", {}, "")->body, "Bearer secret");
  auto never = client->call("GET", "/never", {}, "");
  ASSERT_FALSE(never.has_value());
  EXPECT_EQ(never.error().reason, Reason::Timeout);
  EXPECT_EQ(client->call("GET", "/", {}, "")->body, "Bearer secret");
  EXPECT_EQ(running.server->statistics().accepted, 2u) << "the broken-off conversation is not continued";
}

TEST(HttpClient, says_who_is_not_there) {
  ClientTarget nowhere;
  nowhere.unix_path = "/tmp/yard-no-such-socket";
  auto response = make_http_client(nowhere)->call("GET", "/", {}, "");
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().reason, Reason::ServiceUnavailable);
  EXPECT_NE(response.error().message.find("/tmp/yard-no-such-socket"), std::string::npos);
}

}  // namespace
}  // namespace yard
