#pragma once
// The objects in files people write: YAML or JSON, several documents a file, Lists taken apart.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"

namespace yard {

struct Manifest {
  std::string place;  // `jobs.yaml, document 2, line 14`: where messages point
  Result<Json> object;
};

// The objects of one text. A document that cannot be read is an error at its place, and the others
// are read all the same.
std::vector<Manifest> manifests_of_text(const std::string& file, std::string_view text);

struct ManifestSource {
  std::vector<std::string> paths;  // files, folders, `-` for standard input
  bool is_recursive = false;
};
// Folders give their *.yaml, *.yml and *.json in the order of their names.
std::vector<Manifest> read_manifests(const ManifestSource& source);

}  // namespace yard
