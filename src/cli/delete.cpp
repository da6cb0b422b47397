#include "cli/delete.h"

#include <fmt/format.h>

#include "cli/apply.h"
#include "cli/resources.h"

namespace yard {
namespace {

std::string propagation_policy(std::string_view cascade) {
  if (cascade == "foreground") return "Foreground";
  if (cascade == "orphan") return "Orphan";
  return "Background";
}

class Deleter {
 public:
  Deleter(Session& session, const DeleteRequest& options) : session_(session), options_(options) {}

  int run() {
    auto doomed = find_all();
    if (!doomed) return print_failure(session_.terminal(), doomed.error());
    std::vector<Going> going;
    for (const Located& each : *doomed) {
      auto uid = delete_one(each);
      if (uid) {
        going.push_back({each, std::move(*uid)});
      } else if (!note(uid.error())) {
        break;
      }
    }
    if (options_.wait && !options_.dry_run) {
      for (const Going& each : going) {
        if (auto gone = wait_until_gone(each); !gone && !note(gone.error())) break;
      }
    }
    if (doomed->empty() && exit_code_ == kOk) session_.terminal().err << "No resources found\n";
    return exit_code_;
  }

  Result<void> delete_quietly(const Located& located) {
    is_quiet_ = true;
    const std::string uid = TRY(send_delete(located));
    return wait_until_gone({located, uid});
  }

 private:
  struct Going {
    Located located;
    std::string uid;
  };

  // False when there is no use in going on.
  bool note(const Error& failure) {
    if (options_.ignore_not_found && failure.reason == Reason::NotFound) return true;
    const int code = print_failure(session_.terminal(), failure);
    if (exit_code_ == kOk) exit_code_ = code;
    return failure.reason != Reason::ServiceUnavailable;
  }

  Result<std::vector<Located>> find_all() {
    const std::vector<ResourceType> types = TRY(discover(session_));
    std::vector<Located> doomed;
    for (const Manifest& manifest : read_manifests(options_.source)) {
      auto located = manifest.object ? locate(types, *manifest.object,
                                              {options_.name_space, options_.is_namespace_given})
                                     : Result<Located>(manifest.object.error());
      if (located) {
        doomed.push_back(std::move(*located));
      } else {
        note(error(Reason::BadRequest, manifest.place + ": " + located.error().message));
      }
    }
    if (options_.words.empty()) return doomed;
    const std::vector<ResourceSelection> selected = TRY(selections(options_.words));
    for (const ResourceSelection& selection : selected) {
      const std::vector<ResourceType> meant = TRY(types_named(types, selection.types));
      for (const ResourceType& type : meant) {
        const std::string name_space = type.is_namespaced ? options_.name_space : "";
        for (const std::string& name : selection.names)
          doomed.push_back({type, {name_space, name}});
        if (selection.names.empty()) TRY(add_listed(type, name_space, doomed));
      }
    }
    return doomed;
  }

  Result<void> add_listed(const ResourceType& type, const std::string& name_space,
                          std::vector<Located>& doomed) {
    if (!options_.all && options_.label_selector.empty()) {
      return error(
          Reason::BadRequest,
          fmt::format("name what to delete: `{0} NAME`, `{0} -l LABEL=VALUE` or `{0} --all`",
                      type.plural));
    }
    const Json list = TRY(session_.get(resource_path(type, {name_space, ""}) +
                                       query_text({{"labelSelector", options_.label_selector}})));
    const Json* items = find(list, "items");
    if (items == nullptr || !items->is_array()) return {};
    for (const Json& item : items->get_array())
      doomed.push_back({type, {name_space, std::string(text_at(item, {"metadata", "name"}))}});
    return {};
  }

  // Deletes and says so; answers the uid that goes.
  Result<std::string> delete_one(const Located& located) {
    std::string uid = TRY(send_delete(located));
    session_.terminal().out << fmt::format("{} {} deleted{}\n", located.type.shown(),
                                           quoted(located.address.name),
                                           options_.dry_run ? " (dry run)" : "");
    session_.terminal().out.flush();
    return uid;
  }

  Result<std::string> send_delete(const Located& located) {
    const JsonObject body{{"apiVersion", "v1"},
                          {"kind", "DeleteOptions"},
                          {"propagationPolicy", propagation_policy(options_.cascade)}};
    const Session::Answer answer = TRY(session_.call(
        "DELETE",
        resource_path(located.type, located.address) +
            query_text({{"dryRun", options_.dry_run ? "All" : ""}}),
        {{"Accept", std::string(kJsonType)}, {"Content-Type", std::string(kJsonType)}},
        to_text(Json(body))));
    const std::string_view of_status = text_at(answer.body, {"details", "uid"});
    return std::string(of_status.empty() ? text_at(answer.body, {"metadata", "uid"}) : of_status);
  }

  // A silent wait would look like a hang.
  void say_what_holds(const Going& going, const Json& object) {
    if (is_quiet_) return;
    const Json* finalizers = find_path(object, {"metadata", "finalizers"});
    if (finalizers == nullptr || !finalizers->is_array() || finalizers->get_array().empty()) return;
    session_.terminal().err << fmt::format("waiting for {}, held by {} (--no-wait does not wait)\n",
                                           going.located.shown(), printable(to_text(*finalizers)));
  }

  // Finalizers, grace periods and foreground deletion keep an object for a while: its watch says
  // when it went.
  Result<void> wait_until_gone(const Going& going) {
    const std::string path = resource_path(going.located.type, going.located.address);
    while (true) {
      const auto object = session_.get(path);
      if (!object && object.error().reason == Reason::NotFound) return {};
      if (!object) return object.error();
      if (!going.uid.empty() && text_at(*object, {"metadata", "uid"}) != going.uid)
        return {};  // another of that name
      say_what_holds(going, *object);
      bool is_gone = false, heard = false;
      const std::string target =
          resource_path(going.located.type, {going.located.address.name_space, ""}) +
          query_text({{"watch", "true"},
                      {"fieldSelector", "metadata.name=" + going.located.address.name},
                      {"resourceVersion",
                       std::string(text_at(*object, {"metadata", "resourceVersion"}))}});
      TRY(session_.watch(target, kJsonType, [&](const Json& event) {
        heard = true;
        is_gone = text_at(event, {"type"}) == "DELETED";
        return !is_gone;
      }));
      if (is_gone) return {};
      if (!heard)
        return error(Reason::Timeout, fmt::format("{} is still there", going.located.shown()));
    }
  }

  Session& session_;
  const DeleteRequest& options_;
  int exit_code_ = kOk;
  bool is_quiet_ = false;
};

}  // namespace

Result<void> delete_and_wait(Session& session, const Located& located) {
  DeleteRequest request;
  request.cascade = "foreground";
  return Deleter(session, request).delete_quietly(located);
}

int run_delete(Session& session, const DeleteRequest& options) {
  return Deleter(session, options).run();
}

}  // namespace yard
