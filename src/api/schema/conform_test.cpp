#include <gtest/gtest.h>

#include "api/schema/decode.h"
#include "base/strings.h"

namespace yard {
namespace {

Json json(std::string_view text) {
  Result<ParsedJson> parsed = parse_json(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? std::move(parsed->value) : Json();
}

struct Case {
  const char* about;
  const char* schema;
  const char* input;
  const char* output;   // or the error's words
  const char* unknown;  // joined by ", "
};

void expect_case(const Case& row, const Schema& schema, std::string_view type_name) {
  Json tree = json(row.input);
  const Result<DecodeFindings> findings = conform(tree, schema, type_name);
  if (!findings) {
    EXPECT_EQ(findings.error().message, row.output) << row.about;
    EXPECT_EQ(findings.error().reason, Reason::BadRequest) << row.about;
    return;
  }
  EXPECT_EQ(to_text(tree), to_text(json(row.output))) << row.about;
  EXPECT_EQ(join(findings->unknown_fields, ", "), row.unknown) << row.about;
}

TEST(Conform, BuiltInTypes) {
  const Case cases[] = {
      {"what the schema knows stays as it is", "core.v1.ConfigMap",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"},"immutable":true})",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"},"immutable":true})",
       ""},
      {"unknown fields go, with their places", "core.v1.Pod",
       R"({"foo":1,"metadata":{"bogus":{}},"spec":{"containers":[{"name":"c"},{"name":"d","x":1}]}})",
       R"({"metadata":{},"spec":{"containers":[{"name":"c"},{"name":"d"}]}})",
       "foo, metadata.bogus, spec.containers[1].x"},
      {"field names are matched by case", "core.v1.ConfigMap", R"({"Data":{"a":"b"}})", "{}",
       "Data"},
      {"members of inlined messages are known", "core.v1.Pod",
       R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
       R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})", ""},
      {"nulls go", "core.v1.Pod",
       R"({"metadata":{"creationTimestamp":null,"labels":null},"spec":{"containers":null},"status":null})",
       R"({"metadata":{},"spec":{}})", ""},
      {"a null in a map or list is Go's zero value", "core.v1.Pod",
       R"({"metadata":{"labels":{"a":null},"finalizers":[null]},"spec":{"containers":[null]}})",
       R"({"metadata":{"labels":{"a":""},"finalizers":[""]},"spec":{"containers":[{}]}})", ""},
      {"empty lists, maps and plain scalars go where Go would not write them", "core.v1.Pod",
       R"({"metadata":{"labels":{},"finalizers":[]},"spec":{"hostNetwork":false,"nodeName":"","containers":[{"name":"c","env":[{"name":"e","value":""}]}]}})",
       R"({"metadata":{},"spec":{"containers":[{"name":"c","env":[{"name":"e"}]}]}})", ""},
      {"zeros behind pointers and empty structs stay", "core.v1.Pod",
       R"({"spec":{"terminationGracePeriodSeconds":0,"automountServiceAccountToken":false,"securityContext":{},"volumes":[{"name":"v","emptyDir":{}}]}})",
       R"({"spec":{"terminationGracePeriodSeconds":0,"automountServiceAccountToken":false,"securityContext":{},"volumes":[{"name":"v","emptyDir":{}}]}})",
       ""},
      {"a null in free JSON stays", "apiextensions.v1.JSONSchemaProps",
       R"({"default":null,"enum":[1,null]})", R"({"default":null,"enum":[1,null]})", ""},
      {"a wrong scalar names field and types", "core.v1.ConfigMap", R"({"data":{"a":1}})",
       "json: cannot unmarshal number into Go struct field ConfigMap.data of type string", ""},
      {"the innermost struct and the whole path are named", "core.v1.Pod",
       R"({"spec":{"containers":[{"env":[{"name":"A","value":true}]}]}})",
       "json: cannot unmarshal bool into Go struct field EnvVar.spec.containers.env.value of type "
       "string",
       ""},
      {"after a nested struct the outer one is named again", "core.v1.Pod",
       R"({"metadata":{"name":"a"},"spec":[]})",
       "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec", ""},
      {"a list given an object", "core.v1.Pod", R"({"spec":{"containers":{}}})",
       "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type "
       "[]v1.Container",
       ""},
      {"a map given a text", "core.v1.Pod", R"({"metadata":{"labels":"x"}})",
       "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type "
       "map[string]string",
       ""},
      {"the whole object may be of a wrong type", "core.v1.Pod", "[]",
       "json: cannot unmarshal array into Go value of type v1.Pod", ""},
      {"32 bits are a bound", "batch.v1.Job", R"({"spec":{"parallelism":2147483648}})",
       "json: cannot unmarshal number 2147483648 into Go struct field JobSpec.spec.parallelism of "
       "type int32",
       ""},
      {"fractions are refused", "batch.v1.Job", R"({"spec":{"parallelism":1.5}})",
       "json: cannot unmarshal number 1.5 into Go struct field JobSpec.spec.parallelism of type "
       "int32",
       ""},
      {"64 bits are kept exactly", "core.v1.Pod", R"({"metadata":{"generation":9007199254740993}})",
       R"({"metadata":{"generation":9007199254740993}})", ""},
      {"more than 64 bits are refused", "core.v1.Pod",
       R"({"metadata":{"generation":9223372036854775808}})",
       "json: cannot unmarshal number 9223372036854775808 into Go struct field "
       "ObjectMeta.metadata.generation of "
       "type int64",
       ""},
      {"a bool is no text", "core.v1.Pod", R"({"spec":{"hostNetwork":"true"}})",
       "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
       ""},
      {"quantities become canonical", "core.v1.ResourceRequirements",
       R"({"limits":{"cpu":0.5,"memory":"1024Mi","nvidia.com/gpu":1,"x":"1000m"}})",
       R"({"limits":{"cpu":"500m","memory":"1Gi","nvidia.com/gpu":"1","x":"1"}})", ""},
      {"a quantity must be one", "core.v1.ResourceRequirements", R"({"limits":{"cpu":"lots"}})",
       "quantities must match the regular expression "
       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
       ""},
      {"times become UTC to the second", "meta.v1.ObjectMeta",
       R"({"creationTimestamp":"2024-01-01T02:00:00.9+02:00"})",
       R"({"creationTimestamp":"2024-01-01T00:00:00Z"})", ""},
      {"micro times keep six digits", "coordination.v1.LeaseSpec",
       R"({"renewTime":"2024-01-01T00:00:00.5Z"})",
       R"({"renewTime":"2024-01-01T00:00:00.500000Z"})", ""},
      {"Go's zero time is no time", "meta.v1.ObjectMeta",
       R"({"creationTimestamp":"0001-01-01T00:00:00Z"})", "{}", ""},
      {"a time long ago", "coordination.v1.LeaseSpec",
       R"({"renewTime":"0001-01-01T00:00:02Z","acquireTime":"1600-02-29T23:00:00-02:00"})",
       R"({"renewTime":"0001-01-01T00:00:02.000000Z","acquireTime":"1600-03-01T01:00:00.000000Z"})",
       ""},
      {"a day must be one of its year", "meta.v1.ObjectMeta",
       R"({"creationTimestamp":"1500-02-29T00:00:00Z"})",
       R"(parsing time "1500-02-29T00:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse it)",
       ""},
      {"a time must be one", "meta.v1.ObjectMeta", R"({"creationTimestamp":"now"})",
       "parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": cannot parse it", ""},
      {"ports are numbers or names", "core.v1.ServicePort", R"({"port":80,"targetPort":"http"})",
       R"({"port":80,"targetPort":"http"})", ""},
      {"a port is nothing else", "core.v1.ServicePort", R"({"port":80,"targetPort":1.5})",
       "json: cannot unmarshal number 1.5 into Go value of type int32", ""},
      {"bytes may be broken into lines", "core.v1.Secret",
       R"({"data":{"a":"aGVs\nbG8=\n","b":""}})", R"({"data":{"a":"aGVsbG8=","b":""}})", ""},
      {"bytes must be base64", "core.v1.Secret", R"({"data":{"a":"aGVs*G8="}})",
       "illegal base64 data at input byte 4", ""},
      {"base64 must be padded", "core.v1.Secret", R"({"data":{"a":"aGVsbG8"}})",
       "illegal base64 data at input byte 7", ""},
      {"padding ends the text", "core.v1.Secret", R"({"data":{"a":"a==="}})",
       "illegal base64 data at input byte 1", ""},
      {"schemas of custom resources nest and may be lists or bools",
       "apiextensions.v1.JSONSchemaProps",
       R"({"items":{"type":"string","nope":1},"additionalProperties":true,"x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"items":[{"$ref":"b","nah":2}],"additionalProperties":{"type":"object"}}},"dependencies":{"x":["y"],"z":{}}})",
       R"({"items":{"type":"string"},"additionalProperties":true,"x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"items":[{"$ref":"b"}],"additionalProperties":{"type":"object"}}},"dependencies":{"x":["y"],"z":{}}})",
       "items.nope, properties.a.items[0].nah"},
      {"a union refuses what is in none of its types", "apiextensions.v1.JSONSchemaProps",
       R"({"additionalProperties":"yes"})", "boolean or JSON schema expected", ""},
  };
  for (const Case& row : cases) {
    const Schema* schema = builtin_schemas().find(row.schema);
    ASSERT_NE(schema, nullptr) << row.about;
    expect_case(row, *schema,
                std::string_view(row.schema).substr(std::string_view(row.schema).rfind('.') + 1));
  }
}

