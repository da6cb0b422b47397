#pragma once
// why: what keeps an object from going on, or why it ended as it did, in one sentence with numbers,
// and the command that mends it.

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/requests.h"
#include "json/json.h"

namespace yard {

struct WhyWorld {
  Json object;
  std::vector<Json> pods;    // its own; a Pod itself
  std::vector<Json> events;  // about the object or its pods
  std::vector<Json> nodes, claims, storage_classes, quotas;
  std::map<std::string, std::string> last_lines;  // pod/container → the end of its log
  Time now{};
};

struct Finding {
  enum class Weight { Fine, Waiting, Bad };
  Weight weight = Weight::Fine;
  std::string sentence;
  std::string command;                  // that mends it; "": nothing is to be done
  std::vector<std::string> lines = {};  // of a log, beside it
};

// The weightiest first; the same finding of several pods is said once, with their number.
std::vector<Finding> findings_of(const WhyWorld& world);

// `137: killed by SIGKILL`, `127: the command was not found`.
std::string exit_code_meaning(int64_t code);

std::string findings_text(const std::vector<Finding>& findings, bool colour);

struct WhyOptions {
  std::vector<std::string> words;
  std::string name_space = "default";
};
int run_why(Session& session, const WhyOptions& options);

// What the server knows about the object and its pods.
struct NamedObject;
struct ResourceType;
Result<WhyWorld> observe_why(Session& session, const std::vector<ResourceType>& types,
                             const NamedObject& root);

}  // namespace yard
