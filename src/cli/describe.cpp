#include "cli/describe.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/resources.h"
#include "cli/table.h"
#include "json/yaml.h"

namespace yard {
namespace {

constexpr size_t kLabelWidth = 14;
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

// Defaults the server fills in for every container and pod: true of nearly all, news to nobody.
struct HiddenDefault {
  std::string_view key, value;
};
constexpr std::array<HiddenDefault, 8> kHiddenDefaults{{
    {"terminationMessagePath", "\"/dev/termination-log\""},
    {"terminationMessagePolicy", "\"File\""},
    {"dnsPolicy", "\"ClusterFirst\""},
    {"schedulerName", "\"default-scheduler\""},
    {"terminationGracePeriodSeconds", "30"},
    {"protocol", "\"TCP\""},
    {"creationTimestamp", "null"},
    {"podReplacementPolicy", "\"TerminatingOrFailed\""},
}};

bool is_hidden(std::string_view key, const Json& value) {
  if (value.is_null()) return true;
  if (const JsonObject* object = value.if_object()) return object->empty();
  if (const JsonArray* array = value.if_array()) return array->empty();
  for (const HiddenDefault& hidden : kHiddenDefaults) {
    if (key == hidden.key) return to_text(value) == hidden.value;
  }
  return false;
}

// Depth is bounded by what parse_json accepts.
void remove_hidden(Json& value) {
  if (JsonObject* object = value.if_object()) {
    std::vector<std::string> hidden;
    for (auto& member : *object) {
      remove_hidden(member.value());
      if (is_hidden(member.key(), member.value())) hidden.emplace_back(member.key());
    }
    for (const std::string& key : hidden)
      object->erase(key);
  } else if (JsonArray* array = value.if_array()) {
    for (Json& item : *array)
      remove_hidden(item);
  }
}

std::string indented(std::string_view text, size_t columns) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) out.append(columns, ' ').append(line);
    out += '\n';
  }
  while (out.ends_with("\n\n"))
    out.pop_back();
  return out;
}

std::string ago(std::string_view timestamp, Time now) {
  const auto time = parse_rfc3339(timestamp);
  return time ? human_duration(now - *time) : "<unknown>";
}

class Description {
 public:
  Description(const Json& object, Time now, bool colour)
      : object_(object), now_(now), colour_(colour) {}

  std::string text(const JsonArray& events) {
    add_identity();
    add_pairs("Labels", {"metadata", "labels"});
    add_pairs("Annotations", {"metadata", "annotations"});
    add_body();
    add_conditions();
    add_events(events);
    return std::move(out_);
  }

 private:
  void add_line(std::string_view label, std::string_view value) {
    std::string head = fmt::format("{}:", label);
    const size_t padding = head.size() < kLabelWidth ? kLabelWidth - head.size() : 1;
    if (colour_) head = styled(head, Style::Bold);
    out_ += fmt::format("{}{}{}\n", head, std::string(padding, ' '), printable(value));
  }

  void add_heading(std::string_view label) {
    out_ += (colour_ ? styled(fmt::format("{}:", label), Style::Bold) : fmt::format("{}:", label)) +
            "\n";
  }

  void add_identity() {
    add_line("Name", text_at(object_, {"metadata", "name"}));
    const std::string_view name_space = text_at(object_, {"metadata", "namespace"});
    if (!name_space.empty()) add_line("Namespace", name_space);
    add_line("Kind",
             fmt::format("{} ({})", text_at(object_, {"kind"}), text_at(object_, {"apiVersion"})));
    add_time("Created", {"metadata", "creationTimestamp"});
    add_time("Deleted", {"metadata", "deletionTimestamp"});
    if (const Json* owners = find_path(object_, {"metadata", "ownerReferences"});
        owners != nullptr && owners->is_array()) {
      for (const Json& owner : owners->get_array()) {
        add_line("Owner", fmt::format("{}/{}{}", text_at(owner, {"kind"}), text_at(owner, {"name"}),
                                      bool_at(owner, {"controller"}) ? " (controller)" : ""));
      }
    }
    if (const Json* finalizers = find_path(object_, {"metadata", "finalizers"});
        finalizers != nullptr && finalizers->is_array()) {
      for (const Json& finalizer : finalizers->get_array()) {
        if (finalizer.is_string()) add_line("Finalizer", finalizer.get_string());
      }
    }
  }

