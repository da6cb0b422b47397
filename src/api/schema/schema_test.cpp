#include "api/schema/schema.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

const Schema& schema_of(std::string_view name) {
  const Schema* found = builtin_schemas().find(name);
  EXPECT_NE(found, nullptr) << name;
  static const Schema empty;
  return found ? *found : empty;
}

const Field& field_of(std::string_view schema, std::string_view name) {
  const Field* found = schema_of(schema).field(name);
  EXPECT_NE(found, nullptr) << schema << " " << name;
  static const Field empty;
  return found ? *found : empty;
}

TEST(BuiltinSchemas, KindsAreFoundByApiVersion) {
  struct Case {
    std::string_view api_version, kind, schema;
  };
  const Case cases[] = {
      {"v1", "Pod", "core.v1.Pod"},
      {"batch/v1", "Job", "batch.v1.Job"},
      {"rbac.authorization.k8s.io/v1", "Role", "rbac.v1.Role"},
      {"apiextensions.k8s.io/v1", "CustomResourceDefinition",
       "apiextensions.v1.CustomResourceDefinition"},
      {"v1", "DeleteOptions", "meta.v1.DeleteOptions"},
      {"kubeflow.org/v1", "DeleteOptions", "meta.v1.DeleteOptions"},
      {"autoscaling/v1", "Scale", "autoscaling.v1.Scale"},
      {"v1", "PodSpec", ""},          // a part, not an object
      {"v1", "ObjectReference", ""},  // its kind and apiVersion are its own members
      {"apps.example.com/v1", "Deployment", ""},
      {"batch/v1beta1", "CronJob", ""},
  };
  for (const Case& row : cases) {
    const Schema* found = builtin_schema_of(row.api_version, row.kind);
    EXPECT_EQ(found ? found->name : "", row.schema) << row.api_version << " " << row.kind;
  }
}

TEST(BuiltinSchemas, FieldsCarryNumbersTypesAndFlags) {
  const Field& containers = field_of("core.v1.PodSpec", "containers");
  EXPECT_EQ(containers.number, 2);
  EXPECT_TRUE(containers.required);
  EXPECT_EQ(containers.schema->type, Schema::Type::List);
  EXPECT_EQ(containers.schema->list_type, Schema::ListType::Map);
  EXPECT_EQ(containers.schema->list_keys, std::vector<std::string>{"name"});
  EXPECT_EQ(containers.schema->patch_merge_key, "name");
  EXPECT_EQ(containers.schema->items, &schema_of("core.v1.Container"));

  EXPECT_TRUE(field_of("core.v1.PodSpec", "terminationGracePeriodSeconds").pointer);
  EXPECT_EQ(field_of("core.v1.PodSpec", "priority").schema->bits, 32);
  EXPECT_TRUE(field_of("core.v1.PodSpec", "nodeSelector").schema->atomic);
  EXPECT_TRUE(field_of("core.v1.PodSpec", "volumes").schema->retain_keys);
  EXPECT_TRUE(field_of("core.v1.ContainerStatus", "ready").always_shown);
  EXPECT_EQ(field_of("core.v1.ContainerPort", "protocol").schema->default_value, Json("TCP"));
  EXPECT_TRUE(field_of("core.v1.PodSpec", "restartPolicy").schema->default_value.is_null());
  EXPECT_EQ(field_of("meta.v1.ObjectMeta", "managedFields").number, 17);
  EXPECT_TRUE(field_of("meta.v1.ObjectMeta", "finalizers").schema->patch_merge);
  EXPECT_EQ(field_of("meta.v1.ObjectMeta", "finalizers").schema->patch_merge_key, "");
  EXPECT_EQ(field_of("apiextensions.v1.JSONSchemaProps", "x-kubernetes-list-type").number, 42);
  EXPECT_EQ(field_of("apiextensions.v1.JSONSchemaProps", "items").schema->union_of,
            Schema::Union::SchemaOrArray);
}

TEST(BuiltinSchemas, AFieldMayHaveItsOwnVariantOfAStruct) {
  EXPECT_TRUE(schema_of("meta.v1.LabelSelector").atomic);
  EXPECT_FALSE(schema_of("meta.v1.LabelSelector").patch_replace);
  EXPECT_TRUE(field_of("policy.v1.PodDisruptionBudgetSpec", "selector").schema->patch_replace);
  EXPECT_TRUE(field_of("apps.v1.DeploymentSpec", "strategy").schema->retain_keys);
  EXPECT_TRUE(schema_of("core.v1.ObjectReference").atomic);
  const Field& claim = field_of("core.v1.PersistentVolumeSpec", "claimRef");
  EXPECT_FALSE(claim.schema->atomic);
  EXPECT_NE(claim.schema->field("uid"), nullptr);
}

TEST(BuiltinSchemas, InlinedMembersAreSeenFromTheParent) {
  EXPECT_NE(schema_of("core.v1.Volume").field("emptyDir"), nullptr);
  EXPECT_NE(schema_of("core.v1.EphemeralContainer").field("image"), nullptr);
  EXPECT_EQ(schema_of("core.v1.Volume").field("volumeSource"), nullptr);
  const Field* source = schema_of("core.v1.Volume").field_by_number(2);
  ASSERT_NE(source, nullptr);
  EXPECT_TRUE(source->inlined);
  EXPECT_EQ(schema_of("core.v1.Volume").field_by_number(99), nullptr);
}

}  // namespace
}  // namespace yard
