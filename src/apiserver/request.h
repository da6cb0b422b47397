#pragma once
// What a request asks for, read from its method, path and query. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"

namespace yard {

// The parsed query: repeated names keep their order.
class Query {
 public:
  Query() = default;
  explicit Query(std::string_view text) : pairs_(parse_query(text)) {}
  std::string_view get(std::string_view name) const;  // the first value, "" when absent
  bool has(std::string_view name) const;
  bool flag(
      std::string_view name) const;  // absent, "0" and "false" are false; anything else is true
  std::vector<std::string_view> all(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// A path below /api/v1 or /apis/{group}/{version}.
struct ResourcePath {
  std::string group, version;
  std::string ns, plural, name, subresource;
  std::string rest;           // what follows the subresource (proxy)
  bool watch_prefix = false;  // the old /watch/ form
};

// nullopt: not a resource path (discovery, health, unknown). A name that is not a legal path
// segment is BadRequest.
Result<std::optional<ResourcePath>> parse_resource_path(std::string_view path);

enum class FieldValidation { Ignore, Warn, Strict };

// The options of a write, from the query.
struct WriteOptions {
  bool dry_run = false;
  std::string field_manager;  // from the query, else the User-Agent
  bool field_manager_given = false;
  FieldValidation validation = FieldValidation::Warn;
  std::optional<bool> force;
};
// `options_kind` names them in errors: CreateOptions, UpdateOptions, PatchOptions.
Result<WriteOptions> parse_write_options(const Query& query, std::string_view user_agent,
                                         std::string_view options_kind);

struct ListOptions {
  std::string label_selector, field_selector;
  int64_t limit = 0;
  std::string continue_token;
  std::string resource_version;        // as given
  std::string resource_version_match;  // "", Exact, NotOlderThan
  bool watch = false;
  bool allow_bookmarks = false;
  std::optional<bool> send_initial_events;
  std::optional<int64_t> timeout_seconds;
};
Result<ListOptions> parse_list_options(const Query& query, bool watch);

}  // namespace yard
