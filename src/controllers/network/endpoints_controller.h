#pragma once
// Keeps EndpointSlices and Endpoints true: hears Services and pods, and has plan_endpoints decide.
// Loop thread.

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/selectors.h"
#include "controllers/network/plan_endpoints.h"

namespace yard {

class EndpointsController {
 public:
  EndpointsController(Loop& loop, Client& client);
  ~EndpointsController();
  bool is_idle() const { return controller_.is_idle(); }

 private:
  struct Service {
    LabelSelector selector;
    std::string bucket;          // where services_by_label_ has it
    std::set<std::string> pods;  // names of those it selects
  };
  struct KnownPod {
    Revision revision = 0;
    EndpointPod facts;
  };
  void hear_service(const ObjectEvent& event);
  void hear_pod(const ObjectEvent& event);
  void forget_service(const ObjectKey& key);
  void add_matching(const Object& pod, bool gone);
  Plan plan(const ObjectKey& key);
  const EndpointPod& facts_of(const Object& pod);

  Client& client_;
  std::map<ObjectKey, Service> services_;  // with a selector
  // namespace, label and value → Services that ask for them: a pod is not held against all.
  std::map<std::string, std::set<std::string>> services_by_label_;
  std::unordered_map<std::string, KnownPod> pods_;  // by uid, those some Service selects
  Controller controller_;
  std::vector<Client::Subscription> subscriptions_;
};

}  // namespace yard
