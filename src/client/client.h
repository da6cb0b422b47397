#pragma once
// How controllers, the scheduler and the node agent see the cluster: reads from a cache, writes
// with an answer later. DirectClient (apiserver/) is the embedded server itself; a RemoteClient
// speaks to a real cluster. Nothing behind this interface asks which one it is. Loop thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "json/shared_json.h"

namespace yard {

// A kind as clients name it.
struct Resource {
  std::string api_version;  // batch/v1
  std::string kind;         // Job
  friend auto operator<=>(const Resource&, const Resource&) = default;
};

struct ClientWrite {
  enum class Verb { Create, Update, UpdateStatus, Finalize, MergePatch, Delete, Bind };
  Verb verb = Verb::Create;
  Resource resource;
  std::string ns, name;
  Json object;  // the whole object, the patch, DeleteOptions, or the Binding
};

struct ObjectEvent {
  enum class Type { Added, Modified, Deleted };
  Type type;
  Resource resource;
  ObjectPtr object;    // of a deletion: as it last was
  ObjectPtr previous;  // null for Added
};

class Client {
 public:
  virtual ~Client() = default;

  virtual ObjectPtr get(const Resource& resource, std::string_view ns,
                        std::string_view name) const = 0;
  virtual std::vector<ObjectPtr> list(const Resource& resource,
                                      std::string_view ns = "") const = 0;  // "": everywhere
  // An object as a tree. Readers of the same object share one where they can
  // (client/tree_cache.h).
  virtual SharedJson tree(const ObjectPtr& object) const { return object->tree(); }
  // Objects of any kind that name this uid among their owners.
  struct Dependent {
    Resource resource;
    ObjectPtr object;
  };
  virtual std::vector<Dependent> dependents(std::string_view owner_uid) const = 0;
  // Every kind that can be listed; `namespaced` ones only when asked.
  virtual std::vector<Resource> resources(bool only_namespaced) const = 0;
  // How a kind is served; nothing when it is not (a CRD that went, a version no longer spoken).
  struct Served {
    std::string plural, group;  // jobs, batch
    bool namespaced = true;
  };
  virtual std::optional<Served> served(const Resource& resource) const = 0;

  // `done` is called on the loop, never before this returns, and only once reads show the write (or
  // something newer). The object as stored, null after a removal.
  virtual void submit(ClientWrite write, std::function<void(Result<ObjectPtr>)> done) = 0;

  // Changes of one kind (or of all, with an empty resource), after what get and list show now.
  using Subscription = uint64_t;
  virtual Subscription follow(const Resource& resource,
                              std::function<void(const ObjectEvent&)> callback) = 0;
  virtual void unfollow(Subscription subscription) = 0;
};

}  // namespace yard
