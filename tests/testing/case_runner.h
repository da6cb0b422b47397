#pragma once
// Golden cases: tests/cases/<area>/<sentence>.yaml, written as a user writes YAML. A case is one
// map with `about:` (the sentence), the inputs an area asks for, and the expectation under a key of
// the area's choice. UPDATE_CASES=1 rewrites the expectation; the diff is what the reviewer reads.
//
//   std::vector<CaseFile> files = case_files("json_patch");
//   INSTANTIATE_TEST_SUITE_P(JsonPatch, Cases, testing::ValuesIn(case_files("json_patch")),
//   case_name); TEST_P(Cases, Hold) { run_case(GetParam(), "result", [](const Json& given) { return
//   ...; }); }

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json/json.h"

namespace yard {

struct CaseFile {
  std::string path;  // absolute
  std::string name;  // the file's name without .yaml
};
void PrintTo(const CaseFile& file, std::ostream* out);  // for GoogleTest's messages

// Sorted by name. An area without files is a failing case of its own, so a wrong name is noticed.
std::vector<CaseFile> case_files(const std::string& area);

// The file's name with what GoogleTest does not take replaced by _.
std::string case_name(const testing::TestParamInfo<CaseFile>& info);

// Reads the case, calls `answer` with all of it (expectation left out) and compares what comes back
// with the tree under `expectation_key`. Fails the running test with a diff of the two as YAML, or,
// under UPDATE_CASES=1, rewrites that part of the file and leaves every other line as it was.
void run_case(const CaseFile& file, const std::string& expectation_key,
              const std::function<Json(const Json& given)>& answer);

// An error as an expectation shows it: {error: {reason, message, causes}}.
Json error_as_case(const Error& failure);

// Lines of both, those of one side marked - and +; empty when equal. Exposed for its own test.
std::string line_diff(std::string_view expected, std::string_view actual);

// The case's text with the block under `expectation_key` replaced. Exposed for its own test.
std::string with_expectation(std::string_view text, const std::string& expectation_key,
                             const Json& value);

}  // namespace yard
