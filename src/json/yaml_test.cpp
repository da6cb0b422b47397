#include "json/yaml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace yard {
namespace {

Json json(std::string_view text) {
  Result<ParsedJson> parsed = parse_json(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? std::move(parsed->value) : Json();
}

// The documents as JSON, one a line; or the error's first line.
std::string read(std::string_view yaml) {
  Result<std::vector<YamlDocument>> documents = parse_yaml(yaml);
  if (!documents) return documents.error().message.substr(0, documents.error().message.find('\n'));
  std::string lines;
  for (const YamlDocument& document : *documents) {
    if (!lines.empty()) lines += '\n';
    append_text(lines, document.parsed.value);
  }
  return lines;
}

struct ScalarRow {
  const char* text;
  const char* value;
};

// Each as kubectl 1.33 reads it.
const ScalarRow kScalars[] = {
    {"y", "true"},
    {"N", "false"},
    {"yes", "true"},
    {"No", "false"},
    {"ON", "true"},
    {"off", "false"},
    {"oN", "\"oN\""},
    {"true", "true"},
    {"FALSE", "false"},
    {"~", "null"},
    {"null", "null"},
    {"Null", "null"},
    {"nULL", "\"nULL\""},
    {"", "null"},
    {"0", "0"},
    {"12", "12"},
    {"-12", "-12"},
    {"+1", "1"},
    {"0644", "420"},
    {"0o644", "420"},
    {"0O17", "15"},
    {"0o8", "\"0o8\""},
    {"08", "8"},
    {"0899", "899"},
    {"0x1F", "31"},
    {"-0x1F", "-31"},
    {"0x", "\"0x\""},
    {"0x_1F", "31"},
    {"0b101", "5"},
    {"-0b11", "-3"},
    {"0b", "\"0b\""},
    {"1_000", "1000"},
    {"_1", "\"_1\""},
    {"1e3", "1000"},
    {"1.5e3", "1500"},
    {"1e", "\"1e\""},
    {"1e400", "\"1e400\""},
    {"1.5e400", "\"1.5e400\""},
    {"1e-400", "0"},
    {".5", "0.5"},
    {"+.5", "0.5"},
    {"5.", "5"},
    {".5e2", "50"},
    {".e1", "\".e1\""},
    {"._5", "\"._5\""},
    {".", "\".\""},
    {"+", "\"+\""},
    {"-", "[null]"},
    {"0.10", "0.1"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"18446744073709551615", "18446744073709551615"},
    {"99999999999999999999", "100000000000000000000"},
    {"12:30:45", "\"12:30:45\""},
    {"2024-01-01", "\"2024-01-01\""},
    {"2024-01-01T00:00:00Z", "\"2024-01-01T00:00:00Z\""},
    {"1.2.3", "\"1.2.3\""},
    {"500m", "\"500m\""},
    {"'12'", "\"12\""},
    {"\"true\"", "\"true\""},
    {"''", "\"\""},
    {"\"\\x41\\u00e9\\n\"", "\"A\xc3\xa9\\n\""},
    {"!!str 123", "\"123\""},
    {"!!int \"7\"", "7"},
    {"!!float 3", "3"},
    {"!!bool \"yes\"", "true"},
    {"!!null ''", "null"},
    {"!!binary aGVsbG8=", "\"hello\""},
    {"! 12", "\"12\""},
    {"!foo 12", "\"12\""},
    {"=", "\"=\""},
};

TEST(Yaml, ReadsScalarsAsKubectlDoes) {
  for (const ScalarRow& row : kScalars) {
    std::string separator = std::string_view(row.text) == "-" ? "\n" : " ";
    EXPECT_EQ(read("v:" + separator + row.text + "\n"), std::string("{\"v\":") + row.value + "}")
        << row.text;
  }
}

struct ReadRow {
  const char* about;
  const char* yaml;
  const char* read;
};

const ReadRow kRead[] = {
    {"an empty stream has no documents", "", ""},
    {"comments alone are no document", "# nothing\n---\n# here\n", ""},
    {"documents, the empty ones left out", "a: 1\n---\n---\nb: 2\n...\n---\nc: 3\n",
     "{\"a\":1}\n{\"b\":2}\n{\"c\":3}"},
    {"JSON is YAML", R"({"a": [1, "\ud83d\ude00"],	"b": null})",
     "{\"a\":[1,\"\xf0\x9f\x98\x80\"],\"b\":null}"},
    {"a flow map that is no JSON", "{a: 1, b: [x, 'y'], c}", R"({"a":1,"b":["x","y"],"c":null})"},
    {"lists need no indentation under a key", "a:\n- 1\n- b: 2\n  c: 3\n",
     R"({"a":[1,{"b":2,"c":3}]})"},
    {"a literal block", "a: |\n  x\n   y\n\nb: 1\n", R"({"a":"x\n y\n","b":1})"},
    {"a folded block", "a: >-\n  x\n  y\n\n  z\n", R"({"a":"x y\nz"})"},
    {"number and bool keys become strings", "1: a\nyes: b\n1.5: c\n0x10: d\n1e6: e\n",
     R"({"1":"a","true":"b","1.5":"c","16":"d","1e+06":"e"})"},
    {"a date key is text", "2024-01-01: a\n", R"({"2024-01-01":"a"})"},
    {"an alias repeats its anchor", "a: &x {b: [1]}\nc: *x\n", R"({"a":{"b":[1]},"c":{"b":[1]}})"},
    {"an anchor may be set anew", "- &x 1\n- *x\n- &x 2\n- *x\n", "[1,1,2,2]"},
    {"an anchored key", "&k a: 1\nb: *k\n", R"({"a":1,"b":"a"})"},
    {"an alias as a key", "- &k a\n- {*k : 1}\n", R"(["a",{"a":1}])"},
    {"a merge gives way to later keys", "b: &b {q: 1, w: 2}\nd: {<<: *b, w: 3}\n",
     R"({"b":{"q":1,"w":2},"d":{"q":1,"w":3}})"},
    {"a merge overrides earlier keys, as in kubectl", "d: {w: 3, <<: {q: 1, w: 2}}\n",
     R"({"d":{"w":2,"q":1}})"},
    {"of merged maps the first wins", "d: {<<: [{a: 1}, {a: 2, b: 2}], b: 9}\n",
     R"({"d":{"a":1,"b":9}})"},
    {"a quoted << is a key", "\"<<\": {a: 1}\n", R"({"<<":{"a":1}})"},
    {"a byte order mark is skipped",
     "\xef\xbb\xbf"
     "a: 1\n",
     R"({"a":1})"},
    {"line ends of Windows", "a: 1\r\nb: 2\r\n", R"({"a":1,"b":2})"},

    {"a tab indents nothing", "a:\n\tb: 1\n",
     "line 2, column 1: found a tab where only spaces may indent"},
    {"two colons", "a: b: c\n", "line 1, column 5: mapping values are not allowed in this context"},
    {"less indented than the first line", " a: 1\nb: 2\n",
     "line 2, column 1: did not find expected <document start>"},
    {"a list that does not end", "a: [1, 2\nb: 3\n",
     "line 2, column 2: did not find expected ',' or ']' (while parsing a flow sequence that "
     "begins at line 1)"},
    {"a quote that does not end", "a: 'b\n",
     "line 2, column 1: found unexpected end of stream (while scanning a quoted scalar that begins "
     "at line 1)"},
    {"an unknown escape", "k\xc3\xa9y: \"\\q\"\n",
     "line 1, column 7: found unknown escape character (while parsing a quoted scalar)"},
    {"a reserved sign", "a: @x\n",
     "line 1, column 4: found character that cannot start any token (while scanning for the next "
     "token)"},
    {"no UTF-8", "a: 1\nb: \xff\n", "line 2, column 4: invalid leading UTF-8 octet"},
    {"a control character", "a: \x01\n", "line 1, column 4: control characters are not allowed"},
    {"infinity", "a: [1, -.inf]\n", "line 1, column 8: JSON has no infinite numbers and no NaN"},
    {"not a number", "a: .NaN\n", "line 1, column 4: JSON has no infinite numbers and no NaN"},
    {"an unknown anchor", "a: *b\n", "line 1, column 4: unknown anchor 'b'"},
    {"an anchor inside itself", "a: &x [*x]\n", "line 1, column 8: anchor 'x' contains itself"},
    {"anchors end with their document", "a: &x 1\n---\nb: *x\n",
     "line 3, column 4: unknown anchor 'x'"},
    {"a list as a key", "? [a]\n: 1\n", "line 1, column 3: a key cannot be a list or a map"},
    {"null as a key", "~: 1\n", "line 1, column 1: a key cannot be null"},
    {"a merge of a number", "a: {<<: 3}\n", "line 1, column 9: << needs a map or a list of maps"},
    {"a tag that does not fit", "a: !!int abc\n",
     "line 1, column 4: cannot decode !!str `abc` as a !!int"},
    {"base64 that is none", "a: !!binary \"%\"\n",
     "line 1, column 4: !!binary value contains invalid base64 data"},
    {"binary that is no text", "a: !!binary /w==\n",
     "line 1, column 4: !!binary value is no UTF-8 text, which JSON cannot carry"},
};

TEST(Yaml, ReadsDocuments) {
  for (const ReadRow& row : kRead)
    EXPECT_EQ(read(row.yaml), row.read) << row.about;
}

TEST(Yaml, ShowsTheLineWithACaret) {
  auto message = [](std::string_view yaml) {
    Result<std::vector<YamlDocument>> documents = parse_yaml(yaml);
    return documents ? "" : documents.error().message;
  };
  EXPECT_EQ(
      message("kind: Pod\nspec: @x\n"),
      "line 2, column 7: found character that cannot start any token (while scanning for the next "
      "token)\nspec: @x\n      ^");
  EXPECT_EQ(message("\"\xe6\x97\xa5\xe6\x9c\xac\": *x\n"),
            "line 1, column 7: unknown anchor 'x'\n\"\xe6\x97\xa5\xe6\x9c\xac\": *x\n        ^");
  std::string long_line = "a: \"" + std::string(1000, 'x') + "\\q\"\n";
  EXPECT_LT(message(long_line).size(), 500u);
}

TEST(Yaml, TellsWhereADocumentBegins) {
  Result<std::vector<YamlDocument>> documents = parse_yaml("# first\na: 1\n---\n\nb: 2\n");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[0].line, 2);
  EXPECT_EQ((*documents)[1].line, 5);
}

struct DuplicateRow {
  const char* about;
  const char* yaml;
  std::vector<std::string> fields;
};

const DuplicateRow kDuplicates[] = {
    {"none", "a: {b: 1}\nc: {b: 1}\n", {}},
    {"in a map", "data: {a: 1, a: 2}\n", {"data.a"}},
    {"in a list", "spec:\n  containers:\n  - name: a\n    name: b\n", {"spec.containers[0].name"}},
    {"a number and its text", "1: a\n\"1\": b\n", {"1"}},
    {"a merged key may be written once", "a: {<<: {x: 1}, x: 2}\n", {}},
    {"and not twice", "a: {<<: {x: 1}, x: 2, x: 3}\n", {"a.x"}},
};

TEST(Yaml, NamesKeysWrittenTwice) {
  for (const DuplicateRow& row : kDuplicates) {
    Result<std::vector<YamlDocument>> documents = parse_yaml(row.yaml);
    ASSERT_TRUE(documents.has_value()) << row.about;
    EXPECT_EQ(documents->front().parsed.duplicate_fields, row.fields) << row.about;
  }
  EXPECT_EQ(read("data: {a: 1, a: 2}\n"), R"({"data":{"a":2}})") << "the last value wins";
}

TEST(Yaml, TellsTheLinesOfKeysWrittenTwice) {
  const std::vector<RepeatedKey> keys = repeated_yaml_keys("\na: 1\nb: {c: 1,\n c: 2}\na: 3\n");
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].line, 4);
  EXPECT_EQ(keys[0].key, "c");
  EXPECT_EQ(keys[1].line, 5);
  EXPECT_EQ(keys[1].key, "a");
  EXPECT_TRUE(repeated_yaml_keys("a: 1\na: [").empty()) << "no YAML";
}

