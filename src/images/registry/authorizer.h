#pragma once
// Answers the question "who are you" of registries: basic logins and bearer tokens, kept until they
// end. Any thread; of several that need the same token one fetches it.

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "images/registry/challenge.h"
#include "images/registry/credentials.h"
#include "net/blocking_time.h"
#include "net/web_client.h"

namespace yard {

// A request for a token, before it is known how its server is trusted.
struct TokenRequest {
  std::string method, address, body;
  Headers headers;
};
// `scope` stands in where the challenge has none. A GET with the login in a header, or OAuth2's
// POST when the login is an identity token.
TokenRequest token_request(const Challenge& challenge, std::string_view scope,
                           const RegistryCredential& login);

struct RegistryToken {
  std::string text;
  Time ends;
};
// Tokens without an end are taken to last a minute, as the protocol says.
Result<RegistryToken> parse_token(std::string_view body, Time now);

// The challenge to answer: bearer before basic, and basic only with a login. Null: none can be.
const Challenge* answerable(const std::vector<Challenge>& challenges,
                            const RegistryCredential& login);

class Authorizer {
 public:
  // Sends one request for a token over a connection the server of tokens is trusted on.
  using FetchToken = std::function<Result<ClientResponse>(const TokenRequest& request)>;

  explicit Authorizer(BlockingTime time) : time_(std::move(time)) {}

  struct Question {
    std::string origin;  // of the registry
    std::string scope;   // repository:team/model:pull
    RegistryCredential login;
    friend auto operator<=>(const Question&, const Question&) = default;
  };
  // What to send before being asked: what was accepted last, renewed when it is about to end; "" at
  // first.
  Result<std::string> header(const Question& question, const FetchToken& fetch);
  // What to send after a 401 with these challenges to a request that carried `refused`; "" when
  // there is nothing else to say.
  Result<std::string> answer(const Question& question, const std::vector<Challenge>& challenges,
                             const std::string& refused, const FetchToken& fetch);

 private:
  struct Answer {
    Challenge challenge;
    std::string header;
    Time ends;
  };
  Result<Answer> make_answer(const Question& question, const Challenge& challenge,
                             const FetchToken& fetch);

  const BlockingTime time_;
  std::mutex mutex_;  // held while a token is fetched
  std::map<Question, Answer> answers_;
};

}  // namespace yard
