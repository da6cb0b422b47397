#include "api/schema/schema.h"

#include <algorithm>

#include "base/check.h"

namespace yard {
namespace {

void collect(const Schema& schema, std::vector<std::pair<std::string_view, const Field*>>& by_name,
             int depth) {
  check(depth < 8, "inlined messages nest a few levels at most");
  for (const Field& field : schema.fields) {
    if (field.inlined) {
      collect(*field.schema, by_name, depth + 1);
    } else {
      by_name.emplace_back(field.name, &field);
    }
  }
}

// The shorter first: most names are told apart by their length alone.
bool comes_before(std::string_view left, std::string_view right) {
  return left.size() != right.size() ? left.size() < right.size() : left < right;
}

}  // namespace

void Schema::finish() {
  by_name_.clear();
  by_number_.clear();
  by_name_.reserve(fields.size());
  collect(*this, by_name_, 0);
  // Stable: a member of the parent itself hides one of the same name in an inlined message.
  std::stable_sort(by_name_.begin(), by_name_.end(), [](const auto& left, const auto& right) {
    return comes_before(left.first, right.first);
  });
  by_number_.reserve(fields.size());
  for (const Field& field : fields) {
    if (field.number != 0) by_number_.push_back(&field);
  }
  std::sort(by_number_.begin(), by_number_.end(),
            [](const Field* left, const Field* right) { return left->number < right->number; });
}

const Field* Schema::field(std::string_view json_name) const {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), json_name,
      [](const auto& entry, std::string_view wanted) { return comes_before(entry.first, wanted); });
  return found != by_name_.end() && found->first == json_name ? found->second : nullptr;
}

const Field* Schema::field_by_number(uint16_t number) const {
  const auto found =
      std::lower_bound(by_number_.begin(), by_number_.end(), number,
                       [](const Field* field, uint16_t wanted) { return field->number < wanted; });
  return found != by_number_.end() && (*found)->number == number ? *found : nullptr;
}

Schema* SchemaCatalogue::add() {
  nodes_.push_back(std::make_unique<Schema>());
  return nodes_.back().get();
}

const Schema* SchemaCatalogue::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void SchemaCatalogue::index(const Schema* schema) {
  by_name_.insert_or_assign(schema->name, schema);
}

}  // namespace yard
