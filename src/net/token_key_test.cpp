#include "net/token_key.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

TokenKey new_key() {
  auto pem = TokenKey::make_pem();
  check(pem.has_value(), "a key can be made");
  auto key = TokenKey::read(*pem);
  check(key.has_value(), "a key that was made can be read");
  return *key;
}

TEST(TokenKey, KnowsItsOwnSignatures) {
  const TokenKey key = new_key(), other = new_key();
  const std::string signature = *key.sign("header.payload");
  ASSERT_EQ(signature.size(), 64u);
  std::string damaged = signature;
  damaged[10] = static_cast<char>(damaged[10] ^ 1);
  struct Case {
    const char* about;
    const TokenKey& by;
    std::string text, signature;
    bool good;
  };
  const Case cases[] = {
      {"the text it signed", key, "header.payload", signature, true},
      {"another text", key, "header.payloae", signature, false},
      {"another key", other, "header.payload", signature, false},
      {"a bit that changed", key, "header.payload", damaged, false},
      {"no signature", key, "header.payload", "", false},
      {"one byte too few", key, "header.payload", signature.substr(1), false},
      {"one byte too many", key, "header.payload", signature + "x", false},
      {"zeros", key, "header.payload", std::string(64, '\0'), false},
      {"all bits", key, "header.payload", std::string(64, '\xff'), false},
  };
  for (const Case& each : cases)
    EXPECT_EQ(each.by.has_signed(each.text, each.signature), each.good) << each.about;
}

TEST(TokenKey, HasANameThatFollowsFromThePoint) {
  const std::string pem = *TokenKey::make_pem();
  const TokenKey once = *TokenKey::read(pem), again = *TokenKey::read(pem);
  EXPECT_EQ(once.id(), again.id());
  EXPECT_EQ(once.id().size(), 43u);
  EXPECT_EQ(once.x().size(), 32u);
  EXPECT_EQ(once.y().size(), 32u);
  EXPECT_NE(once.id(), new_key().id());
}

TEST(TokenKey, RefusesWhatIsNoKey) {
  for (const char* pem :
       {"", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"})
    EXPECT_FALSE(TokenKey::read(pem).has_value()) << pem;
}

}  // namespace
}  // namespace yard
