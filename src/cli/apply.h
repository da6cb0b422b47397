#pragma once
// apply: makes the server's objects what files say, by server-side apply as the field manager
// `trainyard`.

#include <optional>
#include <string>

#include "cli/manifests.h"
#include "cli/requests.h"
#include "cli/resources.h"

namespace yard {

struct ApplyRequest {
  ManifestSource source;
  std::string name_space = "default";
  bool is_namespace_given = false;  // then objects of another namespace are refused
  bool force_conflicts = false;
  bool dry_run = false;
};
int run_apply(Session& session, const ApplyRequest& options);

// Where an object of a file belongs on the server.
struct Located {
  ResourceType type;
  ObjectAddress address;
  std::string shown() const { return type.shown() + "/" + address.name; }
};
struct NamespaceChoice {
  std::string name_space;
  bool is_given = false;
};
Result<Located> locate(const std::vector<ResourceType>& types, const Json& object,
                       const NamespaceChoice& choice);

// Sends one object to its place by server-side apply.
struct AppliedObject {
  Json object;  // as the server has it now
  std::string outcome;
};
Result<AppliedObject> apply_object(Session& session, const Located& located, const Json& object,
                                   const ApplyRequest& options);
// `job.batch/train created`, coloured where colours are wanted.
std::string applied_line(const Terminal& terminal, const Located& located,
                         std::string_view outcome);

// `created`, `configured` or `unchanged`.
std::string_view apply_outcome(int status, const std::optional<Json>& before, const Json& after);

}  // namespace yard
