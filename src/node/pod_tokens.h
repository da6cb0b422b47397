#pragma once
// The ServiceAccount tokens that pods of this node have mounted: asked for before a pod starts, and
// again when four fifths of their life are over (as the kubelet does). Loop thread.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "client/token_source.h"
#include "json/json.h"

namespace yard {

// The tokens a pod's projected volumes ask for, each once.
std::vector<TokenWanted> wanted_tokens(const Json& pod);
bool mounts_token(const Json& volume);  // an entry of spec.volumes

class PodTokens {
 public:
  // `source` may be null: then there are no tokens, and their files are empty. `renewed` hears of
  // pods whose mounted tokens are to be written anew.
  PodTokens(TokenSource* source, Loop& loop, std::function<void(const std::string& uid)> renewed);
  ~PodTokens();
  PodTokens(const PodTokens&) = delete;
  PodTokens& operator=(const PodTokens&) = delete;

  bool has_tokens_for(const Json& pod) const {
    return source_ != nullptr && !wanted_tokens(pod).empty();
  }
  // Calls `done` when the pod's tokens are there: at once when it mounts none. They name `node`,
  // where the pod runs or is being bound to.
  void prepare(const Json& pod, const std::string& node, std::function<void(Result<void>)> done);
  // A pod of an earlier server: its tokens are renewed now, since nobody knows how old they are.
  void adopt(const Json& pod);
  std::string token(std::string_view uid, std::string_view audience, int64_t seconds) const;
  void forget(std::string_view uid);

 private:
  struct Held {
    std::vector<TokenWanted> wanted;
    std::vector<IssuedToken> tokens;  // beside `wanted`, once all are there
    uint64_t round = 0;               // answers of an older round are not heard
    TimerId timer = 0;
  };
  void request(const std::string& uid, std::function<void(Result<void>)> done);
  void renew_after(const std::string& uid, Duration wait);

  TokenSource* source_;
  Loop& loop_;
  std::function<void(const std::string& uid)> renewed_;
  std::map<std::string, Held, std::less<>> held_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
