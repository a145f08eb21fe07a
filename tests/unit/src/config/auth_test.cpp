// The members `auth`, `listen.tls` and `limits`.
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/providers/kinds.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using config::Config;
using config::Scope;
using json::Fault;
using Faults = std::vector<Fault>;
using std::chrono::milliseconds;

namespace {

const std::string digest_a(64, 'a');
const std::string digest_b(64, 'b');
const std::string name_rule = "must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}";
const std::string digest_rule = "must be the SHA-256 of the token in 64 hexadecimal digits";
const std::string scope_rule = R"(must be "submit", "read", "work" or "admin")";

config::Outcome parsed(const std::string& member, const config::Overrides& overrides = {}) {
  const config::Environment empty{
      [](const std::string&) { return std::nullopt; },
      [](const std::string&) { return config::FileText{.fault = "cannot be read"}; }};
  return config::parse_config(R"({"services":{"vm":{"type":"pull"}},"cells":[],)" + member + "}",
                              providers::service_kinds(), empty, overrides);
}

Config good(const std::string& member, const config::Overrides& overrides = {}) {
  auto outcome = parsed(member, overrides);
  if (const auto* faults = std::get_if<Faults>(&outcome))
    for (const Fault& fault : *faults) FAIL(fault.pointer << ": " << fault.detail);
  return std::get<Config>(std::move(outcome));
}

Faults bad(const std::string& member, const config::Overrides& overrides = {}) {
  auto outcome = parsed(member, overrides);
  if (std::holds_alternative<Config>(outcome)) return {};
  return std::get<Faults>(std::move(outcome));
}

std::string token(const std::string& name, const std::string& sha256,
                  const std::string& scopes = R"(["read"])") {
  return R"({"name":")" + name + R"(","sha256":")" + sha256 + R"(","scopes":)" + scopes + "}";
}

std::string auth(const std::string& tokens) {
  return R"("auth":{"tokens":[)" + tokens + "]}";
}

}  // namespace

TEST_CASE("tokens are read as configured") {
  const std::string mixed = "00FfA0" + std::string(58, '1');
  const Config config =
      good(auth(token("portal", mixed, R"(["submit","read"])") + "," + R"({"name":"w","sha256":")" +
                digest_b + R"(","scopes":["admin","work"],"customer":"acme"})"));
  REQUIRE(config.tokens.size() == 2);
  CHECK(config.tokens[0].name == "portal");
  CHECK(config.tokens[0].digest[0] == 0x00);
  CHECK(config.tokens[0].digest[1] == 0xff);
  CHECK(config.tokens[0].digest[2] == 0xa0);
  CHECK(config.tokens[0].digest[31] == 0x11);
  CHECK(config.tokens[0].scopes == std::set<Scope>{Scope::submit, Scope::read});
  CHECK_FALSE(config.tokens[0].customer);
  CHECK(config.tokens[1].scopes == std::set<Scope>{Scope::work, Scope::admin});
  CHECK(config.tokens[1].customer == "acme");
}

TEST_CASE("without auth there are no tokens, no TLS and the documented limits") {
  const Config config = good(R"("defaults":{})");
  CHECK(config.tokens.empty());
  CHECK_FALSE(config.listen.tls);
  CHECK(config.limits.head_bytes_max == 16384);
  CHECK(config.limits.headers_max == 64);
  CHECK(config.limits.uri_bytes_max == 4096);
  CHECK(config.limits.body_bytes_max == 1048576);
  CHECK(config.limits.head_timeout == milliseconds(5000));
  CHECK(config.limits.body_timeout == milliseconds(15000));
  CHECK(config.limits.idle_timeout == milliseconds(60000));
  CHECK(config.limits.write_timeout == milliseconds(10000));
  CHECK(config.limits.connections_max == 10000);
  CHECK(config.limits.stream_backlog_bytes_max == 262144);
  CHECK(config.limits.unsent_bytes_max == 4194304);
}

