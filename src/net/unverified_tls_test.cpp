#include "net/unverified_tls.h"

#include <gtest/gtest.h>

#include "net/server_testing.h"

namespace yard {
namespace {

// What comes back for these bytes over a plain socket.
std::string exchange_with(TlsStream& tls, int fd) {
  std::string plain;
  char buffer[4096];
  for (;;) {
    const std::string output = tls.take_output();
    if (!output.empty() && send(fd, output.data(), output.size(), MSG_NOSIGNAL) < 0) break;
    const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
    if (count <= 0 || !tls.receive(std::string_view(buffer, static_cast<size_t>(count)))) break;
    plain += tls.take_plain();
    if (plain.find("\r\n\r\nok") != std::string::npos) break;
  }
  return plain;
}

TEST(UnverifiedTls, TakesACertificateNobodyVouchesFor) {
  RunningServer running([](HttpRequest, std::shared_ptr<Responder> responder) {
    responder->send(text_response("ok"));
  });
  RawSocket socket = RawSocket::to_tls_port(running);
  const int fd = socket.fd();
  const auto tls = make_unverified_tls("127.0.0.1");
  tls->write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(exchange_with(*tls, fd).starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST(UnverifiedTls, KnowsAPlainAnswer) {
  const auto tls = make_unverified_tls("name.example");
  EXPECT_FALSE(tls->take_output().empty()) << "the greeting goes first";
  EXPECT_FALSE(tls->receive("HTTP/1.0 400 Bad Request\r\n\r\n"));
  EXPECT_TRUE(tls->met_plain_http());
  const auto other = make_unverified_tls("name.example");
  EXPECT_FALSE(other->receive("SSH-2.0-OpenSSH_9.2p1\r\n"));
  EXPECT_FALSE(other->met_plain_http());
}

}  // namespace
}  // namespace yard
