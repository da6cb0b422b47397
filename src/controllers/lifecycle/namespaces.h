#pragma once
// How a namespace ends: pods first until none is left, then everything else, then its finalizer
// (kubernetes-core E3).

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controllers/runtime/controller.h"

namespace yard {

struct NamespaceWorld {
  ObjectKey key;
  Json tree;  // the Namespace
  struct Content {
    ObjectKey key;
    std::string uid;
    std::string resource;  // pods. or jobs.batch, as conditions name it
    bool is_pod = false;
    bool being_deleted = false;
    std::vector<std::string> finalizers;
  };
  std::vector<Content> contents;
  Time now;
  std::vector<std::string> failures = {};  // why deletes of the last pass were refused
};
// Of a namespace with a deletionTimestamp.
Plan plan_namespace(const NamespaceWorld& world);

class NamespaceTermination {
 public:
  NamespaceTermination(Loop& loop, Client& client);
  ~NamespaceTermination();
  bool is_idle() const { return controller_.is_idle(); }

 private:
  void hear(const ObjectEvent& event);
  void set_terminating(const std::string& name, bool terminating);
  Plan plan(const ObjectKey& key);
  void note_failure(const ObjectKey& key, const ClientWrite& asked, const Result<ObjectPtr>& answer);

  Loop& loop_;
  Client& client_;
  Controller controller_;
  std::set<std::string, std::less<>> terminating_;
  std::map<std::string, std::vector<std::string>> failures_;  // by namespace, of the last pass
  Client::Subscription namespaces_ = 0;
  Client::Subscription contents_ = 0;  // of every kind; 0 while no namespace ends
};

}  // namespace yard
