#include "images/registry/registry_session.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/strings.h"
#include "images/registry/registry_endpoint.h"
#include "images/registry/registry_fault.h"
#include "images/registry/retry.h"

namespace yard {
namespace {

constexpr int kMostRedirects = 10, kMostTriesInAll = 64;

// What the network said, as a registry's fault; how far we came stays known.
Error transport_error(Error failure) {
  const auto& causes = failure.details.causes;
  const bool was_unreachable = !causes.empty() && causes.front().reason == "Unreachable";
  if (!causes.empty() && !was_unreachable) return failure;  // it says its fault already
  const bool is_odd =
      failure.reason == Reason::RequestEntityTooLarge || failure.reason == Reason::BadRequest;
  Error out = registry_error(is_odd ? RegistryFault::BadAnswer : RegistryFault::Unavailable,
                             std::move(failure.message));
  if (was_unreachable) out.details.causes.push_back({"Unreachable", "", ""});
  return out;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

RegistryFault fault_of_status(int status) {
  switch (status) {
    case 401: return RegistryFault::Unauthorized;
    case 403: return RegistryFault::Denied;
    case 404: return RegistryFault::NotFound;
    case 408: return RegistryFault::Unavailable;
    case 429: return RegistryFault::TooMany;
    default: return status >= 500 ? RegistryFault::Unavailable : RegistryFault::BadAnswer;
  }
}

// A server may repeat what it was sent.
std::string without_secrets(std::string words, const RegistryCredential& login) {
  for (const std::string* secret :
       {&login.password, &login.identity_token, &login.registry_token}) {
    for (size_t at; secret->size() > 2 && (at = words.find(*secret)) != std::string::npos;)
      words.replace(at, secret->size(), "...");
  }
  return words;
}

std::vector<Challenge> challenges_of(const ClientResponse& response) {
  std::vector<Challenge> out;
  for (const auto& [name, value] : response.headers) {
    if (!equals_ignore_case(name, "WWW-Authenticate")) continue;
    for (Challenge& challenge : parse_challenges(value))
      out.push_back(std::move(challenge));
  }
  return out;
}

// Whether the next login of the same place may fare better.
bool is_about_login(RegistryFault fault) {
  return fault == RegistryFault::Unauthorized || fault == RegistryFault::Denied ||
         fault == RegistryFault::NotFound;
}

}  // namespace

Registry::Session::Session(RegistrySetup setup)
    : setup_(std::move(setup)),
      logins_(setup_.logins, setup_.ask_helper),
      authorizer_(setup_.time),
      web_(make_web_client(setup_.proxies, setup_.timeouts)) {
  for (const std::string& problem : setup_.login_problems)
    logins_.add_problem(problem);
}

Result<std::vector<RegistryRoute>> Registry::Session::routes(const ImageReference& image) {
  std::vector<RegistryRoute> out;
  for (RegistryEndpoint& endpoint : TRY(registry_endpoints(setup_.config, image))) {
    std::vector<RegistryCredential> logins = logins_.for_image(endpoint.login_name);
    if (logins.empty()) logins.emplace_back();
    for (RegistryCredential& login : logins)
      out.push_back({endpoint, std::move(login)});
  }
  std::lock_guard lock(mutex_);
  const auto good = last_good_.find(image.name());
  if (good != last_good_.end()) {
    const auto at = std::ranges::find_if(out, [&](const RegistryRoute& route) {
      return same_place(route, good->second) && route.login == good->second.login;
    });
    if (at != out.end()) std::rotate(out.begin(), at, at + 1);
  }
  return out;
}

Result<void> Registry::Session::along_routes(
    const ImageReference& image, const std::function<Result<void>(const RegistryRoute&)>& ask) {
  const std::vector<RegistryRoute> all = TRY(routes(image));
  std::optional<Error> own_failure;
  bool had_login = false;
  std::vector<std::string> notes;
  std::vector<const RegistryRoute*> hopeless;
  for (const RegistryRoute& route : all) {
    if (std::ranges::any_of(hopeless, [&](auto* other) { return same_place(*other, route); }))
      continue;
    Result<void> done = ask(route);
    if (done) {
      std::lock_guard lock(mutex_);
      last_good_.insert_or_assign(image.name(), route);
      return {};
    }
    Error failure = std::move(done).error();
    if (!is_about_login(fault_of(failure))) hopeless.push_back(&route);
    if (route.endpoint.is_mirror) {
      notes.push_back(fmt::format("mirror {}", failure.message));
    } else {
      had_login = had_login || !route.login.is_anonymous();
      // Of several logins the first is the most exact one: its refusal tells most.
      if (!own_failure) own_failure = std::move(failure);
    }
  }
  check(own_failure.has_value(), "the registry itself is always a route");
  return finished(image, std::move(*own_failure), had_login, notes);
}

Error Registry::Session::finished(const ImageReference& image, Error failure, bool had_login,
                                  const std::vector<std::string>& notes) const {
  const RegistryFault fault = fault_of(failure);
  std::vector<std::string> all = notes;
  if (is_about_login(fault)) {
    for (const std::string& problem : logins_.problems())
      all.push_back(problem);
  }
  if (!all.empty()) failure.message += fmt::format(" ({})", join(all, "; "));
  set_mend(failure, mend_for(fault, {.registry = image.registry, .had_login = had_login}));
  return failure;
}

Result<void> Registry::Session::with_retries(
    const RegistryRoute& route, const std::function<Result<void>(int& failures)>& ask) {
  int failures = 0;
  for (int tries = 1;; ++tries) {
    Result<void> done = ask(failures);
    if (done) return done;
    ++failures;
    const auto wait = wait_before_retry({.failure = &done.error(),
                                         .failures = failures,
                                         .is_mirror = route.endpoint.is_mirror,
                                         .chance = setup_.time.chance()});
    if (!wait || tries == kMostTriesInAll) return done;
    setup_.time.pause(*wait);
  }
}

Result<WebTrust> Registry::Session::trust(const std::string& ca_file, bool verifies) {
  WebTrust out;
  out.verifies = verifies;
  if (ca_file.empty()) return out;
  std::lock_guard lock(mutex_);
  std::string& pem = authorities_[ca_file];
  if (pem.empty()) {
    std::ifstream stream(ca_file, std::ios::binary);
    pem.assign(std::istreambuf_iterator<char>(stream), {});
    if (pem.empty())
      return registry_error(RegistryFault::Untrusted,
                            fmt::format("the authority {} cannot be read", ca_file));
  }
  out.extra_ca_pem = pem;
  return out;
}

Result<ClientResponse> Registry::Session::follow(const RegistryRoute& route, WebRequest request,
                                                 const WebSinkChooser& sinks) {
  request.trust = TRY(trust(route.endpoint.ca_file, route.endpoint.verifies));
  for (int hops = 0; hops <= kMostRedirects; ++hops) {
    auto response = web_->call(request, sinks);
    if (!response) return transport_error(std::move(response).error());
    if (!is_redirect(response->status)) return response;
    auto next = resolve_url(request.url, response->header("Location"));
    if (!next)
      return registry_error(
          RegistryFault::BadAnswer,
          fmt::format("{} redirects to {}", route.endpoint.name, next.error().message));
    if (next->origin() != request.url.origin()) {
      // A login is for the server that asked for it.
      std::erase_if(request.headers, [](const auto& h) { return h.first == "Authorization"; });
      const RegistryTrust trusted = trust_for(setup_.config, *next);
      if (request.url.is_tls && !next->is_tls && !trusted.may_be_plain)
        return registry_error(RegistryFault::Untrusted,
                              fmt::format("{} redirects from TLS to plain http://{}",
                                          route.endpoint.name, next->host));
      request.trust = TRY(trust(trusted.ca_file, trusted.verifies));
    }
    request.url = std::move(*next);
  }
  return registry_error(RegistryFault::BadAnswer,
                        fmt::format("{} redirects without an end", route.endpoint.name));
}

Result<ClientResponse> Registry::Session::fetch_token(const RegistryRoute& route,
                                                      const TokenRequest& request) {
  auto url = parse_url(request.address);
  if (!url)
    return registry_error(RegistryFault::BadAnswer,
                          fmt::format("{} names a server of tokens with {}", route.endpoint.name,
                                      url.error().message));
  const bool is_own = url->origin() == route.endpoint.base.origin();
  const RegistryTrust trusted = trust_for(setup_.config, *url);
  if (!url->is_tls && route.endpoint.base.is_tls && !trusted.may_be_plain)
    return registry_error(
        RegistryFault::Untrusted,
        fmt::format("{} names a server of tokens without TLS, {}", route.endpoint.name, url->host));
  WebRequest sent;
  sent.method = request.method;
  sent.url = std::move(*url);
  // A registry's own authority often signs for its server of tokens too.
  sent.trust =
      TRY(is_own || trusted.ca_file.empty() ? trust(route.endpoint.ca_file, route.endpoint.verifies)
                                            : trust(trusted.ca_file, trusted.verifies));
  sent.headers = request.headers;
  sent.body = request.body;
  sent.most_kept = 1 << 20;
  auto response = web_->call(sent);
  if (!response) return transport_error(std::move(response).error());
  return response;
}

Result<ClientResponse> Registry::Session::send(const RegistryRoute& route,
                                               const RegistryQuestion& question,
                                               const WebSinkChooser& sinks) {
  const RegistryEndpoint& endpoint = route.endpoint;
  const Authorizer::Question who{
      endpoint.base.origin(), fmt::format("repository:{}:pull", endpoint.repository), route.login};
  const auto fetch = [&](const TokenRequest& request) { return fetch_token(route, request); };
  const auto named = [&](Error failure) {
    if (failure.message.find(endpoint.name) == std::string::npos)
      failure.message = fmt::format("{}: {}", endpoint.name, failure.message);
    failure.message = without_secrets(std::move(failure.message), route.login);
    return failure;
  };
  auto authorization = authorizer_.header(who, fetch);
  // The first 401 asks who we are; a second one may mean that a token has ended.
  for (int asked = 0;; ++asked) {
    if (!authorization) return named(std::move(authorization).error());
    WebRequest request;
    request.method = question.method;
    request.url = endpoint.base;
    request.url.target = fmt::format("/v2/{}/{}", endpoint.repository, question.path);
    request.headers = question.headers;
    request.most_kept = question.most_kept;
    if (!authorization->empty()) request.headers.emplace_back("Authorization", *authorization);
    auto response = follow(route, std::move(request), sinks);
    if (!response) return named(std::move(response).error());
    if (response->status != 401 || asked == 2) return response;
    auto next = authorizer_.answer(who, challenges_of(*response), *authorization, fetch);
    if (next && next->empty()) return response;
    authorization = std::move(next);
  }
}

Error Registry::Session::refusal(const RegistryRoute& route, std::string_view what,
                                 const ClientResponse& response) const {
  const std::string words = without_secrets(registry_words(response.body), route.login);
  Error failure = registry_error(
      fault_of_status(response.status),
      fmt::format("{} answers {} for {}/{}{}{}", route.endpoint.name, response.status,
                  route.endpoint.repository, what, words.empty() ? "" : ": ", words));
  const auto asked = parse_uint64(trim(response.header("Retry-After")));
  if (asked)
    failure.details.retry_after_seconds = static_cast<int>(std::min<uint64_t>(*asked, 86400));
  return failure;
}

}  // namespace yard
