#pragma once
// A Client whose Events give way: while many other writes come they wait, in their order, and not
// for ever. What is only told must not hold up what is acted on.

#include <deque>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

class PatientClient : public Client {
 public:
  PatientClient(Loop& loop, Client& client);

  ObjectPtr get(const Resource& resource, std::string_view ns,
                std::string_view name) const override;
  std::vector<ObjectPtr> list(const Resource& resource, std::string_view ns) const override;
  SharedJson tree(const ObjectPtr& object) const override;
  std::vector<Dependent> dependents(std::string_view owner_uid) const override;
  std::vector<Resource> resources(bool only_namespaced) const override;
  std::optional<Served> served(const Resource& resource) const override;
  void submit(ClientWrite write, std::function<void(Result<ObjectPtr>)> done) override;
  Subscription follow(const Resource& resource,
                      std::function<void(const ObjectEvent&)> callback) override;
  void unfollow(Subscription subscription) override;

 private:
  bool is_busy(Time now) const;
  void look_later();
  void let_some_through();

  Loop& loop_;
  Client& client_;
  std::deque<Time> others_;  // when the latest other writes came, the oldest first
  struct Waiting {
    ClientWrite write;
    std::function<void(Result<ObjectPtr>)> done;
    Time due;  // then it goes whatever else there is to do
  };
  std::deque<Waiting> waiting_;
  bool is_looking_ = false;  // let_some_through is on its way
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace yard
