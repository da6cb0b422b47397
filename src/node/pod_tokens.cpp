#include "node/pod_tokens.h"

#include <algorithm>

#include "api/tree.h"
#include "base/log.h"

namespace yard {
namespace {

constexpr Duration kRetry = std::chrono::minutes(1);  // after a renewal that failed
constexpr int64_t kDefaultSeconds = 3600;

}  // namespace

bool mounts_token(const Json& volume) {
  return std::ranges::any_of(list_at(volume, {"projected", "sources"}), [](const Json& source) {
    return find(source, "serviceAccountToken") != nullptr;
  });
}

std::vector<TokenWanted> wanted_tokens(const Json& pod) {
  std::vector<TokenWanted> out;
  for (const Json& volume : list_at(pod, {"spec", "volumes"})) {
    for (const Json& source : list_at(volume, {"projected", "sources"})) {
      const Json* projection = find(source, "serviceAccountToken");
      if (projection == nullptr) continue;
      TokenWanted wanted;
      wanted.ns = text_at(pod, {"metadata", "namespace"});
      wanted.service_account = text_at(pod, {"spec", "serviceAccountName"}, "default");
      wanted.audience = text_at(*projection, {"audience"});
      wanted.expiration_seconds = int_at(*projection, {"expirationSeconds"}, kDefaultSeconds);
      wanted.pod = text_at(pod, {"metadata", "name"});
      wanted.pod_uid = text_at(pod, {"metadata", "uid"});
      const bool is_there = std::ranges::any_of(out, [&](const TokenWanted& other) {
        return other.audience == wanted.audience &&
               other.expiration_seconds == wanted.expiration_seconds;
      });
      if (!is_there) out.push_back(std::move(wanted));
    }
  }
  return out;
}

PodTokens::PodTokens(TokenSource* source, Loop& loop,
                     std::function<void(const std::string& uid)> renewed)
    : source_(source), loop_(loop), renewed_(std::move(renewed)) {}

PodTokens::~PodTokens() {
  *alive_ = false;
  for (const auto& [uid, held] : held_)
    loop_.cancel(held.timer);
}

void PodTokens::prepare(const Json& pod, const std::string& node,
                        std::function<void(Result<void>)> done) {
  std::vector<TokenWanted> wanted = wanted_tokens(pod);
  if (source_ == nullptr || wanted.empty()) return done({});
  for (TokenWanted& each : wanted)
    each.node = node;
  const std::string uid(text_at(pod, {"metadata", "uid"}));
  held_[uid].wanted = std::move(wanted);
  request(uid, std::move(done));
}

void PodTokens::adopt(const Json& pod) {
  if (source_ == nullptr || wanted_tokens(pod).empty()) return;
  const std::string uid(text_at(pod, {"metadata", "uid"}));
  const std::string node(text_at(pod, {"spec", "nodeName"}));
  prepare(pod, node, [this, uid](const Result<void>& ready) {
    if (ready) return renewed_(uid);
    renew_after(uid, kRetry);
  });
}

void PodTokens::request(const std::string& uid, std::function<void(Result<void>)> done) {
  Held& held = held_[uid];
  struct Round {
    std::vector<IssuedToken> tokens;
    size_t left = 0;
    Result<void> outcome;
    std::function<void(Result<void>)> done;
  };
  auto round = std::make_shared<Round>();
  round->left = held.wanted.size();
  round->tokens.resize(round->left);
  round->done = std::move(done);
  const uint64_t number = ++held.round;
  for (size_t i = 0; i < held.wanted.size(); ++i) {
    source_->request_token(
        held.wanted[i], [this, round, i, uid, number, alive = alive_](Result<IssuedToken> answer) {
          if (!*alive) return;
          if (answer) {
            round->tokens[i] = std::move(*answer);
          } else if (round->outcome) {
            round->outcome = answer.error();
          }
          if (--round->left > 0) return;
          const auto found = held_.find(uid);
          if (found == held_.end() || found->second.round != number) return;
          if (round->outcome) {
            Duration wait = Duration::max();
            for (const IssuedToken& token : round->tokens)
              wait = std::min(wait, (token.expires - token.issued) * 4 / 5);
            found->second.tokens = std::move(round->tokens);
            renew_after(uid, wait);
          }
          round->done(round->outcome);
        });
  }
}

void PodTokens::renew_after(const std::string& uid, Duration wait) {
  Held& held = held_[uid];
  loop_.cancel(held.timer);
  held.timer = loop_.after(wait, [this, uid] {
    held_[uid].timer = 0;
    request(uid, [this, uid](const Result<void>& ready) {
      if (ready) return renewed_(uid);
      log_warning("the token of pod {} was not renewed: {}", held_[uid].wanted.front().pod,
                  ready.error().message);
      renew_after(uid, kRetry);
    });
  });
}

std::string PodTokens::token(std::string_view uid, std::string_view audience,
                             int64_t seconds) const {
  const auto found = held_.find(uid);
  if (found == held_.end()) return {};
  const Held& held = found->second;
  for (size_t i = 0; i < held.tokens.size(); ++i) {
    if (held.wanted[i].audience == audience && held.wanted[i].expiration_seconds == seconds)
      return held.tokens[i].token;
  }
  return {};
}

void PodTokens::forget(std::string_view uid) {
  const auto found = held_.find(uid);
  if (found == held_.end()) return;
  loop_.cancel(found->second.timer);
  held_.erase(found);
}

}  // namespace yard
