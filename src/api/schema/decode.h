#pragma once
// From what a client sent to a tree that has only what the schema knows, in the types it says.

#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"

namespace yard {

struct DecodeFindings {
  std::vector<std::string> unknown_fields;  // `spec.containers[0].bogus`, in the order met
};

// Checks every value against the schema (BadRequest on a wrong type, in the words
// `json: cannot unmarshal number into Go struct field ConfigMap.data of type string`), removes what
// the schema does not know and notes it, drops nulls of built-in types. Quantities are checked and
// canonicalised, times normalised. `type_name` is the Go-like name errors begin with (the kind).
// Empty values that Go leaves out of what it writes go too, unless they are Kept: who applies one
// owns it.
enum class EmptyValues { LeftOut, Kept };
Result<DecodeFindings> conform(Json& tree, const Schema& schema, std::string_view type_name,
                               EmptyValues empty = EmptyValues::LeftOut);

struct ProtobufObject {
  std::string api_version;
  std::string kind;
  Json value;  // without apiVersion and kind
};

// `application/vnd.kubernetes.protobuf` bodies: the k8s\0 envelope and the message inside
// (api-machinery appendix A). `schema_of(apiVersion, kind)` answers null for kinds it does not know
// (UnsupportedMediaType). Never reads past the end, never recurses deeper than 100, whatever the
// bytes.
using SchemaOf = const Schema* (*)(std::string_view api_version, std::string_view kind);
Result<ProtobufObject> decode_protobuf(std::string_view bytes, SchemaOf schema_of);
bool is_protobuf_envelope(std::string_view bytes);

}  // namespace yard
