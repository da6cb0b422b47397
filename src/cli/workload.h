#pragma once
// What the commands that follow work share: how an object fares, which pods are its own, and what
// to call them.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/apply.h"
#include "cli/requests.h"
#include "cli/resources.h"

namespace yard {

// How an object fares, read from its phase or its conditions whatever its kind.
struct Standing {
  enum class State { Waiting, Running, Suspended, Succeeded, Failed };
  State state = State::Waiting;
  std::string reason, message;  // of the condition that says so
  bool is_finished() const { return state == State::Succeeded || state == State::Failed; }
};
Standing standing_of(const Json& object);
std::string_view word_for(Standing::State state);  // running, succeeded ...

// An object that runs containers to an end: a Pod, a Job, a training job. Not a CronJob, which
// never ends, nor a mere template.
bool runs_to_an_end(const Json& object);
// Every pod template in the tree (a Pod is its own), at most so deep as bodies may be.
void for_each_pod_template(Json& object, const std::function<void(JsonObject&)>& visit);

// A pod's state in the word kubectl shows: Running, ContainerCreating, Error, OOMKilled ...
std::string pod_state(const Json& pod);
// What tells the pods of one object apart: `0` of an indexed job, `worker-1` of a training job,
// else what its name adds to its owner's.
std::string rank_of(const Json& pod, std::string_view root_name);

// An object someone named on the command line, as the server has it.
struct NamedObject {
  Located located;
  Json object;
  std::string uid() const { return std::string(text_at(object, {"metadata", "uid"})); }
};
// `job/train`, `job train`, or a bare name: a pod's, else a job's, else that of any custom object.
Result<NamedObject> find_object(Session& session, const std::vector<ResourceType>& types,
                                const std::vector<std::string>& words,
                                const std::string& name_space);

// Finds out whose pods are whose, along the owner references, asking the server for what lies
// between (an Experiment's Trials, their Jobs).
class OwnerChain {
 public:
  OwnerChain(Session& session, const std::vector<ResourceType>& types)
      : session_(session), types_(types) {}
  bool leads_to(const Json& object, std::string_view root_uid);

 private:
  bool leads_to(const Json& object, std::string_view root_uid, int steps);
  Session& session_;
  const std::vector<ResourceType>& types_;
  std::map<std::string, bool, std::less<>> known_;  // uid + root → answer
};

// The pods of an object, in the order of their ranks; a Pod is its own.
Result<std::vector<Json>> pods_of(Session& session, const std::vector<ResourceType>& types,
                                  const NamedObject& root);
void sort_by_rank(std::vector<Json>& pods, std::string_view root_name);

}  // namespace yard
