#include "node/pod_tokens.h"

#include <gtest/gtest.h>

#include "json/yaml.h"
#include "testing/sim_loop.h"

namespace yard {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Json pod(const std::string& sources) {
  auto parsed = parse_yaml(
      "{metadata: {name: p, namespace: q, uid: u}, spec: {serviceAccountName: s, volumes: [{name: "
      "v, projected: {sources: [" +
      sources + "]}}]}}");
  check(parsed.has_value(), "the test's YAML is right");
  return std::move(parsed->front().parsed.value);
}

// Numbers its tokens; refuses when told to.
class CountingSource : public TokenSource {
 public:
  explicit CountingSource(Loop& loop) : loop_(loop) {}
  void request_token(const TokenWanted& wanted,
                     std::function<void(Result<IssuedToken>)> done) override {
    Result<IssuedToken> answer = error(Reason::NotFound, "no such account");
    if (!refuses) {
      answer = IssuedToken{wanted.audience + std::to_string(++issued), loop_.now(),
                           loop_.now() + seconds(wanted.expiration_seconds)};
    }
    loop_.post([done = std::move(done), answer] { done(answer); });
  }
  bool refuses = false;
  int issued = 0;

 private:
  Loop& loop_;
};

struct World {
  SimLoop loop{1};
  CountingSource source{loop};
  std::vector<std::string> renewed;
  PodTokens tokens{&source, loop, [this](const std::string& uid) { renewed.push_back(uid); }};
  std::optional<Result<void>> ready;
  void prepare(const Json& of) {
    ready.reset();
    tokens.prepare(of, "n", [this](const Result<void>& outcome) { ready = outcome; });
    loop.advance(seconds(1));
  }
};

const char* const kToken = "{serviceAccountToken: {path: token, expirationSeconds: 1000}}";

TEST(PodTokens, AreThereBeforeThePodStarts) {
  World world;
  world.prepare(pod(kToken));
  ASSERT_TRUE(world.ready && *world.ready);
  EXPECT_EQ(world.tokens.token("u", "", 1000), "1");
  EXPECT_EQ(world.tokens.token("u", "vault", 1000), "");
  EXPECT_EQ(world.tokens.token("other", "", 1000), "");
}

TEST(PodTokens, AreRenewedAfterFourFifthsOfTheirLife) {
  World world;
  world.prepare(pod(kToken));
  world.loop.advance(seconds(790));
  EXPECT_EQ(world.tokens.token("u", "", 1000), "1");
  EXPECT_TRUE(world.renewed.empty());
  world.loop.advance(seconds(20));
  EXPECT_EQ(world.tokens.token("u", "", 1000), "2");
  EXPECT_EQ(world.renewed, std::vector<std::string>{"u"});
  world.loop.advance(seconds(800));
  EXPECT_EQ(world.renewed.size(), 2u);
}

TEST(PodTokens, ARenewalThatFailsIsTriedAgain) {
  World world;
  world.prepare(pod(kToken));
  world.source.refuses = true;
  world.loop.advance(seconds(810));
  EXPECT_EQ(world.tokens.token("u", "", 1000), "1");
  world.source.refuses = false;
  world.loop.advance(minutes(1));
  EXPECT_EQ(world.tokens.token("u", "", 1000), "2");
}

TEST(PodTokens, OfAPodThatIsGoneAreForgotten) {
  World world;
  world.prepare(pod(kToken));
  world.tokens.forget("u");
  world.loop.advance(minutes(60));
  EXPECT_EQ(world.source.issued, 1);
  EXPECT_TRUE(world.renewed.empty());
}

TEST(PodTokens, OfAnEarlierServerAreRenewedAtOnce) {
  World world;
  world.tokens.adopt(pod(kToken));
  world.loop.advance(seconds(1));
  EXPECT_EQ(world.renewed, std::vector<std::string>{"u"});
}

TEST(PodTokens, TheSameIsAskedForOnce) {
  const std::string vault = "{serviceAccountToken: {path: v, audience: vault}}";
  EXPECT_EQ(wanted_tokens(pod(std::string(kToken) + "," + kToken + "," + vault)).size(), 2u);
  EXPECT_TRUE(wanted_tokens(pod("{configMap: {name: x}}")).empty());
}

TEST(PodTokens, ARefusalIsTold) {
  World world;
  world.source.refuses = true;
  world.prepare(pod(kToken));
  ASSERT_TRUE(world.ready);
  EXPECT_FALSE(*world.ready);
  PodTokens none(nullptr, world.loop, [](const std::string&) {});
  bool called = false;
  none.prepare(pod(kToken), "n",
               [&](const Result<void>& outcome) { called = outcome.has_value(); });
  EXPECT_TRUE(called) << "without a source nothing is waited for";
}

}  // namespace
}  // namespace yard
