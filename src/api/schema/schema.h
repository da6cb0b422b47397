#pragma once
// The shape of every type, as data. Built-in types come from the tables in this folder (one line a
// message), custom resources from their CRD; protobuf bodies, strict checks, pruning, OpenAPI,
// strategic merge, managedFields and apply all walk the same Schema.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace yard {

struct Constraints;  // OpenAPI validation of custom resources: api/crd/constraints.h

struct Schema;

struct Field {
  std::string name;  // as in JSON
  const Schema* schema = nullptr;
  uint16_t number = 0;    // protobuf field number; 0 for custom resources
  bool pointer = false;   // Go pointer scalar: an encoded zero is an explicit value, not "absent"
  bool inlined = false;   // protobuf sub-message whose members appear in the parent in JSON
  bool required = false;  // listed in OpenAPI's `required`
  bool always_shown =
      false;  // JSON shows it even when zero (no omitempty), e.g. ContainerStatus.ready
  std::string description;  // our own words, often empty
};

struct Schema {
  enum class Type {
    String,
    Integer,
    Boolean,
    Number,  // scalars
    Bytes,   // base64 text in JSON
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Struct,  // known fields
    Map,     // any keys, values of `items`
    List,    // elements of `items`
    Any,     // any JSON value (RawExtension, FieldsV1, x-kubernetes-preserve-unknown-fields without
             // properties)
  };
  enum class ListType { Atomic, Set, Map };

  Type type = Type::Any;
  int bits = 64;         // of an Integer: 32 or 64
  bool builtin = false;  // from our tables: wrong types are refused while decoding
  std::string name;      // of a Struct: core.v1.Container; empty when anonymous
  std::string description;
  std::vector<Field> fields;      // of a Struct, in protobuf/declaration order
  const Schema* items = nullptr;  // of Map and List

  // Server-side apply topology.
  ListType list_type = ListType::Atomic;
  std::vector<std::string> list_keys;  // of a ListType::Map
  bool atomic = false;                 // Struct or Map treated as one leaf
  // Strategic merge patch, on the List/Struct node of the field that carries it.
  bool patch_merge = false;
  std::string patch_merge_key;  // empty with patch_merge: a list of scalars
  bool retain_keys = false;
  bool patch_replace =
      false;  // a Struct that a patch replaces whole (PodDisruptionBudget's selector)

  // Members of a CRD's JSON schema that are of two types. `type` is Any, `items` is
  // JSONSchemaProps.
  enum class Union : uint8_t { None, SchemaOrBool, SchemaOrArray, SchemaOrStrings };
  Union union_of = Union::None;

  // Custom resources only.
  bool preserve_unknown = false;
  bool embedded_resource = false;
  bool nullable = false;
  Json default_value;  // null when there is none; also for absent list-map keys
                       // (ContainerPort.protocol TCP)
  std::shared_ptr<const Constraints> constraints;

  const Field* field(std::string_view json_name) const;  // looks through inlined sub-messages
  const Field* field_by_number(uint16_t number) const;

  // Filled by finish(): sorted lookups. Build the node, then call finish() once.
  void finish();

 private:
  std::vector<std::pair<std::string_view, const Field*>> by_name_;
  std::vector<const Field*> by_number_;
};

// Owns Schema nodes. Built-ins live in one catalogue for the life of the process; each CRD version
// owns its own.
class SchemaCatalogue {
 public:
  Schema* add();
  const Schema* find(std::string_view name) const;  // by Schema::name
  void index(const Schema* schema);                 // makes find() see it

 private:
  std::vector<std::unique_ptr<Schema>> nodes_;
  std::map<std::string, const Schema*, std::less<>> by_name_;
};

// Built-in types, read from the tables on first use (thread-safe). Names are
// "core.v1.Pod", "batch.v1.Job", "meta.v1.ObjectMeta": group's first label, version, kind.
const SchemaCatalogue& builtin_schemas();

// The whole-object schema of a built-in kind: ("batch/v1", "Job"), ("v1", "Pod"); null when
// unknown. DeleteOptions, Status and the other types of meta/v1 are found under every apiVersion,
// as clients send them.
const Schema* builtin_schema_of(std::string_view api_version, std::string_view kind);

}  // namespace yard
