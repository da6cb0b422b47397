#pragma once
// How pods are on the network, as the agent and the runtime see it: which address a pod has, and
// the namespace its processes live in. IslandNetwork gives each pod its own; in SharedNetwork all
// are on the host's. Loop thread.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "node/network/ipv4.h"

namespace yard {

// Descriptors for a pod's shim; whoever is given them closes them. Below 0: none.
struct PodNamespaces {
  int net = -1;     // the pod's own
  int island = -1;  // held by the shim, so that the island outlives its keeper
  int user = -1;    // that owns both, of an ordinary user
};

// What pods are told of the network.
struct NetworkFacts {
  bool island = false;
  std::string api_host{};  // where they reach the API server
  int api_port = 0;
  std::string host_api_host = "127.0.0.1";  // and where pods with hostNetwork do
  int host_api_port = 0;
  std::string dns{};          // the cluster's resolver; "": there is none
  std::string resolv_conf{};  // the host's own
  std::string refusal{};      // why there is no island, for people
};

class PodNetwork {
 public:
  virtual ~PodNetwork() = default;
  const NetworkFacts& facts() const { return facts_; }
  void set_host_api(std::string host, int port) {
    facts_.host_api_host = std::move(host);
    facts_.host_api_port = port;
    if (facts_.island) return;
    facts_.api_host = facts_.host_api_host;
    facts_.api_port = port;
  }

  // The address of a pod, the same until it is released. `known` is the one it had before a
  // restart.
  std::string address_for(const std::string& uid, std::string_view known);
  std::string address_of(std::string_view uid) const;  // "": it has none
  void release(std::string_view uid);
  void withdraw(const std::string& uid);  // likewise, and its names go even if the pod stays

  // The namespaces for a pod about to start. By then all names that were to be known are known.
  // `done` may be called before this returns.
  virtual void prepare_start(const std::string& uid, const std::string& address,
                             std::function<void(Result<PodNamespaces>)> done) = 0;

  // A namespace of prepare_start that its pod has left as it found it, for another. Owns it.
  virtual void give_back(int net);

  // The names' side: told of each new address, of one withdrawn, and before each start.
  void on_allocated(std::function<void(const std::string& uid)> callback) {
    allocated_ = std::move(callback);
  }
  void before_start(std::function<void()> callback) { before_start_ = std::move(callback); }

 protected:
  explicit PodNetwork(NetworkFacts facts, Ipv4Range range)
      : facts_(std::move(facts)), addresses_(range) {}
  virtual std::optional<Ipv4> next_address() { return addresses_.take(); }
  virtual void released(Ipv4) {}
  void publish_names() const {
    if (before_start_) before_start_();
  }

  NetworkFacts facts_;
  AddressPool addresses_;

 private:
  std::map<std::string, Ipv4, std::less<>> pods_;  // by uid
  std::function<void(const std::string&)> allocated_;
  std::function<void()> before_start_;
};

// All pods on the host's network, each with a loopback address of its own: names of peers lead to
// different places.
class SharedNetwork : public PodNetwork {
 public:
  // `refusal` says why there is no island; "": nobody asked for one.
  explicit SharedNetwork(std::string refusal = "");
  // Called for each pod about to start, after its hosts file was written.
  void on_start(std::function<void(const std::string& uid)> callback) {
    starting_ = std::move(callback);
  }
  void prepare_start(const std::string& uid, const std::string& address,
                     std::function<void(Result<PodNamespaces>)> done) override;

 private:
  std::function<void(const std::string& uid)> starting_;
};

// The addresses that the launch files of a state folder's pods name.
std::map<std::string, Ipv4> launched_addresses(const std::string& state_folder);
std::string host_resolv_conf();

}  // namespace yard
