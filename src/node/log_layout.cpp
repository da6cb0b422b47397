#include "node/log_layout.h"

#include <algorithm>
#include <limits.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {

std::string log_folder_name(std::string_view ns, std::string_view name, std::string_view uid) {
  const size_t others = ns.size() + uid.size() + 2;
  if (others + name.size() > NAME_MAX)
    name = name.substr(0, others < NAME_MAX ? NAME_MAX - others : 1);
  return std::string(ns) + "_" + std::string(name) + "_" + std::string(uid);
}

std::optional<LogFolder> parse_log_folder_name(std::string_view name) {
  const auto parts = split(name, '_');
  if (parts.size() != 3 || std::ranges::any_of(parts, &std::string_view::empty))
    return std::nullopt;
  LogFolder out;
  out.ns = parts[0];
  out.pod = parts[1];
  out.uid = parts[2];
  return out;
}

LogOwner log_owner_in(const Json& about) {
  const auto text = [&](const char* member) {
    return std::string(text_at(about, {"owner", member}));
  };
  return {text("apiVersion"), text("kind"), text("name"), text("uid")};
}

LogOwner log_owner_of(const Json& pod) {
  for (const Json& owner : list_at(pod, {"metadata", "ownerReferences"})) {
    if (!bool_at(owner, {"controller"})) continue;
    return log_owner_in(JsonObject{{"owner", owner}});
  }
  return {};
}

std::string pod_about_text(const Json& pod, std::string_view node) {
  JsonArray containers;
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& container : list_at(pod, {"spec", list}))
      containers.emplace_back(text_at(container, {"name"}));
  }
  JsonObject out{{"namespace", text_at(pod, {"metadata", "namespace"})},
                 {"pod", text_at(pod, {"metadata", "name"})},
                 {"uid", text_at(pod, {"metadata", "uid"})},
                 {"created", text_at(pod, {"metadata", "creationTimestamp"})},
                 {"node", node},
                 {"labels", map_at(pod, {"metadata", "labels"})}};
  if (const LogOwner owner = log_owner_of(pod); !owner.uid.empty())
    out["owner"] = JsonObject{{"apiVersion", owner.api_version},
                              {"kind", owner.kind},
                              {"name", owner.name},
                              {"uid", owner.uid}};
  out["containers"] = std::move(containers);
  return to_text(Json(std::move(out)));
}

}  // namespace yard
