// A registry that misbehaves in every way a test can write down, on loopback.
#include "images/registry/registry.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "images/registry/fake_registry_testing.h"
#include "images/registry/registry_fault.h"
#include "net/server_testing.h"
#include "net/sha256.h"

namespace yard {
namespace {

const std::string kManifest =
    R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{},"layers":[]})";
const std::string kManifestType(media_types::kOciManifest);

FakeAnswer manifest_answer(std::string body = kManifest, std::string type = kManifestType) {
  return {.headers = {{"Content-Type", type}}, .body = std::move(body)};
}
FakeAnswer refused(int status, std::string body = "", std::string challenge = "") {
  FakeAnswer out{.status = status, .body = std::move(body)};
  if (!challenge.empty()) out.headers = {{"WWW-Authenticate", challenge}};
  return out;
}
std::string pattern(size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i)
    out[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return out;
}

// A client of plain registries whose clock only notes how long it was asked to wait.
class Pulling {
 public:
  explicit Pulling(std::vector<std::string> plain, std::string logins = "{}") {
    setup.logins = {parse_docker_config(logins).value()};
    for (const std::string& name : plain)
      setup.config.entries[name].is_plain = true;
    setup.time = {[this] { return now; },
                  [this](Duration length) {
                    waits.push_back(std::chrono::round<std::chrono::milliseconds>(length).count());
                    now += length;
                  },
                  [] { return 0.5; }};
    setup.timeouts = {std::chrono::seconds(5), std::chrono::seconds(5), std::chrono::seconds(5)};
  }
  Registry& registry() {
    if (!registry_) registry_ = std::make_unique<Registry>(setup);
    return *registry_;
  }
  Result<FetchedManifest> manifest(const std::string& image) {
    return registry().manifest(parse_reference(image).value(), accepted_manifests());
  }
  Result<std::string> blob(const std::string& image, const std::string& bytes, size_t offset = 0) {
    std::string out;
    const BlobDescriptor blob{"", "sha256:" + sha256_hex(bytes),
                              static_cast<int64_t>(bytes.size())};
    Result<void> done =
        registry().blob(parse_reference(image).value(), blob, static_cast<int64_t>(offset),
                        [&](std::string_view piece) -> Result<void> {
                          out += piece;
                          largest = std::max(largest, piece.size());
                          return {};
                        });
    if (!done) return std::move(done).error();
    return out;
  }

  RegistrySetup setup;
  Time now = from_unix_seconds(1000);
  std::vector<int64_t> waits;
  size_t largest = 0;

 private:
  std::unique_ptr<Registry> registry_;
};

std::string login_json(const std::string& registry, const std::string& user,
                       const std::string& word) {
  return fmt::format(R"({{"auths":{{"{}":{{"username":"{}","password":"{}"}}}}}})", registry, user,
                     word);
}

TEST(Registry, GivesAManifestAndItsDigest) {
  std::string accepted;
  FakeRegistry fake([&](const FakeRequest& request) {
    accepted = request.header("Accept");
    return manifest_answer();
  });
  Pulling pulling({fake.name()});
  auto fetched = pulling.manifest(fake.name() + "/team/model:1");
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(fetched->bytes, kManifest);
  EXPECT_EQ(fetched->media_type, kManifestType);
  EXPECT_EQ(fetched->digest, "sha256:" + sha256_hex(kManifest));
  EXPECT_EQ(fetched->source, fake.name());
  EXPECT_NE(accepted.find("application/vnd.oci.image.index.v1+json"), std::string::npos);
  EXPECT_TRUE(pulling.manifest(fake.name() + "/team/model@" + fetched->digest));
  EXPECT_EQ(fake.seen()[0], "GET /v2/team/model/manifests/1");
}