TEST(Yaml, CannotBeBlownUpByAnchors) {
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    laughs += fmt::format(
        "a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i, i - 1);
  }
  EXPECT_NE(read(laughs).find("anchors and aliases expand to more than"), std::string::npos);

  std::string merges = "a0: &a0 {<<: {}, k: 1}\n";
  for (int i = 1; i < 30; ++i)
    merges += fmt::format("a{0}: &a{0} {{l: *a{1}, r: *a{1}}}\n", i, i - 1);
  EXPECT_NE(read(merges).find("anchors and aliases expand to more than"), std::string::npos);
}

TEST(Yaml, RefusesWhatIsTooDeep) {
  EXPECT_EQ(read(std::string(600, '[')), "line 1, column 513: nested deeper than 512 levels");
  std::string through_aliases = "- &a0 [[[[[[[[1]]]]]]]]\n";
  for (int i = 1; i < 100; ++i) {
    through_aliases += fmt::format("- &a{} [[[[[[[[*a{}]]]]]]]]\n", i, i - 1);
  }
  EXPECT_NE(read(through_aliases).find("nested deeper than 512 levels"), std::string::npos);
}

struct WriteRow {
  const char* json;
  const char* yaml;
};

// Each as `kubectl 1.33 -o yaml` prints it.
const WriteRow kWritten[] = {
    {R"({"a10":1,"a2":2,"A1":3,"a: b":4,"a b":5})", "A1: 3\na b: 5\n'a: b': 4\na2: 2\na10: 1\n"},
    {R"({"b":{},"c":[],"d":null})", "b: {}\nc: []\nd: null\n"},
    {R"({"d":[1,[2,[3]],{"x":1,"z":[1]}]})", "d:\n- 1\n- - 2\n  - - 3\n- x: 1\n  z:\n  - 1\n"},
    {R"({"y":"n","1":"x","true":"k"})", "\"1\": x\n\"true\": k\n\"y\": \"n\"\n"},
    {R"({"s":""})", "s: \"\"\n"},
    {R"({"s":"true"})", "s: \"true\"\n"},
    {R"({"s":"1.5"})", "s: \"1.5\"\n"},
    {R"({"s":"1_000"})", "s: \"1_000\"\n"},
    {R"({"s":"~"})", "s: \"~\"\n"},
    {R"({"s":"12:30:45"})", "s: \"12:30:45\"\n"},
    {R"({"s":"2024-01-01T00:00:00Z"})", "s: \"2024-01-01T00:00:00Z\"\n"},
    {R"({"s":"500m"})", "s: 500m\n"},
    {R"({"s":"a: b"})", "s: 'a: b'\n"},
    {R"({"s":"- x"})", "s: '- x'\n"},
    {R"({"s":"#c"})", "s: '#c'\n"},
    {R"({"s":"a #b"})", "s: 'a #b'\n"},
    {R"({"s":"@x"})", "s: '@x'\n"},
    {R"({"s":"'q'"})", "s: '''q'''\n"},
    {R"({"s":" a"})", "s: ' a'\n"},
    {R"({"s":"---"})", "s: '---'\n"},
    {R"({"s":"a\\b"})", "s: a\\b\n"},
    {R"({"s":"a\tb"})", "s: \"a\\tb\"\n"},
    {R"({"s":"x\ny\n"})", "s: |\n  x\n  y\n"},
    {R"({"s":"x\ny"})", "s: |-\n  x\n  y\n"},
    {R"({"s":"x\n\n"})", "s: |+\n  x\n\n"},
    {R"({"s":"  x\ny"})", "s: |2-\n    x\n  y\n"},
    {R"({"s":"x \ny"})", "s: \"x \\ny\"\n"},
    {R"({"x":1234567.5})", "x: 1.2345675e+06\n"},
    {R"({"x":1000000.0})", "x: 1000000\n"},
    {R"({"x":0.0000001})", "x: 1e-07\n"},
    {R"({"e":"this is a very long string that goes on and on and on, past eighty columns, to see"})",
     "e: this is a very long string that goes on and on and on, past eighty columns, to\n  see\n"},
};

TEST(Yaml, WritesAsKubectlDoes) {
  for (const WriteRow& row : kWritten)
    EXPECT_EQ(to_yaml(json(row.json)), row.yaml) << row.json;
}

TEST(Yaml, QuotesAMergeKeyThatIsNone) {
  EXPECT_EQ(to_yaml(json(R"({"<<":1})")), "\"<<\": 1\n");
}

TEST(Yaml, WritesBytesThatAreNoTextAsReplacements) {
  JsonObject object;
  object["a"] = "x\xff";
  EXPECT_EQ(to_yaml(object), "a: x\xef\xbf\xbd\n");
}

// A random tree out of pieces that are hard to quote.
class RandomTree {
 public:
  explicit RandomTree(uint64_t seed) : random_(seed) {}

  Json value(int depth) {
    switch (pick(depth > 0 ? 9 : 6)) {
      case 0: return Json(static_cast<int64_t>(random_.next()));
      case 1: return Json(static_cast<double>(static_cast<int64_t>(random_.next())) / 4096.0);
      case 2: return Json(pick(2) == 0);
      case 3: return Json(nullptr);
      case 4:
      case 5: return Json(text());
      case 6: {
        JsonArray array;
        for (uint64_t i = pick(4); i > 0; --i)
          array.push_back(value(depth - 1));
        return Json(std::move(array));
      }
      default: {
        JsonObject object;
        for (uint64_t i = pick(5); i > 0; --i)
          object[text()] = value(depth - 1);
        return Json(std::move(object));
      }
    }
  }

 private:
  uint64_t pick(uint64_t count) { return random_.next() % count; }

  std::string text() {
    static constexpr std::string_view kPieces[] = {"a",
                                                   "b",
                                                   " ",
                                                   "  ",
                                                   "\n",
                                                   "\n\n",
                                                   "\t",
                                                   ": ",
                                                   " #",
                                                   "- ",
                                                   "?",
                                                   "|",
                                                   ">",
                                                   "'",
                                                   "\"",
                                                   "\\",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   "&",
                                                   "*",
                                                   "!",
                                                   "%",
                                                   "@",
                                                   "`",
                                                   "true",
                                                   "null",
                                                   "~",
                                                   "0",
                                                   "1",
                                                   "e5",
                                                   "0x1",
                                                   ".",
                                                   "-",
                                                   "+",
                                                   ":",
                                                   "\r",
                                                   "---",
                                                   "...",
                                                   "<<",
                                                   "=",
                                                   "yes",
                                                   "2024-01-01",
                                                   "12:30",
                                                   "\u00e9",
                                                   "\u0085",
                                                   "\u2028",
                                                   "\ufeff",
                                                   "\U0001F600",
                                                   "\u65e5\u672c",
                                                   "\x7f",
                                                   "\x01",
                                                   "a long run of words to fold ",
                                                   "x:"};
    std::string out;
    for (uint64_t i = pick(7); i > 0; --i)
      out += kPieces[pick(std::size(kPieces))];
    return out;
  }

  Random random_;
};

TEST(Yaml, RefusesDuplicateKeysWhereAsked) {
  Result<std::vector<YamlDocument>> refused =
      parse_yaml("a: 1\nb: {x: 1, x: 2}\n", {}, DuplicateKeys::Refused);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "line 2, column 11: the key \"x\" is written twice\nb: {x: 1, x: 2}\n          ^");
  Result<std::vector<YamlDocument>> json =
      parse_yaml("{\"a\": 1,\n \"a\": 2}", {}, DuplicateKeys::Refused);
  ASSERT_FALSE(json.has_value());
  EXPECT_TRUE(json.error().message.starts_with("line 2, column 2: ")) << json.error().message;
}

TEST(Yaml, ReadsBackWhatItWrote) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    JsonObject wrapped;
    wrapped["v"] = RandomTree(seed).value(4);
    Json value(std::move(wrapped));
    std::string yaml = to_yaml(value);
    Result<std::vector<YamlDocument>> documents = parse_yaml(yaml);
    ASSERT_TRUE(documents.has_value()) << "seed " << seed << "\n"
                                       << yaml << documents.error().message;
    ASSERT_EQ(documents->size(), 1u) << "seed " << seed << "\n" << yaml;
    ASSERT_TRUE(equal(documents->front().parsed.value, value)) << "seed " << seed << "\n"
                                                               << to_text(value) << "\n"
                                                               << yaml;
  }
}

}  // namespace
}  // namespace yard
