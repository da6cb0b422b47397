#pragma once
// What a cluster has from its first moment: namespaces, roles, the kubernetes Service, and in each
// namespace the default ServiceAccount and the CA's ConfigMap (design.md §8).

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

struct ClusterIdentity {
  std::string ca_pem;
  int port = 0;
  // Where others reach the server; empty when it listens on the loopback alone: pods then reach it
  // at its Service's own address.
  std::string address = {};
};

// The definition of a kind that is served whether it has one or not; the server fills in the rest.
ClientWrite built_in_definition(const std::string& name);

// Creates what is missing, then calls `done` (with the first error that was not AlreadyExists).
void create_initial_objects(Client& client, const ClusterIdentity& identity,
                            std::function<void(Result<void>)> done);

// Keeps the default ServiceAccount and kube-root-ca.crt in every namespace that is not going away,
// and the cluster's own namespaces: one that is deleted, with an operator's overlay perhaps, is
// back a moment later, empty.
class NamespaceContents {
 public:
  NamespaceContents(Client& client, Loop& loop, ClusterIdentity identity);
  ~NamespaceContents();

 private:
  void ensure(std::string_view ns);
  void make_again(std::string_view ns);
  Client& client_;
  Loop& loop_;
  ClusterIdentity identity_;
  std::vector<Client::Subscription> subscriptions_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
