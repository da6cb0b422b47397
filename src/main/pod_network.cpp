#include "main/pod_network.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"

namespace yard {

std::string PodNetworkWiring::problem() const {
  if (island) return join(island->notes(), "; ");
  return shared->facts().refusal;
}

PodNetworkWiring open_pod_network(Loop& loop, const std::string& state_folder, bool shared) {
  PodNetworkWiring out;
  std::string refusal =
      "pods share the host's network, as config.yaml says: ports may clash, and a ClusterIP leads "
      "nowhere; `network: island` gives each pod its own";
  if (!shared) {
    auto island = IslandNetwork::open(loop, state_folder);
    if (island) {
      out.island = std::move(*island);
      return out;
    }
    refusal = fmt::format(
        "pods share the host's network, because this machine allows no island ({}): ports may "
        "clash, and a ClusterIP leads nowhere",
        island.error().message);
    log_warning("{}", refusal);
  }
  out.shared = std::make_unique<SharedNetwork>(refusal);
  out.hosts = std::make_unique<HostsNames>(loop, state_folder);
  return out;
}

void start_names(PodNetworkWiring& wiring, Client& client, Loop& loop,
                 std::function<void(std::string problem)> on_problem) {
  NameSink& sink = wiring.island ? static_cast<NameSink&>(*wiring.island)
                                 : static_cast<NameSink&>(*wiring.hosts);
  wiring.names = std::make_unique<NameFeed>(client, loop, wiring.network(), sink);
  wiring.names->start();
  if (wiring.island) {
    wiring.island->on_reset([&wiring] { wiring.names->tell_all(); });
    wiring.island->on_note([&wiring, on_problem] { on_problem(wiring.problem()); });
  } else {
    wiring.shared->on_start([&wiring](const std::string& uid) { wiring.hosts->write_names(uid); });
  }
}

}  // namespace yard
