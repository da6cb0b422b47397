#include "node/network/resolv_conf.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/network/dns_zone.h"

namespace yard {
namespace {

constexpr size_t kMostNameservers = 3, kMostSearches = 32, kMostSearchText = 2048;

struct ResolverConfig {
  std::vector<std::string> nameservers, searches, options;
};

void add_once(std::vector<std::string>& list, std::string_view text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.emplace_back(text);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (const std::string_view part : split(line, ' ')) {
    for (const std::string_view word : split(part, '\t')) {
      if (!word.empty()) out.push_back(word);
    }
  }
  return out;
}

ResolverConfig parse(std::string_view text) {
  ResolverConfig out;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto words = words_of(line);
    if (words.size() < 2) continue;
    if (words[0] == "nameserver") add_once(out.nameservers, words[1]);
    if (words[0] == "search" || words[0] == "domain") out.searches.clear();  // the last one counts
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[0] == "search" || words[0] == "domain") add_once(out.searches, words[i]);
      if (words[0] == "options") add_once(out.options, words[i]);
    }
  }
  return out;
}

// An option of the pod replaces the one of that name.
void set_option(std::vector<std::string>& options, std::string_view name, const Json* value) {
  std::erase_if(options, [&](const std::string& option) {
    return option == name || option.starts_with(std::string(name) + ":");
  });
  const std::string_view text = value == nullptr ? "" : text_of(*value);
  options.push_back(text.empty() ? std::string(name) : fmt::format("{}:{}", name, text));
}

void add_pod_config(ResolverConfig& out, const Json& pod) {
  for (const Json& server : list_at(pod, {"spec", "dnsConfig", "nameservers"}))
    add_once(out.nameservers, text_of(server));
  for (const Json& search : list_at(pod, {"spec", "dnsConfig", "searches"}))
    add_once(out.searches, text_of(search));
  for (const Json& option : list_at(pod, {"spec", "dnsConfig", "options"}))
    set_option(out.options, text_at(option, {"name"}), find(option, "value"));
}

std::string text_of_config(ResolverConfig config) {
  if (config.nameservers.size() > kMostNameservers) config.nameservers.resize(kMostNameservers);
  if (config.searches.size() > kMostSearches) config.searches.resize(kMostSearches);
  while (join(config.searches, " ").size() > kMostSearchText)
    config.searches.pop_back();
  std::string out;
  if (!config.searches.empty()) out += "search " + join(config.searches, " ") + "\n";
  for (const std::string& server : config.nameservers)
    out += "nameserver " + server + "\n";
  if (!config.options.empty()) out += "options " + join(config.options, " ") + "\n";
  return out;
}

}  // namespace

std::vector<std::string> nameservers_of(std::string_view resolv_conf_text) {
  return parse(resolv_conf_text).nameservers;
}

std::string resolv_conf(const Json& pod, std::string_view host, std::string_view cluster_dns) {
  const std::string_view policy = text_at(pod, {"spec", "dnsPolicy"}, "ClusterFirst");
  const bool own_config = find_path(pod, {"spec", "dnsConfig"}) != nullptr;
  const bool in_island = !cluster_dns.empty() && !bool_at(pod, {"spec", "hostNetwork"});
  ResolverConfig config;
  if (policy != "None") {
    if (!in_island && !own_config) return "";
    config = parse(host);
    // The host's servers may be out of a pod's reach (127.0.0.53); the island's asks them.
    if (in_island) config.nameservers = {std::string(cluster_dns)};
    if (in_island && policy != "Default") {
      const std::string_view ns = text_at(pod, {"metadata", "namespace"});
      std::vector<std::string> searches{fmt::format("{}.svc.{}", ns, kClusterDomain),
                                        fmt::format("svc.{}", kClusterDomain),
                                        std::string(kClusterDomain)};
      for (const std::string& search : config.searches)
        add_once(searches, search);
      config.searches = std::move(searches);
      config.options = {"ndots:5"};
    }
  }
  add_pod_config(config, pod);
  return text_of_config(std::move(config));
}

}  // namespace yard
