#include "testing/case_runner.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include "base/strings.h"
#include "json/yaml.h"

namespace yard {

namespace {

namespace fs = std::filesystem;

// Absolute, whatever folder a test is run from (__FILE__ may be relative under ccache).
fs::path cases_root() {
  return fs::path(YARD_SOURCE_DIR) / "tests" / "cases";
}

bool is_updating() {
  const char* setting = std::getenv("UPDATE_CASES");
  return setting != nullptr && std::string_view(setting) == "1";
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return split(text, '\n');
}

bool is_key_line(std::string_view line, const std::string& key) {
  return line.starts_with(key + ":");
}

// What belongs to a key at the left edge: everything indented, list items (which kubectl's layout
// does not indent) and empty lines.
bool continues_block(std::string_view line) {
  return line.empty() || line[0] == ' ' || line[0] == '-' || line[0] == '}' || line[0] == ']';
}

}  // namespace

void PrintTo(const CaseFile& file, std::ostream* out) {
  *out << file.path;
}

std::vector<CaseFile> case_files(const std::string& area) {
  std::vector<CaseFile> files;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(cases_root() / area, problem)) {
    if (entry.path().extension() != ".yaml") continue;
    files.push_back({entry.path().string(), entry.path().stem().string()});
  }
  if (files.empty()) files.push_back({(cases_root() / area).string(), "no_cases_found"});
  std::sort(files.begin(), files.end(),
            [](const CaseFile& left, const CaseFile& right) { return left.name < right.name; });
  return files;
}

std::string case_name(const testing::TestParamInfo<CaseFile>& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_plain) c = '_';
  }
  return name;
}

void run_case(const CaseFile& file, const std::string& expectation_key,
              const std::function<Json(const Json& given)>& answer) {
  std::string text = file_text(file.path);
  Result<std::vector<YamlDocument>> documents = parse_yaml(text);
  ASSERT_TRUE(documents.has_value()) << file.path << ":\n" << documents.error().message;
  ASSERT_EQ(documents->size(), 1u) << file.path << " must hold one document";
  ParsedJson& parsed = documents->front().parsed;
  ASSERT_TRUE(parsed.duplicate_fields.empty())
      << file.path << " has a key twice: " << parsed.duplicate_fields.front();
  ASSERT_FALSE(text_at(parsed.value, {"about"}).empty())
      << file.path << " needs an about: sentence";

  JsonObject& given = parsed.value.get_object();
  Json expected;
  bool has_expectation = given.contains(expectation_key);
  if (has_expectation) {
    expected = std::move(given[expectation_key]);
    given.erase(expectation_key);
  }
  Json actual = answer(parsed.value);
  if (has_expectation && equal(expected, actual)) return;
  if (is_updating()) {
    std::ofstream(file.path, std::ios::binary) << with_expectation(text, expectation_key, actual);
    return;
  }
  FAIL() << file.path << "\n  about: " << text_at(parsed.value, {"about"}) << "\n"
         << (has_expectation ? line_diff(to_yaml(expected), to_yaml(actual))
                             : "it has no " + expectation_key + " yet; UPDATE_CASES=1 writes it\n")
         << "(- expected, + actual; UPDATE_CASES=1 rewrites the case)";
}

Json error_as_case(const Error& failure) {
  JsonObject shown;
  shown["reason"] = wire_name(failure.reason);
  shown["message"] = failure.message;
  for (const Cause& cause : failure.details.causes) {
    Json& causes = shown["causes"];
    if (!causes.is_array()) causes.emplace_array();
    JsonObject entry;
    entry["reason"] = cause.reason;
    entry["message"] = cause.message;
    entry["field"] = cause.field;
    causes.get_array().push_back(std::move(entry));
  }
  JsonObject result;
  result["error"] = std::move(shown);
  return result;
}

std::string line_diff(std::string_view expected, std::string_view actual) {
  if (expected == actual) return "";
  std::vector<std::string_view> left = lines_of(expected);
  std::vector<std::string_view> right = lines_of(actual);
  // common[i][j]: the length of the longest common subsequence of left from i and right from j.
  size_t width = right.size() + 1;
  std::vector<uint32_t> common((left.size() + 1) * width, 0);
  for (size_t i = left.size(); i-- > 0;) {
    for (size_t j = right.size(); j-- > 0;) {
      common[i * width + j] =
          left[i] == right[j] ? common[(i + 1) * width + j + 1] + 1
                              : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  std::string out;
  auto add_line = [&out](char mark, std::string_view line) {
    out += mark;
    out += ' ';
    out += line;
    out += '\n';
  };
  size_t i = 0;
  size_t j = 0;
  while (i < left.size() || j < right.size()) {
    if (i < left.size() && j < right.size() && left[i] == right[j]) {
      add_line(' ', left[i++]);
      ++j;
    } else if (j == right.size() ||
               (i < left.size() && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      add_line('-', left[i++]);
    } else {
      add_line('+', right[j++]);
    }
  }
  return out;
}

std::string with_expectation(std::string_view text, const std::string& expectation_key,
                             const Json& value) {
  JsonObject wrapped;
  wrapped[expectation_key] = value;
  std::string block = to_yaml(wrapped);
  std::string out;
  bool in_old_block = false;
  bool is_written = false;
  for (std::string_view line : lines_of(text)) {
    if (in_old_block && continues_block(line)) continue;
    in_old_block = is_key_line(line, expectation_key);
    if (in_old_block) {
      out += block;
      is_written = true;
      continue;
    }
    out += line;
    out += '\n';
  }
  if (!is_written) out += block;
  return out;
}

}  // namespace yard
