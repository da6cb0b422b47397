#pragma once
// An APIService for every group and version that is served, the custom ones as they come and go.
// Loop thread.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

struct ServedVersion {
  std::string api_version;  // batch/v1
  bool custom = false;
};
// What makes `live` (APIServices) say what is served. Pure.
std::vector<ClientWrite> api_service_writes(const std::vector<ServedVersion>& served,
                                            const std::vector<Json>& live);

class ApiServices {
 public:
  using Served = std::function<std::vector<ServedVersion>()>;
  ApiServices(Loop& loop, Client& client, Served served);
  ~ApiServices();
  ApiServices(const ApiServices&) = delete;
  ApiServices& operator=(const ApiServices&) = delete;

 private:
  void look();

  Loop& loop_;
  Client& client_;
  Served served_;
  std::vector<Client::Subscription> subscriptions_;
  bool will_look_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
