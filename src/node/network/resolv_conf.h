#pragma once
// A pod's /etc/resolv.conf (kubernetes-core D2). Pure.

#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace yard {

// `host` is the text of the host's own file, `cluster_dns` the island's resolver, "" where there is
// none. An empty answer: the pod sees the host's file.
std::string resolv_conf(const Json& pod, std::string_view host, std::string_view cluster_dns);

// The nameservers that a resolv.conf names.
std::vector<std::string> nameservers_of(std::string_view resolv_conf_text);

}  // namespace yard
