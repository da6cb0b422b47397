// Who we are to a registry: challenges, tokens, files of logins and which of them is meant.
#include "images/registry/logins.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "images/registry/authorizer.h"
#include "images/registry/credential_helper.h"
#include "images/registry/reference.h"
#include "images/registry/registry_fault.h"

namespace yard {
namespace {

std::string shown(const std::vector<Challenge>& challenges) {
  std::string out;
  for (const Challenge& challenge : challenges) {
    out += (out.empty() ? "" : " | ") + challenge.scheme;
    for (const auto& [name, value] : challenge.values)
      out += fmt::format(" {}={}", name, value);
  }
  return out;
}

TEST(Challenges, AreRead) {
  const struct {
    const char *header, *shown;
  } cases[] = {
      {"", ""},
      {"Basic realm=\"Registry Realm\"", "basic realm=Registry Realm"},
      {"Bearer realm=\"https://auth.example/token\",service=\"reg\",scope=\"repository:a/b:pull\"",
       "bearer realm=https://auth.example/token scope=repository:a/b:pull service=reg"},
      {"Bearer realm=https://auth.example/token , Basic realm=x",
       "bearer realm=https://auth.example/token | basic realm=x"},
      {"Negotiate, Basic realm=\"a, b\", Bearer realm=\"c\"",
       "negotiate | basic realm=a, b | bearer realm=c"},
      {"BEARER REALM=\"q\\\"uote\"", "bearer realm=q\"uote"},
      {"Bearer realm = \"spaces\" ,  service = x", "bearer realm=spaces service=x"},
      {"Bearer realm=\"not closed", "bearer realm=not closed"},
      {"realm=\"of nobody\", Basic", "basic"},
      {",,, ;;; \"\" Basic realm=x", "basic realm=x"},
      {"Bearer realm=a, realm=b", "bearer realm=a"},
  };
  for (const auto& each : cases)
    EXPECT_EQ(shown(parse_challenges(each.header)), each.shown) << each.header;
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "Basic, ";
  EXPECT_EQ(parse_challenges(many).size(), 16u);
}

TEST(Tokens, AreAskedForByGetOrByTheFormOfOauth) {
  const Challenge challenge = parse_challenges(
      "Bearer realm=\"https://auth.example/token?x=1\",service=\"reg ex\",scope=\"a:b:pull "
      "c:d:pull\"")[0];
  const TokenRequest anonymous = token_request(challenge, "unused", {});
  EXPECT_EQ(anonymous.method, "GET");
  EXPECT_EQ(
      anonymous.address,
      "https://auth.example/token?x=1&service=reg%20ex&scope=a%3Ab%3Apull&scope=c%3Ad%3Apull");
  EXPECT_TRUE(anonymous.headers.empty());
  const TokenRequest named = token_request(parse_challenges("Bearer realm=\"https://t/\"")[0],
                                           "repository:m:pull", {"me", "hush", "", ""});
  EXPECT_EQ(named.address, "https://t/?scope=repository%3Am%3Apull&account=me");
  EXPECT_EQ(named.headers[0].second, "Basic " + base64_encode("me:hush"));
  const TokenRequest refreshed = token_request(challenge, "", {"", "", "identity", ""});
  EXPECT_EQ(refreshed.method, "POST");
  EXPECT_EQ(refreshed.body,
            "service=reg%20ex&grant_type=refresh_token&client_id=trainyard&"
            "scope=a%3Ab%3Apull%20c%3Ad%3Apull&refresh_token=identity");
}

TEST(Tokens, EndWhenTheirServerSays) {
  const Time now = from_unix_seconds(1000);
  const struct {
    const char *body, *token;
    int64_t ends;
  } cases[] = {
      {R"({"token":"a","expires_in":300})", "a", 1300},
      {R"({"access_token":"b"})", "b", 1060},
      {R"({"token":"a","access_token":"b","expires_in":-5})", "a", 1060},
      {R"({"token":"a","expires_in":99999999999})", "a", 1000 + 86400},
      {R"({"token":""})", "", 0},
      {R"({"token":"a\nX-Injected: 1"})", "", 0},
      {R"({"token":5})", "", 0},
      {"<html>", "", 0},
  };
  for (const auto& each : cases) {
    auto token = parse_token(each.body, now);
    EXPECT_EQ(token ? token->text : "", each.token) << each.body;
    EXPECT_EQ(token ? unix_seconds(token->ends) : 0, each.ends) << each.body;
  }
}

TEST(Tokens, AreKeptUntilTheyAreAboutToEnd) {
  Time now = from_unix_seconds(0);
  BlockingTime time{[&] { return now; }, [](Duration) {}, [] { return 0.5; }};
  Authorizer authorizer(time);
  int fetched = 0;
  const auto fetch = [&](const TokenRequest&) -> Result<ClientResponse> {
    return ClientResponse{200, {}, fmt::format(R"({{"token":"t{}","expires_in":100}})", ++fetched)};
  };
  const Authorizer::Question who{"https://r", "repository:a:pull", {}};
  const auto challenges = parse_challenges("Bearer realm=\"https://t/\"");
  EXPECT_EQ(authorizer.header(who, fetch).value(), "");
  EXPECT_EQ(authorizer.answer(who, challenges, "", fetch).value(), "Bearer t1");
  EXPECT_EQ(authorizer.header(who, fetch).value(), "Bearer t1");
  now += std::chrono::seconds(89);
  EXPECT_EQ(authorizer.header(who, fetch).value(), "Bearer t1");
  now += std::chrono::seconds(1);
  EXPECT_EQ(authorizer.header(who, fetch).value(), "Bearer t2") << "renewed before it ends";
  EXPECT_EQ(authorizer.answer(who, challenges, "Bearer t1", fetch).value(), "Bearer t2")
      << "what another thread has fetched meanwhile";
  EXPECT_EQ(authorizer.answer(who, challenges, "Bearer t2", fetch).value(), "Bearer t3")
      << "one that is refused is not sent again";
  EXPECT_EQ(authorizer.header({"https://r", "repository:b:pull", {}}, fetch).value(), "")
      << "a token is for one repository";
  EXPECT_EQ(fetched, 3);
}

TEST(Tokens, WithoutALoginBasicCannotBeAnswered) {
  const auto both = parse_challenges("Basic realm=x, Bearer realm=\"https://t\"");
  const auto basic = parse_challenges("Basic realm=x");
  const RegistryCredential login{"me", "hush", "", ""};
  EXPECT_EQ(answerable(both, {})->scheme, "bearer");
  EXPECT_EQ(answerable(both, login)->scheme, "bearer");
  EXPECT_EQ(answerable(basic, login)->scheme, "basic");
  EXPECT_EQ(answerable(basic, {}), nullptr);
  EXPECT_EQ(answerable(parse_challenges("Bearer, Negotiate"), login), nullptr);
}

TEST(Logins, MatchAsTheKubeletMatches) {
  const std::string older = default_registry_login();
  const struct {
    std::string address, name;
    bool matches;
  } cases[] = {
      {"r.io", "r.io/a", true},
      {"https://r.io", "r.io/a", true},
      {"http://r.io/", "r.io/a", true},
      {"https://r.io/v1/", "r.io/a", true},
      {"https://r.io/v2/team", "r.io/team/a", true},
      {"r.io/team", "r.io/team/a", true},
      {"r.io/team", "r.io/other/a", false},
      {"r.io/team/a", "r.io/team/a", true},
      {"r.io:5000", "r.io/a", false},
      {"r.io:5000", "r.io:5000/a", true},
      {"r.io", "r.io:5000/a", false},
      {"*.r.io", "x.r.io/a", true},
      {"*.r.io", "r.io/a", false},
      {"*.r.io", "x.y.r.io/a", false},
      {"*.*.r.io", "x.y.r.io/a", true},
      {"pre*fix.r.io:1/p", "pre-any-fix.r.io:1/p/q", true},
      {"*", "r.io/a", false},
      {"*", "localhost/a", true},
      {"[::1]:5000", "[::1]:5000/a", true},
      {"[::1]:5000", "[::1]:5001/a", false},
      {"", "r.io/a", false},
      {"docker.io", "docker.io/library/a", true},
  };
  for (const auto& each : cases)
    EXPECT_EQ(is_login_for(each.address, each.name), each.matches)
        << each.address << " " << each.name;
}

TEST(Logins, TheMostExactComesFirst) {
  const std::string address = default_registry_login_address();
  const DockerConfig config =
      parse_docker_config(fmt::format(
                              R"({{"auths": {{"r.io": {{"username": "host", "password": "p"}},
         "r.io/team": {{"auth": "{}"}},
         "*.io": {{"auth": "{}"}},
         "{}": {{"username": "hub", "password": "p"}}, "empty.io": {{}}}}}})",
                              base64_encode("team:with:colons"), "Z2xvYjpw", address))
          .value();
  const auto names = [&](std::string_view image) {
    std::string out;
    for (const auto& login : matching_logins(config, image))
      out += login.username + ":" + login.password + " ";
    return out;
  };
  EXPECT_EQ(names("r.io/team/x"), "team:with:colons host:p glob:p ");
  EXPECT_EQ(names("r.io/x"), "host:p glob:p ");
  EXPECT_EQ(names("docker.io/library/x"), "glob:p ")
      << "one that matches goes before the older name";
  EXPECT_EQ(names("empty.example/x"), "");
  DockerConfig only_older = config;
  std::erase_if(only_older.logins, [](const auto& login) { return login.first == "*.io"; });
  EXPECT_EQ(matching_logins(only_older, "docker.io/library/x").at(0).username, "hub");
}

