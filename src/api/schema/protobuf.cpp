#include <bit>
#include <optional>

#include <fmt/format.h>

#include "api/schema/decode.h"
#include "api/schema/leaf_values.h"
#include "api/schema/protobuf_wire.h"
#include "base/strings.h"

namespace yard {
namespace {

using Type = Schema::Type;
using Kind = WireReader::Kind;

constexpr int kMostDepth = 100;
constexpr std::string_view kMagic("k8s\0", 4);

// Functions answer false once `failure` is set.
class MessageDecoder {
 public:
  bool decode_struct(std::string_view bytes, const Schema& schema, JsonObject& into);

  Error failure;

 private:
  bool decode_field(const WireReader::Value& wire, const Field& field, JsonObject& into);
  bool decode_list(const WireReader::Value& wire, const Schema& items, JsonArray& into);
  bool decode_packed(std::string_view bytes, const Schema& items, JsonArray& into);
  bool decode_entry(std::string_view bytes, const Schema& values, JsonObject& into);
  // One value of any type but Struct members and lists; null stands for "absent".
  bool decode_value(const WireReader::Value& wire, const Schema& schema, Json& into);
  bool decode_text(std::string_view bytes, Json& into);
  bool decode_time(std::string_view bytes, const Schema& schema, Json& into);
  bool decode_quantity(std::string_view bytes, Json& into);
  bool decode_int_or_string(std::string_view bytes, Json& into);
  bool decode_any(std::string_view bytes, Json& into);
  bool decode_wrapped_texts(std::string_view bytes, Json& into);
  bool decode_union(std::string_view bytes, const Schema& schema, Json& into);

  // Calls `use(value)` for each field of a message.
  template <typename Use>
  bool each_field(std::string_view bytes, Use use);
  bool fail(std::string message);