TEST_CASE("auth without a token would admit no client") {
  const std::string why = ": `auth` without a token would admit no client";
  CHECK(bad(R"("auth":{})") == Faults{{"/auth/tokens", "is required" + why}});
  CHECK(bad(auth("")) == Faults{{"/auth/tokens", "must not be empty" + why}});
  CHECK(bad(R"("auth":null)") == Faults{{"/auth", "must be an object"}});
  CHECK(bad(R"("auth":{"tokens":{}})") == Faults{{"/auth/tokens", "must be an array"}});
  CHECK(bad(R"("auth":{"tokens":[)" + token("a", digest_a) + R"(],"users":1})") ==
        Faults{{"/auth/users", "is unknown"}});
}

TEST_CASE("all faults of the tokens are reported at once") {
  const std::string tokens =
      R"(1,{},{"name":"a b","sha256":"xyz","scopes":[],"customer":"*","more":1},)"
      R"({"name":"ok","sha256":")" +
      digest_a.substr(1) + R"(g","scopes":["read","read","root",7]})";
  CHECK(bad(auth(tokens)) ==
        Faults{{"/auth/tokens/0", "must be an object"},
               {"/auth/tokens/1/name", "is required"},
               {"/auth/tokens/1/sha256", "is required"},
               {"/auth/tokens/1/scopes", "is required"},
               {"/auth/tokens/2/name", name_rule},
               {"/auth/tokens/2/sha256", digest_rule},
               {"/auth/tokens/2/scopes", "must not be empty: the token would allow nothing"},
               {"/auth/tokens/2/customer", name_rule},
               {"/auth/tokens/2/more", "is unknown"},
               {"/auth/tokens/3/sha256", digest_rule},
               {"/auth/tokens/3/scopes/1", "is repeated"},
               {"/auth/tokens/3/scopes/2", scope_rule},
               {"/auth/tokens/3/scopes/3", scope_rule}});
}

TEST_CASE("a token may be bound to services") {
  const auto bound = [](const std::string& services, const std::string& scopes) {
    return auth(R"({"name":"w","sha256":")" + digest_a + R"(","scopes":)" + scopes +
                R"(,"services":)" + services + "}");
  };
  CHECK(good(bound(R"(["vm"])", R"(["work"])")).tokens[0].services == std::set<std::string>{"vm"});
  CHECK_FALSE(good(auth(token("a", digest_a))).tokens[0].services);
  const std::string pointer = "/auth/tokens/0/services";
  CHECK(bad(bound(R"(["vm","gpu",7,"vm"])", R"(["work"])")) ==
        Faults{{pointer + "/1", "must be the name of a configured service"},
               {pointer + "/2", "must be the name of a configured service"},
               {pointer + "/3", "is repeated"}});
  CHECK(bad(bound("[]", R"(["work"])")) ==
        Faults{{pointer, "must not be empty: the token would allow no work"}});
  CHECK(bad(bound(R"(["vm"])", R"(["read"])")) ==
        Faults{{pointer, R"(needs the scope "work", which it restricts)"}});
  CHECK(bad(bound("7", R"(["work"])")) == Faults{{pointer, "must be an array"}});
}

TEST_CASE("no two tokens share a name or a digest, whatever its case") {
  const std::string upper(64, 'A');
  CHECK(bad(auth(token("a", digest_a) + "," + token("a", upper) + "," + token("A", digest_b))) ==
        Faults{{"/auth/tokens/1/name", "is also the name of /auth/tokens/0"},
               {"/auth/tokens/1/sha256", "is also the digest of /auth/tokens/0"}});
}

TEST_CASE("a token in place of its digest is not shown") {
  const Faults faults = bad(auth(token("a", "celld_s3cret")));
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].detail.find("s3cret") == std::string::npos);
}

TEST_CASE("at most a thousand tokens are read") {
  const auto tokens = [](int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      std::string digest = std::to_string(i);
      digest.insert(0, 64 - digest.size(), '0');
      all += (i == 0 ? "" : ",") + token("t" + std::to_string(i), digest);
    }
    return auth(all);
  };
  CHECK(good(tokens(1000)).tokens.size() == 1000);
  CHECK(bad(tokens(1001)) == Faults{{"/auth/tokens", "must have at most 1000 elements"}});
}

