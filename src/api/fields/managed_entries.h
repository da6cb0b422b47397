#pragma once
// The entries of metadata.managedFields: who owns which set, since when.

#include <optional>
#include <string_view>
#include <vector>

#include "api/fields.h"
#include "api/fields/field_set.h"

namespace yard {

// Texts are views of the tree the entry was read from, or of the writer's.
struct ManagedEntry {
  std::string_view manager;
  std::string_view api_version;
  std::string_view subresource;
  std::string_view time;  // RFC 3339; empty when the entry has none
  int64_t seconds = 0;    // of `time`: entries sort by it
  bool is_apply = false;
  FieldNodes set;
  const Json* source = nullptr;  // set while the entry is as it was read
};
using ManagedEntries = std::vector<ManagedEntry>;

// Nothing when the list is not one this version can own by: then another list is used instead.
// Of entries of one identity the last counts. An absent list (null) has no entries.
std::optional<ManagedEntries> read_entries(FieldArena& arena, const Json* list);
// [] and [{}]: the client asks to forget who owns what.
bool is_reset(const Json& list);

// The entry the writer's writes go to; made (with an empty set) where there is none.
ManagedEntry& entry_of(ManagedEntries& entries, const FieldWriter& writer, bool is_apply);
const ManagedEntry* find_entry(const ManagedEntries& entries, const FieldWriter& writer,
                               bool is_apply);
bool same_owner(const ManagedEntry& left, const ManagedEntry& right);

void change_set(ManagedEntry& entry, FieldNodes set);
// `text` is rfc3339 and outlives the entry.
void change_time(ManagedEntry& entry, std::string_view text);

void drop_empty(ManagedEntries& entries);
// Above ten Update entries, the oldest of one apiVersion become one: ancient-changes.
void merge_ancient(FieldArena& arena, ManagedEntries& entries);
// Apply before Update, then by time, manager, apiVersion, subresource.
void sort_entries(ManagedEntries& entries);

// Same owners and sets in the same order, whatever their times.
bool same_but_times(const ManagedEntries& left, const ManagedEntries& right);

// Puts the entries into metadata (a member of a tree), or removes the member when there are none.
void write_entries(const ManagedEntries& entries, JsonObject& metadata);

}  // namespace yard
