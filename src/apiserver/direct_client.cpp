#include "apiserver/direct_client.h"

#include <algorithm>

#include "apiserver/status.h"

namespace yard {
namespace {

Resource resource_of(const Kind& kind) {
  return {kind.api_version(), kind.kind};
}

ObjectEvent::Type type_of(StoreEvent::Type type) {
  switch (type) {
    case StoreEvent::Type::Added: return ObjectEvent::Type::Added;
    case StoreEvent::Type::Modified: return ObjectEvent::Type::Modified;
    default: return ObjectEvent::Type::Deleted;
  }
}

// kind and apiVersion stand at the head of every encoded body (api/object.h), so nothing is parsed
// to tell them.
Resource resource_in(const Object& object) {
  const std::string_view head = object.type();
  const auto quoted_after = [&](std::string_view lead) {
    const size_t at = head.find(lead) + lead.size();
    return std::string(head.substr(at, head.find('"', at) - at));
  };
  return {quoted_after("\"apiVersion\":\""), quoted_after("{\"kind\":\"")};
}

}  // namespace

DirectClient::DirectClient(Store& store, Committer& committer, std::function<KindTablePtr()> kinds,
                           std::string manager)
    : store_(store),
      committer_(committer),
      kinds_(std::move(kinds)),
      manager_(std::move(manager)) {}

DirectClient::~DirectClient() {
  for (const Store::ListenerId listener : listeners_)
    store_.forget(listener);
}

ObjectPtr DirectClient::get(const Resource& resource, std::string_view ns,
                            std::string_view name) const {
  const KindPtr kind = kinds_()->find_kind(resource.api_version, resource.kind);
  if (kind == nullptr) return nullptr;
  return as_shown(*kind, store_.get(Key{kind->storage, std::string(ns), std::string(name)}));
}

std::vector<ObjectPtr> DirectClient::list(const Resource& resource, std::string_view ns) const {
  const KindPtr kind = kinds_()->find_kind(resource.api_version, resource.kind);
  if (kind == nullptr) return {};
  ListRange range;
  range.ns = ns;
  std::vector<ObjectPtr> objects = store_.list(kind->storage, range).objects;
  for (ObjectPtr& object : objects)
    object = as_shown(*kind, object);
  return objects;
}

std::vector<Client::Dependent> DirectClient::dependents(std::string_view owner_uid) const {
  std::vector<Dependent> out;
  const KindTablePtr kinds = kinds_();
  for (auto& [key, object] : store_.dependents(owner_uid)) {
    if (const KindPtr kind = kinds->stored_as(key.storage))
      out.push_back({resource_of(*kind), std::move(object)});
  }
  return out;
}

std::vector<Resource> DirectClient::resources(bool only_namespaced) const {
  std::vector<Resource> out;
  for (const KindPtr& kind : kinds_()->kinds()) {
    // One entry a storage: a view or another version of it would show the same objects again.
    if (!kind->allows("list") || kind->from_stored || (only_namespaced && !kind->namespaced))
      continue;
    out.push_back(resource_of(*kind));
  }
  return out;
}

std::optional<Client::Served> DirectClient::served(const Resource& resource) const {
  const KindPtr kind = kinds_()->find_kind(resource.api_version, resource.kind);
  if (kind == nullptr) return std::nullopt;
  return Served{kind->plural, kind->group, kind->namespaced};
}

void DirectClient::submit(ClientWrite write, std::function<void(Result<ObjectPtr>)> done) {
  const KindTablePtr kinds = kinds_();
  WriteJob job;
  job.context.kind = kinds->find_kind(write.resource.api_version, write.resource.kind);
  if (job.context.kind == nullptr) {
    // An unknown name and `creates` lead straight to an answer on a later turn.
    job.context.kind = job.context.stored = kinds->kinds().front();
    job.creates = true;
    job.plan = [](const WriteContext&, const ObjectPtr&) -> Result<Change> {
      return no_such_resource_error();
    };
    return run(std::move(job), [done = std::move(done)](Result<WriteAnswer> answer) {
      done(std::move(answer).error());
    });
  }
  job.context.stored = kinds->stored_as(job.context.kind->storage);
  job.context.ns = std::move(write.ns);
  job.context.name = std::move(write.name);
  job.context.options.field_manager = manager_;
  job.context.options.field_manager_given = true;
  job.context.options.validation = FieldValidation::Ignore;
  auto object = std::make_shared<const Json>(std::move(write.object));
  switch (write.verb) {
    case ClientWrite::Verb::Create:
      job.creates = true;
      job.generates_name = job.context.name.empty();
      job.context.name.clear();
      job.plan = [object](const WriteContext& context, const ObjectPtr&) {
        return plan_create_tree(context, *object);
      };
      break;
    case ClientWrite::Verb::UpdateStatus:
    case ClientWrite::Verb::Finalize:
      job.context.subresource = write.verb == ClientWrite::Verb::Finalize ? "finalize" : "status";
      [[fallthrough]];
    case ClientWrite::Verb::Update:
      job.plan = [object](const WriteContext& context, const ObjectPtr& live) {
        return plan_update_tree(context, live, *object);
      };
      break;
    case ClientWrite::Verb::MergePatch:
      job.plan = [object](const WriteContext& context, const ObjectPtr& live) {
        return plan_patch(context, live, PatchType::MergePatch,
                          {"application/merge-patch+json", to_text(*object)});
      };
      break;
    case ClientWrite::Verb::Bind:
      job.context.subresource = "binding";
      job.plan = [object](const WriteContext& context, const ObjectPtr& live) {
        return plan_binding_tree(context, live, *object);
      };
      break;
    case ClientWrite::Verb::Delete:
      job.plan = [object](const WriteContext& context, const ObjectPtr& live) -> Result<Change> {
        const RequestBody body{"application/json",
                               object->is_object() ? to_text(*object) : std::string()};
        const DeleteOptions options = TRY(parse_delete_options(Query(), body));
        return plan_delete(context, live, options);
      };
      break;
  }
  run(std::move(job), [done = std::move(done)](Result<WriteAnswer> answer) {
    if (!answer) return done(std::move(answer).error());
    done(answer->change.type == Change::Type::Delete ? ObjectPtr() : answer->object);
  });
}

// A single write is answered sooner where it is; of many the loop is the bottleneck.
void DirectClient::run(WriteJob job, Committer::Done done) {
  constexpr size_t kMany = 64;
  Committer::Compute compute;
  if (*under_way_ >= kMany) job.context.is_read_soon = false;
  if (plans_ != nullptr && *under_way_ >= kMany)
    compute = [this](std::function<void()> task) { plans_->run(std::move(task)); };
  ++*under_way_;
  committer_.run_from_loop(
      std::move(job), std::move(compute),
      [under_way = under_way_, done = std::move(done)](Result<WriteAnswer> answer) {
        --*under_way;
        done(std::move(answer));
      });
}

Client::Subscription DirectClient::follow(const Resource& resource,
                                          std::function<void(const ObjectEvent&)> callback) {
  std::string storage;
  if (!resource.kind.empty()) {
    const KindPtr kind = kinds_()->find_kind(resource.api_version, resource.kind);
    check(kind != nullptr, "a followed kind is served");
    storage = kind->storage;
  }
  const Store::ListenerId listener = store_.listen(
      storage, [resource, callback = std::move(callback)](const StoreEventPtr& event) {
        Resource of = resource.kind.empty() ? resource_in(*event->object) : resource;
        callback(ObjectEvent{type_of(event->type), std::move(of), event->object, event->previous});
      });
  listeners_.push_back(listener);
  return listener;
}

void DirectClient::unfollow(Subscription subscription) {
  store_.forget(subscription);
  std::erase(listeners_, subscription);
}

}  // namespace yard
