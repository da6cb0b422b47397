// Requests below /api/v1 and /apis/{group}/{version}: which verb of which kind, and the way of each
// through the loop.

#include <fmt/format.h>

#include "apiserver/access/escalation.h"
#include "apiserver/access/request_attributes.h"
#include "apiserver/certificate_requests.h"
#include "apiserver/exchange.h"
#include "apiserver/scale.h"
#include "base/strings.h"
#include "net/message_stream.h"

namespace yard {
namespace {

constexpr std::string_view kAccessGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kWatchProtocols[] = {"binary.k8s.io", "base64.binary.k8s.io"};

std::string scope_of(const ResourcePath& path, const Kind& kind) {
  if (!path.name.empty()) return "resource";
  return kind.namespaced && !path.ns.empty() ? "namespace" : "cluster";
}

// The verb a subresource is asked for, by its method.
std::string_view subresource_verb(std::string_view method) {
  if (method == "GET") return "get";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return "";
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

using WritePlan = decltype(WriteJob::plan);

// The plan, refused where what it turned out to be needs more than the verb that was asked for: a
// PUT or apply that creates, a role or binding that grants what its writer does not have.
WritePlan within_rights(WritePlan plan, std::shared_ptr<const AccessRules> rules, User user) {
  return [plan = std::move(plan), rules = std::move(rules), user = std::move(user)](
             const WriteContext& context, const ObjectPtr& live) -> Result<Change> {
    Change change = TRY(plan(context, live));
    if (change.type != Change::Type::Store) return change;
    const Kind& kind = *context.kind;
    if (change.is_create() && !context.name.empty()) {
      AccessAttributes asked;
      asked.verb = "create";
      asked.group = kind.group;
      asked.resource = kind.plural;
      asked.ns = context.ns;
      asked.name = context.name;
      const AccessDecision decision = decide(*rules, user, asked);
      if (!decision.allowed) return access_denied(user, asked, decision.reason);
    }
    if (kind.group != kAccessGroup) return change;
    const Json next = change.object != nullptr ? change.object->tree() : change.dry_run_tree;
    const Json before = live != nullptr ? live->tree() : Json();
    TRY(check_escalation(kind, *rules, user, next, live != nullptr ? &before : nullptr));
    return change;
  };
}

}  // namespace

void ApiServer::resource_request(const ExchangePtr& exchange, ResourcePath path) {
  const KindTablePtr table = kinds();
  exchange->kind = table->find(path.group, path.version, path.plural);
  if (exchange->kind == nullptr) {
    const bool custom_group = std::ranges::any_of(table->group_versions(), [&](const auto& entry) {
      return entry.group == path.group && entry.version == path.version && !entry.kinds.empty() &&
             entry.kinds.front()->custom;
    });
    const bool is_known =
        table->serves_version(path.group, path.version) || table->has_built_in_group(path.group);
    if (!is_known || custom_group) return exchange->plain(404, "404 page not found\n");
    return exchange->fail(no_such_resource_error());
  }
  const Kind& kind = *exchange->kind;
  exchange->stored = table->stored_as(kind.storage);
  exchange->path = std::move(path);
  const ResourcePath& at = exchange->path;
  exchange->labels = {"", at.group, at.version, at.plural, at.subresource, scope_of(at, kind)};
  if (kind.namespaced == at.ns.empty() && !(kind.namespaced && at.name.empty()))
    return exchange->fail(no_such_resource_error());
  const std::string& method = exchange->request.method;
  if (!kind.deprecation_warning.empty()) exchange->warnings.push_back(kind.deprecation_warning);

  if (!at.subresource.empty()) {
    const Subresource* sub = kind.subresource(at.subresource);
    const bool is_proxy = at.subresource == "proxy";
    if (sub == nullptr || (!at.rest.empty() && !is_proxy))
      return exchange->fail(no_such_resource_error());
    if (!contains(sub->verbs, subresource_verb(method)))
      return exchange->fail(method_not_allowed_error());
    if (is_proxy) return proxy(exchange);
    if (at.subresource == "log") return read_pod_log(exchange);
    if (at.subresource == "exec" || at.subresource == "attach" || at.subresource == "portforward")
      return connect_to_pod(exchange);
    if (at.subresource == "token") return create_token(exchange);
    return method == "GET" ? read_one(exchange) : write(exchange);
  }
  const bool named = !at.name.empty();
  const bool watch = at.watch_prefix || (!named && exchange->query.flag("watch"));
  if (method == "GET" && kind.storage.empty() && kind.allows("list") && !watch)
    return read_usage(exchange);
  if (method == "GET" && (!named || at.watch_prefix)) {
    if (!kind.allows(watch ? "watch" : "list")) return exchange->fail(method_not_allowed_error());
    return read_many(exchange, watch);
  }
  if (method == "GET")
    return kind.allows("get") ? read_one(exchange) : exchange->fail(method_not_allowed_error());
  const bool whole_cluster = kind.namespaced && at.ns.empty();
  // A kind whose definition is going refuses creates in its own words, and lets finalizers be taken
  // off.
  const auto allows = [&](std::string_view verb) { return kind.terminating || kind.allows(verb); };
  const bool allowed =
      (method == "POST" && !named && !whole_cluster && allows("create")) ||
      (method == "PUT" && named && allows("update")) ||
      (method == "PATCH" && named && allows("patch")) ||
      (method == "DELETE" && named && kind.allows("delete")) ||
      (method == "DELETE" && !named && !whole_cluster && kind.allows("deletecollection"));
  if (!allowed) return exchange->fail(method_not_allowed_error());
  if (method == "DELETE" && !named) return delete_many(exchange);
  if (kind.storage.empty()) return review(exchange);
  write(exchange);
}

void ApiServer::read_one(const ExchangePtr& exchange) {
  exchange->labels.verb = "GET";
  auto representation = negotiate(exchange->request.header("Accept"), Offer{});
  if (!representation) return exchange->fail(representation.error());
  auto include = include_object(exchange->query.get("includeObject"));
  if (!include) return exchange->fail(include.error());
  ListOptions options;
  options.resource_version = exchange->query.get("resourceVersion");
  auto needed = needed_revision(options);
  if (!needed) return exchange->fail(needed.error());
  Rendering rendering = exchange->rendering(*representation);
  rendering.include = *include;
  loop_.post([this, exchange, rendering, revision = *needed] {
    waiter_.wait(revision, [this, exchange, rendering](Result<void> reached) {
      if (!reached) return exchange->fail(reached.error());
      const Kind& kind = *exchange->kind;
      const ObjectPtr object =
          store_.get(Key{kind.storage, exchange->path.ns, exchange->path.name});
      if (object == nullptr) return exchange->fail(not_found_error(kind, exchange->path.name));
      if (exchange->path.subresource == "scale")
        return answer_scale(exchange, tree_as_shown(kind, *object), rendering, 200);
      exchange->finish(object_response(kind, as_shown(kind, object), rendering, 200));
    });
  });
}

void ApiServer::read_many(const ExchangePtr& exchange, bool watch) {
  exchange->labels.verb = watch ? "WATCH" : "LIST";
  auto representation = negotiate(exchange->request.header("Accept"),
                                  Offer{.list = true, .transforms = true, .watch = watch});
  if (!representation) return exchange->fail(representation.error());
  auto include = include_object(exchange->query.get("includeObject"));
  if (!include) return exchange->fail(include.error());
  auto options = parse_list_options(exchange->query, watch);
  if (!options) return exchange->fail(options.error());
  if (!exchange->path.name.empty()) {
    // The old /watch/.../{name} form.
    if (!options->field_selector.empty()) options->field_selector += ",";
    options->field_selector += "metadata.name=" + exchange->path.name;
  }
  auto selection = parse_selection(*exchange->kind, exchange->path.ns, *options);
  if (!selection) return exchange->fail(selection.error());
  auto needed = needed_revision(*options);
  if (!needed && !watch) needed.error().message.insert(0, "invalid resource version: ");
  if (!needed) return exchange->fail(needed.error());
  Rendering rendering = exchange->rendering(*representation);
  rendering.include = *include;
  // Browsers cannot read a body as it comes: their watches are WebSocket messages.
  std::optional<Upgrade> upgrade;
  if (watch && equals_ignore_case(exchange->request.header("Upgrade"), "websocket")) {
    auto chosen = choose_upgrade(exchange->request, UpgradeOffer{kWatchProtocols, {}});
    if (!chosen) return exchange->fail(chosen.error());
    upgrade = std::move(*chosen);
  }
  // A watch from a revision that is not there yet just waits for its events; everything else waits
  // for the state.
  const Revision wait_for = watch && !options->send_initial_events.value_or(false) ? 0 : *needed;
  loop_.post([this, exchange, rendering, wait_for, watch, upgrade = std::move(upgrade),
              options = std::move(*options), selection = std::move(*selection)]() mutable {
    waiter_.wait(wait_for, [this, exchange, rendering, watch, upgrade = std::move(upgrade),
                            options = std::move(options),
                            selection = std::move(selection)](Result<void> reached) mutable {
      if (!reached) return exchange->fail(reached.error());
      if (watch) {
        return begin_watch(exchange, std::move(selection), std::move(options), rendering, upgrade);
      }
      auto listed = list_objects(store_, *exchange->kind, selection, options);
      if (!listed) return exchange->fail(listed.error());
      exchange->responder->run_on_io(
          [exchange, rendering, listed = std::make_shared<ListResult>(std::move(*listed))] {
            for (ObjectPtr& object : listed->objects)
              object = as_shown(*exchange->kind, object);
            exchange->finish(list_response(*exchange->kind, std::move(listed->objects),
                                           listed->metadata, rendering));
          });
    });
  });
}

void ApiServer::begin_watch(const ExchangePtr& exchange, Selection selection, ListOptions options,
                            const Rendering& rendering, const std::optional<Upgrade>& upgrade) {
  RequestBudget::Answer answer;
  if (!exchange->request.peer.local_owner) {
    answer = budget_->take_watch(exchange->user.name);
    if (answer.seat == nullptr) return exchange->turn_away(answer.retry_after_seconds);
  }
  hub_.begin(WatchRequest{exchange->kind, std::move(selection), std::move(options), rendering,
                          stream_rights(exchange), std::move(answer.seat)},
             upgrade ? stream_messages(*upgrade, exchange->leave_http(), MessageForm::Text)
                     : exchange->stream());
}

void ApiServer::write(const ExchangePtr& exchange) {
  const ResourcePath& path = exchange->path;
  const std::string& method = exchange->request.method;
  auto representation = negotiate(exchange->request.header("Accept"), Offer{});
  if (!representation) return exchange->fail(representation.error());
  const char* options_kind = method == "POST"  ? "CreateOptions"
                             : method == "PUT" ? "UpdateOptions"
                                               : "PatchOptions";
  WriteJob job;
  job.context.kind = exchange->kind;
  job.context.stored = exchange->stored;
  job.context.ns = path.ns;
  job.context.name = path.name;
  // An approval is a status of which only the decision counts.
  job.context.subresource = path.subresource == "approval" ? "status" : path.subresource;
  job.context.user = exchange->user.name;
  auto body = std::make_shared<RequestBody>(RequestBody{
      std::string(exchange->request.header("Content-Type")), std::move(exchange->request.body)});
  if (method == "DELETE") {
    exchange->labels.verb = "DELETE";
    auto options = parse_delete_options(exchange->query, *body);
    if (!options) return exchange->fail(options.error());
    job.context.options.dry_run = options->dry_run;
    job.plan = [options = *options](const WriteContext& context, const ObjectPtr& live) {
      return plan_delete(context, live, options);
    };
    return run_write(exchange, std::move(job), exchange->rendering(*representation));
  }
  auto options =
      parse_write_options(exchange->query, exchange->request.header("User-Agent"), options_kind);
  if (!options) return exchange->fail(options.error());
  job.context.options = std::move(*options);
  if (method == "POST" && path.subresource == "binding") {
    job.plan = [body](const WriteContext& context, const ObjectPtr& live) {
      return plan_binding(context, live, *body);
    };
  } else if (method == "POST" && path.subresource == "eviction") {
    job.plan = [body](const WriteContext& context, const ObjectPtr& live) {
      return plan_eviction(context, live, *body);
    };
  } else if (method == "POST") {
    exchange->labels.verb = "CREATE";
    job.creates = true;
    // Which name was generated is known only to the verb; a body that has the word may well have
    // asked for one.
    job.generates_name = body->bytes.find("generateName") != std::string::npos;
    job.plan = [body](const WriteContext& context, const ObjectPtr&) {
      return plan_create(context, *body);
    };
  } else if (method == "PUT") {
    exchange->labels.verb = "UPDATE";
    job.plan = [body](const WriteContext& context, const ObjectPtr& live) {
      return context.subresource == "scale" ? plan_scale_update(context, live, *body)
                                            : plan_update(context, live, *body);
    };
  } else {
    exchange->labels.verb = "PATCH";
    auto type = patch_type(*exchange->kind, body->content_type);
    if (!type) return exchange->fail(type.error());
    if (*type == PatchType::Apply) exchange->labels.verb = "APPLY";
    job.plan = [body, type = *type](const WriteContext& context, const ObjectPtr& live) {
      return context.subresource == "scale" ? plan_scale_patch(context, live, type, *body)
                                            : plan_patch(context, live, type, *body);
    };
  }
  run_write(exchange, std::move(job), exchange->rendering(*representation));
}

void ApiServer::run_write(const ExchangePtr& exchange, WriteJob job, Rendering rendering) {
  if (is_certificate_request(*exchange->kind))
    job.plan = certificate_request_plan(std::move(job.plan), access_.rules(), exchange->user,
                                        exchange->path.subresource);
  if (!exchange->user.is_admin())
    job.plan = within_rights(std::move(job.plan), access_.rules(), exchange->user);
  const bool dry_run = job.context.options.dry_run;
  auto compute = [responder = exchange->responder](std::function<void()> task) {
    responder->run_on_io(std::move(task));
  };
  committer_.run_from_io(
      std::move(job), compute, [this, exchange, rendering, dry_run](Result<WriteAnswer> answer) {
        if (!answer) return exchange->fail(answer.error());
        Change& change = answer->change;
        for (std::string& warning : change.warnings)
          exchange->warnings.push_back(std::move(warning));
        if (create_warnings_ && change.is_create() && change.object != nullptr) {
          for (std::string& warning : create_warnings_(change.object->body()))
            exchange->warnings.push_back(std::move(warning));
        }
        if (change.answer) {
          Rendering plain = rendering;
          plain.representation.form = Representation::Form::Object;
          return exchange->finish(tree_response(*change.answer, plain, change.status));
        }
        const Kind& kind = *exchange->kind;
        if (exchange->path.subresource == "scale") {
          const bool has_tree = dry_run && !change.dry_run_tree.is_null();
          return answer_scale(
              exchange,
              has_tree ? std::move(change.dry_run_tree) : tree_as_shown(kind, *answer->object),
              rendering, change.status);
        }
        if (dry_run && !change.dry_run_tree.is_null()) {
          if (rendering.representation.form == Representation::Form::Object) {
            return exchange->finish(tree_response(change.dry_run_tree, rendering, change.status));
          }
          return exchange->finish(object_response(kind, encode_object(kind, change.dry_run_tree),
                                                  rendering, change.status));
        }
        check(answer->object != nullptr, "a write that was stored has its object");
        exchange->finish(
            object_response(kind, as_shown(kind, answer->object), rendering, change.status));
      });
}

void ApiServer::answer_scale(const ExchangePtr& exchange, const Json& object, Rendering rendering,
                             int status) {
  auto scale = scale_of(*exchange->kind, object);
  if (!scale) return exchange->fail(scale.error());
  if (rendering.representation.form == Representation::Form::Table) {
    *scale = scale_table(*scale, rendering.representation.transform_version, rendering.now);
  }
  rendering.representation.form = Representation::Form::Object;
  exchange->finish(tree_response(*scale, rendering, status));
}

void ApiServer::delete_many(const ExchangePtr& exchange) {
  exchange->labels.verb = "DELETECOLLECTION";
  RequestBody body{std::string(exchange->request.header("Content-Type")),
                   std::move(exchange->request.body)};
  auto delete_options = parse_delete_options(exchange->query, body);
  if (!delete_options) return exchange->fail(delete_options.error());
  auto options = parse_list_options(exchange->query, false);
  if (!options) return exchange->fail(options.error());
  auto selection = parse_selection(*exchange->kind, exchange->path.ns, *options);
  if (!selection) return exchange->fail(selection.error());
  loop_.post([this, exchange, delete_options = *delete_options, options = std::move(*options),
              selection = std::move(*selection)] {
    auto listed = list_objects(store_, *exchange->kind, selection, options);
    if (!listed) return exchange->fail(listed.error());
    struct Progress {
      ListResult listed;
      size_t left = 0;
      std::optional<Error> failed;
    };
    auto progress = std::make_shared<Progress>(Progress{std::move(*listed), 0, {}});
    const auto finish = [exchange, progress] {
      if (progress->failed) return exchange->fail(*progress->failed);
      for (ObjectPtr& object : progress->listed.objects)
        object = as_shown(*exchange->kind, object);
      exchange->finish(list_response(*exchange->kind, progress->listed.objects,
                                     progress->listed.metadata, exchange->rendering({})));
    };
    progress->left = progress->listed.objects.size();
    if (progress->left == 0) return finish();
    for (const ObjectPtr& object : progress->listed.objects) {
      WriteJob job;
      job.context.kind = exchange->kind;
      job.context.stored = exchange->stored;
      job.context.ns = object->ns();
      job.context.name = object->name();
      job.context.options.dry_run = delete_options.dry_run;
      job.plan = [delete_options](const WriteContext& context, const ObjectPtr& live) {
        return plan_delete(context, live, delete_options);
      };
      committer_.run_inline(std::move(job),
                            [progress, finish, exchange](Result<WriteAnswer> answer) {
                              if (!answer && answer.error().reason != Reason::NotFound)
                                progress->failed = answer.error();
                              if (answer) {
                                for (std::string& warning : answer->change.warnings)
                                  exchange->warnings.push_back(std::move(warning));
                              }
                              if (--progress->left == 0) finish();
                            });
    }
  });
}

}  // namespace yard
