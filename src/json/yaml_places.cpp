#include "json/yaml_places.h"

#include <vector>
#include <yaml.h>

namespace yard {
namespace {

// Walks libyaml's events with a stack of its own: no recursion, so depth is bounded by the text.
class KeyFinder {
 public:
  explicit KeyFinder(std::span<const std::string> path) : path_(path) {}

  std::optional<YamlPlace> find(std::string_view text) {
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0) return std::nullopt;
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
    yaml_event_t event;
    bool more = true;
    while (more && yaml_parser_parse(&parser, &event) != 0) {
      more = event.type != YAML_STREAM_END_EVENT && event.type != YAML_DOCUMENT_END_EVENT &&
             matched_ < path_.size();
      take(event);
      yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return place_;
  }

 private:
  struct Level {
    bool is_mapping = false, expects_key = false, is_on_path = false;
  };

  void take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_MAPPING_START_EVENT: open(true); break;
      case YAML_SEQUENCE_START_EVENT: open(false); break;
      case YAML_MAPPING_END_EVENT:
      case YAML_SEQUENCE_END_EVENT:
        if (!levels_.empty()) levels_.pop_back();
        value_done();
        break;
      case YAML_SCALAR_EVENT: scalar(event); break;
      case YAML_ALIAS_EVENT: value_done(); break;
      default: break;
    }
  }

  void open(bool is_mapping) {
    // A value opened under the key found last is where the next key of the path is looked for.
    const bool on_path = levels_.empty() || (levels_.back().is_on_path && key_matches_);
    levels_.push_back({is_mapping, is_mapping, on_path && is_mapping});
    key_matches_ = false;
  }

  void scalar(const yaml_event_t& event) {
    if (levels_.empty() || !levels_.back().expects_key) return value_done();
    Level& level = levels_.back();
    level.expects_key = false;
    key_matches_ = level.is_on_path && matched_ < path_.size() &&
                   std::string_view(reinterpret_cast<const char*>(event.data.scalar.value),
                                    event.data.scalar.length) == path_[matched_];
    if (!key_matches_) return;
    ++matched_;
    place_ = YamlPlace{event.start_mark.line + 1, event.start_mark.column + 1};
  }

  void value_done() {
    key_matches_ = false;
    if (!levels_.empty() && levels_.back().is_mapping) levels_.back().expects_key = true;
  }

  std::span<const std::string> path_;
  std::vector<Level> levels_;
  size_t matched_ = 0;
  bool key_matches_ = false;
  std::optional<YamlPlace> place_;
};

}  // namespace

std::optional<YamlPlace> yaml_place(std::string_view text, std::span<const std::string> path) {
  return KeyFinder(path).find(text);
}

}  // namespace yard
