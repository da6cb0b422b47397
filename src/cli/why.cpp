#include "cli/why.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "cli/resources.h"
#include "cli/why_parts.h"
#include "cli/workload.h"

namespace yard {
namespace {

using Weight = Finding::Weight;
using State = Standing::State;
constexpr size_t kMostLogPods = 4;  // whose last lines are fetched

std::string what(const Json& object) {
  return fmt::format("{} {}", lower(text_at(object, {"kind"})), name_of(object));
}

std::optional<Finding> deletion_finding(const Json& object) {
  if (!is_being_deleted(object)) return std::nullopt;
  std::vector<std::string> finalizers;
  for (const Json& each : list_at(object, {"metadata", "finalizers"}))
    finalizers.emplace_back(text_of(each));
  if (finalizers.empty()) {
    return Finding{Weight::Waiting,
                   fmt::format("{} is being deleted and has {} s of grace", what(object),
                               int_at(object, {"metadata", "deletionGracePeriodSeconds"})),
                   ""};
  }
  const std::string ns(text_at(object, {"metadata", "namespace"}));
  return Finding{
      Weight::Waiting,
      fmt::format("{} is being deleted and held by {} finalizer{}: {}", what(object),
                  finalizers.size(), finalizers.size() == 1 ? "" : "s", join(finalizers, ", ")),
      fmt::format("whoever set them takes them off when done; by force: kubectl patch {} {}{} "
                  "--type=merge -p '{{\"metadata\":{{\"finalizers\":null}}}}'",
                  lower(text_at(object, {"kind"})), name_of(object),
                  ns.empty() ? "" : " -n " + ns)};
}

Finding failed_finding(const WhyWorld& world, const Standing& standing) {
  const Json& object = world.object;
  const int64_t failed = int_at(object, {"status", "failed"});
  Finding out{Weight::Bad, "", fmt::format("trainyard logs {}", argument_of(object))};
  if (standing.reason == "BackoffLimitExceeded") {
    const int64_t limit = int_at(object, {"spec", "backoffLimit"}, 6);
    out.sentence = fmt::format("{} failed: {} pod{} failed and its backoffLimit is {}",
                               what(object), failed, failed == 1 ? "" : "s", limit);
  } else if (standing.reason == "DeadlineExceeded") {
    out.sentence =
        fmt::format("{} failed: it ran longer than its activeDeadlineSeconds of {}", what(object),
                    int_at(object, {"spec", "activeDeadlineSeconds"},
                           int_at(object, {"spec", "runPolicy", "activeDeadlineSeconds"})));
    out.command = "raise activeDeadlineSeconds";
  } else {
    out.sentence = fmt::format("{} failed ({}): {}", what(object),
                               standing.reason.empty() ? "no reason given" : standing.reason,
                               standing.message);
  }
  return out;
}

// Pods that could not even be created: quotas and admission say so in Events of the owner.
std::optional<Finding> creation_finding(const WhyWorld& world) {
  for (auto event = world.events.rbegin(); event != world.events.rend(); ++event) {
    if (text_at(*event, {"reason"}) != "FailedCreate" ||
        text_at(*event, {"involvedObject", "name"}) != name_of(world.object))
      continue;
    const std::string_view message = text_at(*event, {"message"});
    if (message.find("exceeded quota") == std::string_view::npos) {
      return Finding{Weight::Bad,
                     fmt::format("pods of {} cannot be created: {}", what(world.object), message),
                     fmt::format("trainyard describe {}", argument_of(world.object))};
    }
    const size_t at = message.find("exceeded quota: ");
    const std::string_view rest = message.substr(at + 16);
    const std::string quota(rest.substr(0, rest.find(',')));
    return Finding{
        Weight::Waiting,
        fmt::format("pods of {} wait for room in the quota {}", what(world.object), rest),
        fmt::format("free some, or raise it: kubectl edit quota {}{}", quota,
                    text_at(world.object, {"metadata", "namespace"}).empty()
                        ? ""
                        : fmt::format(" -n {}", text_at(world.object, {"metadata", "namespace"})))};
  }
  return std::nullopt;
}

std::optional<Finding> object_finding(const WhyWorld& world, const Standing& standing) {
  if (auto going = deletion_finding(world.object)) return going;
  if (standing.state == State::Succeeded)
    return Finding{Weight::Fine, fmt::format("{} succeeded", what(world.object)), ""};
  if (text_at(world.object, {"kind"}) == "Pod") return std::nullopt;
  if (standing.state == State::Failed) return failed_finding(world, standing);
  if (standing.state == State::Suspended) {
    const bool in_policy = bool_at(world.object, {"spec", "runPolicy", "suspend"});
    const std::string ns(text_at(world.object, {"metadata", "namespace"}));
    return Finding{
        Weight::Waiting,
        fmt::format("{} is suspended: it has 0 pods until it is resumed", what(world.object)),
        fmt::format("kubectl patch {} {}{} --type=merge -p '{}'",
                    lower(text_at(world.object, {"kind"})), name_of(world.object),
                    ns.empty() || ns == "default" ? "" : " -n " + ns,
                    in_policy ? R"({"spec":{"runPolicy":{"suspend":false}}})"
                              : R"({"spec":{"suspend":false}})")};
  }
  return creation_finding(world);
}

// Without the pod's own name, so that equal troubles of many pods are one finding.
std::string without_name(std::string text, std::string_view name) {
  for (size_t at = text.find(name); !name.empty() && at != std::string::npos;
       at = text.find(name, at + 1))
    text.replace(at, name.size(), "*");
  return text;
}

void add_pod_findings(const WhyWorld& world, std::vector<Finding>& out) {
  struct Group {
    Finding finding;
    std::string key;
    int count = 0;
  };
  std::vector<Group> groups;
  for (const Json& pod : world.pods) {
    auto found = deletion_finding(pod);
    if (!found || list_at(pod, {"metadata", "finalizers"}).empty() ||
        text_at(world.object, {"kind"}) != "Pod")
      found = pod_finding(world, pod);
    if (!found) continue;
    const std::string key = without_name(found->sentence, name_of(pod));
    const auto same =
        std::ranges::find_if(groups, [&](const Group& group) { return group.key == key; });
    if (same != groups.end()) {
      ++same->count;
    } else {
      groups.push_back({std::move(*found), key, 1});
    }
  }
  for (Group& group : groups) {
    if (group.count > 1)
      group.finding.sentence +=
          fmt::format(" (and {} more pod{} like it)", group.count - 1, group.count == 2 ? "" : "s");
    out.push_back(std::move(group.finding));
  }
}

std::string counts_sentence(const WhyWorld& world, const Standing& standing) {
  int running = 0, pending = 0, ended = 0;
  for (const Json& pod : world.pods) {
    const std::string_view phase = text_at(pod, {"status", "phase"}, "Pending");
    ++(phase == "Running" ? running : phase == "Pending" ? pending : ended);
  }
  if (text_at(world.object, {"kind"}) == "Pod")
    return fmt::format("{} is {}", what(world.object), pod_state(world.object));
  return fmt::format("{} is {}: {} running, {} pending, {} ended", what(world.object),
                     word_for(standing.state), running, pending, ended);
}

Result<std::vector<Json>> items_of(Session& session, const std::string& target) {
  const Json list = TRY(session.get(target));
  const JsonArray& items = list_at(list, {"items"});
  return std::vector<Json>(items.begin(), items.end());
}

// The ends of the logs of containers that ended badly.
void fetch_last_lines(Session& session, WhyWorld& world) {
  size_t fetched = 0;
  for (const Json& pod : world.pods) {
    for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
      for (const Json& status : list_at(pod, {"status", list})) {
        const bool is_ended = find_path(status, {"state", "terminated"}) != nullptr ||
                              find_path(status, {"lastState", "terminated"}) != nullptr;
        if (!is_ended || fetched >= kMostLogPods) continue;
        const std::string container(text_at(status, {"name"}));
        const auto reply = session.connection().call(
            "GET",
            fmt::format("/api/v1/namespaces/{}/pods/{}/log",
                        text_at(pod, {"metadata", "namespace"}), name_of(pod)) +
                query_text({{"container", container}, {"tailLines", "5"}}),
            {}, "");
        if (!reply || reply->status != 200) continue;
        world.last_lines[std::string(name_of(pod)) + "/" + container] = reply->body;
        ++fetched;
      }
    }
  }
}

}  // namespace

