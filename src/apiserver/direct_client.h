#pragma once
// The Client inside the one binary: the same verbs HTTP runs, on the loop, without serialising to itself.

#include "apiserver/committer.h"
#include "client/client.h"

namespace yard {

class DirectClient : public Client {
 public:
  // `kinds` answers the table served now. `manager` is the field manager of what is written.
  DirectClient(Store& store, Committer& committer, std::function<KindTablePtr()> kinds, std::string manager);
  ~DirectClient() override;

  ObjectPtr get(const Resource& resource, std::string_view ns, std::string_view name) const override;
  std::vector<ObjectPtr> list(const Resource& resource, std::string_view ns) const override;
  std::vector<Dependent> dependents(std::string_view owner_uid) const override;
  std::vector<Resource> resources(bool only_namespaced) const override;
  std::optional<Served> served(const Resource& resource) const override;
  void submit(ClientWrite write, std::function<void(Result<ObjectPtr>)> done) override;
  Subscription follow(const Resource& resource, std::function<void(const ObjectEvent&)> callback) override;
  void unfollow(Subscription subscription) override;

 private:
  Store& store_;
  Committer& committer_;
  std::function<KindTablePtr()> kinds_;
  std::string manager_;
  std::vector<Store::ListenerId> listeners_;
};

}  // namespace yard
