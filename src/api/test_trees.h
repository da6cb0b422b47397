#pragma once
// For tests: objects as a user writes them.

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "json/yaml.h"

namespace yard {

inline Json tree(std::string_view yaml) {
  Result<std::vector<YamlDocument>> documents = parse_yaml(yaml);
  if (!documents || documents->size() != 1) {
    ADD_FAILURE() << "no single YAML document: " << yaml
                  << (documents ? "" : documents.error().message);
    return JsonObject();
  }
  return std::move(documents->front().parsed.value);
}

}  // namespace yard
