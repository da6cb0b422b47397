#pragma once
// The Client inside the one binary: the same verbs HTTP runs, on the loop, without serialising to
// itself.

#include "apiserver/committer.h"
#include "apiserver/plan_thread.h"
#include "client/client.h"

namespace yard {

class DirectClient : public Client {
 public:
  // `kinds` answers the table served now. `manager` is the field manager of what is written.
  DirectClient(Store& store, Committer& committer, std::function<KindTablePtr()> kinds,
               std::string manager);
  ~DirectClient() override;
  // Before the first write: where many wait, they are planned on another thread.
  void use_another_thread() { plans_ = std::make_unique<PlanThread>(); }

  ObjectPtr get(const Resource& resource, std::string_view ns,
                std::string_view name) const override;
  std::vector<ObjectPtr> list(const Resource& resource, std::string_view ns) const override;
  SharedJson tree(const ObjectPtr& object) const override { return committer_.trees().of(object); }
  std::vector<Dependent> dependents(std::string_view owner_uid) const override;
  std::vector<Resource> resources(bool only_namespaced) const override;
  std::optional<Served> served(const Resource& resource) const override;
  void submit(ClientWrite write, std::function<void(Result<ObjectPtr>)> done) override;
  Subscription follow(const Resource& resource,
                      std::function<void(const ObjectEvent&)> callback) override;
  void unfollow(Subscription subscription) override;

 private:
  void run(WriteJob job, Committer::Done done);

  Store& store_;
  Committer& committer_;
  std::function<KindTablePtr()> kinds_;
  std::string manager_;
  std::vector<Store::ListenerId> listeners_;
  std::shared_ptr<size_t> under_way_ = std::make_shared<size_t>(0);  // writes without an answer
  std::unique_ptr<PlanThread> plans_;
};

}  // namespace yard
