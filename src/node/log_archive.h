#pragma once
// Logs outlive their pods: they stay while the job that owned the pod is there, and a retention
// time after that (or after the pod, when it had no owner). All of them together stay within a
// bound: the oldest of ended jobs go first. Loop thread; files are touched on the pool.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "client/client.h"
#include "node/log_layout.h"

namespace yard {

struct LogBounds {
  Duration retention = std::chrono::hours(24);
  uint64_t most_bytes = uint64_t{10} << 30;  // of pods that are gone; those that are have their own
};

class LogArchive {
 public:
  // `folder` is <state>/logs.
  LogArchive(Client& client, Loop& loop, std::string folder, LogBounds bounds);
  ~LogArchive();

  // Takes up what earlier servers have left, then follows pods and their owners.
  void start();

  // The newest pod of that name whose object is gone and whose logs are here.
  std::optional<LogFolder> find(std::string_view ns, std::string_view pod) const;
  size_t size() const { return kept_.size(); }

 private:
  // A folder whose pod is gone.
  struct Kept {
    LogFolder folder;
    std::optional<Time> gone;  // the owner too
    uint64_t order = 0, bytes = 0;
  };
  struct Found {
    LogFolder folder;
    std::optional<Time> gone;
    uint64_t bytes = 0;
  };
  static std::vector<Found> scan(const std::string& folder);
  void on_pod(const ObjectEvent& event);
  void take_next();
  void keep(Found found);
  bool owner_lives(const LogOwner& owner, const std::string& ns) const;
  void follow_owner(const Resource& resource);
  void begin_retention(Kept& kept);
  void remove_due();
  void hold_bound();
  std::string forget(const std::string& uid);
  void wait_for_due();
  std::string path_of(const LogFolder& folder) const;

  Client& client_;
  Loop& loop_;
  std::string folder_;
  LogBounds bounds_;
  uint64_t bytes_ = 0;  // of all that are kept
  std::map<std::string, Kept, std::less<>> kept_;     // by the pod's uid
  std::multimap<std::string, std::string> by_name_;   // namespace/pod → uid
  std::multimap<std::string, std::string> by_owner_;  // owner's uid → pod's uid, while it lives
  std::multimap<Time, std::string> due_;              // when → uid
  std::vector<LogFolder> ended_;                      // pods just gone, not looked at yet
  bool looking_ = false;
  uint64_t order_ = 0;
  TimerId timer_ = 0;
  Client::Subscription pods_ = 0;
  std::map<Resource, Client::Subscription> owners_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
