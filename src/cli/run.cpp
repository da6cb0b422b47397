#include "cli/run.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "cli/apply.h"
#include "cli/delete.h"
#include "cli/why.h"

namespace yard {
namespace {

std::string in_namespace(const Located& located) {
  const std::string& ns = located.address.name_space;
  return ns.empty() || ns == "default" ? "" : " -n " + ns;
}

class Runner {
 public:
  Runner(Session& session, const RunRequest& request, const FollowWorld& world)
      : session_(session), terminal_(session.terminal()), request_(request), world_(world) {}

  int run() {
    if (auto begun = begin(); !begun) {
      if (!begun.error().message.empty()) return print_failure(terminal_, begun.error());
      return kFailed;
    }
    if (roots_.empty()) {
      terminal_.err
          << "nothing here runs to an end: it is applied, and there is nothing to follow\n";
      return kOk;
    }
    if (request_.detach) return leave("runs on");
    const int code = follow_all();
    if (request_.remove && code != kUnreachable) {
      remove_all();
    } else if (code == kInterrupted) {
      leave("is left running");
    }
    return code;
  }

 private:
  struct Step {
    std::string place;
    Json object;
  };

  // All files are read before anything is sent: half a file applied helps nobody.
  Result<std::vector<Step>> read_all() {
    std::vector<Step> out;
    bool failed = false;
    for (Manifest& manifest : read_manifests(request_.source)) {
      if (manifest.object) {
        out.push_back({manifest.place, std::move(*manifest.object)});
      } else {
        terminal_.err << fmt::format("error: {}: {}\n", manifest.place,
                                     printable(manifest.object.error().message));
        failed = true;
      }
    }
    if (failed) return error(Reason::BadRequest, "");
    if (out.empty()) return error(Reason::BadRequest, "there is no object in what was given");
    return out;
  }

  Result<void> begin() {
    std::vector<Step> steps = TRY(read_all());
    types_ = TRY(discover(session_));
    for (Step& step : steps) {
      auto sent = send(std::move(step.object));
      if (sent) continue;
      if (sent.error().reason == Reason::ServiceUnavailable) return sent.error();
      return error(sent.error().reason, fmt::format("{}: {}", step.place, sent.error().message));
    }
    return {};
  }

  Result<Json> with_local(Json object, const std::string& name_space) {
    if (!request_.local || !runs_to_an_end(object)) return object;
    const std::string value = TRY(request_.local->value(name_space));
    if (!std::exchange(said_local_, true))
      terminal_.err << printable(request_.local->sentence) << "\n";
    return with_annotation(std::move(object), request_.local->annotation, value);
  }

  Result<void> send(Json object) {
    const bool is_work = runs_to_an_end(object);
    if (text_at(object, {"metadata", "name"}).empty() &&
        !text_at(object, {"metadata", "generateName"}).empty())
      return create(std::move(object));
    const NamespaceChoice choice{request_.name_space, request_.is_namespace_given};
    auto located = locate(types_, object, choice);
    if (!located) {
      // A definition sent a moment ago may have brought the kind.
      types_ = TRY(discover(session_));
      located = locate(types_, object, choice);
    }
    if (!located) return located.error();
    if (is_work) TRY(make_room(*located));
    object = TRY(with_local(std::move(object), located->address.name_space));
    ApplyRequest options;
    options.name_space = request_.name_space;
    auto applied = apply_object(session_, *located, object, options);
    if (!applied) {
      if (is_work && applied.error().reason == Reason::Invalid)
        terminal_.err << fmt::format(
            "hint: a job that runs cannot be changed; `trainyard delete "
            "{} {}{}` ends it first\n",
            located->type.plural, located->address.name, in_namespace(*located));
      return applied.error();
    }
    terminal_.err << applied_line(terminal_, *located, applied->outcome) << "\n";
    if (is_work) roots_.push_back({*located, std::move(applied->object)});
    return {};
  }