  void add_time(std::string_view label, std::initializer_list<std::string_view> path) {
    const std::string_view time = text_at(object_, path);
    if (time.empty()) return;
    const auto parsed = parse_rfc3339(time);
    const bool is_ahead = parsed && *parsed > now_;
    add_line(label, is_ahead ? fmt::format("{} (in {})", time, human_duration(*parsed - now_))
                             : fmt::format("{} ({} ago)", time, ago(time, now_)));
  }

  void add_pairs(std::string_view label, std::initializer_list<std::string_view> path) {
    std::vector<std::string> pairs;
    const Json* map = find_path(object_, path);
    if (map != nullptr && map->is_object()) {
      for (const auto& member : map->get_object()) {
        if (member.key() == kLastApplied) continue;
        const Json& value = member.value();
        pairs.push_back(
            fmt::format("{}={}", std::string_view(member.key()),
                        value.is_string() ? std::string(value.get_string()) : to_text(value)));
      }
    }
    std::sort(pairs.begin(), pairs.end());
    if (pairs.empty()) {
      add_line(label, "<none>");
      return;
    }
    add_line(label, pairs.front());
    for (size_t i = 1; i < pairs.size(); ++i) {
      out_ += std::string(kLabelWidth, ' ') + printable(pairs[i]) + "\n";
    }
  }

  // Every top-level field in the order the server sent it, less what is shown elsewhere.
  void add_body() {
    if (!object_.is_object()) return;
    const bool is_secret = text_at(object_, {"kind"}) == "Secret";
    for (const auto& member : object_.get_object()) {
      const std::string_view key = member.key();
      if (key == "apiVersion" || key == "kind" || key == "metadata") continue;
      Json shown = member.value();
      if (is_secret && key == "data") shown = counted(shown);
      if (key == "status" && shown.is_object()) shown.get_object().erase("conditions");
      remove_hidden(shown);
      if (is_hidden(key, shown)) continue;
      add_field(key, shown);
    }
  }

  void add_field(std::string_view key, const Json& shown) {
    std::string label(key);
    if (label[0] >= 'a' && label[0] <= 'z') label[0] = static_cast<char>(label[0] - 'a' + 'A');
    if (shown.is_object() || shown.is_array()) {
      add_heading(label);
      out_ += printable(indented(to_yaml(shown), 2));
    } else {
      add_line(label, shown.is_string() ? std::string(shown.get_string()) : to_text(shown));
    }
  }

  static Json counted(const Json& data) {
    JsonObject sizes;
    if (data.is_object()) {
      for (const auto& member : data.get_object()) {
        const auto bytes = member.value().is_string()
                               ? base64_decode(std::string_view(member.value().get_string()))
                               : std::nullopt;
        sizes[member.key()] = fmt::format("{} bytes", bytes ? bytes->size() : 0);
      }
    }
    return Json(std::move(sizes));
  }

  void add_conditions() {
    const Json* conditions = find_path(object_, {"status", "conditions"});
    if (conditions == nullptr || !conditions->is_array() || conditions->get_array().empty()) return;
    Grid grid{{"TYPE", "STATUS", "AGE", "REASON", "MESSAGE"}, {}};
    for (const Json& condition : conditions->get_array()) {
      const auto cell = [&](std::string_view key) { return printable(text_at(condition, {key})); };
      const std::string_view since = text_at(condition, {"lastTransitionTime"});
      grid.rows.push_back({cell("type"), cell("status"), since.empty() ? "" : ago(since, now_),
                           cell("reason"), cell("message")});
    }
    add_heading("Conditions");
    out_ += grid_text(grid, {.indent = "  ", .gap = 2, .colour = colour_});
  }

