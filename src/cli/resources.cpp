#include "cli/resources.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace yard {
namespace {

constexpr std::string_view kDiscoveryType =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

std::vector<std::string> texts_at(const Json& value, std::string_view key) {
  std::vector<std::string> texts;
  const Json* list = find(value, key);
  if (list == nullptr || !list->is_array()) return texts;
  for (const Json& item : list->get_array()) {
    if (item.is_string()) texts.emplace_back(item.get_string());
  }
  return texts;
}

const JsonArray& array_at(const Json& value, std::string_view key) {
  static const JsonArray kEmpty;
  const Json* list = find(value, key);
  return list != nullptr && list->is_array() ? list->get_array() : kEmpty;
}

bool holds(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_named(const ResourceType& type, std::string_view word) {
  return word == type.plural || word == type.singular || equals_ignore_case(word, type.kind) ||
         holds(type.short_names, word);
}

// `jobs`, `jobs.batch`, `jobs.v1.batch`, `pods.v1.`
bool is_meant(const ResourceType& type, std::string_view word) {
  if (is_named(type, word)) return true;
  const size_t dot = word.find('.');
  if (dot == std::string_view::npos || !is_named(type, word.substr(0, dot))) return false;
  const std::string_view rest = word.substr(dot + 1);
  return rest == type.group || rest == type.version + "." + type.group;
}

// A group's later versions of the same type say nothing new to a person: the first is the
// preferred.
bool has_resource(const std::vector<ResourceType>& types, const ResourceType& wanted) {
  return std::any_of(types.begin(), types.end(), [&](const ResourceType& type) {
    return type.group == wanted.group && type.plural == wanted.plural;
  });
}

size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<size_t> row(right.size() + 1);
  for (size_t j = 0; j <= right.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= left.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      const size_t replaced = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

Error unknown_type(const std::vector<ResourceType>& types, std::string_view word) {
  std::string_view nearest;
  size_t distance = 3;  // further off is another word, not a slip
  for (const ResourceType& type : types) {
    for (const std::string* name : {&type.plural, &type.singular}) {
      const size_t steps = word.size() > 64 ? distance : edit_distance(lower(word), *name);
      if (steps < distance && steps < name->size()) {
        distance = steps;
        nearest = *name;
      }
    }
  }
  return error(
      Reason::BadRequest,
      fmt::format("the server doesn't have a resource type {}{}", quoted(word),
                  nearest.empty() ? "" : fmt::format("; did you mean {}?", quoted(nearest))));
}

Result<std::vector<ResourceType>> types_of_root(Session& session, const std::string& root) {
  const Json answer = TRY(session.get(root, kDiscoveryType));
  if (text_at(answer, {"kind"}) == "APIGroupDiscoveryList") return types_of_discovery(answer);
  std::vector<std::string> paths;
  for (const Json& version : array_at(answer, "versions")) {
    if (version.is_string()) paths.push_back("/api/" + std::string(version.get_string()));
  }
  for (const Json& group : array_at(answer, "groups")) {
    const std::string preferred(text_at(group, {"preferredVersion", "groupVersion"}));
    if (!preferred.empty()) paths.push_back("/apis/" + preferred);
    for (const Json& version : array_at(group, "versions")) {
      const std::string_view other = text_at(version, {"groupVersion"});
      if (other != preferred) paths.push_back("/apis/" + std::string(other));
    }
  }
  std::vector<ResourceType> types;
  for (const std::string& path : paths) {
    const Json list = TRY(session.get(path));
    for (ResourceType& type : types_of_resource_list(list))
      types.push_back(std::move(type));
  }
  return types;
}

}  // namespace

std::string ResourceType::shown() const {
  const std::string name = singular.empty() ? lower(kind) : singular;
  return group.empty() ? name : name + "." + group;
}

bool ResourceType::can(std::string_view verb) const {
  return verbs.empty() || holds(verbs, verb);
}

std::string resource_path(const ResourceType& type, const ObjectAddress& address) {
  std::string path = (type.group.empty() ? "/api/" : "/apis/") + type.api_version();
  if (type.is_namespaced && !address.name_space.empty()) {
    path += "/namespaces/" + percent_encode(address.name_space);
  }
  path += "/" + type.plural;
  if (!address.name.empty()) path += "/" + percent_encode(address.name);
  return path;
}

std::vector<ResourceType> types_of_discovery(const Json& aggregated) {
  std::vector<ResourceType> types;
  for (const Json& group : array_at(aggregated, "items")) {
    for (const Json& version : array_at(group, "versions")) {
      for (const Json& resource : array_at(version, "resources")) {
        ResourceType type;
        type.group = text_at(group, {"metadata", "name"});
        type.version = text_at(version, {"version"});
        type.plural = text_at(resource, {"resource"});
        type.singular = text_at(resource, {"singularResource"});
        type.kind = text_at(resource, {"responseKind", "kind"});
        type.is_namespaced = text_at(resource, {"scope"}) == "Namespaced";
        type.short_names = texts_at(resource, "shortNames");
        type.categories = texts_at(resource, "categories");
        type.verbs = texts_at(resource, "verbs");
        types.push_back(std::move(type));
      }
    }
  }
  return types;
}

std::vector<ResourceType> types_of_resource_list(const Json& list) {
  const std::string_view group_version = text_at(list, {"groupVersion"});
  const size_t slash = group_version.find('/');
  std::vector<ResourceType> types;
  for (const Json& resource : array_at(list, "resources")) {
    ResourceType type;
    type.plural = text_at(resource, {"name"});
    if (type.plural.find('/') != std::string::npos) continue;  // a subresource
    if (slash != std::string_view::npos) type.group = group_version.substr(0, slash);
    type.version =
        slash == std::string_view::npos ? group_version : group_version.substr(slash + 1);
    type.singular = text_at(resource, {"singularName"});
    type.kind = text_at(resource, {"kind"});
    type.is_namespaced = bool_at(resource, {"namespaced"});
    type.short_names = texts_at(resource, "shortNames");
    type.categories = texts_at(resource, "categories");
    type.verbs = texts_at(resource, "verbs");
    types.push_back(std::move(type));
  }
  return types;
}

Result<std::vector<ResourceType>> discover(Session& session) {
  std::vector<ResourceType> types = TRY(types_of_root(session, "/api"));
  std::vector<ResourceType> grouped = TRY(types_of_root(session, "/apis"));
  types.insert(types.end(), std::make_move_iterator(grouped.begin()),
               std::make_move_iterator(grouped.end()));
  return types;
}

Result<std::vector<ResourceType>> types_named(const std::vector<ResourceType>& types,
                                              std::string_view words) {
  std::vector<ResourceType> found;
  for (const std::string_view written : split(words, ',')) {
    const std::string word = lower(written);
    // The core group comes first in discovery, so `events` are its events.
    const auto match = std::find_if(types.begin(), types.end(),
                                    [&](const ResourceType& type) { return is_meant(type, word); });
    if (match != types.end()) {
      if (!has_resource(found, *match)) found.push_back(*match);
      continue;
    }
    const size_t before = found.size();
    for (const ResourceType& type : types) {
      if (holds(type.categories, word) && type.can("list") && !has_resource(found, type)) {
        found.push_back(type);
      }
    }
    if (found.size() == before) return unknown_type(types, written);
  }
  return found;
}

const ResourceType* type_of_kind(const std::vector<ResourceType>& types,
                                 std::string_view api_version, std::string_view kind) {
  for (const ResourceType& type : types) {
    if (type.kind == kind && type.api_version() == api_version) return &type;
  }
  return nullptr;
}

Result<std::vector<ResourceSelection>> selections(const std::vector<std::string>& words) {
  if (words.empty()) return error(Reason::BadRequest, "name a type, as in `pods` or `job/train`");
  const auto slashed = [](const std::string& word) { return word.find('/') != std::string::npos; };
  if (!slashed(words.front())) {
    ResourceSelection one{words.front(), {words.begin() + 1, words.end()}};
    for (const std::string& name : one.names) {
      if (slashed(name)) {
        return error(Reason::BadRequest,
                     fmt::format("{} follows the type {}; write either `TYPE NAME` or `TYPE/NAME`",
                                 quoted(name), quoted(one.types)));
      }
    }
    return std::vector<ResourceSelection>{std::move(one)};
  }
  std::vector<ResourceSelection> found;
  for (const std::string& word : words) {
    const auto parts = split(word, '/');
    if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
      return error(Reason::BadRequest,
                   fmt::format("{} is no TYPE/NAME, as `job/train` is", quoted(word)));
    }
    found.push_back({std::string(parts[0]), {std::string(parts[1])}});
  }
  return found;
}

}  // namespace yard
