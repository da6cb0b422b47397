#pragma once
// Keeps the kinds of established CustomResourceDefinitions served: every change of a definition
// becomes new kinds in the API server, and objects stored under the old ones are brought to the new
// form. Loop thread.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/server.h"

namespace yard {

class CustomResources {
 public:
  // Serves at once what the store holds.
  CustomResources(Loop& loop, Store& store, ApiServer& api);
  ~CustomResources();
  CustomResources(const CustomResources&) = delete;
  CustomResources& operator=(const CustomResources&) = delete;

 private:
  struct Definition {
    uint64_t signature = 0;  // of everything the kinds depend on
    std::vector<KindPtr> kinds;
  };
  struct Conversion;
  void changed(const StoreEventPtr& event);
  bool load(const Object& definition);  // answers whether its kinds are others now
  void publish();
  void convert_stored(const std::string& definition);
  void convert_some(const std::shared_ptr<Conversion>& conversion);
  void remove_leftovers(const std::string& storage);

  Loop& loop_;
  Store& store_;
  ApiServer& api_;
  Store::ListenerId listener_ = 0;
  std::map<std::string, Definition, std::less<>>
      definitions_;  // by name, which is also their storage
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
