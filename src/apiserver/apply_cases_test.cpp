// Golden cases of server-side apply and managedFields (tests/cases/apply): requests by several
// managers, and after each what the object is and who owns what. tests/e2e/test_apply_cases.py asks
// a real kube-apiserver the same.

#include <map>

#include "api/tree.h"
#include "apiserver/custom_resources.h"
#include "sim/api_harness.h"
#include "testing/case_runner.h"
#include "testing/objects.h"
#include "testing/widget.h"

namespace yard {
namespace {

constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

struct Verb {
  const char *name, *method, *content_type;
};
constexpr Verb kVerbs[] = {{"get", "GET", ""},
                           {"create", "POST", "application/json"},
                           {"update", "PUT", "application/json"},
                           {"merge", "PATCH", "application/merge-patch+json"},
                           {"apply", "PATCH", "application/apply-patch+yaml"}};

void define(ApiHarness& yard, const Json& definition) {
  const Answer made = yard.call("POST", kDefinitions, to_text(definition));
  ASSERT_EQ(made.status, 201) << made.text;
  Json established = made.json;
  established.at("status").get_object()["acceptedNames"] = established.at("spec").at("names");
  established.at("status").get_object()["conditions"] =
      yaml("[{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]");
  const Answer told_so = yard.call(
      "PUT", std::string(kDefinitions) + "/" + std::string(name_of(definition)) + "/status",
      to_text(established));
  ASSERT_EQ(told_so.status, 200) << told_so.text;
}

Json owners_of(const Json& object) {
  JsonObject out;
  for (const Json& entry : list_at(object, {"metadata", "managedFields"})) {
    std::string who(text_at(entry, {"manager"}));
    who.append(" ").append(text_at(entry, {"operation"}));
    if (const std::string_view part = text_at(entry, {"subresource"}); !part.empty())
      who.append(" ").append(part);
    out[who] = to_text(entry.at("fieldsV1"));
  }
  return out;
}

// Without what differs from server to server; `show` names the only paths to keep.
Json content_of(const Json& object, const JsonArray& show) {
  JsonObject out;
  if (!show.empty()) {
    for (const Json& path : show) {
      const Json* at = &object;
      for (const std::string_view step : split(text_of(path), '.'))
        at = at != nullptr ? find(*at, step) : nullptr;
      if (at != nullptr) out[text_of(path)] = *at;
    }
    return out;
  }
  for (const auto& member : object.as_object()) {
    if (member.key() == "apiVersion" || member.key() == "kind" || member.key() == "metadata")
      continue;
    out[member.key()] = member.value();
  }
  if (const Json* labels = find_path(object, {"metadata", "labels"})) out["labels"] = *labels;
  return out;
}

Json answer_of(const Answer& answer, const JsonArray& show, std::string& revision) {
  JsonObject out{{"code", answer.status}};
  if (answer.status >= 400) {
    out["message"] = text_at(answer.json, {"message"});
    return out;
  }
  const std::string now(text_at(answer.json, {"metadata", "resourceVersion"}));
  out["changed"] = now != std::exchange(revision, now);
  if (const Json* generation = find_path(answer.json, {"metadata", "generation"}))
    out["generation"] = *generation;
  out["object"] = content_of(answer.json, show);
  out["owners"] = owners_of(answer.json);
  return out;
}

Json answers_to(const Json& given) {
  ApiHarness yard;
  yard.make_namespace("default");
  CustomResources custom(yard.loop, *yard.store, *yard.api);
  if (const Json* definition = find(given, "definition"))
    define(yard, definition->is_string() ? yaml(kWidgetDefinition) : *definition);
  JsonArray out;
  std::string revision;
  for (const Json& step : list_at(given, {"steps"})) {
    yard.loop.advance(std::chrono::seconds(1));  // times of owners move when something does
    const auto verb = std::ranges::find_if(
        kVerbs, [&](const Verb& each) { return text_at(step, {"verb"}) == each.name; });
    EXPECT_NE(verb, std::end(kVerbs)) << to_text(step);
    std::string target =
        std::string(text_at(step, {"at"})) + "?fieldManager=" + std::string(text_at(step, {"by"}));
    if (bool_at(step, {"force"})) target += "&force=true";
    const Json* body = find(step, "body");
    const bool has_body = std::string_view(verb->method) != "GET" && body != nullptr;
    Headers headers;
    if (has_body) headers.emplace_back("Content-Type", verb->content_type);
    out.push_back(
        answer_of(yard.call(verb->method, target, has_body ? to_text(*body) : "", headers),
                  list_at(given, {"show"}), revision));
  }
  return out;
}

class ApplyCases : public testing::TestWithParam<CaseFile> {};

TEST_P(ApplyCases, Hold) {
  run_case(GetParam(), "answers", answers_to);
}

INSTANTIATE_TEST_SUITE_P(Apply, ApplyCases, testing::ValuesIn(case_files("apply")), case_name);

}  // namespace
}  // namespace yard
