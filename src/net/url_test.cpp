#include "net/url.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

std::string shown(const Result<WebUrl>& url) {
  return url ? url->origin() + url->target : "error";
}

TEST(Url, IsReadOrRefused) {
  const struct {
    const char *text, *shown;
  } cases[] = {
      {"https://Example.ORG", "https://example.org:443/"},
      {"http://example.org:5000/v2/?a=b", "http://example.org:5000/v2/?a=b"},
      {"https://example.org?x=1#part", "https://example.org:443/?x=1"},
      {"https://[::1]:5000/a", "https://[::1]:5000/a"},
      {"https://[fe80::1]", "https://[fe80::1]:443/"},
      {"ftp://example.org/", "error"},
      {"example.org/", "error"},
      {"https://", "error"},
      {"https://user:word@example.org/", "error"},
      {"https://example.org:0/", "error"},
      {"https://example.org:65536/", "error"},
      {"https://example.org:x/", "error"},
      {"https://[::1/", "error"},
      {"https://[nonsense]/", "error"},
      {"https://[::1]x/", "error"},
      {"https://exa mple.org/", "error"},
      {"https://example.org/a b", "error"},
      {"https://example.org/a\r\nX: y", "error"},
  };
  for (const auto& each : cases)
    EXPECT_EQ(shown(parse_url(each.text)), each.shown) << each.text;
  EXPECT_FALSE(parse_url("https://a/" + std::string(20000, 'a')));
}

TEST(Url, OfARedirectIsReadFromWhereItWasMet) {
  const WebUrl base = parse_url("https://a.example:8443/v2/x/blobs/1?q=2").value();
  const struct {
    const char *location, *shown;
  } cases[] = {
      {"https://cdn.example/b?sig=1", "https://cdn.example:443/b?sig=1"},
      {"http://cdn.example/b", "http://cdn.example:80/b"},
      {"//cdn.example/b", "https://cdn.example:443/b"},
      {"/elsewhere", "https://a.example:8443/elsewhere"},
      {"2?x=http://y/z", "https://a.example:8443/v2/x/blobs/2?x=http://y/z"},
      {"?only=query", "https://a.example:8443/v2/x/blobs/1?only=query"},
      {"", "error"},
      {"file:///etc/passwd", "error"},
      {"https://a b/", "error"},
  };
  for (const auto& each : cases)
    EXPECT_EQ(shown(resolve_url(base, each.location)), each.shown) << each.location;
}

TEST(Proxy, IsChosenAsGoChooses) {
  const struct {
    const char *about, *url, *for_tls, *for_plain, *none_for, *shown;
  } cases[] = {
      {"none is set", "https://a.example", "", "", "", ""},
      {"of its scheme", "https://a.example", "http://p:3128", "http://q", "", "p:3128"},
      {"of the other scheme", "http://a.example", "http://p:3128", "http://q", "", "q:80"},
      {"without a scheme", "https://a.example", "p:3128", "", "", "p:3128"},
      {"with a login", "https://a.example", "http://u:w%40@p:1", "", "", "u:w@@p:1"},
      {"never for loopback", "https://127.0.0.1:5000", "http://p", "", "", ""},
      {"nor for its name", "http://localhost:5000", "", "http://p", "", ""},
      {"nor for its newer address", "https://[::1]:5000", "http://p", "", "", ""},
      {"exempted: all", "https://a.example", "http://p", "", "*", ""},
      {"exempted: the name", "https://a.example", "http://p", "", "b.example, a.example", ""},
      {"exempted: a name below", "https://x.a.example", "http://p", "", "a.example", ""},
      {"only names below", "https://a.example", "http://p", "", ".a.example", "p:80"},
      {"only names below: one", "https://x.a.example", "http://p", "", ".a.example", ""},
      {"a name that only ends so", "https://ba.example", "http://p", "", "a.example", "p:80"},
      {"exempted: another port", "https://a.example:1", "http://p", "", "a.example:2", "p:80"},
      {"exempted: this port", "https://a.example:2", "http://p", "", "a.example:2", ""},
      {"exempted: an address", "https://10.1.2.3", "http://p", "", "10.1.2.3", ""},
      {"exempted: a range", "https://10.1.2.3", "http://p", "", "10.0.0.0/8", ""},
      {"outside of a range", "https://11.1.2.3", "http://p", "", "10.0.0.0/8", "p:80"},
      {"a range of no size", "https://11.1.2.3", "http://p", "", "10.0.0.0/99", "p:80"},
      {"of a sort that cannot be", "https://a.example", "socks5://p", "", "", "error"},
      {"no address", "https://a.example", "http://p:x", "", "", "error"},
  };
  for (const auto& each : cases) {
    auto proxy =
        proxy_for(parse_url(each.url).value(), {each.for_tls, each.for_plain, each.none_for});
    std::string shown = "error";
    if (proxy) {
      shown = proxy->host.empty() ? "" : proxy->host + ":" + std::to_string(proxy->port);
      if (!proxy->user_and_password.empty()) shown = proxy->user_and_password + "@" + shown;
    }
    EXPECT_EQ(shown, each.shown) << each.about;
  }
  auto broken = proxy_for(parse_url("https://a.example").value(), {"http://me:hush@p:x", "", ""});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message.find("hush"), std::string::npos);
}

TEST(Url, QueriesAreEncoded) {
  EXPECT_EQ(query_encoded("repository:a/b:pull, push~x"), "repository%3Aa%2Fb%3Apull%2C%20push~x");
  EXPECT_EQ(query_encoded(std::string_view("\0", 1)), "%00");
}

}  // namespace
}  // namespace yard