TEST(Logins, OfBrokenFilesAreRefusedWithoutBeingShown) {
  const char* cases[] = {
      "",
      "nonsense hush",
      "[]",
      R"({"auths": "hush"})",
      R"({"auths": {"r.io": {"auth": "hush!"}}})",
      R"({"auths": {"r.io": {"auth": "aHVzaA=="}}})",
  };
  for (const char* text : cases) {
    auto config = parse_docker_config(text);
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().message.find("hush"), std::string::npos) << config.error().message;
    EXPECT_EQ(config.error().message.find("aHVz"), std::string::npos) << config.error().message;
  }
  EXPECT_TRUE(parse_docker_config("{}"));
  EXPECT_TRUE(parse_docker_config(R"({"auths": null})"));
  auto legacy =
      parse_legacy_docker_config(R"({"https://r.io/v1/": {"auth": "bWU6aHVzaA", "email": "x"}})");
  ASSERT_TRUE(legacy);
  EXPECT_EQ(matching_logins(*legacy, "r.io/a").at(0).password, "hush") << "padding may be left out";
  auto tokens = parse_docker_config(
      R"({"auths": {"r.io": {"identitytoken": "i"}, "s.io": {"registrytoken": "t"}}})");
  EXPECT_EQ(matching_logins(*tokens, "r.io/a").at(0).identity_token, "i");
  EXPECT_EQ(matching_logins(*tokens, "s.io/a").at(0).registry_token, "t");
}

