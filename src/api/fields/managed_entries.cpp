#include "api/fields/managed_entries.h"

#include <algorithm>
#include <tuple>

#include "api/fields/fields_v1.h"
#include "api/fields/ownership.h"

namespace yard {
namespace {

constexpr size_t kMaxUpdateEntries = 10;
constexpr std::string_view kAncientManager = "ancient-changes";
constexpr std::string_view kManagedFields = "managedFields";

// The text of a member; false when it is there and no text.
bool read_text(const JsonObject& object, std::string_view key, std::string_view& text) {
  const Json* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) return true;
  if (!value->is_string()) return false;
  text = plain_view(value->get_string());
  return true;
}

bool read_entry(FieldArena& arena, const Json& value, ManagedEntry& entry) {
  const JsonObject* object = value.if_object();
  if (object == nullptr) return false;
  std::string_view operation, fields_type;
  const bool has_texts =
      read_text(*object, "manager", entry.manager) && read_text(*object, "operation", operation) &&
      read_text(*object, "apiVersion", entry.api_version) &&
      read_text(*object, "subresource", entry.subresource) &&
      read_text(*object, "time", entry.time) && read_text(*object, "fieldsType", fields_type);
  if (!has_texts || entry.api_version.empty() || fields_type != "FieldsV1") return false;
  if (operation != "Apply" && operation != "Update") return false;
  entry.is_apply = operation == "Apply";
  if (!entry.time.empty()) {
    const std::optional<Time> time = parse_rfc3339(entry.time);
    if (!time) return false;
    entry.seconds = unix_seconds(*time);
  }
  const Json* fields = object->if_contains("fieldsV1");
  if (fields != nullptr && !fields->is_null()) {
    const std::optional<FieldNodes> set = read_fields_v1(arena, *fields);
    if (!set) return false;
    entry.set = *set;
  }
  entry.source = &value;
  return true;
}

ManagedEntry empty_entry(const FieldWriter& writer, bool is_apply) {
  ManagedEntry entry;
  entry.manager = writer.manager;
  entry.api_version = writer.api_version;
  entry.subresource = writer.subresource;
  entry.is_apply = is_apply;
  return entry;
}

Json entry_json(const ManagedEntry& entry, const boost::json::storage_ptr& storage) {
  if (entry.source != nullptr) return Json(*entry.source, storage);
  JsonObject object(storage);
  object.reserve(7);
  object.emplace("manager", entry.manager);
  object.emplace("operation", entry.is_apply ? "Apply" : "Update");
  object.emplace("apiVersion", entry.api_version);
  if (!entry.time.empty()) object.emplace("time", entry.time);
  object.emplace("fieldsType", "FieldsV1");
  object.emplace("fieldsV1", write_fields_v1(entry.set, storage));
  if (!entry.subresource.empty()) object.emplace("subresource", entry.subresource);
  return Json(std::move(object));
}

}  // namespace

bool same_owner(const ManagedEntry& left, const ManagedEntry& right) {
  return left.is_apply == right.is_apply && left.manager == right.manager &&
         left.subresource == right.subresource &&
         (left.is_apply || left.api_version == right.api_version);
}

std::optional<ManagedEntries> read_entries(FieldArena& arena, const Json* list) {
  ManagedEntries entries;
  if (list == nullptr || list->is_null()) return entries;
  const JsonArray* array = list->if_array();
  if (array == nullptr) return std::nullopt;
  entries.reserve(array->size() + 1);
  for (const Json& value : *array) {
    ManagedEntry entry;
    if (!read_entry(arena, value, entry)) return std::nullopt;
    const auto twin = std::find_if(entries.begin(), entries.end(), [&](const ManagedEntry& known) {
      return same_owner(known, entry);
    });
    if (twin != entries.end()) {
      *twin = entry;
    } else {
      entries.push_back(entry);
    }
  }
  return entries;
}

bool is_reset(const Json& list) {
  const JsonArray* array = list.if_array();
  if (array == nullptr || array->size() > 1) return false;
  return array->empty() || (array->front().is_object() && array->front().get_object().empty());
}

