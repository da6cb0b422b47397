#include "images/registry/authorizer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "images/registry/registry_fault.h"
#include "json/json.h"

namespace yard {
namespace {

constexpr Duration kRenewAhead = std::chrono::seconds(10), kUnsaidLength = std::chrono::seconds(60);
constexpr Duration kLongestLength = std::chrono::hours(24);
constexpr size_t kLongestToken = 64 * 1024;

std::string basic_header(const RegistryCredential& login) {
  return "Basic " + base64_encode(login.username + ":" + login.password);
}

bool is_header_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

TokenRequest token_request(const Challenge& challenge, std::string_view scope,
                           const RegistryCredential& login) {
  TokenRequest out;
  out.address = challenge.value("realm");
  const std::string service = challenge.value("service");
  std::string asked = challenge.value("scope");
  if (asked.empty()) asked = scope;
  std::string query;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    query += fmt::format("{}{}={}", query.empty() ? "" : "&", name, query_encoded(value));
  };
  add("service", service);
  if (!login.identity_token.empty()) {
    out.method = "POST";
    add("grant_type", "refresh_token");
    add("client_id", "trainyard");
    add("scope", asked);
    add("refresh_token", login.identity_token);
    out.body = std::move(query);
    out.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    return out;
  }
  out.method = "GET";
  // Several scopes are parted by spaces in the challenge and are parameters of their own here.
  for (const std::string_view one : split(asked, ' '))
    add("scope", one);
  if (!login.username.empty()) {
    add("account", login.username);
    out.headers = {{"Authorization", basic_header(login)}};
  }
  out.address += (out.address.find('?') == std::string::npos ? "?" : "&") + query;
  return out;
}

Result<RegistryToken> parse_token(std::string_view body, Time now) {
  auto parsed = parse_json(body, {.max_depth = 16});
  if (!parsed)
    return registry_error(RegistryFault::BadAnswer, "the server of tokens sends no JSON");
  const Json& tree = parsed->value;
  RegistryToken out;
  out.text = text_at(tree, {"token"});
  if (out.text.empty()) out.text = text_at(tree, {"access_token"});
  if (out.text.empty() || out.text.size() > kLongestToken || !is_header_text(out.text))
    return registry_error(RegistryFault::BadAnswer, "the server of tokens sends no token");
  const int64_t seconds = int_at(tree, {"expires_in"});
  const Duration length = seconds <= 0      ? kUnsaidLength
                          : seconds > 86400 ? kLongestLength
                                            : Duration(std::chrono::seconds(seconds));
  out.ends = now + length;
  return out;
}

const Challenge* answerable(const std::vector<Challenge>& challenges,
                            const RegistryCredential& login) {
  const auto of_scheme = [&](std::string_view scheme) {
    const auto found = std::ranges::find(challenges, scheme, &Challenge::scheme);
    return found == challenges.end() ? nullptr : &*found;
  };
  const Challenge* bearer = of_scheme("bearer");
  if (bearer && (!bearer->value("realm").empty() || !login.registry_token.empty())) return bearer;
  return login.username.empty() ? nullptr : of_scheme("basic");
}

Result<std::string> Authorizer::header(const Question& question, const FetchToken& fetch) {
  if (!question.login.registry_token.empty()) return "Bearer " + question.login.registry_token;
  std::lock_guard lock(mutex_);
  const auto known = answers_.find(question);
  if (known == answers_.end()) return std::string();
  if (known->second.ends <= time_.now() + kRenewAhead) {
    Answer renewed = TRY(make_answer(question, known->second.challenge, fetch));
    known->second = std::move(renewed);
  }
  return known->second.header;
}

Result<std::string> Authorizer::answer(const Question& question,
                                       const std::vector<Challenge>& challenges,
                                       const std::string& refused, const FetchToken& fetch) {
  if (!question.login.registry_token.empty()) return std::string();
  const Challenge* challenge = answerable(challenges, question.login);
  if (!challenge) return std::string();
  std::lock_guard lock(mutex_);
  // Another thread may have been asked the same and have the answer by now.
  const auto known = answers_.find(question);
  if (known != answers_.end() && known->second.header != refused &&
      known->second.ends > time_.now() + kRenewAhead)
    return known->second.header;
  Answer made = TRY(make_answer(question, *challenge, fetch));
  if (made.header == refused) return std::string();
  return (answers_[question] = std::move(made)).header;
}

Result<Authorizer::Answer> Authorizer::make_answer(const Question& question,
                                                   const Challenge& challenge,
                                                   const FetchToken& fetch) {
  if (challenge.scheme == "basic")
    return Answer{challenge, basic_header(question.login), Time::max() - kLongestLength};
  const TokenRequest request = token_request(challenge, question.scope, question.login);
  ClientResponse response = TRY(fetch(request));
  if (response.status / 100 != 2) {
    const RegistryFault fault = response.status == 401   ? RegistryFault::Unauthorized
                                : response.status == 403 ? RegistryFault::Denied
                                : response.status == 429 ? RegistryFault::TooMany
                                : response.status >= 500 ? RegistryFault::Unavailable
                                                         : RegistryFault::Unauthorized;
    const std::string words = registry_words(response.body);
    return registry_error(fault, fmt::format("the server of tokens answers {}{}{}", response.status,
                                             words.empty() ? "" : ": ", words));
  }
  RegistryToken token = TRY(parse_token(response.body, time_.now()));
  return Answer{challenge, "Bearer " + token.text, token.ends};
}

}  // namespace yard
