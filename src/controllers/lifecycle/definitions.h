#pragma once
// The life of CustomResourceDefinitions: names are accepted or found taken, a definition is
// established, and one that is deleted takes its instances with it (api-machinery 6.1).

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

class Definitions {
 public:
  Definitions(Client& client, Loop& loop);
  ~Definitions();
  Definitions(const Definitions&) = delete;
  Definitions& operator=(const Definitions&) = delete;

 private:
  void sync(std::string_view name);
  void sync_group(std::string_view group, std::string_view except);
  void establish(const std::string& name, Json definition);
  void take_apart(const std::string& name, Json definition);
  void delete_instances(const std::string& name, const Json& definition);
  void look_again(const std::string& name, const Resource& resource);
  void follow_instances(const std::string& name, const Resource& resource);
  void forget(const std::string& name);
  void update_status(const std::string& name, Json definition);
  void remove_finalizer(const std::string& name, Json definition);

  Client& client_;
  Loop& loop_;
  Client::Subscription subscription_ = 0;
  // What each definition was given, also when that is not stored yet: two of one moment must not
  // both get a name.
  struct Given {
    std::string group;
    Json names;
  };
  std::map<std::string, Given, std::less<>> given_;
  std::map<std::string, Client::Subscription, std::less<>>
      instances_;                               // of definitions that wait for them to go
  std::set<std::string, std::less<>> looking_;  // a look at their instances is due
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
