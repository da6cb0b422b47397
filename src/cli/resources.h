#pragma once
// The resource types a server has, and the words people use for them.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/requests.h"
#include "json/json.h"

namespace yard {

struct ResourceType {
  std::string group, version, plural, singular, kind;
  bool is_namespaced = true;
  std::vector<std::string> short_names, categories, verbs;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  // `configmap`, `job.batch`: how a type stands before a name.
  std::string shown() const;
  std::string qualified_plural() const { return group.empty() ? plural : plural + "." + group; }
  bool can(std::string_view verb) const;
};

// Without a name the collection; a namespaced type without a namespace means all of them.
struct ObjectAddress {
  std::string name_space, name;
};
std::string resource_path(const ResourceType& type, const ObjectAddress& address);

// From an APIGroupDiscoveryList, in the server's order: preferred versions first.
std::vector<ResourceType> types_of_discovery(const Json& aggregated);
// From the APIResourceList of one group and version.
std::vector<ResourceType> types_of_resource_list(const Json& list);

// All of the server's types: aggregated discovery where it has it, else the older documents.
Result<std::vector<ResourceType>> discover(Session& session);

// Every type a word stands for: plural, singular, short name or kind, with or without `.group` or
// `.version.group`; a category (`all`) stands for several. Commas part several words.
Result<std::vector<ResourceType>> types_named(const std::vector<ResourceType>& types,
                                              std::string_view words);
// The type of an object's apiVersion and kind; null when the server has none.
const ResourceType* type_of_kind(const std::vector<ResourceType>& types,
                                 std::string_view api_version, std::string_view kind);

// What the words after `get`, `describe` and `delete` mean: `pods`, `pod a b`, `pod/a job/b`.
struct ResourceSelection {
  std::string types;
  std::vector<std::string> names;  // empty: all
};
Result<std::vector<ResourceSelection>> selections(const std::vector<std::string>& words);

}  // namespace yard