TEST_CASE("with tokens celld may listen on any host") {
  const std::string tokens = auth(token("a", digest_a));
  CHECK(good(R"("listen":{"host":"0.0.0.0"},)" + tokens).listen.host == "0.0.0.0");
  CHECK(good(tokens, {.listen = "[::]:1"}).listen.host == "::");
  CHECK(bad(R"("listen":{"host":"[::1]"})") ==
        Faults{{"/listen/host", "must be without brackets"}});
}

TEST_CASE("faulty tokens do not cause a fault at the host") {
  CHECK(bad(R"("listen":{"host":"0.0.0.0"},"auth":{"tokens":[1]})") ==
        Faults{{"/auth/tokens/0", "must be an object"}});
}

TEST_CASE("TLS needs a certificate and a key, and may have client authorities") {
  const Config plain = good(R"("listen":{"tls":{"certificate":"c.pem","key":"/k.pem"}})");
  REQUIRE(plain.listen.tls);
  CHECK(plain.listen.tls->certificate_path == "c.pem");
  CHECK(plain.listen.tls->key_path == "/k.pem");
  CHECK(plain.listen.tls->client_ca_path.empty());
  const std::string mutual =
      R"("listen":{"tls":{"certificate":"c","key":"k","client_ca":"ca.pem"}})";
  CHECK(good(mutual).listen.tls->client_ca_path == "ca.pem");
  CHECK(bad(R"("listen":{"tls":{"certificate":"","client_ca":7,"cipher":"x"}})") ==
        Faults{{"/listen/tls/key", "is required"},
               {"/listen/tls/certificate", "must not be empty"},
               {"/listen/tls/client_ca", "must be a string"},
               {"/listen/tls/cipher", "is unknown"}});
}

TEST_CASE("a flag or variable overrides host and port but not TLS") {
  const Config config =
      good(R"("listen":{"port":1,"tls":{"certificate":"c","key":"k"}})", {.listen = "localhost:2"});
  CHECK(config.listen.port == 2);
  CHECK(config.listen.tls);
}

TEST_CASE("limits are read as configured") {
  const Config config = good(R"("limits":{"max_head_bytes":2048,"max_headers":8,
      "max_uri_bytes":256,"max_body_bytes":4096,"head_timeout_ms":100,"body_timeout_ms":200,
      "idle_timeout_ms":300,"write_timeout_ms":400,"max_connections":1,
      "max_stream_backlog_bytes":8192,"max_unsent_bytes":65536})");
  CHECK(config.limits.head_bytes_max == 2048);
  CHECK(config.limits.headers_max == 8);
  CHECK(config.limits.uri_bytes_max == 256);
  CHECK(config.limits.body_bytes_max == 4096);
  CHECK(config.limits.head_timeout == milliseconds(100));
  CHECK(config.limits.body_timeout == milliseconds(200));
  CHECK(config.limits.idle_timeout == milliseconds(300));
  CHECK(config.limits.write_timeout == milliseconds(400));
  CHECK(config.limits.connections_max == 1);
  CHECK(config.limits.stream_backlog_bytes_max == 8192);
  CHECK(config.limits.unsent_bytes_max == 65536);
}

TEST_CASE("a limit that would admit no client or every request is a fault") {
  CHECK(bad(R"("limits":{"max_head_bytes":0,"max_connections":0,"head_timeout_ms":99,
      "max_body_bytes":16777217,"threads":4})") ==
        Faults{{"/limits/max_head_bytes", "must be an integer from 1024 to 1048576"},
               {"/limits/max_body_bytes", "must be an integer from 1024 to 16777216"},
               {"/limits/head_timeout_ms", "must be an integer from 100 to 600000"},
               {"/limits/max_connections", "must be an integer from 1 to 1000000"},
               {"/limits/threads", "is unknown"}});
}
