#pragma once
// run: applies files, follows what they start to its end, and ends as it ended.

#include <optional>
#include <string>

#include "cli/follow.h"
#include "cli/manifests.h"

namespace yard {

struct RunRequest {
  ManifestSource source;
  std::string name_space = "default";
  bool is_namespace_given = false;
  bool detach = false;  // apply and leave
  bool remove = false;  // --rm: delete it in the end, also when interrupted
  // What the pods of unmapped images get of this machine: an annotation for a namespace, and how to
  // say it. None with --no-local.
  struct Local {
    std::string annotation, sentence;
    std::function<Result<std::string>(const std::string& name_space)> value;
  };
  std::optional<Local> local;
};
int run_job(Session& session, const RunRequest& request, const FollowWorld& world);

// The object with the annotation in each of its pod templates. Pure.
Json with_annotation(Json object, std::string_view name, const std::string& value);

}  // namespace yard
