#include "api/meta/names.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

const std::string kSubdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

TEST(Names, FollowTheirRules) {
  struct Case {
    const char* about;
    NameRule rule;
    std::string name;
    size_t problems;
  };
  const Case cases[] = {
      {"a subdomain has dots", NameRule::Subdomain, "a.b-c.9", 0},
      {"a subdomain has no empty part", NameRule::Subdomain, "a..b", 1},
      {"capitals are refused", NameRule::Subdomain, "A", 1},
      {"253 characters fit", NameRule::Subdomain, std::string(253, 'a'), 0},
      {"254 do not", NameRule::Subdomain, std::string(254, 'a'), 1},
      {"a label has no dots", NameRule::Label, "a.b", 1},
      {"a label has at most 63 characters", NameRule::Label, std::string(64, 'a'), 1},
      {"a long label may be wrong twice", NameRule::Label, std::string(64, '-'), 2},
      {"a label may begin with a digit", NameRule::Label, "9a", 0},
      {"a service name may not", NameRule::Dns1035Label, "9a", 1},
      {"a path segment may be odd", NameRule::PathSegment, "System:Node", 0},
      {"a path segment has no slash", NameRule::PathSegment, "a/b", 1},
      {"a path segment is not ..", NameRule::PathSegment, "..", 1},
      {"nothing is no name", NameRule::Subdomain, "", 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    EXPECT_EQ(name_problems(c.rule, c.name).size(), c.problems);
  }
}

TEST(Names, LabelKeysAndValues) {
  EXPECT_TRUE(qualified_name_problems("app").empty());
  EXPECT_TRUE(qualified_name_problems("example.com/My_App.1").empty());
  EXPECT_EQ(qualified_name_problems("/x"),
            std::vector<std::string>{"prefix part must be non-empty"});
  EXPECT_EQ(qualified_name_problems("a.io/").front(), "name part must be non-empty");
  EXPECT_EQ(qualified_name_problems("a/b/c").size(), 1U);
  EXPECT_EQ(qualified_name_problems(std::string(64, 'a')).front(),
            "name part must be no more than 63 characters");
  EXPECT_TRUE(label_value_problems("").empty());
  EXPECT_TRUE(label_value_problems("a_b.C-1").empty());
  EXPECT_EQ(label_value_problems("a b").size(), 1U);
}

TEST(Metadata, IsValidatedOnCreate) {
  struct Case {
    const char* about;
    const char* metadata;
    std::string complaint;
  };
  const Case cases[] = {
      {"a plain object is fine", "{name: a, namespace: b, labels: {x: z}}", ""},
      {"a name is needed", "{namespace: b}",
       "metadata.name: Required value: name or generateName is required"},
      {"the name follows the kind's rule", "{name: A, namespace: b}",
       "metadata.name: Invalid value: \"A\": " + kSubdomain},
      {"a generateName may end in a dash", "{generateName: a-, name: a-x, namespace: b}", ""},
      {"a namespace is needed", "{name: a}", "metadata.namespace: Required value"},
      {"a label value is checked", "{name: a, namespace: b, labels: {x: '-'}}",
       "metadata.labels: Invalid value: \"-\": " + label_value_problems("-").front()},
      {"a label key is checked", "{name: a, namespace: b, labels: {/x: z}}",
       "metadata.labels: Invalid value: \"/x\": prefix part must be non-empty"},
      {"an annotation key may have capitals", "{name: a, namespace: b, annotations: {A.io/B: c}}",
       ""},
      {"a finalizer has a domain", "{name: a, namespace: b, finalizers: [mine]}",
       "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer "
       "name nor is it fully qualified"},
      {"standard finalizers have none", "{name: a, namespace: b, finalizers: [orphan]}", ""},
      {"an owner has a uid",
       "{name: a, namespace: b, ownerReferences: [{apiVersion: v1, kind: Pod, name: p}]}",
       "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty"},
      {"one controller owns",
       "{name: a, namespace: b, ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: u, "
       "controller: true}, {apiVersion: v1, kind: Pod, name: z, uid: v, controller: true}]}",
       "metadata.ownerReferences: Invalid value: "
       "[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"x\",\"uid\":\"u\",\"controller\":true},"
       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"z\",\"uid\":\"v\",\"controller\":true}]"
       ": Only one reference can have Controller set to true. Found \"true\" in references for "
       "Pod/x and Pod/z"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    const Json object = JsonObject{{"metadata", yaml(c.metadata)}};
    EXPECT_EQ(told(validate_metadata(object, Kind())), c.complaint);
  }
}

TEST(Metadata, AnnotationsHaveABound) {
  const Json full = JsonObject{{"k", std::string(262'143, 'x')}};
  EXPECT_EQ(told(validate_annotations(&full, FieldPath("metadata.annotations"))), "");
  const Json more = JsonObject{{"k", std::string(262'144, 'x')}};
  EXPECT_EQ(told(validate_annotations(&more, FieldPath("metadata.annotations"))),
            "metadata.annotations: Too long: may not be more than 262144 bytes");
}

TEST(Metadata, KeepsItsIdentityOnUpdate) {
  const Json live = yaml("{metadata: {name: a, namespace: b, uid: u, finalizers: [a.io/f]}}");
  EXPECT_EQ(told(validate_metadata_update(live, live)), "");
  EXPECT_EQ(told(validate_metadata_update(changed(live, "{metadata: {uid: v}}"), live)),
            "metadata.uid: Invalid value: \"v\": field is immutable");
  const Json deleting = changed(live, "{metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}}");
  EXPECT_EQ(told(validate_metadata_update(
                changed(deleting, "{metadata: {finalizers: [b.io/n, a.io/f]}}"), deleting)),
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
            "deleted, found new finalizers []string{\"b.io/n\"}");
  EXPECT_EQ(
      told(validate_metadata_update(changed(deleting, "{metadata: {finalizers: []}}"), deleting)),
      "");
}

TEST(FieldErrors, BecomeTheMessageOfAStatus) {
  const FieldPath path("spec");
  const Error one = invalid_object("batch", "Job", "x", {required(path.child("a"))});
  EXPECT_EQ(one.message, "Job.batch \"x\" is invalid: spec.a: Required value");
  EXPECT_EQ(one.reason, Reason::Invalid);
  EXPECT_EQ(one.details.kind, "Job");
  const Error two = invalid_object(
      "", "Pod", "x",
      {invalid(path.index(0), Json(-1), "bad"), not_supported(path.key("k"), Json("z"), {"a", "b"}),
       invalid(path.index(0), Json(-1), "bad")});
  EXPECT_EQ(two.message,
            "Pod \"x\" is invalid: [spec[0]: Invalid value: -1: bad, spec[k]: Unsupported value: "
            "\"z\": supported values: \"a\", \"b\"]");
  EXPECT_EQ(two.details.causes.size(), 2U);
  EXPECT_EQ(two.details.causes[1].reason, "FieldValueNotSupported");
  EXPECT_EQ(too_many(path, 21, 20).message, "Too many: 21: must have at most 20 items");
  EXPECT_EQ(told({too_long(FieldPath(), 5)}), "[]: Too long: may not be more than 5 bytes");
}

}  // namespace
}  // namespace yard
