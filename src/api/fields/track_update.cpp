// Who owns what after a create, an update or one of the ordinary patches.

#include "api/fields.h"
#include "api/fields/changes.h"
#include "api/fields/managed_entries.h"

namespace yard {
namespace {

constexpr std::string_view kManagedFields = "managedFields";

// The request's own list, taken out of the object so that what follows sees none.
Json take_request_list(JsonObject& metadata) {
  Json list(metadata.storage());
  if (Json* found = metadata.if_contains(kManagedFields)) {
    list = std::move(*found);
    metadata.stable_erase(kManagedFields);
  }
  return list;
}

// The writer gains what it added or changed; everyone loses what was changed under them or is gone.
void hand_over(FieldArena& arena, ManagedEntries& entries, FieldNodes changes, bool is_create,
               const FieldWriter& writer, std::string_view now) {
  for (ManagedEntry& entry : entries)
    change_set(entry, subtract(arena, entry.set, changes));
  // Nothing is removed from an object that was not there.
  const FieldNodes written = is_create ? changes : select(arena, changes, kAdded | kModified);
  if (!written.empty()) {
    ManagedEntry& own = entry_of(entries, writer, false);
    own.set = unite(arena, own.set, written);
    own.source = nullptr;
    change_time(own, now);
  }
  drop_empty(entries);
  merge_ancient(arena, entries);
  sort_entries(entries);
}

void keep_list(const Json* list, JsonObject& metadata) {
  if (list == nullptr) {
    metadata.stable_erase(kManagedFields);
  } else {
    metadata.insert_or_assign(kManagedFields, *list);
  }
}

// Entry by entry, as they are written.
bool same_lists_but_times(const Json& left, const Json& right) {
  const JsonArray *a = left.if_array(), *b = right.if_array();
  if (a == nullptr || b == nullptr || a->size() != b->size()) return false;
  const auto without_time = [](const Json& entry) {
    Json out = entry;
    if (JsonObject* object = out.if_object()) object->stable_erase("time");
    return out;
  };
  return std::ranges::equal(*a, *b, [&](const Json& l, const Json& r) {
    return equal(without_time(l), without_time(r));
  });
}

}  // namespace

void track_update(const Json* live, Json& next, const Schema& schema, const FieldWriter& writer) {
  JsonObject* object = next.if_object();
  if (object == nullptr) return;
  JsonObject& metadata = object_at(*object, "metadata");
  Json request = take_request_list(metadata);
  const Json* live_list =
      live == nullptr ? nullptr : find_path(*live, {"metadata", kManagedFields});

  FieldArena arena;
  const bool on_main = writer.subresource.empty();
  const bool resets = on_main && is_reset(request);
  // Upstream tracks no further once an existing object has no entries (apply starts it anew).
  if (live != nullptr && (resets || (live_list == nullptr && (!on_main || request.is_null())))) {
    return;
  }
  const FieldNodes changes = changed_fields(arena, live, &next, schema, ZeroValues::Dropped);
  const bool brings_nothing =
      !on_main || request.is_null() || (live_list != nullptr && equal(request, *live_list));
  if (live != nullptr && changes.empty() && brings_nothing) {
    if (on_main && !request.is_null()) {
      metadata.insert_or_assign(kManagedFields, std::move(request));
    } else {
      keep_list(live_list, metadata);
    }
    return;
  }

  ManagedEntries entries;
  bool from_request = false;
  if (on_main && !resets) {
    if (auto brought = read_entries(arena, &request); brought && !brought->empty()) {
      entries = std::move(*brought);
      from_request = true;
    }
  }
  if (!from_request && !resets) {
    if (auto known = read_entries(arena, live_list)) entries = std::move(*known);
  }
  if (live != nullptr && entries.empty()) return;

  const std::string now = rfc3339(writer.now);
  hand_over(arena, entries, changes, live == nullptr, writer, now);
  if (changes.empty() && from_request) {
    const auto known = read_entries(arena, live_list);
    if (known && same_but_times(entries, *known)) {
      keep_list(live_list, metadata);
      return;
    }
  }
  write_entries(entries, metadata);
}

void ignore_new_times(const Json& live, Json& next) {
  const Json* before = find_path(live, {"metadata", kManagedFields});
  Json* metadata = find(next, "metadata");
  Json* after = metadata == nullptr ? nullptr : find(*metadata, kManagedFields);
  if (before == nullptr || after == nullptr || !same_lists_but_times(*before, *after)) return;
  Json new_list = *before;
  std::swap(new_list, *after);
  if (!equal(next, live)) *after = std::move(new_list);
}

}  // namespace yard