TEST(Registry, SaysInItsOwnWordsWhatItRefuses) {
  const std::string words = R"({"errors":[{"code":"SOME_CODE","message":"in its own words"}]})";
  const struct {
    const char* about;
    FakeAnswer answer;
    RegistryFault fault;
    size_t tries;
    const char* words;
  } cases[] = {
      {"401", refused(401, words), RegistryFault::Unauthorized, 1, "some_code: in its own words"},
      {"403", refused(403, words), RegistryFault::Denied, 1,
       "answers 403 for a/manifests/1: some_code"},
      {"404", refused(404, words), RegistryFault::NotFound, 1, "in its own words"},
      {"429", refused(429, words), RegistryFault::TooMany, 5, "in its own words"},
      {"500", refused(500, "<html>"), RegistryFault::Unavailable, 5, "answers 500"},
      {"503", refused(503), RegistryFault::Unavailable, 5, "answers 503"},
      {"418", refused(418), RegistryFault::BadAnswer, 1, "answers 418"},
      {"a page", manifest_answer("<html>", "text/html"), RegistryFault::BadManifest, 1,
       "\"text/html\""},
      {"an older sort",
       manifest_answer("{}", "application/vnd.docker.distribution.manifest.v1+prettyjws"),
       RegistryFault::BadManifest, 1, "manifest.v1+prettyjws"},
      {"json of something else", manifest_answer("{}", "application/json"),
       RegistryFault::BadManifest, 1, "no manifest at all"},
      {"too large", manifest_answer(std::string(5 << 20, ' ')), RegistryFault::BadAnswer, 1,
       "larger than"},
      {"without an end",
       {.body = std::string(65536, ' '), .is_endless = true},
       RegistryFault::BadAnswer,
       1,
       "larger than"},
      {"cut",
       {.body = kManifest, .cut_after = 10},
       RegistryFault::Unavailable,
       5,
       "before the answer was whole"},
      {"another digest",
       {.headers = {{"Content-Type", kManifestType},
                    {"Docker-Content-Digest", "sha256:" + std::string(64, '0')}},
        .body = kManifest},
       RegistryFault::DigestMismatch,
       1,
       "whose digest is"},
      {"to nowhere", {.status = 307}, RegistryFault::BadAnswer, 1, "redirects to"},
      {"in a circle",
       {.status = 307, .headers = {{"Location", "/v2/a/manifests/1"}}},
       RegistryFault::BadAnswer,
       11,
       "redirects without an end"},
  };
  for (const auto& each : cases) {
    FakeRegistry fake([&](const FakeRequest&) { return each.answer; });
    Pulling pulling({fake.name()});
    auto fetched = pulling.manifest(fake.name() + "/a:1");
    ASSERT_FALSE(fetched) << each.about;
    const Error& failure = fetched.error();
    EXPECT_STREQ(wire_name(fault_of(failure)), wire_name(each.fault))
        << each.about << ": " << failure.message;
    EXPECT_NE(failure.message.find(each.words), std::string::npos)
        << each.about << ": " << failure.message;
    EXPECT_NE(failure.message.find(fake.name()), std::string::npos)
        << each.about << ": " << failure.message;
    EXPECT_NE(mend_of(failure), "") << each.about;
    EXPECT_EQ(fake.seen().size(), each.tries) << each.about;
  }
}

TEST(Registry, IsAskedAgainAfterGrowingWaitsAndAsLongAsItWishes) {
  std::atomic<int> asked = 0;
  FakeRegistry fake([&](const FakeRequest&) {
    switch (++asked) {
      case 1: return refused(502);
      case 2: return FakeAnswer{.status = 429, .headers = {{"Retry-After", "7"}}};
      case 3: return refused(500);
      default: return manifest_answer();
    }
  });
  Pulling pulling({fake.name()});
  EXPECT_TRUE(pulling.manifest(fake.name() + "/a:1"));
  EXPECT_EQ(pulling.waits, (std::vector<int64_t>{500, 7000, 2000}));
}

TEST(Registry, NobodyThereIsSaidSoonAndWithTheMend) {
  std::string gone;
  {
    gone = FakeRegistry([](const FakeRequest&) { return FakeAnswer{}; }).name();
  }
  Pulling pulling({gone});
  auto fetched = pulling.manifest(gone + "/a:1");
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fault_of(fetched.error()), RegistryFault::Unavailable);
  EXPECT_NE(fetched.error().message.find("Connection refused"), std::string::npos)
      << fetched.error().message;
  EXPECT_NE(mend_of(fetched.error()).find("trainyard image load"), std::string::npos);
  EXPECT_EQ(pulling.waits.size(), 2u);
}

