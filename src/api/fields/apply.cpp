// Server-side apply: a manager states all it wants, and owns exactly that.

#include "api/fields.h"
#include "api/fields/changes.h"
#include "api/fields/check_config.h"
#include "api/fields/conflicts.h"
#include "api/fields/last_applied.h"
#include "api/fields/merge_config.h"
#include "api/fields/object_fields.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kBeforeFirstApply = "before-first-apply";

// {"status", "metadata.ownerReferences"} as a set.
FieldNodes paths_set(FieldArena& arena, const std::vector<std::string>& paths) {
  FieldNodes set;
  for (const std::string& path : paths) {
    FieldNodes below;
    const std::vector<std::string_view> names = split(path, '.');
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      const size_t level = arena.level();
      FieldNode node;
      node.text = *name;
      node.children = below;
      node.marks = name == names.rbegin() ? kMember : 0;
      arena.push(node);
      below = arena.take_sorted(level);
    }
    set = unite(arena, set, below);
  }
  return set;
}

class Apply {
 public:
  Apply(const Json* live, const Json& config, const Schema& schema, const ApplyOptions& options)
      : live_(live),
        config_(config),
        schema_(schema),
        options_(options),
        now_(rfc3339(options.writer.now)) {
    before_.manager = kBeforeFirstApply;
    before_.api_version = options.writer.api_version;
    before_.subresource = options.writer.subresource;
  }

  Result<Json> run() {
    read_live_entries();
    Json merged = live_ != nullptr ? *live_ : Json(JsonObject());
    merge_config(merged, config_, &schema_);

    const FieldNodes reset = paths_set(arena_, options_.reset_fields);
    const FieldNodes wanted = subtract_below(arena_, fields_of(arena_, config_, schema_), reset);
    const ManagedEntry* own = find_entry(entries_, options_.writer, true);
    const FieldNodes last = own != nullptr ? own->set : FieldNodes{};
    prune(merged, last, wanted);

    const FieldNodes changes = subtract_below(
        arena_, changed_fields(arena_, live_, &merged, schema_, ZeroValues::AsWritten), reset);
    if (!options_.force) TRY(check_conflicts(changes));
    hand_over(changes, subtract(arena_, wanted, untracked_fields()));
    write_entries(entries_, object_at(merged.as_object(), "metadata"));
    if (options_.writer.manager == kKubectlManager) rewrite_last_applied(merged, config_);
    return merged;
  }

 private:
  bool is_own(const ManagedEntry& entry) const {
    return entry.is_apply && entry.manager == options_.writer.manager &&
           entry.subresource == options_.writer.subresource;
  }

  // An object that was never tracked belongs, as it is, to a manager of its own.
  void read_live_entries() {
    if (live_ == nullptr) return;
    auto known = read_entries(arena_, find_path(*live_, {"metadata", "managedFields"}));
    if (known) entries_ = std::move(*known);
    if (!entries_.empty()) return;
    const FieldNodes all = changed_fields(arena_, nullptr, live_, schema_, ZeroValues::Dropped);
    ManagedEntry& first = entry_of(entries_, before_, false);
    change_set(first, select(arena_, all, kAdded | kModified));
    change_time(first, now_);
    drop_empty(entries_);
  }

  // Takes out of `merged` what the manager applied before, no longer wants, and nobody else owns.
  // Three steps, as upstream takes them: remove all of the last set; bring back what anyone owns;
  // bring back what the manager did not own either (its structs may hold unowned fields beside
  // owned ones).
  void prune(Json& merged, FieldNodes last, FieldNodes wanted) {
    if (subtract(arena_, last, wanted).empty()) return;
    const Json unpruned = merged;
    FieldNodes owned = wanted;
    for (const ManagedEntry& entry : entries_) {
      if (!is_own(entry)) owned = unite(arena_, owned, entry.set);
    }
    const FieldNodes all = structs(fields_of(arena_, unpruned, schema_));
    const FieldNodes last_all = structs(last);

    Json bare = unpruned;
    remove_fields(bare, last_all, &schema_);
    const FieldNodes stays =
        unite(arena_, structs(fields_of(arena_, bare, schema_)), structs(owned));
    Json kept = unpruned;
    remove_fields(kept, subtract(arena_, all, stays), &schema_);
    const FieldNodes gone = intersect(
        arena_, subtract(arena_, all, structs(fields_of(arena_, kept, schema_))), last_all);
    remove_fields(merged, gone, &schema_);
    merge_config(merged, config_, &schema_);  // what went with its last member may be wanted empty
  }

  FieldNodes structs(FieldNodes set) { return with_structs(arena_, set, &schema_); }

  Result<void> check_conflicts(FieldNodes changes) {
    std::vector<FieldConflict> conflicts;
    const bool may_take_over = options_.writer.manager == kKubectlManager && live_ != nullptr;
    for (const ManagedEntry& entry : entries_) {
      if (is_own(entry)) continue;
      const FieldNodes fields = intersect(arena_, entry.set, changes, kAdded | kModified);
      if (!fields.empty()) conflicts.push_back({entry, fields});
    }
    if (may_take_over && !conflicts.empty()) {
      const FieldNodes allowed =
          last_applied_fields(arena_, *live_, schema_, options_.writer.api_version);
      for (FieldConflict& conflict : conflicts) {
        conflict.fields = subtract(arena_, conflict.fields, allowed);
      }
      std::erase_if(conflicts,
                    [](const FieldConflict& conflict) { return conflict.fields.empty(); });
    }
    if (conflicts.empty()) return {};
    return conflict_error(std::move(conflicts));
  }

  void hand_over(FieldNodes changes, FieldNodes wanted) {
    for (ManagedEntry& entry : entries_) {
      if (!is_own(entry)) change_set(entry, subtract(arena_, entry.set, changes));
    }
    ManagedEntry& own = entry_of(entries_, options_.writer, true);
    const bool moves = !changes.empty() || !same_set(own.set, wanted) ||
                       own.api_version != options_.writer.api_version;
    if (moves) {
      own.set = wanted;
      own.api_version = options_.writer.api_version;
      own.source = nullptr;
      // As upstream: taking over what is there already has no time.
      if (!changes.empty()) change_time(own, now_);
    }
    drop_empty(entries_);
    sort_entries(entries_);
  }

  const Json* live_;
  const Json& config_;
  const Schema& schema_;
  const ApplyOptions& options_;
  const std::string now_;
  FieldWriter before_;
  FieldArena arena_;
  ManagedEntries entries_;
};

}  // namespace

Result<Json> apply_config(const Json* live, const Json& config, const Schema& schema,
                          const ApplyOptions& options) {
  const Json* request_list = find_path(config, {"metadata", "managedFields"});
  if (request_list != nullptr && !request_list->is_null()) {
    return error(Reason::BadRequest, "metadata.managedFields must be nil");
  }
  TRY(check_config(config, schema));
  return Apply(live, config, schema, options).run();
}

}  // namespace yard