TEST(Logins, HelpersAreChosenByRegistry) {
  const auto config =
      parse_docker_config(R"({"credsStore": "keep", "credHelpers": {"r.io:5000": "own"}})").value();
  EXPECT_EQ(helper_for(config, "r.io:5000/a"), (HelperQuestion{"own", "r.io:5000"}));
  EXPECT_EQ(helper_for(config, "r.io/a"), (HelperQuestion{"keep", "r.io"}));
  EXPECT_EQ(helper_for(config, "docker.io/library/a"),
            (HelperQuestion{"keep", default_registry_login_address()}));
  EXPECT_EQ(helper_for({}, "r.io/a"), std::nullopt);
}

TEST(Logins, FilesAreFoundWhereTheToolsKeepThem) {
  EXPECT_EQ(
      login_files({"/h", "/run/u", "", "", ""}),
      (std::vector<std::string>{"/run/u/containers/auth.json", "/h/.config/containers/auth.json",
                                "/h/.docker/config.json", "/h/.dockercfg"}));
  EXPECT_EQ(
      login_files({"/h", "", "/c", "/d", ""}),
      (std::vector<std::string>{"/c/containers/auth.json", "/d/config.json", "/h/.dockercfg"}));
  EXPECT_EQ(login_files({"/h", "/run/u", "/c", "/d", "/own"}), std::vector<std::string>{"/own"});
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/yard-logins-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& content, bool runs = false) const {
    const std::string file = path + "/" + name;
    std::ofstream(file) << content;
    if (runs) std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  std::string path;
};

TEST(Logins, OfSecretsGoBeforeThoseOfFilesAndABrokenOneIsNamed) {
  const Folder folder;
  const std::string good =
      folder.write("config.json", R"({"auths": {"r.io": {"username": "file", "password": "p"}}})");
  const std::string bad = folder.write("auth.json", "hush");
  GatheredLogins gathered = gather_logins(
      {{"kubernetes.io/dockercfg", R"({"r.io": {"username": "secret", "password": "p"}})"},
       {"Opaque", "hush"}},
      {bad, good, folder.path + "/absent"});
  Logins logins(gathered.configs, {});
  const auto found = logins.for_image("r.io/a");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].username, "secret");
  EXPECT_EQ(found[1].username, "file");
  ASSERT_EQ(gathered.problems.size(), 2u);
  EXPECT_EQ(gathered.problems[0], "a Secret of imagePullSecrets: has a type that holds no login");
  EXPECT_EQ(gathered.problems[1], bad + ": is no JSON object");
}

