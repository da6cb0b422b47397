#pragma once
// YAML as kubectl reads it (YAML 1.1 scalars by sigs.k8s.io/yaml's rules: yes/on are booleans, 0644
// is octal, 1e3 a number, ~ null, merge keys, anchors) into Json, and Json as YAML for people.

#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace yard {

struct YamlDocument {
  ParsedJson parsed;
  int line = 1;  // where the document begins in the text, for messages
};

// A key written twice: noted in ParsedJson, as the server's fieldValidation wants it, or an error
// at its place.
enum class DuplicateKeys { Noted, Refused };

// All documents of a stream; empty ones (between two ---) are left out. Errors are BadRequest and
// read `line 3, column 7: ...`, followed by the line itself and a caret under the place. Anchors
// cannot blow up: the expanded size is bounded.
Result<std::vector<YamlDocument>> parse_yaml(std::string_view text, const JsonLimits& limits = {},
                                             DuplicateKeys duplicates = DuplicateKeys::Noted);

// Keys written twice, at most a few dozen, where the second is; none where the text is no YAML.
struct RepeatedKey {
  int line = 0;  // counted from 1
  std::string key;
};
std::vector<RepeatedKey> repeated_yaml_keys(std::string_view text, const JsonLimits& limits = {});

std::string to_yaml(
    const Json& value);  // block style, as `-o yaml`: keys sorted, strings quoted only where needed

}  // namespace yard
