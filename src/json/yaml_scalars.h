#pragma once
// How kubectl reads and writes one YAML scalar (sigs.k8s.io/yaml over go-yaml v2, seen with
// kubectl 1.33). Private to this folder.

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/json.h"

namespace yard {

// An unquoted scalar without a tag: a bool, null, number, or else the text itself. The one place
// where .inf and .nan become doubles: the caller refuses them, as JSON has no word for them.
Json plain_scalar(std::string_view text);

// A scalar under a tag such as tag:yaml.org,2002:int; quoted or not is all one to a tag.
Result<Json> tagged_scalar(std::string_view tag, std::string_view text);

// 1000.0 is the integer 1000 once it went through JSON text, as everything kubectl sends did.
Json whole_as_integer(Json value);

// The text a key has as a JSON key: 0x10 is "16", yes is "true".
std::string key_text(const Json& key);

// Go's strconv 'g' with the fewest digits, which is how go-yaml prints floats.
std::string short_float(double number);

// True when the text, written without quotes, would come back as something else than this string,
// here or in another reader of YAML 1.1 (dates, base 60).
bool reads_as_other_type(std::string_view text);

}  // namespace yard