std::vector<Finding> findings_of(const WhyWorld& world) {
  const Standing standing = standing_of(world.object);
  std::vector<Finding> out;
  if (auto own = object_finding(world, standing)) out.push_back(std::move(*own));
  const bool is_well = !out.empty() && out.front().weight == Weight::Fine;
  if (!is_well) add_pod_findings(world, out);
  std::ranges::stable_sort(out, std::greater<>(),
                           [](const Finding& finding) { return finding.weight; });
  if (out.empty()) out.push_back({Weight::Fine, counts_sentence(world, standing), ""});
  return out;
}

std::string findings_text(const std::vector<Finding>& findings, bool colour) {
  std::string out;
  for (const Finding& finding : findings) {
    const Style style = finding.weight == Weight::Bad       ? Style::Bad
                        : finding.weight == Weight::Waiting ? Style::Busy
                                                            : Style::Good;
    const std::string sentence = printable(finding.sentence);
    out += (colour ? styled(sentence, style) : sentence) + "\n";
    for (const std::string& line : finding.lines)
      out += "    | " + printable(line) + "\n";
    if (!finding.command.empty()) {
      const std::string label = "  mend: ";
      out += (colour ? styled(label, Style::Bold) : label) + printable(finding.command) + "\n";
    }
  }
  return out;
}

