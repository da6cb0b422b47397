#pragma once
// Follows Services, the pods behind them and hand-written endpoints, and tells a sink which names
// lead where (service_names.h). What changed in one turn of the loop is told at once; before a pod
// starts, all that is known has been told. Loop thread.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/loop.h"
#include "client/client.h"
#include "node/network/pod_network.h"
#include "node/network/service_names.h"

namespace yard {

class NameSink {
 public:
  virtual ~NameSink() = default;
  virtual void replace_names(const std::vector<std::string>& records,
                             const std::vector<std::string>& forwards) = 0;
  // A forward without targets is one that ends.
  virtual void change_names(const std::vector<std::string>& added,
                            const std::vector<std::string>& removed,
                            const std::vector<std::string>& forwards) = 0;
};

class NameFeed {
 public:
  NameFeed(Client& client, Loop& loop, PodNetwork& network, NameSink& sink);
  ~NameFeed();
  void start();         // tells all there is, then follows
  void tell_all();      // to a sink that has forgotten
  void tell_changes();  // at once

 private:
  struct FollowedService {
    std::string ns, name;
    Json tree;
    std::vector<std::pair<std::string, std::string>> selector;
    std::string index_key;                                       // where it stands in by_label_
    std::map<std::string, std::optional<ServiceEndpoint>> pods;  // by uid
    ServiceNames told;
    bool dirty = false;
  };
  struct FollowedPod {
    std::string ns, name;
    std::set<FollowedService*> services;
  };

  void on_service(const ObjectEvent& event);
  void on_pod(const ObjectEvent& event);
  void on_endpoints(const ObjectEvent& event);
  FollowedService& add_service(const Object& object);
  ServiceNames remove_service(std::string_view ns, std::string_view name);  // what was told of it
  void tell_later();
  void look_at_pod(const Object& pod);
  void forget_pod(const std::string& uid);
  void refresh_pod(const std::string& uid, const Json& tree);
  ServiceNames names_of(const FollowedService& service) const;
  void mark(FollowedService& service);

  Client& client_;
  Loop& loop_;
  PodNetwork& network_;
  NameSink& sink_;
  std::map<std::string, std::unique_ptr<FollowedService>, std::less<>> services_;  // by ns/name
  std::unordered_map<std::string, std::vector<FollowedService*>> by_label_;        // ns/key=value
  std::map<std::string, int, std::less<>> services_in_;                            // by namespace
  std::map<std::string, FollowedPod, std::less<>> pods_;     // those behind a service, by uid
  std::vector<std::string> ended_records_, ended_forwards_;  // of services that went
  std::vector<FollowedService*> dirty_;
  bool scheduled_ = false;
  std::vector<Client::Subscription> subscriptions_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
