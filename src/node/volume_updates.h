#pragma once
// Keeps the files of configMap, secret and downwardAPI volumes up to date while their pods run.
// What is mounted by subPath stays as it was at the start, as upstream. Loop thread.

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/loop.h"
#include "client/client.h"
#include "node/real_pod_runtime.h"

namespace yard {

// Which ("ConfigMap" or "Secret", name) a volume's files come from; nothing where they stay as they
// are. A projected volume with a token is left to whoever issues tokens. Pure.
std::set<std::pair<std::string, std::string>> volume_sources(const Json& volume);

class VolumeUpdates {
 public:
  VolumeUpdates(Client& client, Loop& loop, RealPodRuntime& runtime);
  ~VolumeUpdates();

 private:
  using Source = std::pair<std::string, std::string>;  // kind, namespace/name
  void on_pod(const ObjectEvent& event);
  void on_source(const ObjectEvent& event);
  void look_later(const std::string& uid);
  void look_at_next();
  bool update(const std::string& ns, const std::string& name);

  Client& client_;
  Loop& loop_;
  RealPodRuntime& runtime_;
  struct Pod {
    std::string ns, name;
    std::set<Source> sources;
    bool looked_at = false;  // since it runs: a change may have come while it was started
  };
  std::map<std::string, Pod> pods_;  // by uid: those with such volumes
  std::map<Source, std::set<std::string>> users_;
  std::deque<std::string> waiting_;  // one a turn of the loop
  std::vector<Client::Subscription> subscriptions_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
