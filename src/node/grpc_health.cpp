#include "node/grpc_health.h"

#include <fmt/format.h>

namespace yard {
namespace {

using Outcome = HandlerOutcome;
constexpr char kData = 0, kHeaders = 1, kResetStream = 3, kSettings = 4, kGoAway = 7;
constexpr char kEndStream = 1, kEndHeaders = 4, kPadded = 8;
constexpr size_t kFrameHead = 9, kMessageHead = 5;
constexpr size_t kMostName = 4096;

void append_frame(std::string& out, char type, char flags, char stream, std::string_view payload) {
  const size_t size = payload.size();
  out += static_cast<char>(size >> 16);
  out += static_cast<char>(size >> 8);
  out += static_cast<char>(size);
  out += type;
  out += flags;
  out.append(3, '\0');
  out += stream;
  out += payload;
}

// Numbers in seven bits a byte, the least first: protobuf's form.
void append_varint(std::string& out, size_t number) {
  for (; number >= 0x80; number >>= 7)
    out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

// HPACK: a length fills seven bits, the rest follows as a varint.
void append_hpack_text(std::string& out, std::string_view text) {
  if (text.size() < 0x7f) {
    out += static_cast<char>(text.size());
  } else {
    out += '\x7f';
    append_varint(out, text.size() - 0x7f);
  }
  out += text;
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += '\0';  // literal, not indexed, its name spelled out
  append_hpack_text(out, name);
  append_hpack_text(out, value);
}

size_t number_at(std::string_view bytes, size_t count) {
  size_t out = 0;
  for (size_t i = 0; i < count; ++i)
    out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

Outcome bad(std::string text) {
  return {Outcome::Result::Bad, std::move(text)};
}

// HealthCheckResponse has one field: status.
Outcome outcome_of(std::string_view message) {
  const size_t status =
      message.size() >= 2 && message[0] == '\x08' ? static_cast<unsigned char>(message[1]) : 0;
  if (status == 1) return {};
  const char* const names[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  return bad(fmt::format("service unhealthy (responded with \"{}\")",
                         status < 4 ? names[status] : "UNKNOWN"));
}

}  // namespace

std::string grpc_health_request(const HandlerCall& call) {
  std::string headers;
  append_header(headers, ":method", "POST");
  append_header(headers, ":scheme", "http");
  append_header(headers, ":path", "/grpc.health.v1.Health/Check");
  append_header(headers, ":authority", fmt::format("{}:{}", call.host, call.port));
  append_header(headers, "te", "trailers");
  append_header(headers, "content-type", "application/grpc");
  append_header(headers, "user-agent", "kube-probe/1.34");
  const std::string_view service = std::string_view(call.service).substr(0, kMostName);
  std::string request;  // HealthCheckRequest has one field: service
  if (!service.empty()) {
    request += '\x0a';
    append_varint(request, service.size());
    request += service;
  }
  std::string message(1, '\0');  // not compressed
  for (int shift = 24; shift >= 0; shift -= 8)
    message += static_cast<char>(request.size() >> shift);
  message += request;
  std::string out = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  append_frame(out, kSettings, 0, 0, "");
  append_frame(out, kHeaders, kEndHeaders, 1, headers);
  append_frame(out, kData, kEndStream, 1, message);
  return out;
}

std::optional<HandlerOutcome> grpc_health_outcome(std::string_view received) {
  std::string data;
  while (received.size() >= kFrameHead) {
    const size_t size = number_at(received, 3);
    const char type = received[3], flags = received[4];
    if (size > 1 << 20) return bad("error: health rpc probe failed: the answer is not HTTP/2");
    if (received.size() < kFrameHead + size) return std::nullopt;
    std::string_view payload = received.substr(kFrameHead, size);
    received.remove_prefix(kFrameHead + size);
    if (type == kGoAway || type == kResetStream)
      return bad("error: health rpc probe failed: the server ended the stream");
    if (type == kData) {
      if ((flags & kPadded) != 0 && !payload.empty()) {
        const size_t padding = static_cast<unsigned char>(payload[0]);
        payload.remove_prefix(1);
        payload.remove_suffix(std::min(padding, payload.size()));
      }
      data += payload;
      if (data.size() >= kMessageHead) {
        const size_t length = number_at(std::string_view(data).substr(1), 4);
        if (data.size() >= kMessageHead + length)
          return outcome_of(std::string_view(data).substr(kMessageHead, length));
      }
    }
    if ((type == kData || type == kHeaders) && (flags & kEndStream) != 0)
      return bad(
          "error: this server does not implement the grpc health protocol "
          "(grpc.health.v1.Health), or does not know the service");
  }
  return std::nullopt;
}

}  // namespace yard
