#include "json/json.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace yard {
namespace {

Json json(std::string_view text) {
  Result<ParsedJson> parsed = parse_json(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? std::move(parsed->value) : Json();
}

struct TextRow {
  const char* about;
  std::string text;
  std::string printed;
};

const TextRow kPrinted[] = {
    {"white space goes", " { \"a\" : [ 1 , true , null ] } \n", R"({"a":[1,true,null]})"},
    {"members keep their order", R"({"b":1,"a":2})", R"({"b":1,"a":2})"},
    {"a lone scalar is a document", "7", "7"},
    {"the smallest int64", "-9223372036854775808", "-9223372036854775808"},
    {"the largest uint64", "18446744073709551615", "18446744073709551615"},
    {"an integer past 64 bits becomes a float", "18446744073709551616", "18446744073709552000"},
    {"a float is printed with the fewest digits", "0.1000000000000000055", "0.1"},
    {"a float Boost 1.81 alone reads one unit off", "0.3e-1", "0.03"},
    {"every digit of a float counts", "1.7976931348623157e308", "1.7976931348623157e+308"},
    {"the shortest digits also before zeros", "-123456789012345678901.0", "-123456789012345680000"},
    {"a whole float loses its point", "2.0", "2"},
    {"no exponent below 1e21", "1e20", "100000000000000000000"},
    {"an exponent from 1e21", "1e21", "1e+21"},
    {"no exponent at 1e-6", "0.000001", "0.000001"},
    {"an exponent below, without a leading zero", "0.0000001", "1e-7"},
    {"a three digit exponent", "1e-100", "1e-100"},
    {"too small for a float is 0", "1e-999", "0"},
    {"minus zero is zero", "[-0,-0.0]", "[0,0]"},
    {"escapes are read", R"("\u0041\/\b\f\n\r\t\"\\")", R"("A/\u0008\u000c\n\r\t\"\\")"},
    {"a surrogate pair is one character", R"("\ud83d\ude00")", "\"\xf0\x9f\x98\x80\""},
    {"UTF-8 passes, and <>& are not escaped", "\"\xc3\xa9<>&\"", "\"\xc3\xa9<>&\""},
    {"a zero byte is text", R"("a\u0000b")", R"("a\u0000b")"},
    {"DEL is not escaped", "\"\x7f\"", "\"\x7f\""},
    {"empty containers", R"([{},[],""])", R"([{},[],""])"},
};

TEST(Json, PrintsWhatItRead) {
  for (const TextRow& row : kPrinted) {
    EXPECT_EQ(to_text(json(row.text)), row.printed) << row.about;
    EXPECT_EQ(to_text(json(row.printed)), row.printed) << row.about << ", again";
  }
}

struct ErrorRow {
  const char* about;
  std::string text;
  const char* message;
};

const ErrorRow kErrors[] = {
    {"nothing", "", "unexpected end of JSON input (line 1, column 1)"},
    {"only white space", " \n ", "unexpected end of JSON input (line 2, column 2)"},
    {"cut off", R"({"a":)", "unexpected end of JSON input (line 1, column 6)"},
    {"a letter after a value", R"({"apple":"pear" x})",
     "invalid character 'x' after object key:value pair (line 1, column 17)"},
    {"a letter after an item", "[1 x]",
     "invalid character 'x' after array element (line 1, column 4)"},
    {"no colon", R"({"a" 1})", "invalid character '1' after object key (line 1, column 6)"},
    {"a key without quotes", "{a:1}",
     "invalid character 'a' looking for beginning of object key string (line 1, column 2)"},
    {"a comma too many in an object", R"({"a":1,})",
     "invalid character '}' looking for beginning of object key string (line 1, column 8)"},
    {"a comma too many in an array", "[1,]",
     "invalid character ']' looking for beginning of value (line 1, column 4)"},
    {"a second document", "{}\n{}",
     "invalid character '{' after top-level value (line 2, column 1)"},
    {"single quotes", "{'a':1}",
     "invalid character '\\'' looking for beginning of object key string (line 1, column 2)"},
    {"a comment", "{} // x", "invalid character '/' after top-level value (line 1, column 4)"},
    {"a newline in a string", "\"a\nb\"",
     "invalid character '\\x0a' in string literal (line 1, column 3)"},
    {"an unknown escape", R"("\q")",
     "invalid character 'q' in string escape code (line 1, column 3)"},
    {"bytes that are no UTF-8", "{\"a\":\"\xff\"}",
     "invalid UTF-8 in string literal (line 1, column 7)"},
    {"half a surrogate pair", R"("\ud83d\u0041")",
     "\\u escape is half of a surrogate pair (line 1, column 10)"},
    {"a number past all floats", R"({"a": 1e999})",
     "number is too large for a 64-bit float (line 1, column 12)"},
    {"an exponent past all integers", "1e99999999999",
     "number is too large for a 64-bit float (line 1, column 12)"},
    {"a word of its own", "[nil]",
     "invalid character 'n' looking for beginning of value (line 1, column 2)"},
};

TEST(Json, SaysWhatIsWrongAndWhere) {
  for (const ErrorRow& row : kErrors) {
    Result<ParsedJson> parsed = parse_json(row.text);
    ASSERT_FALSE(parsed.has_value()) << row.about;
    EXPECT_EQ(parsed.error().reason, Reason::BadRequest) << row.about;
    EXPECT_EQ(parsed.error().message, row.message) << row.about;
  }
}

TEST(Json, GoesOnAfterAnError) {
  EXPECT_FALSE(parse_json(R"({"a":[1,{"b":)"));
  EXPECT_EQ(to_text(json("[1]")), "[1]");
}

TEST(Json, RefusesWhatIsTooDeep) {
  auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_TRUE(parse_json(nested(512)));
  Result<ParsedJson> deeper = parse_json(nested(513));
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().message, "exceeded max depth of 512 (line 1, column 513)");
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
  EXPECT_TRUE(parse_json(nested(3), JsonLimits{3}));
  EXPECT_FALSE(parse_json(nested(4), JsonLimits{3}));
}

struct DuplicateRow {
  const char* about;
  const char* text;
  std::vector<std::string> fields;
  const char* value;
};

const DuplicateRow kDuplicates[] = {
    {"none", R"({"a":{"a":1},"b":{"a":1}})", {}, R"({"a":{"a":1},"b":{"a":1}})"},
    {"the last value wins", R"({"data":{"a":"1","a":"2"}})", {"data.a"}, R"({"data":{"a":"2"}})"},
    {"a path through a list",
     R"({"spec":{"containers":[{"name":"x"},{"name":"a","image":"i","name":"b"}]}})",
     {"spec.containers[1].name"},
     R"({"spec":{"containers":[{"name":"x"},{"name":"b","image":"i"}]}})"},
    {"thrice is told once", R"({"a":1,"a":2,"a":3})", {"a"}, R"({"a":3})"},
    {"several", R"({"a":1,"b":{"c":1,"c":2},"a":2})", {"b.c", "a"}, R"({"a":2,"b":{"c":2}})"},
    {"inside a value that is overwritten",
     R"({"a":{"b":1,"b":2},"a":3})",
     {"a.b", "a"},
     R"({"a":3})"},
    {"an escape hides nothing", R"({"ab":1,"a\u0062":2})", {"ab"}, R"({"ab":2})"},
    {"lists in lists", R"([[1,[{"x":1,"x":2}]]])", {"[0][1][0].x"}, R"([[1,[{"x":2}]]])"},
};

TEST(Json, NamesKeysWrittenTwice) {
  for (const DuplicateRow& row : kDuplicates) {
    Result<ParsedJson> parsed = parse_json(row.text);
    ASSERT_TRUE(parsed.has_value()) << row.about;
    EXPECT_EQ(parsed->duplicate_fields, row.fields) << row.about;
    EXPECT_TRUE(equal(parsed->value, json(row.value))) << row.about;
  }
}

TEST(Json, BoundsTheListOfDuplicates) {
  std::string text = "{\"" + std::string(5000, 'k') + "\":{";
  for (int i = 0; i < 500; ++i)
    text += fmt::format("\"{0}\":1,\"{0}\":2,", i);
  text += "\"x\":1}}";
  Result<ParsedJson> parsed = parse_json(text);
  ASSERT_TRUE(parsed);
  ASSERT_FALSE(parsed->duplicate_fields.empty());
  size_t bytes = 0;
  for (const std::string& field : parsed->duplicate_fields)
    bytes += field.size();
  EXPECT_LE(bytes, 110'000u);
}

TEST(Json, PrintsPrettyAsGoDoes) {
  EXPECT_EQ(to_pretty_text(json(R"({"a":[1,{"b":[]}],"c":{},"d":"x"})")),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {},\n  \"d\": "
            "\"x\"\n}");
  EXPECT_EQ(to_pretty_text(json("3")), "3");
}

TEST(Json, NeverPrintsWhatJsonCannotSay) {
  EXPECT_EQ(to_text(Json(std::nan(""))), "null");
  EXPECT_EQ(to_text(Json(HUGE_VAL)), "null");
}

struct EqualRow {
  const char* left;
  const char* right;
  bool is_equal;
};

const EqualRow kEqual[] = {
    {"1", "1.0", true},
    {"1", "2", false},
    {"9007199254740993", "9007199254740992.0", false},
    {"18446744073709551615", "18446744073709551616", false},
    {"9223372036854775808", "9223372036854775808.0", true},
    {"-1", "18446744073709551615", false},
    {"-1", "-1.0", true},
    {"0.5", "0.50", true},
    {"1", "true", false},
    {"1", "\"1\"", false},
    {"null", "false", false},
    {"null", "null", true},
    {"[1,2]", "[2,1]", false},
    {"[1]", "[1,2]", false},
    {R"({"a":1,"b":2})", R"({"b":2.0,"a":1})", true},
    {R"({"a":1})", R"({"b":1})", false},
    {R"({"a":null})", R"({})", false},
};

TEST(Json, EscapesEveryByteThatNeedsItWhereverItStands) {
  struct Row {
    char byte;
    const char* written;
  };
  const Row rows[] = {{'"', "\\\""},       {'\\', "\\\\"}, {'\n', "\\n"},    {'\0', "\\u0000"},
                      {'\x1f', "\\u001f"}, {' ', " "},     {'\x7f', "\x7f"}, {'a', "a"}};
  for (const Row& row : rows) {
    for (size_t before = 0; before < 36; ++before) {
      for (const size_t after : {0, 1, 15, 16, 17}) {
        const std::string head(before, 'x'), tail(after, '~');
        const std::string text = head + row.byte + tail,
                          written = "\"" + head + row.written + tail + "\"";
        EXPECT_EQ(to_text(Json(text)), written);
        EXPECT_EQ(to_text(JsonObject{{text, 1}, {"b", JsonObject()}}),
                  "{" + written + ":1,\"b\":{}}");
      }
    }
  }
  EXPECT_EQ(to_text(Json("\xc3\xa9 and sixteen more \xe2\x82\xac")),
            "\"\xc3\xa9 and sixteen more \xe2\x82\xac\"");
}

TEST(Json, ComparesDeeplyAndNumbersByValue) {
  for (const EqualRow& row : kEqual) {
    EXPECT_EQ(equal(json(row.left), json(row.right)), row.is_equal) << row.left << " " << row.right;
    EXPECT_EQ(equal(json(row.right), json(row.left)), row.is_equal) << row.right << " " << row.left;
  }
  Json unsigned_one(uint64_t{1});
  EXPECT_TRUE(equal(unsigned_one, Json(1)));
  EXPECT_TRUE(equal(unsigned_one, Json(1.0)));
}

TEST(Json, FindsMembersWithoutThrowing) {
  Json value = json(R"({"a":{"b":{"t":"x","i":3,"f":4.0,"h":4.5,"y":true}},"l":[1]})");
  EXPECT_EQ(text_at(value, {"a", "b", "t"}), "x");
  EXPECT_EQ(text_at(value, {"a", "b", "i"}, "other"), "other");
  EXPECT_EQ(int_at(value, {"a", "b", "i"}), 3);
  EXPECT_EQ(int_at(value, {"a", "b", "f"}), 4);
  EXPECT_EQ(int_at(value, {"a", "b", "h"}, -1), -1);
  EXPECT_EQ(int_at(value, {"a", "nope", "i"}, 7), 7);
  EXPECT_TRUE(bool_at(value, {"a", "b", "y"}));
  EXPECT_TRUE(bool_at(value, {"a", "b", "t"}, true));
  EXPECT_EQ(find(value, "nope"), nullptr);
  EXPECT_EQ(find_path(value, {"l", "x"}), nullptr);
  EXPECT_EQ(find_path(value, {}), &value);
}

TEST(Json, MakesAnObjectWhereThereIsNone) {
  Json value = json(R"({"a":null,"b":{"c":1},"d":[1]})");
  JsonObject& object = value.get_object();
  object_at(object, "a")["x"] = 1;
  EXPECT_EQ(object_at(object, "b").size(), 1u);
  object_at(object, "d");
  object_at(object, "e");
  EXPECT_EQ(to_text(value), R"({"a":{"x":1},"b":{"c":1},"d":{},"e":{}})");
}

// Found by json_fuzz: whole digits of a large double were read back as another, exact integer.
TEST(Json, LargeDoublesAreReadBackAsThemselves) {
  for (const char* text : {"-2969666555555555577.5555525466254", "9007199254740993.5", "1.8e19",
                           "2e19", "1e20", "1e21"}) {
    const auto once = parse_json(text);
    ASSERT_TRUE(once) << text;
    const auto again = parse_json(to_text(once->value));
    ASSERT_TRUE(again) << text;
    EXPECT_TRUE(equal(once->value, again->value)) << text << " became " << to_text(once->value);
  }
}

TEST(JsonArena, TreesLiveInItAndCopiesLeaveIt) {
  const std::string text =
      R"({"a":[1,2,{"b":"a text that is too long to be kept inside its node"}]})";
  Json kept;
  {
    JsonArena arena;
    JsonArena inner;  // the thread's buffer is taken: it has its own
    const auto parsed = parse_json(text, {}, arena.memory());
    const auto below = parse_json(text, {}, inner.memory());
    ASSERT_TRUE(parsed && below);
    EXPECT_EQ(parsed->value.storage(), arena.memory());
    EXPECT_TRUE(equal(parsed->value, below->value));
    kept = on_heap(parsed->value);
    EXPECT_NE(kept.storage(), arena.memory());
  }
  EXPECT_EQ(to_text(kept), text);
}

// Texts are looked at in pieces of sixteen and eight bytes: none may be missed where pieces meet.
TEST(ToText, EscapesAByteWhereverItStands) {
  const std::pair<char, std::string_view> bytes[] = {{'"', R"(\")"},  {'\\', R"(\\)"},
                                                     {'\n', R"(\n)"}, {0x1f, R"(\u001f)"},
                                                     {' ', " "},      {0x7f, "\x7f"}};
  for (size_t size = 1; size <= 50; ++size) {
    for (size_t at = 0; at < size; ++at) {
      for (const auto& [byte, written] : bytes) {
        const std::string before(at, 'a'), after(size - at - 1, 'b');
        const std::string text = before + byte + after;
        const std::string expected = '"' + before + std::string(written) + after + '"';
        ASSERT_EQ(to_text(Json(text)), expected) << size << " bytes, at " << at;
        ASSERT_EQ(to_text(Json(JsonObject{{text, JsonArray{text}}})),
                  "{" + expected + ":[" + expected + "]}");
      }
    }
  }
}

TEST(ToText, GoesOnBehindWhatIsThere) {
  std::string out = "before";
  append_text(out, JsonArray{std::string(3000, '\n'), 1, JsonObject(), JsonArray(), 0.5});
  append_text(out, "text");
  append_quoted(out, "\t");
  std::string escapes;
  for (int i = 0; i < 3000; ++i)
    escapes += "\\n";
  EXPECT_EQ(out, "before[\"" + escapes + "\",1,{},[],0.5]\"text\"\"\\t\"");
}

TEST(Find, NamesOfOneLengthAndEnding) {
  JsonObject few{{"", 0}, {"ab", 1}, {"bb", 2}, {"b", 3}};
  JsonObject many = few;
  for (int i = 0; i < 30; ++i)
    many[fmt::format("x{}", i)] = i;
  for (const JsonObject& object : {few, many}) {
    const Json value = object;
    EXPECT_EQ(find(value, "")->as_int64(), 0);
    EXPECT_EQ(find(value, "ab")->as_int64(), 1);
    EXPECT_EQ(find(value, "bb")->as_int64(), 2);
    EXPECT_EQ(find(value, "b")->as_int64(), 3);
    EXPECT_EQ(find(value, "cb"), nullptr);
  }
}

}  // namespace
}  // namespace yard