  // metadata.generateName: each run is another object.
  Result<void> create(Json object) {
    const ResourceType* type =
        type_of_kind(types_, text_at(object, {"apiVersion"}), text_at(object, {"kind"}));
    if (type == nullptr) {
      return error(Reason::BadRequest, fmt::format("no matches for kind {} in version {}",
                                                   quoted(text_at(object, {"kind"})),
                                                   quoted(text_at(object, {"apiVersion"}))));
    }
    const std::string own(text_at(object, {"metadata", "namespace"}));
    const std::string ns = !type->is_namespaced ? "" : own.empty() ? request_.name_space : own;
    object = TRY(with_local(std::move(object), ns));
    const Session::Answer made = TRY(session_.call(
        "POST",
        resource_path(*type, {ns, ""}) +
            query_text({{"fieldManager", "trainyard"}, {"fieldValidation", "Strict"}}),
        {{"Accept", std::string(kJsonType)}, {"Content-Type", std::string(kJsonType)}},
        to_text(object)));
    const Located located{*type, {ns, std::string(name_of(made.body))}};
    terminal_.err << applied_line(terminal_, located, "created") << "\n";
    if (runs_to_an_end(made.body)) roots_.push_back({located, made.body});
    return {};
  }

  // A finished job of that name was the last run of it: this one takes its place.
  Result<void> make_room(const Located& located) {
    const auto live = session_.get(resource_path(located.type, located.address));
    if (!live && live.error().reason == Reason::NotFound) return {};
    if (!live) return live.error();
    const Standing standing = standing_of(*live);
    if (!standing.is_finished()) return {};
    terminal_.err << fmt::format("{} {} in an earlier run and is replaced\n", located.shown(),
                                 word_for(standing.state));
    auto gone = delete_and_wait(session_, located);
    if (!gone && gone.error().reason != Reason::NotFound) return gone;
    return {};
  }

  int follow_all() {
    const FollowResult done = follow(session_, types_, roots_, world_, {});
    int code = kOk;
    for (size_t i = 0; i < roots_.size(); ++i) {
      if (!say_end(roots_[i].located, done.objects[i])) code = kJobFailed;
    }
    if (!done.lost.empty()) {
      terminal_.err << fmt::format("error: the server is lost: {}\n", printable(done.lost));
      return kUnreachable;
    }
    return done.interrupted ? static_cast<int>(kInterrupted) : code;
  }

  // False when it did not end well.
  bool say_end(const Located& located, const Followed& done) {
    if (done.end == Followed::End::Open) return true;
    if (done.end == Followed::End::Deleted) {
      terminal_.err << fmt::format("{} was deleted\n", located.shown());
      return false;
    }
    const bool is_well = done.standing.state == Standing::State::Succeeded;
    const std::string line = fmt::format("{} {} after {}", located.shown(),
                                         word_for(done.standing.state), elapsed_text(done.length));
    terminal_.err << (terminal_.colour ? styled(line, is_well ? Style::Good : Style::Bad) : line)
                  << "\n";
    if (!is_well) say_why({located, done.object});
    return is_well;
  }

  void say_why(const NamedObject& root) {
    auto world = observe_why(session_, types_, root);
    if (!world) return;
    world->last_lines.clear();  // they have just scrolled by
    terminal_.err << findings_text(findings_of(*world), terminal_.colour);
  }

  int leave(std::string_view how) {
    for (const NamedObject& root : roots_) {
      const std::string name =
          root.located.type.plural + "/" + root.located.address.name + in_namespace(root.located);
      terminal_.err << fmt::format(
          "{} {}; `trainyard logs -f {}` follows it, `trainyard delete {}` ends it\n",
          root.located.shown(), how, name, name);
    }
    return kOk;
  }

  void remove_all() {
    for (const NamedObject& root : roots_) {
      auto gone = delete_and_wait(session_, root.located);
      if (gone || gone.error().reason == Reason::NotFound) {
        terminal_.err << fmt::format("{} deleted\n", root.located.shown());
      } else {
        print_failure(terminal_, gone.error());
      }
    }
  }

  Session& session_;
  Terminal& terminal_;
  const RunRequest& request_;
  const FollowWorld& world_;
  std::vector<ResourceType> types_;
  std::vector<NamedObject> roots_;
  bool said_local_ = false;
};

}  // namespace

Json with_annotation(Json object, std::string_view name, const std::string& value) {
  for_each_pod_template(object, [&](JsonObject& pod_template) {
    JsonObject& metadata = object_at(pod_template, "metadata");
    object_at(metadata, "annotations")[name] = value;
  });
  return object;
}

int run_job(Session& session, const RunRequest& request, const FollowWorld& world) {
  return Runner(session, request, world).run();
}

}  // namespace yard
