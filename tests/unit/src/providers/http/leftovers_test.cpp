// Data that a provider sends after its answer is never the answer to the next request.
#include <curl/curl.h>
#include <openssl/ssl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/providers/http/call.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/certificates.hpp"
#include "tests/unit/src/providers/http/misbehaving_provider.hpp"
#include "tests/unit/src/providers/http/transport_fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using test::Calls;
using test::Connection;
using test::http_answer;
using test::MisbehavingProvider;
using test::patience;
using test::request_to;
using End = HttpResult::End;

const std::string leftovers = http_answer("200 OK", R"({"properties": {"of": "nobody"}})");

/// Answers each request. After its first answer, sends leftovers when the test calls speak().
class TalkativeProvider {
 public:
  void speak() {
    asked_.set_value();
    REQUIRE(spoken_.get_future().wait_for(patience) == std::future_status::ready);
  }
  std::string url() const { return provider_.url(); }
  int connections() const { return provider_.connections(); }
  int requests() const { return requests_; }

 private:
  void answer(Connection& connection) {
    while (connection.read_request()) {
      const bool is_first = ++requests_ == 1;
      connection.send(http_answer("200 OK", ""));
      if (!is_first) continue;
      asked_.get_future().wait_for(patience);
      connection.send(leftovers);
      spoken_.set_value();
    }
  }

  std::promise<void> asked_;
  std::promise<void> spoken_;
  std::atomic<int> requests_{0};
  MisbehavingProvider provider_{[this](Connection& connection) { answer(connection); }};
};

/// While it exists, this process can open no file, socket or pipe.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit lower = before_;
    lower.rlim_cur = std::min<rlim_t>(before_.rlim_cur, 1024);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &lower) == 0);
    for (int fd = ::dup(1); fd >= 0; fd = ::dup(1)) taken_.push_back(fd);
  }
  ~NoDescriptors() {
    for (const int fd : taken_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

/// A provider that holds `count` requests until answer_all().
class HeldRequests {
 public:
  explicit HeldRequests(int count) : count_(count) {}

  std::string url() const { return provider_.url(); }
  void wait_for_all() { wait(all_arrived_); }
  void answer_all() {
    answer_.set_value();
    wait(all_answered_);
  }

 private:
  static void wait(std::promise<void>& event) {
    REQUIRE(event.get_future().wait_for(patience) == std::future_status::ready);
  }
  void hold(Connection& connection) {
    if (!connection.read_request()) return;
    if (++arrived_ == count_) all_arrived_.set_value();
    to_answer_.wait_for(patience);
    connection.send(http_answer("200 OK", ""));
    if (++answered_ == count_) all_answered_.set_value();
    connection.wait_closed(10s);
  }

  const int count_;
  std::atomic<int> arrived_{0};
  std::atomic<int> answered_{0};
  std::promise<void> all_arrived_;
  std::promise<void> all_answered_;
  std::promise<void> answer_;
  std::shared_future<void> to_answer_ = answer_.get_future().share();
  MisbehavingProvider provider_{[this](Connection& connection) { hold(connection); }};
};

/// The server's end of TLS on a connection; reading and writing block.
class TlsEnd {
 public:
  TlsEnd(const http::TlsContext& context, const Connection& connection)
      : ssl_(SSL_new(context.get())) {
    SSL_set_fd(ssl_.get(), connection.socket());
    SSL_set_accept_state(ssl_.get());
  }

  /// False when the peer is gone.
  bool read_request() {
    const auto& body = request_to("").body;
    std::string text;
    while (!text.ends_with(body)) {
      std::array<char, 4096> piece;
      const int count = SSL_read(ssl_.get(), piece.data(), static_cast<int>(piece.size()));
      if (count <= 0) return false;
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
    return true;
  }
  void send_record(const std::string& text) {
    SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size()));
  }

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  std::unique_ptr<SSL, FreeSsl> ssl_;
};

/// A provider that speaks TLS. Answers the first request of each connection with these records, and
/// every other request without a body.
class TlsProvider {
 public:
  explicit TlsProvider(std::vector<std::string> records) : records_(std::move(records)) {}

  HttpRequest request() const { return request_to(provider_.url("https")); }
  std::string authority_path() const { return files_.write_certificate("ca.crt", authority_); }
  int connections() const { return provider_.connections(); }

 private:
  std::shared_ptr<http::TlsContext> load() const {
    return std::get<0>(http::TlsContext::load(
        files_.settings_of("server", http::test::make_identity("server", authority_))));
  }
  void answer(const Connection& connection) const {
    TlsEnd tls(*context_, connection);
    if (!tls.read_request()) return;
    for (const auto& record : records_) tls.send_record(record);
    while (tls.read_request()) tls.send_record(http_answer("200 OK", ""));
  }

  const std::vector<std::string> records_;
  const http::test::PemFiles files_;
  const http::test::Identity authority_ = http::test::make_authority("authority");
  const std::shared_ptr<http::TlsContext> context_ = load();
  MisbehavingProvider provider_{[this](Connection& connection) { answer(connection); }};
};

/// Makes calls one after another, on the connections that libcurl keeps.
class TlsCalls {
 public:
  explicit TlsCalls(std::string authority_path) : authority_path_(std::move(authority_path)) {}
  ~TlsCalls() { curl_multi_cleanup(multi_); }
  TlsCalls(const TlsCalls&) = delete;
  TlsCalls& operator=(const TlsCalls&) = delete;

  HttpResult make(HttpRequest request) {
    HttpResult made;
    HttpCall call({1, 1}, std::move(request), {},
                  [&](HttpResult result) { made = std::move(result); });
    REQUIRE(call.prepare(10'000ms, 10'000ms, {}));
    curl_easy_setopt(call.easy(), CURLOPT_CAINFO, authority_path_.c_str());
    REQUIRE(curl_multi_add_handle(multi_, call.easy()) == CURLM_OK);
    const CURLcode code = run();
    curl_multi_remove_handle(multi_, call.easy());
    call.end(code);
    INFO(made.reason);
    CHECK(made.status == 200);
    return made;
  }

 private:
  CURLcode run() {
    for (;;) {
      int count = 0;
      curl_multi_perform(multi_, &count);
      if (const CURLMsg* done = curl_multi_info_read(multi_, &count)) return done->data.result;
      curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
    }
  }

  const std::string authority_path_;
  CURLM* const multi_ = curl_multi_init();
};

}  // namespace

