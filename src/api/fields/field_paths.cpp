#include "api/fields/field_paths.h"

#include "api/fields/ownership.h"
#include "base/strings.h"

namespace yard {
namespace {

void append_value(std::string& path, const Json& value) {
  if (value.is_string()) {
    path += quoted(plain_view(value.get_string()));
  } else {
    append_text(path, value);
  }
}

}  // namespace

void append_element(std::string& path, ElementKind kind, std::string_view text) {
  if (kind == ElementKind::Field) {
    path += '.';
    path += text;
    return;
  }
  path += '[';
  const Result<ParsedJson> parsed = parse_json(text);
  const JsonObject* keys = parsed && kind == ElementKind::Key ? parsed->value.if_object() : nullptr;
  if (keys != nullptr) {
    bool is_first = true;
    for (const auto& key : *keys) {
      if (!is_first) path += ',';
      is_first = false;
      path += plain_view(key.key());
      path += '=';
      append_value(path, key.value());
    }
  } else if (parsed && kind == ElementKind::Value) {
    path += '=';
    append_value(path, parsed->value);
  } else {
    path += text;
  }
  path += ']';
}

std::string path_text(const NodePath& path) {
  std::string text;
  for (const FieldNode* node : path)
    append_element(text, node->kind, node->text);
  return text;
}

}  // namespace yard
