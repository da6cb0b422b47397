#pragma once
// DNS on the wire (RFC 1035, EDNS of RFC 6891): questions are read from bytes of strangers, answers
// are written. Pure; every length is checked and every loop bounded.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/network/ipv4.h"

namespace yard {

enum class DnsType : uint16_t {
  A = 1,
  CNAME = 5,
  SOA = 6,
  PTR = 12,
  AAAA = 28,
  SRV = 33,
  OPT = 41,
  ANY = 255,
};
enum class DnsCode : uint8_t {
  NoError = 0,
  FormatError = 1,
  ServerFailure = 2,
  NoSuchName = 3,
  NotImplemented = 4,
  Refused = 5,
};

struct DnsQuestion {
  uint16_t id = 0;
  std::string name;  // in lower case, without the final dot; the root is ""
  DnsType type = DnsType::A;
  bool recursion_desired = false;
  std::optional<uint16_t> edns_size;  // what the asker takes over UDP
  size_t question_end = 0;            // where the question section ends in its message
};
struct DnsParse {
  std::optional<DnsQuestion> question;
  DnsCode problem = DnsCode::NoError;  // what to say when there is none
  uint16_t id = 0;
};
// Nothing at all is said to what has no header or is an answer: `question` and `problem` are both
// unset.
DnsParse parse_dns_question(std::string_view message);

struct DnsRecord {
  std::string name;
  DnsType type = DnsType::A;
  Ipv4 address = 0;    // of A
  std::string target;  // of CNAME, PTR and SRV
  uint16_t port = 0;   // of SRV
  friend bool operator==(const DnsRecord&, const DnsRecord&) = default;
};

struct DnsAnswer {
  DnsCode code = DnsCode::NoError;
  std::vector<DnsRecord> records;
  std::vector<DnsRecord> additional;  // addresses of SRV targets
  bool authoritative = true;
};

inline constexpr uint32_t kDnsTtlSeconds = 5;  // also of what does not exist

// `most` bounds the message; what does not fit is left out and the answer marked truncated.
std::string dns_answer_message(const DnsQuestion& question, const DnsAnswer& answer, size_t most);
// An answer without any question to repeat.
std::string dns_problem_message(uint16_t id, DnsCode code);
// How large an answer over UDP may be.
size_t most_over_udp(const DnsQuestion& question);

// A question of our own, for an upstream server.
std::string dns_question_message(uint16_t id, std::string_view name, DnsType type);
// The address records of an upstream's answer (A, AAAA is dropped), with the chain of names before
// them; nullopt when it cannot be read or says there are none.
std::optional<std::vector<DnsRecord>> parse_dns_addresses(std::string_view message);

}  // namespace yard
