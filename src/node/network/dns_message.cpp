#include "node/network/dns_message.h"

#include <algorithm>

#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMostLabel = 63, kMostName = 253;
constexpr size_t kPlainUdp = 512, kMostUdp = 4096, kOptSize = 11;
constexpr int kMostPointers = 16, kMostRecords = 64;
constexpr uint16_t kAnswerBit = 0x8000, kAuthoritativeBit = 0x0400, kTruncatedBit = 0x0200,
                   kRecursionDesiredBit = 0x0100, kRecursionAvailableBit = 0x0080;
constexpr uint16_t kInternet = 1;

// Reads forward over a message and never past its end: a step too far makes it bad for good.
class Reader {
 public:
  explicit Reader(std::string_view message) : message_(message) {}

  uint8_t u8() { return need(1) ? static_cast<uint8_t>(message_[at_++]) : 0; }
  uint16_t u16() {
    const uint16_t high = u8();
    return static_cast<uint16_t>(high << 8 | u8());
  }
  uint32_t u32() {
    const uint32_t high = u16();
    return high << 16 | u16();
  }
  void skip(size_t count) {
    if (need(count)) at_ += count;
  }
  // In lower case. Pointers are followed a bounded number of times.
  std::string name(bool pointers_allowed);

  size_t at() const { return at_; }
  bool is_bad() const { return bad_; }

 private:
  bool need(size_t count) {
    if (bad_ || message_.size() - at_ < count) bad_ = true;
    return !bad_;
  }
  std::string_view message_;
  size_t at_ = 0;
  bool bad_ = false;
};

std::string Reader::name(bool pointers_allowed) {
  std::string out;
  std::optional<size_t> after;  // where reading goes on once pointers were followed
  int pointers = 0;
  while (!bad_) {
    const uint8_t length = u8();
    if (length == 0) break;
    if ((length & 0xc0) == 0xc0) {
      const size_t target = static_cast<size_t>(length & 0x3f) << 8 | u8();
      if (!pointers_allowed || ++pointers > kMostPointers || target >= message_.size()) bad_ = true;
      if (!after) after = at_;
      at_ = bad_ ? at_ : target;
      continue;
    }
    if (length > kMostLabel || !need(length) || out.size() + length + 1 > kMostName + 1) {
      bad_ = true;
      break;
    }
    if (!out.empty()) out += '.';
    const std::string_view label = message_.substr(at_, length);
    // A dot inside a label would read as two labels.
    if (label.find('.') != std::string_view::npos) bad_ = true;
    out += lower(label);
    at_ += length;
  }
  if (after) at_ = *after;
  return out;
}

class Writer {
 public:
  void u8(uint8_t value) { out.push_back(static_cast<char>(value)); }
  void u16(uint16_t value) {
    u8(static_cast<uint8_t>(value >> 8));
    u8(static_cast<uint8_t>(value));
  }
  void u32(uint32_t value) {
    u16(static_cast<uint16_t>(value >> 16));
    u16(static_cast<uint16_t>(value));
  }
  // Names of ours and of services; a label that is too long for the wire is cut off.
  void name(std::string_view text) {
    for (const std::string_view label : split(text, '.')) {
      if (label.empty()) continue;
      const std::string_view part = label.substr(0, kMostLabel);
      u8(static_cast<uint8_t>(part.size()));
      out += part;
    }
    u8(0);
  }
  void header(uint16_t id, uint16_t flags, uint16_t questions, uint16_t answers) {
    u16(id);
    u16(flags);
    u16(questions);
    u16(answers);
    u16(0);
    u16(0);
  }
  void set_u16(size_t at, uint16_t value) {
    out[at] = static_cast<char>(value >> 8);
    out[at + 1] = static_cast<char>(value);
  }
  std::string out;
};

// A record with its data; the length is filled in behind it.
void write_record(Writer& writer, const DnsRecord& record) {
  writer.name(record.name);
  writer.u16(static_cast<uint16_t>(record.type));
  writer.u16(kInternet);
  writer.u32(kDnsTtlSeconds);
  const size_t length_at = writer.out.size();
  writer.u16(0);
  switch (record.type) {
    case DnsType::A: writer.u32(record.address); break;
    case DnsType::SRV:
      writer.u16(0);    // priority
      writer.u16(100);  // weight
      writer.u16(record.port);
      writer.name(record.target);
      break;
    default: writer.name(record.target); break;
  }
  writer.set_u16(length_at, static_cast<uint16_t>(writer.out.size() - length_at - 2));
}

// What says how long "there is none" may be remembered.
void write_start_of_authority(Writer& writer) {
  writer.name("cluster.local");
  writer.u16(static_cast<uint16_t>(DnsType::SOA));
  writer.u16(kInternet);
  writer.u32(kDnsTtlSeconds);
  const size_t length_at = writer.out.size();
  writer.u16(0);
  writer.name("ns.dns.cluster.local");
  writer.name("hostmaster.cluster.local");
  writer.u32(1);     // serial
  writer.u32(7200);  // refresh
  writer.u32(1800);  // retry
  writer.u32(86400);
  writer.u32(kDnsTtlSeconds);
  writer.set_u16(length_at, static_cast<uint16_t>(writer.out.size() - length_at - 2));
}

