#include "api/fields/merge_config.h"

#include <unordered_map>

#include "api/fields/ownership.h"

namespace yard {
namespace {

bool is_blank(const Json& value) {
  return value.is_null() || (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

void merge_members(Json& object, const Json& config, const Schema* schema) {
  if (!config.is_object()) return;  // null over a map with members leaves them
  if (!object.is_object()) object.emplace_object();
  JsonObject& members = object.get_object();
  for (const auto& member : config.get_object()) {
    if (Json* known = members.if_contains(member.key())) {
      merge_config(*known, member.value(),
                   member_schema(schema, member_field(schema, plain_view(member.key()))));
    } else {
      members.emplace(member.key(), member.value());
    }
  }
}

// Lays the items of one associative list over another.
class ListMerge {
 public:
  ListMerge(JsonArray& live, const JsonArray& config, const Schema& list)
      : live_(live), config_(config), list_(list), merged_(live.storage()) {}

  JsonArray merge() {
    name_all();
    merged_.reserve(live_.size() + config_.size());
    for (size_t index = 0; index < config_.size(); ++index) {
      pass_live_items(index);
      take_config_item(index);
    }
    for (; at_ < live_.size(); ++at_) {
      if (!is_in_config(live_names_[at_])) merged_.push_back(std::move(live_[at_]));
    }
    return std::move(merged_);
  }

 private:
  static constexpr size_t kMany = SIZE_MAX;  // items of one name: none of them is the one to merge

  void name_all() {
    for (size_t i = 0; i < live_.size(); ++i) {
      live_names_.push_back(name_of(live_[i]));
      if (live_names_[i].empty()) continue;
      const auto [known, is_new] = live_at_.emplace(live_names_[i], i);
      if (!is_new) known->second = kMany;
    }
    for (size_t i = 0; i < config_.size(); ++i) {
      config_names_.push_back(name_of(config_[i]));
      config_at_.emplace(config_names_[i], i);
    }
    find_next_shared(0);
  }

  // An item without a name (only live ones can be) merges with nothing and keeps its place.
  std::string name_of(const Json& item) const {
    std::string name;
    if (name_item(list_, item, name) != ItemProblem::None) name.clear();
    return name;
  }

  bool is_in_config(const std::string& name) const {
    return !name.empty() && config_at_.contains(name);
  }

  void find_next_shared(size_t from) {
    next_shared_ = from;
    while (next_shared_ < config_.size() && !live_at_.contains(config_names_[next_shared_])) {
      ++next_shared_;
    }
  }

  // Live items that stand before the next one to come from `config`.
  void pass_live_items(size_t index) {
    for (; at_ < live_.size(); ++at_) {
      const std::string& name = live_names_[at_];
      if (!is_in_config(name)) {
        merged_.push_back(std::move(live_[at_]));
        continue;
      }
      const bool is_taken = config_at_.find(name)->second < index;
      if (is_taken) continue;
      if (name == config_names_[index]) return;
      if (next_shared_ < config_.size() && name == config_names_[next_shared_]) return;
    }
  }

  void take_config_item(size_t index) {
    const std::string& name = config_names_[index];
    const auto live = live_at_.find(name);
    if (live == live_at_.end() || live->second == kMany) {
      merged_.push_back(config_[index]);
    } else {
      merge_config(live_[live->second], config_[index], list_.items);
      merged_.push_back(std::move(live_[live->second]));
    }
    if (at_ < live_.size() && live_names_[at_] == name) ++at_;
    if (next_shared_ == index) find_next_shared(index + 1);
  }

  JsonArray& live_;
  const JsonArray& config_;
  const Schema& list_;
  JsonArray merged_;
  size_t at_ = 0;           // in live
  size_t next_shared_ = 0;  // in config: the next item that live has too
  std::vector<std::string> live_names_, config_names_;
  std::unordered_map<std::string, size_t> live_at_, config_at_;
};

void merge_lists(Json& list, const Json& config, const Schema& schema) {
  if (!config.is_array()) return;
  if (!list.is_array()) {
    list = config;
    return;
  }
  list = ListMerge(list.get_array(), config.get_array(), schema).merge();
}

}  // namespace

void merge_config(Json& object, const Json& config, const Schema* schema) {
  const Grain grain = grain_of(schema, &object, &config);
  if (grain == Grain::Leaf || (is_blank(object) && is_blank(config))) {
    if (!equal(object, config)) object = config;
    return;
  }
  if (grain == Grain::Map) {
    merge_members(object, config, schema);
  } else {
    merge_lists(object, config, *schema);
  }
}

}  // namespace yard
