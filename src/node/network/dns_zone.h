#pragma once
// The names of a cluster as its DNS answers them (kubernetes-core D2). Filled with lines, one
// record each:
//   <name> A <address>      <name> CNAME <target>      <name> SRV <port> <target>
//   <address> PTR <target>
// Pure: knows no socket.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "node/network/dns_message.h"

namespace yard {

inline constexpr std::string_view kClusterDomain = "cluster.local";

class DnsZone {
 public:
  void add(std::string_view line);     // what cannot be read is left out
  void remove(std::string_view line);  // one that was added
  size_t size() const { return records_.size(); }

  // True for names that nobody but us can answer: the cluster's, and addresses of the island.
  static bool is_ours(std::string_view name);
  // `turn` rotates lists of addresses, so that askers spread over them.
  DnsAnswer answer(const DnsQuestion& question, size_t turn) const;

 private:
  std::vector<DnsRecord> records_of(std::string_view name, DnsType type, size_t turn) const;
  std::multimap<std::string, DnsRecord, std::less<>> records_;
  // Names above those with records exist too, though they have none: how many lie below each.
  std::map<std::string, int, std::less<>> parents_;
};

}  // namespace yard
