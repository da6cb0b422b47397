// A server may say anything when it asks who we are, and when it says what went wrong.
#include <cstddef>
#include <cstdint>

#include "images/registry/authorizer.h"
#include "images/registry/challenge.h"
#include "images/registry/credentials.h"
#include "images/registry/registry_fault.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  for (const auto& challenge : yard::parse_challenges(text))
    yard::token_request(challenge, "repository:a:pull", {"user", "word", "", ""});
  yard::registry_words(text);
  (void)yard::parse_token(text, yard::Time{});
  (void)yard::parse_helper_answer(text);
  if (auto config = yard::parse_docker_config(text)) {
    yard::matching_logins(*config, "registry.example:5000/team/model");
    yard::helper_for(*config, "docker.io/library/x");
  }
  return 0;
}
