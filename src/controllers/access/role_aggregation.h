#pragma once
// Keeps the rules of ClusterRoles that are made of others: admin, edit, view and those of
// operators. Loop thread.

#include <memory>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

class RoleAggregation {
 public:
  RoleAggregation(Loop& loop, Client& client);
  ~RoleAggregation();
  RoleAggregation(const RoleAggregation&) = delete;
  RoleAggregation& operator=(const RoleAggregation&) = delete;

 private:
  void look_soon();
  void look();

  Loop& loop_;
  Client& client_;
  Client::Subscription subscription_ = 0;
  bool is_posted_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
