#include "cli/apply.h"

#include <fmt/format.h>

namespace yard {
namespace {

constexpr std::string_view kFieldManager = "trainyard";

// What a dry run leaves out of account: the server's own bookkeeping.
Json without_bookkeeping(const Json& object) {
  Json copy = object;
  if (Json* metadata = find(copy, "metadata"); metadata != nullptr && metadata->is_object()) {
    for (const std::string_view key :
         {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"})
      metadata->get_object().erase(key);
  }
  return copy;
}

class Applier {
 public:
  Applier(Session& session, const ApplyRequest& options) : session_(session), options_(options) {}

  int run() {
    Terminal& terminal = session_.terminal();
    for (const Manifest& manifest : read_manifests(options_.source)) {
      if (!manifest.object) {
        fail(manifest.place, manifest.object.error());
        continue;
      }
      auto line = apply(*manifest.object);
      if (line) {
        terminal.out << *line << "\n";
        terminal.out.flush();
      } else if (line.error().reason == Reason::ServiceUnavailable) {
        return print_failure(terminal, line.error());
      } else {
        fail(manifest.place, line.error());
      }
    }
    return exit_code_;
  }

 private:
  void fail(const std::string& place, Error why) {
    session_.terminal().err << fmt::format("error: {}: {}\n", place, printable(why.message));
    if (why.reason == Reason::Conflict) {
      session_.terminal().err
          << "hint: another manager owns these fields; --force-conflicts takes them over\n";
    }
    exit_code_ = kFailed;
  }

  Result<Located> find_place(const Json& object) {
    const NamespaceChoice choice{options_.name_space, options_.is_namespace_given};
    if (types_.empty()) types_ = TRY(discover(session_));
    auto located = locate(types_, object, choice);
    if (located || !applied_definition_) return located;
    // A definition applied a moment ago may have brought the kind.
    applied_definition_ = false;
    types_ = TRY(discover(session_));
    return locate(types_, object, choice);
  }

  Result<std::string> apply(const Json& object) {
    const Located located = TRY(find_place(object));
    const AppliedObject applied = TRY(apply_object(session_, located, object, options_));
    if (located.type.kind == "CustomResourceDefinition") applied_definition_ = true;
    return applied_line(session_.terminal(), located, applied.outcome) +
           (options_.dry_run ? " (dry run)" : "");
  }

  Session& session_;
  const ApplyRequest& options_;
  std::vector<ResourceType> types_;
  bool applied_definition_ = false;
  int exit_code_ = kOk;
};

}  // namespace

std::string_view apply_outcome(int status, const std::optional<Json>& before, const Json& after) {
  if (!before || status == 201) return "created";
  const std::string_view version = text_at(*before, {"metadata", "resourceVersion"});
  if (version == text_at(after, {"metadata", "resourceVersion"})) {
    // A dry run leaves the revision as it was whatever it would change.
    return equal(without_bookkeeping(*before), without_bookkeeping(after)) ? "unchanged"
                                                                           : "configured";
  }
  return "configured";
}

Result<AppliedObject> apply_object(Session& session, const Located& located, const Json& object,
                                   const ApplyRequest& options) {
  const std::string path = resource_path(located.type, located.address);
  auto before = session.get(path);
  if (!before && before.error().reason != Reason::NotFound) return std::move(before).error();
  Session::Answer answer = TRY(session.call(
      "PATCH",
      path + query_text({{"fieldManager", std::string(kFieldManager)},
                         {"fieldValidation", "Strict"},
                         {"force", options.force_conflicts ? "true" : ""},
                         {"dryRun", options.dry_run ? "All" : ""}}),
      {{"Accept", std::string(kJsonType)}, {"Content-Type", "application/apply-patch+yaml"}},
      to_text(object)));
  const std::string_view outcome = apply_outcome(
      answer.status, before ? std::optional<Json>(*before) : std::nullopt, answer.body);
  return AppliedObject{std::move(answer.body), std::string(outcome)};
}

std::string applied_line(const Terminal& terminal, const Located& located,
                         std::string_view outcome) {
  return fmt::format(
      "{} {}", located.shown(),
      terminal.colour ? styled(outcome, status_style(outcome)) : std::string(outcome));
}

Result<Located> locate(const std::vector<ResourceType>& types, const Json& object,
                       const NamespaceChoice& choice) {
  if (!object.is_object())
    return error(Reason::BadRequest,
                 "the document is no object with apiVersion, kind and metadata");
  const std::string_view api_version = text_at(object, {"apiVersion"}),
                         kind = text_at(object, {"kind"});
  for (const auto& [field, value] :
       {std::pair{"apiVersion", api_version}, std::pair{"kind", kind}}) {
    if (value.empty()) return error(Reason::BadRequest, fmt::format("the object has no {}", field));
  }
  const ResourceType* type = type_of_kind(types, api_version, kind);
  if (type == nullptr) {
    return error(
        Reason::BadRequest,
        fmt::format(
            "no matches for kind {} in version {}; is its CustomResourceDefinition applied?",
            quoted(kind), quoted(api_version)));
  }
  const std::string name(text_at(object, {"metadata", "name"}));
  if (name.empty()) {
    const bool is_generated = !text_at(object, {"metadata", "generateName"}).empty();
    return error(Reason::BadRequest, is_generated
                                         ? "metadata.generateName cannot be applied, as each time "
                                           "would make another object; give a metadata.name"
                                         : "the object has no metadata.name");
  }
  const std::string own(text_at(object, {"metadata", "namespace"}));
  if (choice.is_given && type->is_namespaced && !own.empty() && own != choice.name_space) {
    return error(
        Reason::BadRequest,
        fmt::format("the namespace from the provided object {} does not match the namespace {}; "
                    "pass --namespace={} to perform this operation",
                    quoted(own), quoted(choice.name_space), own));
  }
  const std::string name_space = !type->is_namespaced ? "" : own.empty() ? choice.name_space : own;
  return Located{*type, {name_space, name}};
}

int run_apply(Session& session, const ApplyRequest& options) {
  return Applier(session, options).run();
}

}  // namespace yard
