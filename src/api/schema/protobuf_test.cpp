#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "api/schema/decode.h"
#include "base/strings.h"

namespace yard {
namespace {

using namespace std::string_literals;

Json json(std::string_view text) {
  Result<ParsedJson> parsed = parse_json(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? std::move(parsed->value) : Json();
}

std::string bytes_of_hex(std::string_view hex_text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex_text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex_text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// The few wire forms the cases below are written in.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes.push_back(static_cast<char>(0x80 | (value & 0x7f)));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string text_field(uint32_t number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string int_field(uint32_t number, uint64_t value) {
  return varint(number << 3) + varint(value);
}
std::string envelope(std::string_view api_version, std::string_view kind, std::string_view raw) {
  return "k8s\0"s + text_field(1, text_field(1, api_version) + text_field(2, kind)) +
         text_field(2, raw);
}

// What Go's encoder of k8s.io/api v0.34.4 wrote (line one: the type, line two: its JSON without
// nulls).
struct Recorded {
  std::string api_version, kind, bytes;
  Json expected;
};

Recorded recorded(const std::filesystem::path& path) {
  std::ifstream file(path);
  Recorded read;
  std::string line;
  file >> read.api_version >> read.kind;
  std::getline(file, line);
  std::getline(file, line);
  read.expected = json(line);
  std::string hex_text;
  while (std::getline(file, line))
    hex_text += line;
  read.bytes = bytes_of_hex(hex_text);
  return read;
}

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(YARD_SOURCE_DIR "/src/api/schema/testdata")) {
    if (entry.path().extension() == ".hex") paths.push_back(entry.path());
  }
  return paths;
}

TEST(Protobuf, WhatGoWritesIsReadAsItsJson) {
  const auto paths = recordings();
  EXPECT_GE(paths.size(), 15u);
  for (const auto& path : paths) {
    const Recorded row = recorded(path);
    const Result<ProtobufObject> object = decode_protobuf(row.bytes, builtin_schema_of);
    ASSERT_TRUE(object.has_value()) << path << " " << object.error().message;
    EXPECT_EQ(object->api_version, row.api_version);
    EXPECT_EQ(object->kind, row.kind);
    EXPECT_TRUE(equal(object->value, row.expected)) << path << "\n"
                                                    << to_text(object->value) << "\n"
                                                    << to_text(row.expected);
  }
}

TEST(Protobuf, RecordingsConformToTheirSchemas) {
  for (const auto& path : recordings()) {
    const Recorded row = recorded(path);
    Json tree = row.expected;
    const Result<DecodeFindings> findings =
        conform(tree, *builtin_schema_of(row.api_version, row.kind), row.kind);
    ASSERT_TRUE(findings.has_value()) << path << " " << findings.error().message;
    EXPECT_EQ(join(findings->unknown_fields, ","), "") << path;
    EXPECT_TRUE(equal(tree, row.expected)) << path << "\n" << to_text(tree);
  }
}

TEST(Protobuf, EveryPrefixOfARecordingIsAnswered) {
  for (const auto& path : recordings()) {
    const Recorded row = recorded(path);
    size_t refused = 0;
    for (size_t size = 0; size < row.bytes.size(); ++size) {
      refused += !decode_protobuf(std::string_view(row.bytes).substr(0, size), builtin_schema_of);
    }
    EXPECT_GT(refused, row.bytes.size() / 2) << path;
  }
}

TEST(Protobuf, Messages) {
  struct Case {
    const char* about;
    std::string bytes;
    const char* expected;  // JSON, or the start of the error
  };
  const std::string namespace_foo =
      "\x0a\x13\x0a\x03"s + "foo"s +
      "\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\x12\x00\x1a\x02\x0a\x00"s;
  const Case cases[] = {
      {"kubectl create ns foo", envelope("v1", "Namespace", namespace_foo) + "\x1a\x00\x22\x00"s,
       R"({"metadata":{"name":"foo"},"spec":{},"status":{}})"},
      {"a typed delete has an empty body", envelope("v1", "DeleteOptions", ""), "{}"},
      {"unknown fields are skipped",
       envelope("v1", "ConfigMap",
                int_field(900, 1) + text_field(70000, "x") + "\x8d\x03"s + "abcd"s),
       "{}"},
      {"a later value replaces an earlier one, also by nothing",
       envelope("v1", "Namespace",
                text_field(1, text_field(1, "a") + text_field(1, "b") + text_field(3, "n") +
                                  text_field(3, ""))),
       R"({"metadata":{"name":"b"}})"},
      {"a message that comes twice is merged",
       envelope("v1", "Namespace",
                text_field(1, text_field(1, "a")) + text_field(1, text_field(5, "u"))),
       R"({"metadata":{"name":"a","uid":"u"}})"},
      {"packed lists are read too",
       envelope("v1", "Pod", text_field(2, text_field(14, text_field(4, "\x00\x05\xac\x02"s)))),
       R"({"spec":{"securityContext":{"supplementalGroups":[0,5,300]}}})"},
      {"negative numbers take ten bytes",
       envelope("v1", "Pod", text_field(2, int_field(25, static_cast<uint64_t>(int64_t{-7})))),
       R"({"spec":{"priority":-7}})"},
      {"a map's entry may leave out key and value",
       envelope("v1", "ConfigMap", text_field(2, "") + text_field(2, text_field(1, "k"))),
       R"({"data":{"":"","k":""}})"},
      {"the epoch is a time, an empty message is none",
       envelope("v1", "Namespace",
                text_field(1, text_field(8, int_field(1, 0)) + text_field(9, ""))),
       R"({"metadata":{"creationTimestamp":"1970-01-01T00:00:00Z"}})"},
      {"other bytes are refused", "{}", "provided data does not appear to be a protobuf message"},
      {"unknown kinds are refused", envelope("ex.io/v1", "Widget", ""),
       "no protobuf form is known"},
      {"texts are UTF-8", envelope("v1", "Namespace", text_field(1, text_field(1, "\xff"))),
       "protobuf: a text is not UTF-8"},
      {"the wire type must fit", envelope("v1", "Namespace", int_field(1, 1)),
       "protobuf: field metadata has the wrong wire type"},
      {"groups are refused", envelope("v1", "Namespace", "\x0b\x0c"s),
       "protobuf: the message is cut short or broken"},
      {"a time out of reach is refused",
       envelope("v1", "Namespace", text_field(1, text_field(8, int_field(1, ~0ULL >> 1)))),
       "time 9223372036854775807s"},
      {"a quantity must be one",
       envelope("v1", "Node",
                text_field(
                    3, text_field(1, text_field(1, "cpu") + text_field(2, text_field(1, "lots"))))),
       "quantities must match"},
      {"free JSON must be JSON",
       envelope("apps/v1", "ControllerRevision", text_field(2, text_field(1, "{"))),
       "unexpected end of JSON input"},
  };
  for (const Case& row : cases) {
    const Result<ProtobufObject> object = decode_protobuf(row.bytes, builtin_schema_of);
    if (object) {
      EXPECT_EQ(to_text(object->value), row.expected) << row.about;
    } else {
      EXPECT_TRUE(object.error().message.starts_with(row.expected))
          << row.about << ": " << object.error().message;
    }
  }
}

TEST(Protobuf, DepthIsBounded) {
  const auto nested = [](int levels) {
    std::string schema;
    for (int i = 0; i < levels; ++i)
      schema = text_field(28, schema);  // JSONSchemaProps.not
    const std::string version = text_field(4, text_field(1, schema));
    return envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition",
                    text_field(2, text_field(7, version)));
  };
  EXPECT_TRUE(decode_protobuf(nested(90), builtin_schema_of).has_value());
  const Result<ProtobufObject> deep = decode_protobuf(nested(5'000), builtin_schema_of);
  ASSERT_FALSE(deep.has_value());
  EXPECT_EQ(deep.error().message, "protobuf: messages are nested too deeply");
}

}  // namespace
}  // namespace yard
