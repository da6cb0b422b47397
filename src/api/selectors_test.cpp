#include "api/selectors.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

struct Match {
  const char* selector;
  const char* labels;
  bool matches;
};

TEST(LabelSelector, SelectsByEveryOperator) {
  const Match cases[] = {
      {"", "{}", true},
      {"a=1", "{a: '1'}", true},
      {"a==1", "{a: '1'}", true},
      {"a=1", "{a: '2'}", false},
      {"a=1", "{}", false},
      {"a!=1", "{a: '2'}", true},
      {"a!=1", "{}", true},
      {"a!=1", "{a: '1'}", false},
      {"a", "{a: ''}", true},
      {"a", "{b: x}", false},
      {"!a", "{b: x}", true},
      {"!a", "{a: x}", false},
      {"a in (x, z)", "{a: z}", true},
      {"a in (x,y)", "{a: z}", false},
      {"a notin (x,y)", "{a: z}", true},
      {"a notin (x,y)", "{}", true},
      {"a notin (x,y)", "{a: x}", false},
      {"a in (,x)", "{a: ''}", true},
      {"a in (x,)", "{a: ''}", true},
      {"a=", "{a: ''}", true},
      {"a>5", "{a: '6'}", true},
      {"a>5", "{a: '5'}", false},
      {"a<5", "{a: '-4'}", true},
      {"a<5", "{a: x}", false},
      {"a>5", "{}", false},
      {"a=1,b=2", "{a: '1', b: '2'}", true},
      {"a=1,b=2", "{a: '1'}", false},
      {" a = 1 , ! b ", "{a: '1'}", true},
      {"in=x", "{in: x}", true},
      {"in in (notin)", "{in: notin}", true},
      {"ex.io/a-b_c=v.1", "{ex.io/a-b_c: v.1}", true},
  };
  for (const Match& c : cases) {
    Result<LabelSelector> selector = LabelSelector::parse(c.selector);
    ASSERT_TRUE(selector) << c.selector << ": " << selector.error().message;
    EXPECT_EQ(selector->matches_labels(yaml(c.labels)), c.matches) << c.selector << c.labels;
  }
}

TEST(LabelSelector, ErrorsAreUpstreams) {
  struct Case {
    const char* selector;
    const char* message;
  };
  const Case cases[] = {
      {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {"=a", "found '=', expected: !, identifier, or 'end of string'"},
      {"a=1,", "found '', expected: identifier after ','"},
      {"a=1,,b=2", "found ',', expected: identifier after ','"},
      {"a=1 b=2", "found 'b', expected: ',' or 'end of string'"},
      {"!", "unable to parse requirement: found '', expected: identifier"},
      {"a in x", "unable to parse requirement: found 'x' expected: '('"},
      {"a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"},
      {"a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"},
      {"a in ()",
       "unable to parse requirement: values: Invalid value: []: for 'in', 'notin' operators, "
       "values set can't be empty"},
      {"a>x",
       "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
       "the value must be an integer"},
      {"a=(", "unable to parse requirement: found '(', expected: identifier"},
  };
  for (const Case& c : cases) {
    Result<LabelSelector> selector = LabelSelector::parse(c.selector);
    ASSERT_FALSE(selector) << c.selector;
    EXPECT_EQ(selector.error().message, c.message);
    EXPECT_EQ(selector.error().reason, Reason::BadRequest);
  }
}

TEST(LabelSelector, KeysAndValuesAreJudgedAsLabels) {
  Result<LabelSelector> key = LabelSelector::parse("-a=1");
  ASSERT_FALSE(key);
  EXPECT_TRUE(key.error().message.starts_with(
      "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of"))
      << key.error().message;
  Result<LabelSelector> value = LabelSelector::parse("a=-x");
  ASSERT_FALSE(value);
  EXPECT_TRUE(value.error().message.starts_with(
      "unable to parse requirement: values[0][a]: Invalid value: \"-x\": a valid label must be"))
      << value.error().message;
}

TEST(LabelSelector, HostileTextIsAnErrorOrASelectorButNeverACrash) {
  for (std::string text :
       {std::string(100000, '('), std::string(100000, ','),
        std::string("a in (") + std::string(100000, ','), std::string("\0\xff\x01", 3)}) {
    Result<LabelSelector> selector = LabelSelector::parse(text);
    if (!selector) {
      EXPECT_EQ(selector.error().reason, Reason::BadRequest);
    }
  }
}

TEST(LabelSelector, ReadsTheObjectForm) {
  struct Case {
    const char* about;
    const char* selector;
    const char* labels;
    bool matches;
  };
  const Case cases[] = {
      {"labels must all be there", "matchLabels: {a: x, b: w}", "{a: x, b: w, c: z}", true},
      {"one differs", "matchLabels: {a: x, b: w}", "{a: x}", false},
      {"In", "matchExpressions: [{key: a, operator: In, values: [x]}]", "{a: x}", true},
      {"NotIn", "matchExpressions: [{key: a, operator: NotIn, values: [x]}]", "{}", true},
      {"Exists", "matchExpressions: [{key: a, operator: Exists}]", "{}", false},
      {"DoesNotExist", "matchExpressions: [{key: a, operator: DoesNotExist}]", "{}", true},
      {"an empty selector selects everything", "{}", "{a: x}", true},
      {"no selector selects nothing", "null", "{a: x}", false},
  };
  for (const Case& c : cases) {
    Json selector = std::string_view(c.selector) == "null" ? Json() : yaml(c.selector);
    Result<LabelSelector> parsed = LabelSelector::from_json(selector);
    ASSERT_TRUE(parsed) << c.about;
    EXPECT_EQ(parsed->matches_labels(yaml(c.labels)), c.matches) << c.about;
  }
  Result<LabelSelector> odd =
      LabelSelector::from_json(yaml("matchExpressions: [{key: a, operator: Like}]"));
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message, "\"Like\" is not a valid label selector operator");
}

