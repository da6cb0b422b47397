#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/events/event_names.h"
#include "api/tables.h"
#include "api/tables/cells.h"
#include "base/strings.h"

namespace yard {

namespace {

struct EventTimes {
  std::optional<Time> first, last;
  int64_t count = 1;
};

EventTimes event_times(const Json& event, const EventNames& names) {
  EventTimes times;
  times.first = time_at(event, {names.first});
  if (!times.first) times.first = time_at(event, {"eventTime"});
  times.last = time_at(event, {names.last});
  if (!times.last) times.last = times.first;
  times.count = int_at(event, {names.count});
  if (const Json* series = find(event, "series"); series != nullptr && series->is_object()) {
    times.last = time_at(*series, {"lastObservedTime"});
    times.count = int_at(*series, {"count"});
  } else if (times.count == 0) {
    times.count = 1;
  }
  return times;
}

std::string event_object_text(const Json& event, const EventNames& names) {
  std::string kind = lower(text_at(event, {names.object, "kind"}));
  std::string_view name = text_at(event, {names.object, "name"});
  return name.empty() ? kind : fmt::format("{}/{}", kind, name);
}

std::string event_source_text(const Json& event, const EventNames& names) {
  std::string_view component = text_at(event, {names.source, "component"});
  if (component.empty()) component = text_at(event, {names.controller});
  std::string_view instance = text_at(event, {names.source, "host"});
  if (instance.empty()) instance = text_at(event, {"reportingInstance"});
  return instance.empty() ? std::string(component) : fmt::format("{}, {}", component, instance);
}

std::string node_status(const Json& node) {
  std::string_view ready = condition_status(node, "Ready");
  std::string status = ready.empty() ? "Unknown" : ready == "True" ? "Ready" : "NotReady";
  if (bool_at(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  return status;
}

std::string node_roles(const Json& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  for (const auto& [key_text, value] : map_at(node, {"metadata", "labels"})) {
    std::string_view key(key_text);
    if (key.starts_with(kPrefix) && key.size() > kPrefix.size()) {
      roles.emplace(key.substr(kPrefix.size()));
    } else if (key == "kubernetes.io/role" && !text_of(value).empty()) {
      roles.emplace(text_of(value));
    }
  }
  return or_none(join({roles.begin(), roles.end()}, ","));
}

std::string_view node_address(const Json& node, std::string_view type) {
  for (const Json& address : list_at(node, {"status", "addresses"})) {
    if (text_at(address, {"type"}) == type) return text_at(address, {"address"});
  }
  return "<none>";
}

std::string_view node_info(const Json& node, std::string_view member) {
  std::string_view text = text_at(node, {"status", "nodeInfo", member});
  return text.empty() ? "<unknown>" : text;
}

}  // namespace

std::vector<Column> event_columns() {
  return {
      column("Last Seen", "How long ago it last happened."),
      column("Type", "Normal or Warning."),
      column("Reason", "Why it happened, in one word."),
      column("Object", "What it is about."),
      wide_column("Subobject", "Which part of that object."),
      wide_column("Source", "Who says so."),
      column("Message", "What happened, for people."),
      wide_column("First Seen", "How long ago it first happened."),
      wide_column("Count", "How often it happened."),
      [] {
        Column name = name_column();
        name.priority = 1;
        return name;
      }(),
  };
}

std::string event_cells(const Json& object) {
  const EventNames& names = event_names(object);
  EventTimes times = event_times(object, names);
  RowWriter row;
  row.age(times.last);
  row.text(text_at(object, {"type"}));
  row.text(text_at(object, {"reason"}));
  row.text(event_object_text(object, names));
  row.text(text_at(object, {names.object, "fieldPath"}));
  row.text(event_source_text(object, names));
  row.text(trim(text_at(object, {names.message})));
  row.age(times.first);
  row.number(times.count);
  row.text(name_of(object));
  return row.finish();
}

std::vector<Column> node_columns() {
  return {
      name_column(),
      column("Status", "Whether pods can run there."),
      column("Roles", "What the node is for, from its labels."),
      age_column(),
      column("Version", "Version of the node's agent."),
      wide_column("Internal-IP", "Address inside the cluster."),
      wide_column("External-IP", "Address outside the cluster."),
      wide_column("OS-Image", "Operating system."),
      wide_column("Kernel-Version", "Kernel."),
      wide_column("Container-Runtime", "What runs the containers."),
  };
}

std::string node_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(node_status(object));
  row.text(node_roles(object));
  row.age(created_at(object));
  row.text(text_at(object, {"status", "nodeInfo", "kubeletVersion"}));
  row.text(node_address(object, "InternalIP"));
  row.text(node_address(object, "ExternalIP"));
  row.text(node_info(object, "osImage"));
  row.text(node_info(object, "kernelVersion"));
  row.text(node_info(object, "containerRuntimeVersion"));
  return row.finish();
}

std::vector<Column> namespace_columns() {
  return {name_column(), column("Status", "Active, or Terminating while it is emptied."),
          age_column()};
}

std::string namespace_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"status", "phase"}));
  row.age(created_at(object));
  return row.finish();
}

}  // namespace yard
