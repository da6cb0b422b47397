#include "api/core/data_limits.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "base/strings.h"

namespace yard {

namespace {

// stringData is for writing only: its texts overwrite data of the same key, and it is never stored.
void set_defaults(Json& object) {
  JsonObject& secret = object.get_object();
  if (text_at(object, {"type"}).empty()) secret["type"] = "Opaque";
  const Json* texts = find(object, "stringData");
  if (texts == nullptr) return;
  if (texts->is_object() && !texts->get_object().empty()) {
    JsonObject encoded;
    for (const auto& [key, value] : texts->get_object()) {
      encoded[key] = base64_encode(text_of(value));
    }
    JsonObject& data = object_at(secret, "data");
    for (auto& [key, value] : encoded)
      data[key] = std::move(value);
  }
  secret.erase("stringData");
}

FieldPath data_key(std::string_view key) {
  return FieldPath("data").key(key);
}

void require_key(FieldErrors& errors, const Json& object, std::string_view key) {
  if (find_path(object, {"data", key}) == nullptr) errors.push_back(required(data_key(key)));
}

void check_json_key(FieldErrors& errors, const Json& object, std::string_view key) {
  const Json* value = find_path(object, {"data", key});
  if (value == nullptr) {
    errors.push_back(required(data_key(key)));
    return;
  }
  std::optional<std::string> text = base64_decode(text_of(*value));
  Result<ParsedJson> parsed = parse_json(text.value_or(""));
  if (!parsed) {  // the message must not show what is inside
    errors.push_back(
        invalid(data_key(key), Json("<secret contents redacted>"), parsed.error().message));
  }
}

// What each well-known type must hold.
void check_type(FieldErrors& errors, const Json& object) {
  std::string_view type = text_at(object, {"type"});
  if (type == "kubernetes.io/service-account-token") {
    constexpr std::string_view kAccount = "kubernetes.io/service-account.name";
    if (text_at(object, {"metadata", "annotations", kAccount}).empty()) {
      errors.push_back(required(FieldPath("metadata.annotations").key(kAccount)));
    }
  } else if (type == "kubernetes.io/dockercfg") {
    check_json_key(errors, object, ".dockercfg");
  } else if (type == "kubernetes.io/dockerconfigjson") {
    check_json_key(errors, object, ".dockerconfigjson");
  } else if (type == "kubernetes.io/basic-auth") {
    if (find_path(object, {"data", "username"}) == nullptr &&
        find_path(object, {"data", "password"}) == nullptr) {
      errors.push_back(required(data_key("username")));
      errors.push_back(required(data_key("password")));
    }
  } else if (type == "kubernetes.io/ssh-auth") {
    if (text_at(object, {"data", "ssh-privatekey"}).empty()) {
      errors.push_back(required(data_key("ssh-privatekey")));
    }
  } else if (type == "kubernetes.io/tls") {
    require_key(errors, object, "tls.crt");
    require_key(errors, object, "tls.key");
  }
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  check_data_keys(errors, object, "data");
  size_t total = 0;
  for (const auto& entry : map_at(object, {"data"})) {
    total += base64_decoded_size(text_of(entry.value()));
  }
  if (total > kMaxDataBytes) errors.push_back(too_long(FieldPath("data"), kMaxDataBytes));
  check_type(errors, object);
  return errors;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  check_immutable(errors, FieldPath("type"), find(object, "type"), find(live, "type"));
  check_immutable_data(errors, object, live, {"data"});
  return errors;
}

}  // namespace

Kind secret_kind() {
  Kind row = ordinary_kind({"", "v1", "Secret", "secrets"});
  row.selectable_fields = {"type"};
  row.field_values = [](const Json& object) {
    return std::vector<std::string>{std::string(text_at(object, {"type"}))};
  };
  row.columns = secret_columns();
  row.cells = secret_cells;
  row.set_defaults = set_defaults;
  row.validate = validate;
  row.validate_update = validate_update;
  return row;
}

}  // namespace yard