TEST(Registry, ABasicLoginIsSentOnceItIsAskedForAndThenAtOnce) {
  FakeRegistry fake([&](const FakeRequest& request) {
    if (request.header("Authorization") != "Basic " + base64_encode("me:hush"))
      return refused(401, "", "Basic realm=\"x\"");
    return manifest_answer();
  });
  Pulling pulling({fake.name()}, login_json(fake.name(), "me", "hush"));
  EXPECT_TRUE(pulling.manifest(fake.name() + "/a:1"));
  EXPECT_TRUE(pulling.manifest(fake.name() + "/a:2"));
  EXPECT_EQ(fake.seen().size(), 3u);
}

TEST(Registry, EachLoginThatMatchesIsTriedAndNoneIsShown) {
  FakeRegistry fake([&](const FakeRequest& request) {
    if (request.header("Authorization") != "Basic " + base64_encode("second:right"))
      return refused(401, R"({"errors":[{"code":"UNAUTHORIZED","message":"not with hush-wrong"}]})",
                     "Basic realm=\"x\"");
    return manifest_answer();
  });
  const std::string both = fmt::format(
      R"({{"auths":{{"{0}/a":{{"username":"first","password":"hush-wrong"}},"{0}":{{"username":"second","password":"right"}}}}}})",
      fake.name());
  Pulling pulling({fake.name()}, both);
  EXPECT_TRUE(pulling.manifest(fake.name() + "/a:1"));
  Pulling wrong({fake.name()}, login_json(fake.name(), "first", "hush-wrong"));
  auto fetched = wrong.manifest(fake.name() + "/a:1");
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fault_of(fetched.error()), RegistryFault::Unauthorized);
  EXPECT_EQ(fetched.error().message.find("hush"), std::string::npos) << fetched.error().message;
  EXPECT_NE(fetched.error().message.find("unauthorized: not with ..."), std::string::npos)
      << fetched.error().message;
  EXPECT_NE(mend_of(fetched.error()).find("is not accepted"), std::string::npos);
}

// A registry that wants tokens, and their server.
class TokenRegistry {
 public:
  TokenRegistry()
      : tokens([this](const FakeRequest& request) {
          asked.push_back(request.target + request.body);
          const std::string who = request.header("Authorization");
          if (!who.empty() && who != "Basic " + base64_encode("me:hush"))
            return refused(401, R"({"details":"incorrect username or password"})");
          return FakeAnswer{
              .body = fmt::format(R"({{"token":"t{}","expires_in":{}}})", asked.size(), lasts)};
        }),
        registry([this](const FakeRequest& request) {
          if (request.header("Authorization") != fmt::format("Bearer t{}", asked.size()) ||
              asked.empty())
            return refused(
                401, "",
                fmt::format("Bearer realm=\"http://{}/token\",service=\"s\"", tokens.name()));
          return manifest_answer();
        }) {}
  int lasts = 300;
  std::vector<std::string> asked;  // one request at a time in these tests
  FakeRegistry tokens, registry;
};

TEST(Registry, TokensAreFetchedKeptAndRenewed) {
  TokenRegistry fakes;
  Pulling pulling({fakes.registry.name()}, login_json(fakes.registry.name(), "me", "hush"));
  const std::string image = fakes.registry.name() + "/a/b:1";
  ASSERT_TRUE(pulling.manifest(image));
  ASSERT_TRUE(pulling.manifest(image));
  EXPECT_EQ(fakes.asked.size(), 1u);
  EXPECT_EQ(fakes.asked[0], "/token?service=s&scope=repository%3Aa%2Fb%3Apull&account=me");
  pulling.now += std::chrono::seconds(295);
  ASSERT_TRUE(pulling.manifest(image));
  EXPECT_EQ(fakes.asked.size(), 2u) << "renewed before it ended";
  fakes.asked.push_back("the registry has forgotten t2 before its time");
  ASSERT_TRUE(pulling.manifest(image));
  EXPECT_EQ(fakes.asked.size(), 4u);
}

TEST(Registry, AnIdentityTokenIsExchangedByAForm) {
  TokenRegistry fakes;
  Pulling pulling(
      {fakes.registry.name()},
      fmt::format(R"({{"auths":{{"{}":{{"identitytoken":"i d"}}}}}})", fakes.registry.name()));
  ASSERT_TRUE(pulling.manifest(fakes.registry.name() + "/a:1"));
  EXPECT_EQ(fakes.tokens.seen()[0], "POST /token");
  EXPECT_NE(fakes.asked[0].find("grant_type=refresh_token"), std::string::npos);
  EXPECT_NE(fakes.asked[0].find("refresh_token=i%20d"), std::string::npos);
}