Kind pods() {
  Kind kind;
  kind.storage = "pods";
  kind.selectable_fields = {"spec.nodeName", "status.phase"};
  return kind;
}

ObjectPtr pod(const char* ns, std::vector<std::string> fields) {
  Json object = yaml("{kind: Pod, apiVersion: v1, metadata: {name: p, labels: {a: x}}}");
  object.at("metadata").as_object()["namespace"] = ns;
  return Object::encode(object, std::move(fields), "[]");
}

TEST(FieldSelector, SelectsByNameNamespaceAndTheKindsFields) {
  ObjectPtr object = pod("ns", {"n1", "Running"});
  struct Case {
    const char* selector;
    bool matches;
  };
  const Case cases[] = {
      {"", true},
      {"metadata.name=p", true},
      {"metadata.name==p,metadata.namespace=ns", true},
      {"metadata.name!=p", false},
      {"status.phase=Running", true},
      {"status.phase!=Running,metadata.name=p", false},
      {"spec.nodeName=n1", true},
      {"spec.host=n1", true},
      {"spec.nodeName=", false},
      {"metadata.namespace!=", true},
      {"metadata.name=a\\,b", false},
      {",metadata.name=p,", true},
  };
  for (const Case& c : cases) {
    Result<FieldSelector> selector = FieldSelector::parse(c.selector, pods());
    ASSERT_TRUE(selector) << c.selector << ": " << selector.error().message;
    EXPECT_EQ(selector->matches(*object), c.matches) << c.selector;
  }
  EXPECT_TRUE(LabelSelector::parse("a=x")->matches(*object));
  EXPECT_FALSE(LabelSelector::parse("a=y")->matches(*object));
}

TEST(FieldSelector, ErrorsAreUpstreams) {
  Kind custom;
  custom.custom = true;
  custom.namespaced = false;
  struct Case {
    const char* about;
    const char* selector;
    Kind kind;
    const char* message;
  };
  const Case cases[] = {
      {"no operator", "metadata.name", pods(),
       "invalid selector: 'metadata.name'; can't understand 'metadata.name'"},
      {"a kind with its own list", "spec.name=x", pods(), "field label not supported: spec.name"},
      {"a kind without", "foo=x", Kind(),
       "\"foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""},
      {"a custom kind", "spec.x=1", custom, "field label not supported: spec.x"},
      {"a cluster-scoped custom kind has no namespace", "metadata.namespace=x", custom,
       "field label not supported: metadata.namespace"},
      {"an escape of nothing", "metadata.name=\\a", Kind(),
       "invalid field selector: invalid escape sequence: \\a"},
      {"an equals sign in a value", "metadata.name=a=b", Kind(),
       "invalid field selector: unescaped character in value: 61"},
  };
  for (const Case& c : cases) {
    Result<FieldSelector> selector = FieldSelector::parse(c.selector, c.kind);
    ASSERT_FALSE(selector) << c.about;
    EXPECT_EQ(selector.error().message, c.message) << c.about;
  }
}

TEST(FieldSelector, KnowsWhenOnlyOneNameCanMatch) {
  EXPECT_EQ(FieldSelector::parse("metadata.name=p", pods())->required_name(), "p");
  EXPECT_EQ(FieldSelector::parse("status.phase=x,metadata.name=p", pods())->required_name(), "p");
  EXPECT_EQ(FieldSelector::parse("metadata.name!=p", pods())->required_name(), std::nullopt);
  EXPECT_EQ(FieldSelector::parse("metadata.name=a\\=b", pods())->required_name(), "a=b");
}

}  // namespace
}  // namespace yard
