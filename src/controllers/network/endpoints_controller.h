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
    std::string bucket;          // where buckets_ has it
    std::set<std::string> pods;  // names of those it selects
  };
  struct KnownPod {
    Revision revision = 0;
    EndpointPod facts;
  };
  void hear_service(const ObjectEvent& event);
  void hear_pod(const ObjectEvent& event);
  void forget_service(const ObjectKey& key);
  void add_soon(const ObjectKey& key);
  void choose_bucket(const std::string& ns, const JsonObject& wanted, Service& service);
  void index_by(const std::string& label);
  void index_pod(const Object& pod, const Object* previous, bool gone);
  void match(const Object& pod, const Object* now);
  void match_bucket(const std::string& bucket, const Object& pod, const Object* now);
  Plan plan(const ObjectKey& key);
  const EndpointPod& facts_of(const Object& pod);

  Loop& loop_;
  Client& client_;
  Time window_{};  // since then so many changes came
  int changes_ = 0;
  std::map<ObjectKey, Service> services_;  // with a selector
  // A namespace, label and value, the Services that are kept under it, and the pods that have it:
  // neither is held against all of the other.
  struct Bucket {
    std::set<std::string> services, pods;
  };
  std::unordered_map<std::string, Bucket> buckets_;
  std::set<std::string> labels_;  // by which pods are kept there, as Services want it
  std::unordered_map<std::string, KnownPod> pods_;  // by uid, those some Service selects
  Controller controller_;
  std::vector<Client::Subscription> subscriptions_;
};

}  // namespace yard