const ManagedEntry* find_entry(const ManagedEntries& entries, const FieldWriter& writer,
                               bool is_apply) {
  const ManagedEntry wanted = empty_entry(writer, is_apply);
  for (const ManagedEntry& entry : entries) {
    if (same_owner(entry, wanted)) return &entry;
  }
  return nullptr;
}

ManagedEntry& entry_of(ManagedEntries& entries, const FieldWriter& writer, bool is_apply) {
  if (const ManagedEntry* found = find_entry(entries, writer, is_apply)) {
    return entries[static_cast<size_t>(found - entries.data())];
  }
  return entries.emplace_back(empty_entry(writer, is_apply));
}

void change_set(ManagedEntry& entry, FieldNodes set) {
  if (same_set(entry.set, set)) return;
  entry.set = set;
  entry.source = nullptr;
}

void change_time(ManagedEntry& entry, std::string_view text) {
  if (entry.time == text) return;
  entry.time = text;
  const std::optional<Time> time = parse_rfc3339(text);
  entry.seconds = time ? unix_seconds(*time) : 0;
  entry.source = nullptr;
}

void drop_empty(ManagedEntries& entries) {
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.set.empty(); });
}

void merge_ancient(FieldArena& arena, ManagedEntries& entries) {
  std::vector<size_t> updates;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].is_apply) updates.push_back(i);
  }
  if (updates.size() <= kMaxUpdateEntries) return;
  std::sort(updates.begin(), updates.end(), [&](size_t left, size_t right) {
    const ManagedEntry &l = entries[left], &r = entries[right];
    return std::tie(l.seconds, l.manager, l.api_version, l.subresource) <
           std::tie(r.seconds, r.manager, r.api_version, r.subresource);
  });
  // An entry already called so is its version's bucket; else the oldest of that version becomes it,
  // once a second one has to go.
  const auto is_bucket = [&](size_t index, std::string_view api_version) {
    return entries[index].api_version == api_version && entries[index].manager == kAncientManager &&
           entries[index].subresource.empty();
  };
  std::vector<size_t> oldest;
  size_t left = updates.size();
  for (const size_t index : updates) {
    if (left <= kMaxUpdateEntries) break;
    ManagedEntry& old = entries[index];
    const auto first = std::find_if(oldest.begin(), oldest.end(), [&](size_t other) {
      return entries[other].api_version == old.api_version;
    });
    if (first == oldest.end()) {
      oldest.push_back(index);
      continue;
    }
    const auto bucket = std::find_if(updates.begin(), updates.end(), [&](size_t other) {
      return is_bucket(other, old.api_version);
    });
    ManagedEntry& ancient = entries[bucket != updates.end() ? *bucket : *first];
    if (&ancient == &old) continue;
    ancient.manager = kAncientManager;
    ancient.subresource = {};
    ancient.set = unite(arena, ancient.set, old.set);
    ancient.time = old.time;
    ancient.seconds = old.seconds;
    ancient.source = nullptr;
    old.set = {};
    --left;
  }
  drop_empty(entries);
}

void sort_entries(ManagedEntries& entries) {
  std::stable_sort(
      entries.begin(), entries.end(), [](const ManagedEntry& l, const ManagedEntry& r) {
        const int l_operation = l.is_apply ? 0 : 1, r_operation = r.is_apply ? 0 : 1;
        return std::tie(l_operation, l.seconds, l.manager, l.api_version, l.subresource) <
               std::tie(r_operation, r.seconds, r.manager, r.api_version, r.subresource);
      });
}

bool same_but_times(const ManagedEntries& left, const ManagedEntries& right) {
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(),
                    [](const ManagedEntry& l, const ManagedEntry& r) {
                      return same_owner(l, r) && l.api_version == r.api_version &&
                             same_set(l.set, r.set);
                    });
}

void write_entries(const ManagedEntries& entries, JsonObject& metadata) {
  if (entries.empty()) {
    metadata.stable_erase(kManagedFields);
    return;
  }
  JsonArray list(metadata.storage());
  list.reserve(entries.size());
  for (const ManagedEntry& entry : entries)
    list.push_back(entry_json(entry, metadata.storage()));
  metadata.insert_or_assign(kManagedFields, std::move(list));
}

}  // namespace yard