  void add_events(const JsonArray& events) {
    if (events.empty()) {
      add_line("Events", "<none>");
      return;
    }
    struct Row {
      std::string last;
      std::vector<std::string> cells;
    };
    std::vector<Row> rows;
    for (const Json& event : events)
      rows.push_back({std::string(last_seen(event)), event_cells(event)});
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& left, const Row& right) { return left.last < right.last; });
    Grid grid{{"TYPE", "REASON", "AGE", "FROM", "MESSAGE"}, {}};
    for (Row& row : rows)
      grid.rows.push_back(std::move(row.cells));
    add_heading("Events");
    out_ += grid_text(grid, {.indent = "  ", .gap = 2, .colour = colour_});
  }

  static std::string_view first_of(const Json& event,
                                   std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      if (const std::string_view text = text_at(event, {key}); !text.empty()) return text;
    }
    return {};
  }

  static std::string_view last_seen(const Json& event) {
    const std::string_view repeated = text_at(event, {"series", "lastObservedTime"});
    return repeated.empty() ? first_of(event, {"lastTimestamp", "eventTime", "firstTimestamp"})
                            : repeated;
  }

  std::vector<std::string> event_cells(const Json& event) const {
    const int64_t count = std::max(int_at(event, {"count"}), int_at(event, {"series", "count"}));
    std::string age = ago(last_seen(event), now_);
    if (count > 1) {
      age += fmt::format(" (x{} in {})", count,
                         ago(first_of(event, {"firstTimestamp", "eventTime"}), now_));
    }
    std::string_view from = text_at(event, {"source", "component"});
    if (from.empty()) from = text_at(event, {"reportingComponent"});
    std::string message = printable(trim(text_at(event, {"message"})));
    std::replace(message.begin(), message.end(), '\n', ' ');
    return {printable(text_at(event, {"type"})), printable(text_at(event, {"reason"})),
            std::move(age), printable(from), std::move(message)};
  }

  const Json& object_;
  Time now_;
  bool colour_;
  std::string out_;
};

JsonArray events_of(Session& session, const Json& object) {
  const std::string uid(text_at(object, {"metadata", "uid"}));
  if (uid.empty()) return {};
  const std::string name_space(text_at(object, {"metadata", "namespace"}));
  // Events of things without a namespace stand in `default` or where their writer put them: ask for
  // all.
  const std::string path = name_space.empty()
                               ? "/api/v1/events"
                               : "/api/v1/namespaces/" + percent_encode(name_space) + "/events";
  auto list = session.get(
      path + query_text({{"fieldSelector", "involvedObject.uid=" + uid}, {"limit", "500"}}));
  if (!list) {
    print_failure(session.terminal(), list.error());
    return {};
  }
  Json* items = find(*list, "items");
  return items != nullptr && items->is_array() ? std::move(items->get_array()) : JsonArray();
}

}  // namespace

std::string description(const Json& object, const JsonArray& events, Time now, bool colour) {
  return Description(object, now, colour).text(events);
}

int run_describe(Session& session, const DescribeOptions& options) {
  Terminal& terminal = session.terminal();
  const auto selected = selections(options.words);
  if (!selected) return print_failure(terminal, selected.error());
  const auto types = discover(session);
  if (!types) return print_failure(terminal, types.error());
  int exit_code = kOk;
  size_t shown = 0;
  const auto note = [&](const Error& failure) {
    const int code = print_failure(terminal, failure);
    if (exit_code == kOk) exit_code = code;
  };
  const auto show = [&](const Json& object) {
    if (shown++ > 0) terminal.out << "\n\n";
    terminal.out << description(object, events_of(session, object), terminal.now, terminal.colour);
  };
  for (const ResourceSelection& selection : *selected) {
    const auto meant = types_named(*types, selection.types);
    if (!meant) {
      note(meant.error());
      continue;
    }
    for (const ResourceType& type : *meant) {
      std::vector<std::string> names = selection.names;
      if (names.empty()) {
        auto list = session.get(resource_path(type, {options.name_space, ""}) +
                                query_text({{"labelSelector", options.label_selector}}));
        if (!list) {
          note(list.error());
          continue;
        }
        const Json* items = find(*list, "items");
        if (items == nullptr || !items->is_array()) continue;
        for (const Json& item : items->get_array())
          names.emplace_back(text_at(item, {"metadata", "name"}));
      }
      for (const std::string& name : names) {
        const auto object = session.get(resource_path(type, {options.name_space, name}));
        if (object) {
          show(*object);
        } else {
          note(object.error());
        }
      }
    }
  }
  if (shown == 0 && exit_code == kOk) {
    terminal.err << fmt::format("No resources found in {} namespace.\n", options.name_space);
  }
  return exit_code;
}

}  // namespace yard
