// Any text as a selector of a query, any JSON as one of a spec: an answer or a bad request. What is
// read can be asked of labels and objects, and a selector that selects all selects them.

#include <cstddef>
#include <cstdint>

#include "api/kinds.h"
#include "api/selectors.h"
#include "base/check.h"
#include "base/strings.h"

namespace {

using namespace yard;

const Json& some_labels() {
  static const Json kLabels = JsonObject{
      {"app", "web"}, {"tier", ""}, {"batch.kubernetes.io/job-name", "a"}, {"count", "7"}};
  return kLabels;
}

const Object& some_pod() {
  static const ObjectPtr kPod = [] {
    const Json tree = JsonObject{
        {"kind", "Pod"},
        {"apiVersion", "v1"},
        {"metadata", JsonObject{{"name", "p"}, {"namespace", "ns"}, {"labels", some_labels()}}}};
    return Object::encode(tree, std::vector<std::string>(pod_kind().selectable_fields.size(), "x"),
                          "[]");
  }();
  return *kPod;
}

void ask(const Result<LabelSelector>& selector) {
  if (!selector) {
    check(selector.error().reason == Reason::BadRequest, "a bad selector is a bad request");
    return;
  }
  const bool is_matched = selector->matches_labels(some_labels());
  check(is_matched == selector->matches(some_pod()), "labels are the same wherever they stand");
  check(is_matched || !selector->is_everything(), "everything selects all");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ask(LabelSelector::parse(text));
  static const Kind kPods = pod_kind();
  if (const auto fields = FieldSelector::parse(text, kPods)) {
    const bool is_matched = fields->matches(some_pod());
    check(is_matched || !fields->is_everything(), "everything selects all");
    if (is_matched && fields->required_name())
      check(*fields->required_name() == "p", "a name that is asked for is the object's");
  }
  if (const auto parsed = parse_json(text)) ask(LabelSelector::from_json(parsed->value));
  return 0;
}
