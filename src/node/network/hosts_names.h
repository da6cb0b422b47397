#pragma once
// Names without DNS, for pods on the host's network: the records of services stand in each pod's
// own hosts file, which is rewritten in place (a rename would not be seen through its mount).

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "node/network/name_feed.h"

namespace yard {

// What is added to the hosts file of a pod of namespace `ns`: every address with all the forms its
// names have there. Pure.
std::string hosts_lines(const std::set<std::string>& records, std::string_view ns);
// `hosts` with its part of ours replaced. Pure.
std::string with_hosts_lines(std::string_view hosts, std::string_view lines);

class HostsNames : public NameSink {
 public:
  HostsNames(Loop& loop, std::string state_folder) : loop_(loop), state_(std::move(state_folder)) {}
  void replace_names(const std::vector<std::string>& records,
                     const std::vector<std::string>& forwards) override;
  void change_names(const std::vector<std::string>& added, const std::vector<std::string>& removed,
                    const std::vector<std::string>& forwards) override;
  // Into the file of one pod, about to start.
  void write_names(const std::string& uid) const;

 private:
  void write_all() const;
  Loop& loop_;
  std::string state_;
  std::set<std::string> records_;
};

}  // namespace yard
