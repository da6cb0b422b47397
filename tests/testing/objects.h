#pragma once
// Objects as tests write them: YAML text, small changes to it, and complaints as lines.

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "api/field_errors.h"
#include "json/patch.h"
#include "json/yaml.h"

namespace yard {

inline Json yaml(std::string_view text) {
  Result<std::vector<YamlDocument>> documents = parse_yaml(text);
  EXPECT_TRUE(documents) << text << "\n" << (documents ? "" : documents.error().message);
  if (!documents || documents->empty()) return JsonObject();
  return std::move(documents->front().parsed.value);
}

// `base` after a merge patch written as YAML; null removes a member.
inline Json changed(Json base, std::string_view change) {
  EXPECT_TRUE(apply_merge_patch(base, yaml(change))) << change;
  return base;
}

// One line a complaint: `spec.x: Required value`.
inline std::string told(const FieldErrors& errors) {
  std::string text;
  for (const Cause& error : errors) {
    if (!text.empty()) text += '\n';
    text += error.field + ": " + error.message;
  }
  return text;
}

}  // namespace yard