Result<WhyWorld> observe_why(Session& session, const std::vector<ResourceType>& types,
                             const NamedObject& root) {
  WhyWorld world;
  world.object = root.object;
  world.now = session.terminal().now;
  const bool is_namespaced = root.located.type.is_namespaced;
  const std::string ns = is_namespaced ? root.located.address.name_space : "";
  if (is_namespaced) {
    const std::string folder = "/api/v1/namespaces/" + percent_encode(ns);
    world.pods = TRY(pods_of(session, types, root));
    world.claims = TRY(items_of(session, folder + "/persistentvolumeclaims"));
    world.quotas = TRY(items_of(session, folder + "/resourcequotas"));
    auto events = TRY(items_of(session, folder + "/events"));
    std::set<std::string, std::less<>> about{root.uid()};
    for (const Json& pod : world.pods)
      about.emplace(text_at(pod, {"metadata", "uid"}));
    for (Json& event : events) {
      if (about.contains(text_at(event, {"involvedObject", "uid"})))
        world.events.push_back(std::move(event));
    }
  }
  world.nodes = TRY(items_of(session, "/api/v1/nodes"));
  if (auto classes = items_of(session, "/apis/storage.k8s.io/v1/storageclasses"))
    world.storage_classes = std::move(*classes);
  fetch_last_lines(session, world);
  return world;
}

int run_why(Session& session, const WhyOptions& options) {
  Terminal& terminal = session.terminal();
  const auto types = discover(session);
  if (!types) return print_failure(terminal, types.error());
  const auto root = find_object(session, *types, options.words, options.name_space);
  if (!root) return print_failure(terminal, root.error());
  const auto world = observe_why(session, *types, *root);
  if (!world) return print_failure(terminal, world.error());
  terminal.out << findings_text(findings_of(*world), terminal.colour);
  return kOk;
}

}  // namespace yard