// spec{name string, count integer nullable, free (preserved), pod (embedded)}, as a CRD would make
// it.
class CustomSchema {
 public:
  CustomSchema() {
    Schema* spec = add(Schema::Type::Struct);
    spec->fields = {
        member("name", add(Schema::Type::String)), member("count", add(Schema::Type::Integer)),
        member("free", add(Schema::Type::Struct)), member("pod", add(Schema::Type::Struct)),
        member("tags", add(Schema::Type::Map))};
    at(spec, 1)->nullable = true;
    at(spec, 2)->preserve_unknown = true;
    at(spec, 2)->fields = {member("known", add(Schema::Type::Struct))};
    at(spec, 3)->embedded_resource = true;
    at(spec, 4)->items = add(Schema::Type::String);
    for (size_t i = 2; i < 4; ++i)
      at(spec, i)->finish();
    spec->finish();
    root_ = add(Schema::Type::Struct);
    root_->fields = {member("spec", spec),
                     member("metadata", builtin_schemas().find("meta.v1.ObjectMeta"))};
    root_->finish();
  }
  const Schema& root() const { return *root_; }

 private:
  Schema* add(Schema::Type type) {
    Schema* schema = catalogue_.add();
    schema->type = type;
    return schema;
  }
  static Field member(const char* name, const Schema* schema) {
    Field field;
    field.name = name;
    field.schema = schema;
    return field;
  }
  static Schema* at(Schema* owner, size_t i) {
    return const_cast<Schema*>(owner->fields[i].schema);
  }

