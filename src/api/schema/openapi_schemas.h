#pragma once
// The `components.schemas` of an OpenAPI document, written straight as text.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/schema/openapi.h"

namespace yard {

class OpenApiSchemas {
 public:
  // Appends `"name":{...}` of each kind, then of all they refer to.
  void write(std::string& out, std::span<const OpenApiKind> kinds);

 private:
  void write_kind(std::string& out, const OpenApiKind& kind);
  void write_crd(std::string& out, const OpenApiKind& kind);
  void write_struct(std::string& out, const Schema& schema, const OpenApiKind* kind);
  void write_members(std::string& out, const Schema& schema, bool& first);
  void write_required(std::string& out, const Schema& schema);
  // The keywords of a node, without braces.
  void write_node(std::string& out, const Schema& schema);
  void write_list(std::string& out, const Schema& schema);
  void write_map(std::string& out, const Schema& schema);
  void write_custom_words(std::string& out, const Schema& schema);
  void write_reference(std::string& out, const Schema& schema);
  void write_leaf_reference(std::string& out, std::string_view full_name);

  std::set<std::string_view> seen_;
  std::vector<const Schema*> waiting_;
  std::set<std::string_view> leaves_;  // Time, Quantity and their like, by full name
};

}  // namespace yard