class Helpers : public testing::Test {
 protected:
  void SetUp() override {
    before_ = std::getenv("PATH");
    ::setenv("PATH", (folder_.path + ":" + before_).c_str(), 1);
  }
  void TearDown() override { ::setenv("PATH", before_.c_str(), 1); }
  void make(const std::string& name, const std::string& script) {
    folder_.write("docker-credential-" + name, "#!/bin/sh\n" + script, true);
  }
  auto ask(const std::string& name, HelperLimits limits = {}) {
    return ask_credential_helper({name, "r.io"}, real_blocking_time(), limits);
  }
  Folder folder_;
  std::string before_;
};

TEST_F(Helpers, AreAskedAndAnswer) {
  make("good",
       R"(read server; [ "$1" = get ] && echo "{\"Username\":\"of $server\",\"Secret\":\"s\"}")");
  auto login = ask("good");
  ASSERT_TRUE(login) << login.error().message;
  ASSERT_TRUE(login->has_value());
  EXPECT_EQ((*login)->username, "of r.io");
  EXPECT_EQ((*login)->password, "s");
  make("token", R"(echo '{"Username":"<token>","Secret":"i"}')");
  EXPECT_EQ((*ask("token"))->identity_token, "i");
  make("none", "echo credentials not found in native keychain; exit 1");
  EXPECT_FALSE(ask("none")->has_value());
}

TEST_F(Helpers, ThatFailAreNamedAndNotQuoted) {
  make("broken", "echo hush; exit 3");
  make("odd", "echo hush");
  make("loud", "while echo hush-hush-hush-hush-hush; do :; done");
  make("stuck", "exec sleep 600");
  const struct {
    const char *name, *words;
  } cases[] = {
      {"broken", "docker-credential-broken failed"},
      {"odd", "what docker-credential-odd printed is no JSON object"},
      {"loud", "docker-credential-loud says far too much"},
      {"absent", "docker-credential-absent cannot be started: No such file or directory"},
      {"../good", "the name of a credential helper is malformed"},
      {"", "the name of a credential helper is malformed"},
  };
  for (const auto& each : cases) {
    auto login = ask(each.name);
    ASSERT_FALSE(login) << each.name;
    EXPECT_EQ(login.error().message, each.words);
  }
  auto stuck = ask("stuck", {.patience = std::chrono::milliseconds(50)});
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().message, "docker-credential-stuck did not answer in time");
}

TEST(Logins, AHelperIsAskedOnceAServer) {
  int asked = 0;
  Logins logins({parse_docker_config(R"({"credsStore": "keep"})").value()},
                [&](const HelperQuestion& question) -> Result<std::optional<RegistryCredential>> {
                  ++asked;
                  if (question.server == "bad.io") return error(Reason::Timeout, "it is stuck");
                  return std::optional(RegistryCredential{"kept", "p", "", ""});
                });
  EXPECT_EQ(logins.for_image("r.io/a").at(0).username, "kept");
  EXPECT_EQ(logins.for_image("r.io/b").size(), 1u);
  EXPECT_TRUE(logins.for_image("bad.io/b").empty());
  EXPECT_TRUE(logins.for_image("bad.io/b").empty());
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(logins.problems(), std::vector<std::string>{"it is stuck"});
}

TEST(RegistryWords, AreShortAndPrintable) {
  const struct {
    std::string body, words;
  } cases[] = {
      {R"({"errors":[{"code":"UNAUTHORIZED","message":"authentication required","detail":[1]}]})",
       "unauthorized: authentication required"},
      {R"({"errors":[{"code":"DENIED"}]})", "denied"},
      {R"({"errors":[{},{"message":"only words"}]})", "only words"},
      {R"({"details":"incorrect username or password"})", "incorrect username or password"},
      {R"({"error":"invalid_grant","error_description":"it has ended"})", "it has ended"},
      {"404 page not found\n", "404 page not found"},
      {"<html><body>Bad Gateway</body></html>", ""},
      {R"({"errors":"x"})", ""},
      {"a\x01\x1b[31mb\r\n\r\nc", "a[31mb c"},
      {"\xff\xfe", ""},
      {"", ""},
  };
  for (const auto& each : cases)
    EXPECT_EQ(registry_words(each.body), each.words) << each.body;
  EXPECT_EQ(registry_words(std::string(5000, 'x')), std::string(240, 'x') + "...");
  const std::string wide = registry_words(std::string(239, 'x') + "\xc3\xa4\xc3\xa4");
  EXPECT_TRUE(wide.starts_with("xxx") && wide.ends_with("...")) << wide;
}

}  // namespace
}  // namespace yard
