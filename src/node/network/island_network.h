#pragma once
// The server's side of the island: the keeper is found or started, a few namespaces are kept ready,
// and a keeper that dies is replaced. Loop thread, but for open().

#include <deque>
#include <memory>
#include <set>

#include "base/loop.h"
#include "node/network/keeper_channel.h"
#include "node/network/name_feed.h"
#include "node/network/pod_network.h"

namespace yard {

class IslandNetwork : public PodNetwork, public NameSink {
 public:
  // Blocks for the milliseconds a keeper takes to start. An error says what the kernel refused.
  static Result<std::unique_ptr<IslandNetwork>> open(Loop& loop, const std::string& state_folder);
  ~IslandNetwork() override;

  // The listener at the address of Service kubernetes; the caller owns it. Once.
  int take_api_listener() { return std::exchange(api_listener_, -1); }
  // What does not work, in sentences for people.
  const std::vector<std::string>& notes() const { return notes_; }
  void on_note(std::function<void()> callback) { noted_ = std::move(callback); }
  // Called when a keeper began anew and knows no names.
  void on_reset(std::function<void()> callback) { reset_ = std::move(callback); }

  void prepare_start(const std::string& uid, const std::string& address,
                     std::function<void(Result<PodNamespaces>)> done) override;
  void give_back(int net) override;
  void replace_names(const std::vector<std::string>& records,
                     const std::vector<std::string>& forwards) override;
  void change_names(const std::vector<std::string>& added, const std::vector<std::string>& removed,
                    const std::vector<std::string>& forwards) override;

 protected:
  std::optional<Ipv4> next_address() override;
  void released(Ipv4 address) override;

 private:
  IslandNetwork(Loop& loop, std::string state_folder);
  Result<void> start();
  Result<void> connect();
  Result<void> spawn_keeper();
  void find_lost_island();
  void on_readable();
  void obey(std::string_view text);
  void on_made(Ipv4 address, int fd);
  void on_refused(Ipv4 address, const std::string& why);
  void on_dropped(Ipv4 address);
  void keeper_ended();
  void start_again();
  void fill_pool();
  void ask_for(Ipv4 address);
  void tell(std::string_view text, std::vector<int> descriptors = {});
  void flush_later();
  void tell_lines(std::string_view verb, const std::vector<std::string>& lines);
  PodNamespaces namespaces_with(int net) const;

  using Done = std::function<void(Result<PodNamespaces>)>;
  Loop& loop_;
  std::string state_, folder_;
  std::unique_ptr<KeeperChannel> channel_;
  int island_ = -1, user_ = -1;
  int api_listener_ = -1;
  bool greeted_ = false, api_answered_ = false;
  int keeper_child_ = 0;
  uint64_t keeper_version_ = 1;
  Error refusal_;
  std::map<Ipv4, int> ready_;     // namespaces nobody uses yet
  std::deque<Ipv4> pool_;         // addresses of the pool: ready, or being made
  std::set<Ipv4> asked_;          // being made
  std::map<Ipv4, Done> waiting_;  // starts that need one
  std::vector<std::string> notes_;
  std::function<void()> noted_, reset_;
  int failures_ = 0;
  TimerId retry_ = 0, flush_ = 0;
};

// Ends the keeper of a state folder without a server: `trainyard down`. Blocking, bounded.
void end_keeper(const std::string& state_folder);

}  // namespace yard
