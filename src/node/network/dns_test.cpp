#include <gtest/gtest.h>

#include "node/network/dns_message.h"
#include "node/network/dns_zone.h"

namespace yard {
namespace {

DnsZone zone() {
  DnsZone out;
  for (const char* line :
       {"kubernetes.default.svc.cluster.local A 10.96.0.1",
        "trainer.ns.svc.cluster.local A 10.244.0.5", "trainer.ns.svc.cluster.local A 10.244.0.6",
        "job-0.trainer.ns.svc.cluster.local A 10.244.0.5",
        "10.244.0.5 PTR job-0.trainer.ns.svc.cluster.local",
        "_http._tcp.trainer.ns.svc.cluster.local SRV 8080 job-0.trainer.ns.svc.cluster.local",
        "alias.ns.svc.cluster.local CNAME trainer.ns.svc.cluster.local",
        "away.ns.svc.cluster.local CNAME example.org", "nonsense", "a.b B c"})
    out.add(line);
  return out;
}

DnsQuestion asked(std::string name, DnsType type) {
  DnsQuestion out;
  out.id = 7;
  out.name = std::move(name);
  out.type = type;
  return out;
}

std::string text_of(const DnsAnswer& answer) {
  std::string out = answer.code == DnsCode::NoSuchName ? "none" : "";
  for (const DnsRecord& record : answer.records)
    out += (out.empty() ? "" : " ") + (record.type == DnsType::A ? ipv4_text(record.address)
                                       : record.type == DnsType::SRV
                                           ? std::to_string(record.port) + ":" + record.target
                                           : record.target);
  return out;
}

TEST(DnsZone, AnswersEveryFormOfName) {
  struct Row {
    const char* name;
    DnsType type;
    const char* answer;
  };
  const Row rows[] = {
      {"kubernetes.default.svc.cluster.local", DnsType::A, "10.96.0.1"},
      {"trainer.ns.svc.cluster.local", DnsType::A, "10.244.0.5 10.244.0.6"},
      {"job-0.trainer.ns.svc.cluster.local", DnsType::A, "10.244.0.5"},
      {"job-0.trainer.ns.svc.cluster.local", DnsType::AAAA, ""},
      {"job-1.trainer.ns.svc.cluster.local", DnsType::A, "none"},
      {"10-244-0-9.ns.pod.cluster.local", DnsType::A, "10.244.0.9"},
      {"10-244-0-9.ns.pod.cluster.local", DnsType::AAAA, ""},
      {"10-244-0-999.ns.pod.cluster.local", DnsType::A, "none"},
      {"_http._tcp.trainer.ns.svc.cluster.local", DnsType::SRV,
       "8080:job-0.trainer.ns.svc.cluster.local"},
      {"5.0.244.10.in-addr.arpa", DnsType::PTR, "job-0.trainer.ns.svc.cluster.local"},
      {"9.0.244.10.in-addr.arpa", DnsType::PTR, "none"},
      {"alias.ns.svc.cluster.local", DnsType::A,
       "trainer.ns.svc.cluster.local 10.244.0.5 10.244.0.6"},
      {"away.ns.svc.cluster.local", DnsType::A, "example.org"},
      {"svc.cluster.local", DnsType::A, ""},
      {"cluster.local", DnsType::A, ""},
      {"other.cluster.local", DnsType::A, "none"},
  };
  const DnsZone names = zone();
  for (const Row& row : rows) {
    EXPECT_TRUE(DnsZone::is_ours(row.name)) << row.name;
    EXPECT_EQ(text_of(names.answer(asked(row.name, row.type), 0)), row.answer) << row.name;
  }
  for (const char* name :
       {"example.org", "notcluster.local", "local", "", "1.0.0.127.in-addr.arpa"})
    EXPECT_FALSE(DnsZone::is_ours(name)) << name;
  EXPECT_EQ(text_of(names.answer(asked("trainer.ns.svc.cluster.local", DnsType::A), 1)),
            "10.244.0.6 10.244.0.5")
      << "askers take turns";
}

TEST(DnsZone, ForgetsWhatIsRemoved) {
  DnsZone names = zone();
  names.remove("trainer.ns.svc.cluster.local A 10.244.0.6");
  EXPECT_EQ(text_of(names.answer(asked("trainer.ns.svc.cluster.local", DnsType::A), 0)),
            "10.244.0.5");
  names.remove("trainer.ns.svc.cluster.local A 10.244.0.5");
  EXPECT_EQ(text_of(names.answer(asked("trainer.ns.svc.cluster.local", DnsType::A), 0)), "")
      << "names below it are still there";
  names.remove("job-0.trainer.ns.svc.cluster.local A 10.244.0.5");
  names.remove(
      "_http._tcp.trainer.ns.svc.cluster.local SRV 8080 "
      "job-0.trainer.ns.svc.cluster.local");
  EXPECT_EQ(text_of(names.answer(asked("trainer.ns.svc.cluster.local", DnsType::A), 0)), "none");
}

TEST(DnsMessage, AQuestionSurvivesTheWire) {
  const std::string message =
      dns_question_message(0x1234, "Job-0.Trainer.ns.svc.cluster.local", DnsType::A);
  const DnsParse parsed = parse_dns_question(message);
  ASSERT_TRUE(parsed.question);
  EXPECT_EQ(parsed.question->id, 0x1234);
  EXPECT_EQ(parsed.question->name, "job-0.trainer.ns.svc.cluster.local");
  EXPECT_EQ(parsed.question->type, DnsType::A);
  EXPECT_TRUE(parsed.question->recursion_desired);
  const std::string answer =
      dns_answer_message(*parsed.question, zone().answer(*parsed.question, 0), 512);
  const auto addresses = parse_dns_addresses(answer);
  ASSERT_TRUE(addresses);
  ASSERT_EQ(addresses->size(), 1u);
  EXPECT_EQ(addresses->front().address, 0x0af40005u);
  for (size_t size = 0; size < message.size(); ++size)
    EXPECT_FALSE(parse_dns_question(std::string_view(message).substr(0, size)).question) << size;
}

TEST(DnsMessage, WhatDoesNotFitIsCutAndSaidSo) {
  DnsAnswer many;
  for (Ipv4 i = 0; i < 100; ++i)
    many.records.push_back({"trainer.ns.svc.cluster.local", DnsType::A, 0x0af40000 + i, "", 0});
  const DnsQuestion question = asked("trainer.ns.svc.cluster.local", DnsType::A);
  const std::string small = dns_answer_message(question, many, most_over_udp(question));
  EXPECT_LE(small.size(), 512u);
  EXPECT_NE(static_cast<uint8_t>(small[2]) & 0x02, 0) << "truncated";
  const std::string whole = dns_answer_message(question, many, 65535);
  EXPECT_EQ(static_cast<uint8_t>(whole[2]) & 0x02, 0);
  EXPECT_EQ(static_cast<uint8_t>(whole[7]), 100);
}

TEST(DnsMessage, HostileBytesAreRefused) {
  struct Row {
    const char* about;
    std::string message;
    DnsCode problem;
  };
  const std::string header("\0\1\1\0\0\1\0\0\0\0\0\0", 12);
  const Row rows[] = {
      {"nothing", "", DnsCode::NoError},
      {"an answer is not answered", std::string("\0\1\x80\0\0\1\0\0\0\0\0\0", 12),
       DnsCode::NoError},
      {"no question after the header", header, DnsCode::FormatError},
      {"a label that leads past the end",
       header + std::string("\x3f"
                            "abc",
                            4),
       DnsCode::FormatError},
      {"a pointer in a question", header + std::string("\xc0\x0c\0\1\0\1", 6),
       DnsCode::FormatError},
      {"two questions", std::string("\0\1\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1", 19),
       DnsCode::FormatError},
      {"an update", std::string("\0\1\x28\0\0\1\0\0\0\0\0\0", 12), DnsCode::NotImplemented},
  };
  for (const Row& row : rows) {
    const DnsParse parsed = parse_dns_question(row.message);
    EXPECT_FALSE(parsed.question) << row.about;
    EXPECT_EQ(parsed.problem, row.problem) << row.about;
  }
  // A name that points at itself.
  EXPECT_FALSE(parse_dns_addresses(
      std::string("\0\1\x80\0\0\0\0\1\0\0\0\0\xc0\x0c\0\1\0\1\0\0\0\5\0\4\1\2\3\4", 28)));
}

}  // namespace
}  // namespace yard
