#include <fmt/format.h>

#include "api/events/event_names.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "api/validation.h"

namespace yard {

const EventNames& event_names(const Json& event) {
  return text_at(event, {"apiVersion"}) == "events.k8s.io/v1" ? kEventsEventNames : kCoreEventNames;
}

namespace {

void rename(JsonObject& object, std::string_view from, std::string_view to) {
  Json* found = object.if_contains(from);
  if (found == nullptr) return;
  Json moved = std::move(*found);
  object.erase(from);
  object[to] = std::move(moved);
}

void rename_all(Json& event, const EventNames& from, const EventNames& to) {
  static constexpr std::string_view EventNames::*kMembers[] = {
      &EventNames::object, &EventNames::message, &EventNames::source,    &EventNames::first,
      &EventNames::last,   &EventNames::count,   &EventNames::controller};
  for (std::string_view EventNames::*member : kMembers) {
    rename(event.get_object(), from.*member, to.*member);
  }
}

}  // namespace

void to_core_event(Json& event) {
  if (!event.is_object() || &event_names(event) == &kCoreEventNames) return;
  rename_all(event, kEventsEventNames, kCoreEventNames);
  event.get_object()["apiVersion"] = "v1";
}

void to_events_event(Json& event) {
  if (!event.is_object() || &event_names(event) == &kEventsEventNames) return;
  rename_all(event, kCoreEventNames, kEventsEventNames);
  event.get_object()["apiVersion"] = "events.k8s.io/v1";
  event.get_object()["eventTime"];  // null where there is none, as upstream prints
  for (const std::string_view member :
       {kEventsEventNames.controller, std::string_view("reportingInstance")}) {
    if (text_at(event, {member}).empty()) event.get_object().erase(member);
  }
}

namespace {

// In the order of the core view's selectable fields; the other view's are a prefix of it, because
// both select over the same stored values.
std::vector<std::string> field_values(const Json& event) {
  const EventNames& names = event_names(event);
  auto of_object = [&](std::string_view member) {
    return std::string(text_at(event, {names.object, member}));
  };
  std::string controller(text_at(event, {names.controller}));
  std::string source(text_at(event, {names.source, "component"}));
  return {of_object("kind"),
          of_object("namespace"),
          of_object("name"),
          of_object("uid"),
          of_object("apiVersion"),
          of_object("resourceVersion"),
          of_object("fieldPath"),
          std::string(text_at(event, {"reason"})),
          controller,
          std::string(text_at(event, {"type"})),
          source.empty() ? controller : source};
}

std::vector<std::string> selectable_fields(std::string_view object, std::string_view controller) {
  std::vector<std::string> fields;
  for (const char* member :
       {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"}) {
    fields.push_back(fmt::format("{}.{}", object, member));
  }
  fields.insert(fields.end(), {"reason", std::string(controller), "type"});
  return fields;
}

void check_length(FieldErrors& errors, const char* field, std::string_view text, size_t limit) {
  if (text.size() <= limit) return;
  errors.push_back(
      invalid(FieldPath(field), Json(""), fmt::format("can have at most {} characters", limit)));
}

void check_short_text(FieldErrors& errors, const char* field, std::string_view text) {
  if (text.empty()) errors.push_back(required(FieldPath(field)));
  check_length(errors, field, text, 128);
}

bool has_event_time(const Json& event) {
  return !text_at(event, {"eventTime"}).empty();
}

void check_namespace(FieldErrors& errors, const Json& event, const EventNames& names) {
  std::string_view ns = text_at(event, {"metadata", "namespace"});
  std::string_view about = text_at(event, {names.object, "namespace"});
  bool agrees = about == ns;
  if (has_event_time(event)) {
    agrees = !about.empty() || ns == "default" || ns == "kube-system";
  } else if (about.empty()) {
    agrees = ns.empty() || ns == "default";
  }
  if (agrees) return;
  errors.push_back(invalid(FieldPath("involvedObject.namespace"), Json(about),
                           "does not match event.namespace"));
}

// Holds for both views. Events with an eventTime are of the new sort and must say more.
FieldErrors validate_event(const Json& event) {
  const EventNames& names = event_names(event);
  FieldErrors errors;
  check_namespace(errors, event, names);
  if (!has_event_time(event)) return errors;
  const char* controller_field =
      &names == &kCoreEventNames ? "reportingComponent" : "reportingController";
  std::string_view controller = text_at(event, {names.controller});
  if (controller.empty()) {
    errors.push_back(required(FieldPath(controller_field)));
  } else {
    add_problems(errors, FieldPath(controller_field), controller,
                 qualified_name_problems(controller));
  }
  check_short_text(errors, "reportingInstance", text_at(event, {"reportingInstance"}));
  check_short_text(errors, "action", text_at(event, {"action"}));
  check_short_text(errors, "reason", text_at(event, {"reason"}));
  check_length(errors, "message", text_at(event, {names.message}), 1024);
  return errors;
}

void check_series(FieldErrors& errors, const Json& event) {
  const Json* series = find(event, "series");
  if (series == nullptr || !series->is_object()) return;
  if (int_at(*series, {"count"}) < 2) {
    errors.push_back(invalid(FieldPath("series.count"), Json(""), "should be at least 2"));
  }
  if (text_at(*series, {"lastObservedTime"}).empty()) {
    errors.push_back(required(FieldPath("series.lastObservedTime")));
  }
}

void check_unset(FieldErrors& errors, const char* field, const Json* value) {
  if (same(value, nullptr) || (value->is_int64() && value->get_int64() == 0)) return;
  errors.push_back(invalid(FieldPath(field), Json(""), "needs to be unset"));
}

FieldErrors validate_events_event(const Json& event) {
  FieldErrors errors = validate_event(event);
  const EventNames& names = event_names(event);
  check_series(errors, event);
  if (!has_event_time(event)) errors.push_back(required(FieldPath("eventTime")));
  std::string_view type = text_at(event, {"type"});
  if (type != "Normal" && type != "Warning") {
    errors.push_back(
        invalid(FieldPath("type"), Json(""), fmt::format("has invalid value: {}", type)));
  }
  check_unset(errors, "firstTimestamp", find(event, names.first));
  check_unset(errors, "lastTimestamp", find(event, names.last));
  check_unset(errors, "count", find(event, names.count));
  check_unset(errors, "source", find(event, names.source));
  return errors;
}

// Only the series of an event may change through events.k8s.io.
FieldErrors validate_events_update(const Json& event, const Json& live) {
  const EventNames& names = event_names(event);
  const EventNames& live_names = event_names(live);
  FieldErrors errors;
  auto check = [&](const char* field, std::string_view now, std::string_view before) {
    check_immutable(errors, FieldPath(field), find(event, now), find(live, before));
  };
  check("involvedObject", names.object, live_names.object);
  check("reason", "reason", "reason");
  check("message", names.message, live_names.message);
  check("source", names.source, live_names.source);
  check("firstTimestamp", names.first, live_names.first);
  check("lastTimestamp", names.last, live_names.last);
  check("count", names.count, live_names.count);
  check("type", "type", "type");
  check("eventTime", "eventTime", "eventTime");
  check("action", "action", "action");
  check("related", "related", "related");
  check("reportingController", names.controller, live_names.controller);
  check("reportingInstance", "reportingInstance", "reportingInstance");
  return errors;
}

// Upstream shows these also where nobody set them.
void show_empty_members(Json& event) {
  JsonObject& members = event.get_object();
  set_missing(members, "eventTime", nullptr);
  set_missing(members, event_names(event).controller, "");
  set_missing(members, "reportingInstance", "");
}

Kind event_row(std::string_view group) {
  Kind row = ordinary_kind({group, "v1", "Event", "events"});
  row.short_names = {"ev"};
  row.storage = "events";
  row.creates_on_update = true;
  row.field_values = field_values;
  row.columns = event_columns();
  row.cells = event_cells;
  row.prepare_create = [](Json& event, const Admission&) -> Result<void> {
    show_empty_members(event);
    return {};
  };
  row.prepare_update = [](Json& event, const Json&, const Admission&) -> Result<void> {
    show_empty_members(event);
    return {};
  };
  return row;
}

}  // namespace

Kind event_kind() {
  Kind row = event_row("");
  row.selectable_fields = selectable_fields("involvedObject", "reportingComponent");
  row.selectable_fields.emplace_back("source");
  row.validate = validate_event;
  return row;
}

Kind events_event_kind() {
  Kind row = event_row("events.k8s.io");
  row.selectable_fields = selectable_fields("regarding", "reportingController");
  row.validate = validate_events_event;
  row.validate_update = validate_events_update;
  row.from_stored = to_events_event;
  row.to_stored = to_core_event;
  return row;
}

}  // namespace yard