  SchemaCatalogue catalogue_;
  Schema* root_ = nullptr;
};

TEST(Conform, CustomResources) {
  const Case cases[] = {
      {"wrong types are left to validation", "", R"({"spec":{"name":1,"count":"x","tags":[]}})",
       R"({"spec":{"name":1,"count":"x","tags":[]}})", ""},
      {"unknown fields go", "", R"({"spec":{"nope":1},"status":{}})", R"({"spec":{}})",
       "spec.nope, status"},
      {"unknown fields stay where asked, and only there", "",
       R"({"spec":{"free":{"any":{"thing":null},"known":{"x":1}}}})",
       R"({"spec":{"free":{"any":{"thing":null},"known":{}}}})", "spec.free.known.x"},
      {"nulls stay where allowed", "", R"({"spec":{"name":null,"count":null,"tags":{"a":null}}})",
       R"({"spec":{"count":null,"tags":{}}})", ""},
      {"an embedded object keeps its type and metadata", "",
       R"({"spec":{"pod":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","bad":1},"spec":{}}}})",
       R"({"spec":{"pod":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}}})",
       "spec.pod.metadata.bad, spec.pod.spec"},
      {"metadata is typed", "", R"({"metadata":{"labels":{"a":1}}})",
       "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type "
       "string",
       ""},
  };
  const CustomSchema schema;
  for (const Case& row : cases)
    expect_case(row, schema.root(), "Widget");
}

TEST(Conform, FindingsAndErasuresAreBounded) {
  JsonObject junk;
  for (int i = 0; i < 50'000; ++i)
    junk.emplace("junk" + std::to_string(i), i);
  junk.emplace("data", JsonObject{{"k", "v"}});
  Json tree(std::move(junk));
  const Result<DecodeFindings> findings =
      conform(tree, *builtin_schemas().find("core.v1.ConfigMap"), "ConfigMap");
  ASSERT_TRUE(findings.has_value());
  EXPECT_EQ(findings->unknown_fields.size(), 100u);
  EXPECT_EQ(to_text(tree), R"({"data":{"k":"v"}})");
}

}  // namespace
}  // namespace yard
