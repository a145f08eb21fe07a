#include "src/cli/url.hpp"

#include <cstdlib>
#include <map>
#include <string>

#include "src/cli/failure.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

using Variables = std::map<std::string, std::string>;

/// Sets the proxy variables for one test.
class Environment {
 public:
  explicit Environment(const Variables& variables) {
    clear();
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() { clear(); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void clear() {
    for (const char* name : {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy",
                             "ALL_PROXY", "no_proxy", "NO_PROXY"})
      ::unsetenv(name);
  }
};

/// "USER:PASSWORD@HOST:PORT"; empty without a proxy.
std::string proxy_of(const std::string& url) {
  const auto proxy = proxy_for(parse_url(url));
  if (!proxy) return "";
  const std::string credentials =
      proxy->user.empty() ? "" : proxy->user + ":" + proxy->password + "@";
  return credentials + proxy->host + ":" + std::to_string(proxy->port);
}

}  // namespace

TEST_CASE("a URL has a host, a port and a path") {
  const Url plain = parse_url("http://celld.example");
  CHECK((!plain.tls && plain.host == "celld.example" && plain.port == 80 && plain.path.empty()));
  const Url secure = parse_url("HTTPS://celld.example/a/b//");
  CHECK((secure.tls && secure.port == 443 && secure.path == "/a/b"));
  const Url six = parse_url("https://[::1]:8443/");
  CHECK((six.host == "::1" && six.port == 8443 && six.authority == "[::1]:8443"));
  CHECK(parse_url("http://[fe80::1]").host == "fe80::1");
}

TEST_CASE("a URL that cellctl cannot use is a usage error") {
  for (const char* text :
       {"", "x", "127.0.0.1:8080", "ftp://x", "http://", "http://:80", "http://x:0", "http://x:y",
        "http://x:65536", "http://u:p@x", "http://u@x/", "http://x?a", "http://x/#a", "http://a b",
        "http://x/\r\nA: b", "http://[::1", "http://::1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_url(text), Failure);
  }
  CHECK_THROWS_AS(parse_url("http://x/" + std::string(100'000, 'a')), Failure);
}

TEST_CASE("an error shows no password") {
  const auto error_of = [](const std::string& url) -> std::string {
    try {
      proxy_of(url);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  };
  CHECK(error_of("https://me:secret@celld.example/") ==
        "the URL https://celld.example/ must not have a user or a password");
  CHECK(error_of("me:secret@celld.example").find("secret") == std::string::npos);
  const Environment environment(Variables{{"http_proxy", "http://me:sec/ret@p:1"}});
  CHECK(error_of("http://celld.example") ==
        "the proxy http://p:1 is not of the form http://HOST:PORT");
}

TEST_CASE("the proxy comes from the variables that curl reads") {
  const Environment environment(Variables{{"http_proxy", "http://plain.example:3128/"},
                                          {"HTTPS_PROXY", "u%3A1:p%40@[fd00::1]"},
                                          {"no_proxy", "internal.example, .other.example"}});
  CHECK(proxy_of("http://celld.example") == "plain.example:3128");
  CHECK(proxy_of("https://celld.example") == "u:1:p@@fd00::1:1080");
  CHECK(proxy_of("http://internal.example").empty());
  CHECK(proxy_of("http://a.INTERNAL.example").empty());
  CHECK(proxy_of("http://b.other.example").empty());
  CHECK(proxy_of("http://notinternal.example") == "plain.example:3128");
  for (const char* local : {"http://localhost", "http://127.1.2.3", "https://[::1]:1"})
    CHECK(proxy_of(local).empty());
}

TEST_CASE("no_proxy exempts addresses and blocks of addresses, and no part of one") {
  const Environment environment(
      Variables{{"http_proxy", "p:1"},
                {"no_proxy",
                 "192.0.2.7,10.16.0.0/12 ,2001:db8::/33, .8, 198.51.100.0/33,"
                 "203.0.113.0/,example.com.,0.0.0.0/x"}});
  for (const char* exempt :
       {"http://192.0.2.7", "http://10.16.0.0", "http://10.31.255.255", "http://[2001:db8:7fff::1]",
        "http://example.com", "http://a.example.com", "http://example.com."}) {
    CAPTURE(exempt);
    CHECK(proxy_of(exempt).empty());
  }
  for (const char* proxied :
       {"http://192.0.2.8", "http://10.15.255.255", "http://10.32.0.0", "http://[2001:db8:8000::1]",
        "http://1.2.3.8", "http://198.51.100.0", "http://203.0.113.0"}) {
    CAPTURE(proxied);
    CHECK(proxy_of(proxied) == "p:1");
  }
}

TEST_CASE("one variable names the proxy of both schemes, and * exempts every host") {
  const Environment environment(Variables{{"ALL_PROXY", "p:1"}});
  CHECK(proxy_of("http://celld.example") == "p:1");
  CHECK(proxy_of("https://celld.example") == "p:1");
  ::setenv("NO_PROXY", "*", 1);
  CHECK(proxy_of("https://celld.example").empty());
}

TEST_CASE("HTTP_PROXY, which a client of a CGI program sets by a header, names no proxy") {
  const Environment environment(Variables{{"HTTP_PROXY", "p:1"}});
  CHECK(proxy_of("http://celld.example").empty());
}

TEST_CASE("a proxy that does not speak HTTP is a usage error") {
  for (const char* text : {"socks5://p:1", "https://p:1", "http://p:x", "http://"}) {
    const Environment environment(Variables{{"all_proxy", text}});
    CHECK_THROWS_AS(proxy_of("http://celld.example"), Failure);
  }
}