TEST_CASE("unsolicited data on a kept connection is not the answer to the next request") {
  TalkativeProvider provider;
  Calls calls;
  CHECK(calls.make(request_to(provider.url())).status == 200);
  SECTION("at any time") {
    provider.speak();
  }
  SECTION("without free descriptors") {
    calls.abort({7, 6}).wait();  // The sanitizer needs a pipe when it first inspects types.
    const NoDescriptors exhausted;
    provider.speak();
    // The transport has seen the leftovers before it confirms.
    CHECK(calls.abort({7, 7}).wait_for(patience) == std::future_status::ready);
  }
  const auto result = calls.make(request_to(provider.url()));
  CHECK(result.status == 200);
  CHECK(result.body.empty());
  CHECK(provider.requests() == 2);
  CHECK(provider.connections() == 2);
}

TEST_CASE("unsolicited data is noticed behind the answers of many other calls") {
  constexpr int others = 600;
  HeldRequests held(others);
  TalkativeProvider provider;
  Calls calls;
  CHECK(calls.make(request_to(provider.url())).status == 200);
  const auto first = calls.next_lease();
  auto aborted = calls.start(first, request_to(held.url()));
  std::vector<std::future<HttpResult>> results;
  for (int i = 1; i < others; ++i) {
    results.push_back(calls.start(calls.next_lease(), request_to(held.url(), 20'000ms)));
  }
  held.wait_for_all();
  // Makes room for a call in the shard that has the kept connection.
  calls.abort(first).wait();
  CHECK(aborted.get().end == End::aborted);
  std::promise<void> go_on;
  calls.hold(go_on.get_future());
  held.answer_all();
  provider.speak();
  auto result = calls.start(calls.next_lease(), request_to(provider.url()));
  go_on.set_value();
  REQUIRE(result.wait_for(patience) == std::future_status::ready);
  CHECK(result.get().body.empty());
  for (auto& other : results) CHECK(other.get().status == 200);
}

TEST_CASE("a TLS connection is reused") {
  const TlsProvider provider({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "{}"});
  TlsCalls calls(provider.authority_path());
  CHECK(calls.make(provider.request()).body == "{}");
  CHECK(calls.make(provider.request()).body.empty());
  CHECK(provider.connections() == 1);
}

TEST_CASE("data behind an answer in its TLS record is not the answer to the next request") {
  const TlsProvider provider({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "{}" + leftovers});
  TlsCalls calls(provider.authority_path());
  CHECK(calls.make(provider.request()).body == "{}");
  CHECK(calls.make(provider.request()).body == "{}");
  CHECK(provider.connections() == 2);
}

}  // namespace celld::providers