void find_edns(Reader& reader, int records, DnsQuestion& question) {
  for (int i = 0; i < std::min(records, kMostRecords) && !reader.is_bad(); ++i) {
    reader.name(true);
    const uint16_t type = reader.u16(), klass = reader.u16();
    reader.u32();
    const uint16_t length = reader.u16();
    reader.skip(length);
    if (type == static_cast<uint16_t>(DnsType::OPT) && !reader.is_bad()) {
      question.edns_size = klass;
      return;
    }
  }
}

}  // namespace

DnsParse parse_dns_question(std::string_view message) {
  DnsParse out;
  Reader reader(message);
  out.id = reader.u16();
  const uint16_t flags = reader.u16();
  const uint16_t questions = reader.u16(), answers = reader.u16(), authorities = reader.u16(),
                 additional = reader.u16();
  if (reader.is_bad() || (flags & kAnswerBit) != 0) return out;
  if ((flags >> 11 & 15) != 0) {
    out.problem = DnsCode::NotImplemented;
    return out;
  }
  DnsQuestion question;
  question.id = out.id;
  question.recursion_desired = (flags & kRecursionDesiredBit) != 0;
  question.name = reader.name(false);
  question.type = static_cast<DnsType>(reader.u16());
  const uint16_t klass = reader.u16();
  question.question_end = reader.at();
  if (questions != 1 || reader.is_bad() || (klass != kInternet && klass != 255)) {
    out.problem = DnsCode::FormatError;
    return out;
  }
  find_edns(reader, answers + authorities + additional, question);
  out.question = std::move(question);
  return out;
}

size_t most_over_udp(const DnsQuestion& question) {
  if (!question.edns_size) return kPlainUdp;
  return std::clamp<size_t>(*question.edns_size, kPlainUdp, kMostUdp);
}

std::string dns_answer_message(const DnsQuestion& question, const DnsAnswer& answer, size_t most) {
  Writer writer;
  uint16_t flags = static_cast<uint16_t>(
      kAnswerBit | kRecursionAvailableBit | (answer.authoritative ? kAuthoritativeBit : 0) |
      (question.recursion_desired ? kRecursionDesiredBit : 0) | static_cast<uint16_t>(answer.code));
  writer.header(question.id, flags, 1, 0);
  writer.name(question.name);
  writer.u16(static_cast<uint16_t>(question.type));
  writer.u16(kInternet);
  const size_t room = question.edns_size ? most - kOptSize : most;
  const auto add_all = [&](const std::vector<DnsRecord>& records, size_t count_at) {
    uint16_t count = 0;
    for (const DnsRecord& record : records) {
      const size_t before = writer.out.size();
      write_record(writer, record);
      if (writer.out.size() > room || count == UINT16_MAX) {
        writer.out.resize(before);
        break;
      }
      ++count;
    }
    writer.set_u16(count_at, count);
    return count == records.size();
  };
  if (!add_all(answer.records, 6)) {
    flags |= kTruncatedBit;
    writer.set_u16(2, flags);
  }
  if (answer.records.empty() && answer.authoritative) {
    write_start_of_authority(writer);
    writer.set_u16(8, 1);
  }
  add_all(answer.additional, 10);
  if (question.edns_size) {
    writer.u8(0);
    writer.u16(static_cast<uint16_t>(DnsType::OPT));
    writer.u16(kMostUdp);
    writer.u32(0);
    writer.u16(0);
    const uint16_t additional = static_cast<uint16_t>(static_cast<uint8_t>(writer.out[10]) << 8 |
                                                      static_cast<uint8_t>(writer.out[11]));
    writer.set_u16(10, static_cast<uint16_t>(additional + 1));
  }
  return std::move(writer.out);
}

std::string dns_problem_message(uint16_t id, DnsCode code) {
  Writer writer;
  writer.header(id, static_cast<uint16_t>(kAnswerBit | static_cast<uint16_t>(code)), 0, 0);
  return std::move(writer.out);
}

std::string dns_question_message(uint16_t id, std::string_view name, DnsType type) {
  Writer writer;
  writer.header(id, kRecursionDesiredBit, 1, 0);
  writer.name(name);
  writer.u16(static_cast<uint16_t>(type));
  writer.u16(kInternet);
  return std::move(writer.out);
}

std::optional<std::vector<DnsRecord>> parse_dns_addresses(std::string_view message) {
  Reader reader(message);
  reader.u16();
  const uint16_t flags = reader.u16();
  const uint16_t questions = reader.u16(), answers = reader.u16();
  reader.u32();
  if (reader.is_bad() || (flags & kAnswerBit) == 0 || (flags & 15) != 0 || questions > 1)
    return std::nullopt;
  for (int i = 0; i < questions; ++i) {
    reader.name(false);
    reader.u32();
  }
  std::vector<DnsRecord> out;
  for (int i = 0; i < std::min<int>(answers, kMostRecords); ++i) {
    DnsRecord record;
    record.name = reader.name(true);
    record.type = static_cast<DnsType>(reader.u16());
    reader.u16();
    reader.u32();
    const uint16_t length = reader.u16();
    const size_t begin = reader.at();
    if (record.type == DnsType::A && length == 4) {
      record.address = reader.u32();
      out.push_back(record);
    } else if (record.type == DnsType::CNAME) {
      record.target = reader.name(true);
      out.push_back(record);
    } else {
      reader.skip(length);
    }
    if (reader.is_bad() || reader.at() != begin + length) return std::nullopt;
  }
  if (out.empty()) return std::nullopt;
  return out;
}

}  // namespace yard
