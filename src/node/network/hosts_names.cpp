#include "node/network/hosts_names.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "node/files.h"
#include "node/network/dns_zone.h"
#include "node/transient.h"

namespace yard {
namespace {

constexpr std::string_view kMark = "\n# Names of the cluster.\n";
constexpr size_t kMostHosts = 4 << 20, kMostLaunch = 16 << 20;

void write_into(const std::string& state, const std::string& uid,
                const std::set<std::string>& records) {
  const std::string path = transient_of(state, uid) + "/hosts";
  const auto hosts = read_text(path, kMostHosts);
  const auto launch =
      parse_json(read_text(state + "/run/" + uid + "/launch.json", kMostLaunch).value_or(""));
  if (!hosts || !launch) return;
  const std::string text =
      with_hosts_lines(*hosts, hosts_lines(records, text_at(launch->value, {"namespace"})));
  if (text == *hosts) return;
  if (auto written = write_text(path, text, 0644); !written)
    log_warning("{}", written.error().message);
}

}  // namespace

std::string hosts_lines(const std::set<std::string>& records, std::string_view ns) {
  std::string out;
  const std::string zone = "." + std::string(kClusterDomain);
  for (const std::string& record : records) {
    const auto words = split(record, ' ');
    if (words.size() != 3 || words[1] != "A") continue;
    const std::string_view name = words[0];
    if (!name.ends_with(".svc" + zone)) continue;
    // a.b.ns.svc.cluster.local, and what the search path would make of shorter forms.
    const std::string_view in_cluster = name.substr(0, name.size() - zone.size());
    const std::string_view short_name = in_cluster.substr(0, in_cluster.size() - 4);
    out += fmt::format("{}\t{} {} {}", words[2], name, in_cluster, short_name);
    if (short_name.ends_with("." + std::string(ns)))
      out += fmt::format(" {}", short_name.substr(0, short_name.size() - ns.size() - 1));
    out += '\n';
  }
  return out;
}

std::string with_hosts_lines(std::string_view hosts, std::string_view lines) {
  std::string out(hosts.substr(0, hosts.find(kMark)));
  if (!lines.empty()) out += fmt::format("{}{}", kMark, lines);
  return out;
}

void HostsNames::replace_names(const std::vector<std::string>& records,
                               const std::vector<std::string>&) {
  records_ = {records.begin(), records.end()};
  write_all();
}

void HostsNames::change_names(const std::vector<std::string>& added,
                              const std::vector<std::string>& removed,
                              const std::vector<std::string>&) {
  for (const std::string& record : removed)
    records_.erase(record);
  records_.insert(added.begin(), added.end());
  write_all();
}

void HostsNames::write_names(const std::string& uid) const {
  write_into(state_, uid, records_);
}

void HostsNames::write_all() const {
  loop_.run_blocking(
      [state = state_, records = records_] {
        std::error_code code;
        for (const auto& entry : std::filesystem::directory_iterator(state + "/run", code))
          write_into(state, entry.path().filename().string(), records);
      },
      [] {});
}

}  // namespace yard