TEST(Registry, AWrongPasswordIsSaidInTheWordsOfTheServerOfTokens) {
  TokenRegistry fakes;
  Pulling pulling({fakes.registry.name()}, login_json(fakes.registry.name(), "me", "wrong"));
  auto fetched = pulling.manifest(fakes.registry.name() + "/a:1");
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fault_of(fetched.error()), RegistryFault::Unauthorized);
  EXPECT_NE(fetched.error().message.find("incorrect username or password"), std::string::npos)
      << fetched.error().message;
}

TEST(Registry, ALoginDoesNotTravelToAnotherHost) {
  std::string carried = "nothing came";
  const std::string bytes = pattern(300'000);
  FakeRegistry store([&](const FakeRequest& request) {
    carried = request.header("Authorization");
    return FakeAnswer{.body = bytes};
  });
  FakeRegistry fake([&](const FakeRequest& request) {
    if (request.header("Authorization").empty()) return refused(401, "", "Basic realm=\"x\"");
    return FakeAnswer{.status = 307,
                      .headers = {{"Location", "http://" + store.name() + "/signed?x=1"}}};
  });
  Pulling pulling({fake.name()}, login_json(fake.name(), "me", "hush"));
  auto got = pulling.blob(fake.name() + "/a:1", bytes);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, bytes);
  EXPECT_EQ(carried, "");
  EXPECT_LE(pulling.largest, 64u * 1024);
}

TEST(Registry, ABlobGoesOnWhereItWasCut) {
  const std::string bytes = pattern(3'000'000);
  std::vector<std::string> ranges;
  bool knows_ranges = true;
  FakeRegistry fake([&](const FakeRequest& request) {
    const std::string range = request.header("Range");
    ranges.push_back(range);
    if (range.empty() || !knows_ranges)
      return FakeAnswer{.body = bytes, .cut_after = ranges.size() * 900'000};
    const size_t from = parse_uint64(range.substr(6, range.size() - 7)).value();
    return FakeAnswer{.status = 206,
                      .headers = {{"Content-Range", fmt::format("bytes {}-{}/{}", from,
                                                                bytes.size() - 1, bytes.size())}},
                      .body = bytes.substr(from),
                      .cut_after = 1'500'000};
  });
  Pulling pulling({fake.name()});
  auto got = pulling.blob(fake.name() + "/a:1", bytes);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(*got == bytes);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0], "");
  EXPECT_EQ(ranges[1].substr(0, 6), "bytes=");
  got = pulling.blob(fake.name() + "/a:1", bytes, 2'000'000);
  ASSERT_TRUE(got);
  EXPECT_TRUE(*got == bytes.substr(2'000'000)) << "from the middle";
  EXPECT_EQ(ranges[3], "bytes=2000000-");
  knows_ranges = false;
  ranges.clear();
  got = pulling.blob(fake.name() + "/a:1", bytes);
  ASSERT_TRUE(got);
  EXPECT_TRUE(*got == bytes) << "from a server without ranges";
}