  int depth_ = 0;
};

Kind kind_of(Type type) {
  switch (type) {
    case Type::Integer:
    case Type::Boolean: return Kind::Varint;
    case Type::Number: return Kind::Fixed64;
    default: return Kind::Bytes;
  }
}

Json scalar(uint64_t bits, const Schema& schema) {
  if (schema.type == Type::Boolean) return Json(bits != 0);
  if (schema.type == Type::Number) return Json(std::bit_cast<double>(bits));
  if (schema.bits == 32) return Json(int64_t{static_cast<int32_t>(static_cast<uint32_t>(bits))});
  return Json(static_cast<int64_t>(bits));
}

// What Go writes for a member that was never set, unless the member is a pointer.
bool is_unset(const Json& value, Type type) {
  switch (type) {
    case Type::String:
    case Type::Bytes: return value.get_string().empty();
    case Type::Integer: return value.get_int64() == 0;
    case Type::Number: return value.get_double() == 0;
    case Type::Boolean: return !value.get_bool();
    case Type::IntOrString:
      return value.is_string() ? value.get_string().empty() : value.get_int64() == 0;
    default: return value.is_null();
  }
}

template <typename Use>
bool MessageDecoder::each_field(std::string_view bytes, Use use) {
  WireReader reader(bytes);
  WireReader::Value wire;
  while (!reader.at_end()) {
    if (!reader.read(wire)) return fail("protobuf: the message is cut short or broken");
    if (!use(wire)) return false;
  }
  return true;
}

bool MessageDecoder::decode_struct(std::string_view bytes, const Schema& schema, JsonObject& into) {
  if (++depth_ > kMostDepth) return fail("protobuf: messages are nested too deeply");
  const bool decoded = each_field(bytes, [&](const WireReader::Value& wire) {
    const Field* field =
        wire.number < 65536 ? schema.field_by_number(static_cast<uint16_t>(wire.number)) : nullptr;
    return field == nullptr || decode_field(wire, *field, into);
  });
  --depth_;
  return decoded;
}

bool MessageDecoder::decode_field(const WireReader::Value& wire, const Field& field,
                                  JsonObject& into) {
  const Schema& schema = *field.schema;
  if (schema.type == Type::List) {
    Json& list = into[field.name];
    if (!list.is_array()) list.emplace_array();
    return decode_list(wire, *schema.items, list.get_array());
  }
  if (wire.kind != kind_of(schema.type)) {
    return fail(fmt::format("protobuf: field {} has the wrong wire type", field.name));
  }
  if (schema.type == Type::Struct && field.inlined) return decode_struct(wire.bytes, schema, into);
  if (schema.type == Type::Struct || schema.type == Type::Map) {
    // A message that comes twice is merged, as protobuf asks.
    Json& object = into[field.name];
    if (!object.is_object()) object.emplace_object();
    return schema.type == Type::Map ? decode_entry(wire.bytes, *schema.items, object.get_object())
                                    : decode_struct(wire.bytes, schema, object.get_object());
  }
  Json value;
  if (!decode_value(wire, schema, value)) return false;
  const bool is_free = schema.type == Type::Any;
  const bool unset = is_free ? value.is_null() && wire.bytes.empty() : is_unset(value, schema.type);
  const bool explicit_zero = !value.is_null() && (field.pointer || field.always_shown);
  if (unset && !explicit_zero) {
    into.erase(field.name);
  } else {
    into.insert_or_assign(field.name, std::move(value));
  }
  return true;
}

bool MessageDecoder::decode_list(const WireReader::Value& wire, const Schema& items,
                                 JsonArray& into) {
  const Kind expected = kind_of(items.type);
  if (wire.kind == Kind::Bytes && expected != Kind::Bytes)
    return decode_packed(wire.bytes, items, into);
  if (wire.kind != expected) return fail("protobuf: a list has the wrong wire type");
  Json value;
  if (!decode_value(wire, items, value)) return false;
  into.push_back(std::move(value));
  return true;
}

bool MessageDecoder::decode_packed(std::string_view bytes, const Schema& items, JsonArray& into) {
  WireReader reader(bytes);
  while (!reader.at_end()) {
    uint64_t bits = 0;
    const bool read =
        items.type == Type::Number ? reader.read_fixed(bits, 8) : reader.read_varint(bits);
    if (!read) return fail("protobuf: a packed list is cut short");
    into.push_back(scalar(bits, items));
  }
  return true;
}

bool MessageDecoder::decode_entry(std::string_view bytes, const Schema& values, JsonObject& into) {
  Json key("");
  Json value = zero_value(values);
  const bool decoded = each_field(bytes, [&](const WireReader::Value& wire) {
    if (wire.number == 1) {
      return wire.kind == Kind::Bytes ? decode_text(wire.bytes, key)
                                      : fail("protobuf: a map's key is no text");
    }
    if (wire.number != 2) return true;
    if (wire.kind != kind_of(values.type)) return fail("protobuf: a map has the wrong wire type");
    return decode_value(wire, values, value);
  });
  if (decoded && !value.is_null()) into.insert_or_assign(key.get_string(), std::move(value));
  return decoded;
}

bool MessageDecoder::decode_value(const WireReader::Value& wire, const Schema& schema, Json& into) {
  switch (schema.type) {
    case Type::Integer:
    case Type::Boolean:
    case Type::Number: into = scalar(wire.bits, schema); return true;
    case Type::String: return decode_text(wire.bytes, into);
    case Type::Bytes: into = Json(base64_encode(wire.bytes)); return true;
    case Type::Time:
    case Type::MicroTime: return decode_time(wire.bytes, schema, into);
    case Type::Quantity: return decode_quantity(wire.bytes, into);
    case Type::IntOrString: return decode_int_or_string(wire.bytes, into);
    case Type::Any:
      return schema.union_of == Schema::Union::None ? decode_any(wire.bytes, into)
                                                    : decode_union(wire.bytes, schema, into);
    case Type::Struct:
      if (!into.is_object()) into.emplace_object();
      return decode_struct(wire.bytes, schema, into.get_object());
    case Type::List:  // only as the value of a map: ExtraValue wraps its texts in a message
      return decode_wrapped_texts(wire.bytes, into);
    case Type::Map: break;
  }
  return fail("protobuf: a map cannot be an element");
}

bool MessageDecoder::decode_text(std::string_view bytes, Json& into) {
  if (!is_valid_utf8(bytes)) return fail("protobuf: a text is not UTF-8");
  into = Json(bytes);
  return true;
}

bool MessageDecoder::decode_time(std::string_view bytes, const Schema& schema, Json& into) {
  into = nullptr;
  if (bytes.empty()) return true;  // Go's zero time
  int64_t seconds = 0;
  int64_t nanos = 0;
  const bool read = each_field(bytes, [&](const WireReader::Value& wire) {
    if (wire.number == 1 && wire.kind == Kind::Varint) seconds = static_cast<int64_t>(wire.bits);
    if (wire.number == 2 && wire.kind == Kind::Varint) nanos = static_cast<int32_t>(wire.bits);
    return true;
  });
  if (!read) return false;
  Result<std::string> text = time_of_seconds(seconds, nanos, schema.type);
  if (!text) return fail(std::move(text.error().message));
  into = Json(*text);
  return true;
}

bool MessageDecoder::decode_quantity(std::string_view bytes, Json& into) {
  std::string_view text;
  const bool read = each_field(bytes, [&](const WireReader::Value& wire) {
    if (wire.number == 1 && wire.kind == Kind::Bytes) text = wire.bytes;
    return true;
  });
  if (!read) return false;
  Result<std::string> canonical = normal_quantity(text.empty() ? "0" : text);
  if (!canonical) return fail(std::move(canonical.error().message));
  into = Json(*canonical);
  return true;
}

bool MessageDecoder::decode_int_or_string(std::string_view bytes, Json& into) {
  bool is_text = false;
  int32_t number = 0;
  std::string_view text;
  const bool read = each_field(bytes, [&](const WireReader::Value& wire) {
    if (wire.number == 1 && wire.kind == Kind::Varint) is_text = wire.bits == 1;
    if (wire.number == 2 && wire.kind == Kind::Varint) number = static_cast<int32_t>(wire.bits);
    if (wire.number == 3 && wire.kind == Kind::Bytes) text = wire.bytes;
    return true;
  });
  if (!read) return false;
  if (is_text) return decode_text(text, into);
  into = Json(int64_t{number});
  return true;
}

bool MessageDecoder::decode_any(std::string_view bytes, Json& into) {
  std::string_view raw;
  const bool read = each_field(bytes, [&](const WireReader::Value& wire) {
    if (wire.number == 1 && wire.kind == Kind::Bytes) raw = wire.bytes;
    return true;
  });
  if (!read) return false;
  into = nullptr;
  if (raw.empty()) return true;
  Result<ParsedJson> parsed = parse_json(raw);
  if (!parsed) return fail(std::move(parsed.error().message));
  into = std::move(parsed->value);
  return true;
}

bool MessageDecoder::decode_wrapped_texts(std::string_view bytes, Json& into) {
  if (!into.is_array()) into.emplace_array();
  return each_field(bytes, [&](const WireReader::Value& wire) {
    if (wire.number != 1 || wire.kind != Kind::Bytes) return true;
    Json text;
    if (!decode_text(wire.bytes, text)) return false;
    into.get_array().push_back(std::move(text));
    return true;
  });
}

// A schema (1 or 2, by the union) or else what stands beside it; as Go's MarshalJSON of each
// chooses.
bool MessageDecoder::decode_union(std::string_view bytes, const Schema& schema, Json& into) {
  const bool or_bool = schema.union_of == Schema::Union::SchemaOrBool;
  const uint32_t schema_number = or_bool ? 2 : 1;
  Json one;  // the schema
  JsonArray many;
  bool allows = false;
  const bool read = each_field(bytes, [&](const WireReader::Value& wire) {
    if (or_bool && wire.number == 1 && wire.kind == Kind::Varint) allows = wire.bits != 0;
    if (wire.kind != Kind::Bytes) return true;
    if (wire.number == schema_number) {
      if (!one.is_object()) one.emplace_object();
      return decode_struct(wire.bytes, *schema.items, one.get_object());
    }
    if (or_bool || wire.number != 2) return true;
    Json element;
    if (schema.union_of == Schema::Union::SchemaOrStrings) {
      if (!decode_text(wire.bytes, element)) return false;
    } else if (!decode_struct(wire.bytes, *schema.items, element.emplace_object())) {
      return false;
    }
    many.push_back(std::move(element));
    return true;
  });
  if (!read) return false;
  if (!many.empty()) {
    into = std::move(many);
  } else if (one.is_object()) {
    into = std::move(one);
  } else {
    into = or_bool ? Json(allows) : Json(nullptr);
  }
  return true;
}

bool MessageDecoder::fail(std::string message) {
  failure = error(Reason::BadRequest, std::move(message));
  return false;
}

struct Envelope {
  std::string_view api_version, kind, raw;
};

std::optional<Envelope> read_envelope(std::string_view bytes) {
  Envelope envelope;
  WireReader reader(bytes);
  WireReader::Value wire;
  while (!reader.at_end()) {
    if (!reader.read(wire)) return std::nullopt;
    if (wire.kind != Kind::Bytes) continue;
    if (wire.number == 2) envelope.raw = wire.bytes;
    if (wire.number != 1) continue;
    WireReader type_reader(wire.bytes);
    WireReader::Value member;
    while (!type_reader.at_end()) {
      if (!type_reader.read(member)) return std::nullopt;
      if (member.kind != Kind::Bytes) continue;
      if (member.number == 1) envelope.api_version = member.bytes;
      if (member.number == 2) envelope.kind = member.bytes;
    }
  }
  return envelope;
}

}  // namespace

bool is_protobuf_envelope(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

Result<ProtobufObject> decode_protobuf(std::string_view bytes, SchemaOf schema_of) {
  if (!is_protobuf_envelope(bytes)) {
    return error(
        Reason::BadRequest,
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  const std::optional<Envelope> envelope = read_envelope(bytes.substr(kMagic.size()));
  if (!envelope || !is_valid_utf8(envelope->api_version) || !is_valid_utf8(envelope->kind)) {
    return error(Reason::BadRequest, "protobuf: the envelope is cut short or broken");
  }
  const Schema* schema = schema_of(envelope->api_version, envelope->kind);
  if (schema == nullptr) {
    return error(Reason::UnsupportedMediaType,
                 fmt::format("no protobuf form is known of kind {} in {}",
                             quoted(envelope->kind.substr(0, 100)),
                             quoted(envelope->api_version.substr(0, 100))));
  }
  ProtobufObject object{std::string(envelope->api_version), std::string(envelope->kind),
                        Json(JsonObject())};
  MessageDecoder decoder;
  if (!decoder.decode_struct(envelope->raw, *schema, object.value.get_object()))
    return std::move(decoder.failure);
  return object;
}

}  // namespace yard