TEST(Registry, ABlobOfAnotherSizeOrWithoutAnEndIsRefused) {
  const std::string bytes = pattern(100'000);
  const struct {
    const char* about;
    FakeAnswer answer;
    RegistryFault fault;
  } cases[] = {
      {"longer", {.body = bytes + "x"}, RegistryFault::DigestMismatch},
      {"without an end", {.body = bytes, .is_endless = true}, RegistryFault::DigestMismatch},
      {"shorter", {.body = bytes.substr(0, 50'000)}, RegistryFault::Unavailable},
      {"always cut at once", {.body = bytes, .cut_after = 0}, RegistryFault::Unavailable},
      {"from another place",
       {.status = 206, .headers = {{"Content-Range", "bytes 5-10/11"}}, .body = "abcdef"},
       RegistryFault::Unavailable},
      {"not there", refused(404), RegistryFault::NotFound},
  };
  for (const auto& each : cases) {
    FakeRegistry fake([&](const FakeRequest&) { return each.answer; });
    Pulling pulling({fake.name()});
    auto got = pulling.blob(fake.name() + "/a:1", bytes);
    ASSERT_FALSE(got) << each.about;
    EXPECT_STREQ(wire_name(fault_of(got.error())), wire_name(each.fault))
        << each.about << got.error().message;
    EXPECT_LE(fake.seen().size(), 5u) << each.about;
  }
}

TEST(Registry, AnErrorOfTheSinkEndsTheCallAndIsNotRetried) {
  const std::string bytes = pattern(100'000);
  FakeRegistry fake([&](const FakeRequest&) { return FakeAnswer{.body = bytes}; });
  Pulling pulling({fake.name()});
  const BlobDescriptor blob{"", "sha256:" + sha256_hex(bytes), static_cast<int64_t>(bytes.size())};
  Result<void> done = pulling.registry().blob(
      parse_reference(fake.name() + "/a").value(), blob, 0,
      [](std::string_view) { return error(Reason::InternalError, "disk full"); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "disk full");
  EXPECT_EQ(fake.seen().size(), 1u);
}

TEST(Registry, MirrorsComeFirstInOrderAndTheRegistryLast) {
  const std::string bytes = pattern(100'000);
  FakeRegistry broken([](const FakeRequest&) { return refused(500); });
  FakeRegistry half([](const FakeRequest& request) {
    return request.target.find("blobs") == std::string::npos ? manifest_answer() : refused(404);
  });
  FakeRegistry own([&](const FakeRequest& request) {
    return request.target.find("blobs") == std::string::npos ? refused(500)
                                                             : FakeAnswer{.body = bytes};
  });
  Pulling pulling({own.name()});
  pulling.setup.config.entries[own.name()].mirrors = {"http://" + broken.name(),
                                                      "http://" + half.name() + "/hub"};
  auto fetched = pulling.manifest(own.name() + "/a:1");
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(fetched->source, half.name());
  EXPECT_EQ(half.seen()[0], "GET /v2/hub/a/manifests/1");
  auto got = pulling.blob(own.name() + "/a:1", bytes);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(half.seen().size(), 2u) << "what served the manifest is asked first";
  EXPECT_EQ(broken.seen().size(), 4u);
  EXPECT_EQ(own.seen().size(), 1u);
}

TEST(Registry, WhenAllFailTheRegistryItselfIsNamedAndItsMirrorsToo) {
  FakeRegistry mirror([](const FakeRequest&) { return refused(404); });
  FakeRegistry own([](const FakeRequest&) {
    return refused(403, R"({"errors":[{"code":"DENIED","message":"no"}]})");
  });
  Pulling pulling({own.name()});
  pulling.setup.config.entries[own.name()].mirrors = {"http://" + mirror.name()};
  auto fetched = pulling.manifest(own.name() + "/a:1");
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fault_of(fetched.error()), RegistryFault::Denied);
  EXPECT_EQ(
      fetched.error().message,
      fmt::format(
          "{} answers 403 for a/manifests/1: denied: no (mirror {} answers 404 for a/manifests/1)",
          own.name(), mirror.name()));
}

TEST(Registry, ATagIsLookedUpWithoutItsBytes) {
  bool knows_digest = true, knows_head = true;
  FakeRegistry fake([&](const FakeRequest& request) {
    if (request.method == "HEAD" && !knows_head) return refused(405);
    FakeAnswer answer = manifest_answer();
    if (knows_digest)
      answer.headers.emplace_back("Docker-Content-Digest", "sha256:" + sha256_hex(kManifest));
    return answer;
  });
  Pulling pulling({fake.name()});
  const ImageReference image = parse_reference(fake.name() + "/a:1").value();
  const std::string wanted = "sha256:" + sha256_hex(kManifest);
  EXPECT_EQ(pulling.registry().manifest_digest(image, accepted_manifests()).value().digest, wanted);
  EXPECT_EQ(fake.seen(), std::vector<std::string>{"HEAD /v2/a/manifests/1"});
  knows_digest = false;
  EXPECT_EQ(pulling.registry().manifest_digest(image, accepted_manifests()).value().digest, wanted);
  knows_head = false;
  EXPECT_EQ(pulling.registry().manifest_digest(image, accepted_manifests()).value().digest, wanted);
}

TEST(Registry, SeveralThreadsShareOneAndItsTokens) {
  const std::string bytes = pattern(400'000);
  std::atomic<int> tokens = 0;
  FakeRegistry server_of_tokens([&](const FakeRequest&) {
    return FakeAnswer{.body = fmt::format(R"({{"token":"t{}"}})", ++tokens)};
  });
  FakeRegistry fake([&](const FakeRequest& request) {
    if (request.header("Authorization").empty())
      return refused(401, "", fmt::format("Bearer realm=\"http://{}/\"", server_of_tokens.name()));
    return FakeAnswer{.body = bytes};
  });
  Pulling pulling({fake.name()});
  Registry& registry = pulling.registry();
  const BlobDescriptor blob{"", "sha256:" + sha256_hex(bytes), static_cast<int64_t>(bytes.size())};
  const ImageReference image = parse_reference(fake.name() + "/a").value();
  std::atomic<int> whole = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      std::string got;
      Result<void> done =
          registry.blob(image, blob, 0, [&](std::string_view piece) -> Result<void> {
            got += piece;
            return {};
          });
      if (done && got == bytes) ++whole;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(whole, 6);
  EXPECT_EQ(tokens, 1);
}

// Over TLS, with the server the product has.
class TlsRegistry : public testing::Test {
 protected:
  TlsRegistry()
      : server([](HttpRequest, std::shared_ptr<Responder> responder) {
          HttpResponse response;
          response.headers = {{"Content-Type", kManifestType}};
          response.body = {bytes_of(kManifest)};
          responder->send(response);
        }),
        name(fmt::format("127.0.0.1:{}", server.port)) {}
  RunningServer server;
  std::string name;
};

TEST_F(TlsRegistry, IsTrustedOnlyAsConfigured) {
  Pulling strict({});
  auto fetched = strict.manifest(name + "/a:1");
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fault_of(fetched.error()), RegistryFault::Untrusted) << fetched.error().message;
  EXPECT_NE(mend_of(fetched.error()).find(fmt::format("images.registries.{}.ca", name)),
            std::string::npos);
  EXPECT_TRUE(strict.waits.empty()) << "asking again would not help";
  Pulling insecure({});
  insecure.setup.config.entries[name].is_insecure = true;
  EXPECT_TRUE(insecure.manifest(name + "/a:1"));
  const std::string ca = server.folder + "/ca.pem";
  FILE* file = std::fopen(ca.c_str(), "w");
  std::fputs(TestCertificates::get().ca.certificate_pem.c_str(), file);
  std::fclose(file);
  Pulling trusting({});
  trusting.setup.config.entries[name].ca_file = ca;
  fetched = trusting.manifest(name + "/a:1");
  EXPECT_TRUE(fetched) << fetched.error().message;
  Pulling absent({});
  absent.setup.config.entries[name].ca_file = ca + ".gone";
  fetched = absent.manifest(name + "/a:1");
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fault_of(fetched.error()), RegistryFault::Untrusted);
  EXPECT_NE(fetched.error().message.find("ca.pem.gone cannot be read"), std::string::npos);
}

TEST(Registry, APlainServerIsNotSpokenToUnlessTheConfigSaysSo) {
  FakeRegistry fake([](const FakeRequest&) { return manifest_answer(); });
  Pulling pulling({});
  auto fetched = pulling.manifest(fake.name() + "/a:1");
  ASSERT_FALSE(fetched);
  EXPECT_NE(mend_of(fetched.error()).find("plainHttp: true"), std::string::npos)
      << fetched.error().message;
}

TEST(Registry, AProxyIsAskedForPlainAddressesWholeAndForTlsByConnect) {
  std::string who;
  FakeRegistry proxy([&](const FakeRequest& request) {
    who = request.header("Proxy-Authorization");
    return request.method == "CONNECT" ? refused(403) : manifest_answer();
  });
  Pulling pulling({"registry.invalid:5000"});
  pulling.setup.proxies = {"http://me:hush@" + proxy.name(), "http://me:hush@" + proxy.name(), ""};
  auto fetched = pulling.manifest("registry.invalid:5000/a:1");
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(proxy.seen()[0], "GET http://registry.invalid:5000/v2/a/manifests/1");
  EXPECT_EQ(who, "Basic " + base64_encode("me:hush"));
  fetched = pulling.manifest("secure.invalid/a:1");
  ASSERT_FALSE(fetched);
  EXPECT_EQ(proxy.seen()[1], "CONNECT secure.invalid:443");
  EXPECT_NE(fetched.error().message.find("does not lead to secure.invalid:443: it answers 403"),
            std::string::npos)
      << fetched.error().message;
  EXPECT_EQ(fetched.error().message.find("hush"), std::string::npos);
}

}  // namespace
}  // namespace yard
