// The start, end and abort of HTTP calls, and the connections that they use.
#include "src/providers/http/transport.hpp"

#include <curl/curl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/machine.hpp"
#include "tests/unit/src/providers/http/look_ups.hpp"
#include "tests/unit/src/providers/http/misbehaving_provider.hpp"
#include "tests/unit/src/providers/http/transport_fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using test::Calls;
using test::Connection;
using test::http_answer;
using test::LookUps;
using test::MisbehavingProvider;
using test::patience;
using test::request_to;
using test::tolerance;
using End = HttpResult::End;
using Answer = LookUps::Answer;

/// While it exists, the environment names a proxy for every host.
class HttpProxy {
 public:
  explicit HttpProxy(const std::string& url) {
    for (const char* exceptions : {"no_proxy", "NO_PROXY"}) ::unsetenv(exceptions);
    ::setenv("http_proxy", url.c_str(), 1);
  }
  ~HttpProxy() { ::unsetenv("http_proxy"); }
  HttpProxy(const HttpProxy&) = delete;
  HttpProxy& operator=(const HttpProxy&) = delete;
};

}  // namespace

TEST_CASE("the request is sent whole, without waiting for 100 Continue") {
  std::promise<test::SentRequest> seen;
  MisbehavingProvider provider([&](Connection& connection) {
    if (auto request = connection.read_request()) {
      seen.set_value(*request);
      connection.send(http_answer("200 OK", ""));
    }
  });
  Calls calls;
  auto request = request_to(provider.url());
  request.body = std::string(2 << 20, 'x');
  const auto result = calls.make(request);
  CHECK(result.end == End::answered);
  CHECK(result.status == 200);
  auto sent = seen.get_future().get();
  CHECK(sent.head.starts_with("POST /call HTTP/1.1\r\n"));
  CHECK(sent.header("Expect").empty());
  CHECK(sent.header("Accept-Encoding").empty());
  CHECK(sent.body == request.body);
}

TEST_CASE("the path of a URL is sent as it is") {
  std::promise<test::SentRequest> seen;
  MisbehavingProvider provider([&](Connection& connection) {
    if (auto request = connection.read_request()) {
      seen.set_value(*request);
      connection.send(http_answer("200 OK", ""));
    }
  });
  Calls calls;
  CHECK(calls.make(request_to(provider.url() + "/./a/../b")).status == 200);
  CHECK(seen.get_future().get().head.starts_with("POST /call/./a/../b HTTP/1.1\r\n"));
}

TEST_CASE("a DELETE is sent with its body if it has one") {
  std::promise<test::SentRequest> seen;
  MisbehavingProvider provider([&](Connection& connection) {
    if (auto request = connection.read_request()) {
      seen.set_value(*request);
      connection.send(http_answer("200 OK", ""));
    }
  });
  Calls calls;
  auto request = request_to(provider.url());
  request.method = "DELETE";
  CHECK(calls.make(request).status == 200);
  const auto sent = seen.get_future().get();
  CHECK(sent.head.starts_with("DELETE /call HTTP/1.1\r\n"));
  CHECK(sent.body == request.body);
}

TEST_CASE("a call without a connection was not sent") {
  Calls calls;
  SECTION("connection refused") {
    const auto url = "http://127.0.0.1:" + std::to_string(test::unused_port()) + "/";
    CHECK(calls.make(request_to(url)).end == End::not_sent);
  }
  SECTION("a name that does not exist") {
    CHECK(calls.make(request_to("http://nowhere.invalid/", 2000ms)).end == End::not_sent);
  }
  SECTION("an invalid URL") {
    CHECK(calls.make(request_to("http://")).end == End::not_sent);
    CHECK(calls.make(request_to("file:///etc/passwd")).end == End::not_sent);
  }
  SECTION("TLS to a plain port") {
    MisbehavingProvider provider([](Connection& connection) {
      connection.send(http_answer("400 Bad Request", ""));
      connection.wait_closed(10s);
    });
    CHECK(calls.make(request_to(provider.url("https"))).end == End::not_sent);
  }
  SECTION("TLS that hangs") {
    MisbehavingProvider provider([](Connection& connection) { connection.wait_closed(10s); });
    CHECK(calls.make(request_to(provider.url("https"), 200ms)).end == End::not_reached);
    Calls hasty{{.connect_timeout = 200ms}};
    const ::test::Stopwatch watch;
    CHECK(hasty.make(request_to(provider.url("https"))).end == End::not_sent);
    CHECK(watch.is_within(5s, "an attempt to connect"));
  }
}

TEST_CASE("a call for which celld has no descriptor is celld's own failure") {
  Calls calls;
  const auto url = "http://127.0.0.1:" + std::to_string(test::unused_port()) + "/";
  const auto result = [&] {
    const test::NoDescriptors none;
    return calls.make(request_to(url));
  }();
  CHECK(result.end == End::unable);
  CHECK(result.reason == "Too many open files");
  CHECK(calls.make(request_to(url)).end == End::not_sent);
}

TEST_CASE("a call takes no proxy from the environment") {
  MisbehavingProvider proxy([](Connection& connection) {
    while (connection.read_request()) connection.send(http_answer("502 Proxy", ""));
  });
  const HttpProxy variables(proxy.url());
  MisbehavingProvider provider([](Connection& connection) {
    while (connection.read_request()) connection.send(http_answer("200 OK", ""));
  });
  Calls calls;
  CHECK(calls.make(request_to(provider.url())).status == 200);
  CHECK(proxy.connections() == 0);
}

TEST_CASE("a connection is reused") {
  MisbehavingProvider provider([](Connection& connection) {
    while (connection.read_request()) connection.send(http_answer("200 OK", "{}"));
  });
  Calls calls;
  for (int i = 0; i < 20; ++i) CHECK(calls.make(request_to(provider.url())).status == 200);
  CHECK(provider.connections() == 1);
}

TEST_CASE("after a peak of calls, most of their connections are closed") {
  constexpr std::size_t peak = 8;
  constexpr int most = 5;
  std::array<std::promise<void>, peak> arrived;
  std::array<std::promise<void>, peak> answer;
  std::promise<void> most_closed;
  std::atomic<std::size_t> requests{0};
  std::atomic<int> closed{0};
  MisbehavingProvider provider([&](Connection& connection) {
    if (!connection.read_request()) return;
    const std::size_t number = requests++;
    arrived[number].set_value();
    answer[number].get_future().wait_for(patience);
    connection.send(http_answer("200 OK", "{}"));
    if (connection.wait_closed(patience) && ++closed == most) most_closed.set_value();
  });
  HttpLimits limits;
  limits.idle_connections_max = 1;
  Calls calls(limits);
  std::vector<std::future<HttpResult>> results;
  for (auto& request : arrived) {
    results.push_back(calls.start(calls.next_lease(), request_to(provider.url())));
    REQUIRE(request.get_future().wait_for(patience) == std::future_status::ready);
  }
  for (std::size_t i = 0; i < peak; ++i) {
    answer[i].set_value();
    REQUIRE(results[i].wait_for(patience) == std::future_status::ready);
  }
  CHECK(most_closed.get_future().wait_for(patience) == std::future_status::ready);
}

TEST_CASE("a connection beyond those of the usual calls is closed when its call ends") {
  constexpr int usual = 256;  // calls_per_shard_max of loop.cpp: another call has its own shard.
  std::promise<bool> closed;
  MisbehavingProvider hanging([](Connection& connection) { connection.wait_closed(patience); });
  MisbehavingProvider provider([&](Connection& connection) {
    if (!connection.read_request()) return;
    connection.send(http_answer("200 OK", "{}"));
    closed.set_value(connection.wait_closed(10s));
  });
  Calls calls;
  for (int i = 0; i < usual; ++i) {
    calls.start(calls.next_lease(), request_to(hanging.url(), 20'000ms));
  }
  REQUIRE(calls.make(request_to(provider.url())).status == 200);
  CHECK(closed.get_future().get());
}

TEST_CASE("a connection that was closed between two calls is replaced silently") {
  std::promise<void> closed;
  std::atomic<int> served{0};
  MisbehavingProvider provider([&](Connection& connection) {
    if (!connection.read_request()) return;
    connection.send(http_answer("200 OK", "{}"));
    connection.close();
    if (++served == 1) closed.set_value();
  });
  Calls calls;
  CHECK(calls.make(request_to(provider.url())).status == 200);
  REQUIRE(closed.get_future().wait_for(patience) == std::future_status::ready);
  CHECK(calls.make(request_to(provider.url())).status == 200);
  CHECK(provider.connections() == 2);
}

TEST_CASE("a request that the provider may have received is not sent again") {
  std::atomic<int> requests{0};
  MisbehavingProvider provider([&](Connection& connection) {
    while (connection.read_request()) {
      if (++requests != 1) return;  // Reads the second request, then closes.
      connection.send(http_answer("200 OK", "{}"));
    }
  });
  Calls calls;
  CHECK(calls.make(request_to(provider.url())).status == 200);
  const auto result = calls.make(request_to(provider.url()));
  CHECK(result.end == End::broken);
  CHECK(requests == 2);
}

TEST_CASE("an abort closes the socket, ends the call once, and is then confirmed") {
  std::promise<void> taken;
  std::promise<bool> closed;
  MisbehavingProvider provider([&](Connection& connection) {
    connection.read_request();
    taken.set_value();
    closed.set_value(connection.wait_closed(10s));
  });
  Calls calls;
  const auto lease = calls.next_lease();
  auto result = calls.start(lease, request_to(provider.url()));
  REQUIRE(taken.get_future().wait_for(patience) == std::future_status::ready);
  const ::test::Stopwatch watch;
  auto gone = calls.abort(lease);
  REQUIRE(gone.wait_for(patience) == std::future_status::ready);
  CHECK(result.wait_for(0s) == std::future_status::ready);
  CHECK(result.get().end == End::aborted);
  CHECK(closed.get_future().get());
  CHECK(watch.is_within(tolerance, "an abort"));
}

TEST_CASE("an answer that arrives before an abort ends the call") {
  std::promise<void> asked;
  std::promise<void> answer;
  std::promise<void> sent;
  MisbehavingProvider provider([&](Connection& connection) {
    if (!connection.read_request()) return;
    asked.set_value();
    answer.get_future().wait_for(patience);
    connection.send(http_answer("200 OK", ""));
    sent.set_value();
  });
  Calls calls;
  const auto lease = calls.next_lease();
  auto result = calls.start(lease, request_to(provider.url()));
  REQUIRE(asked.get_future().wait_for(patience) == std::future_status::ready);
  std::promise<void> go_on;
  calls.hold(go_on.get_future().share());
  answer.set_value();
  REQUIRE(sent.get_future().wait_for(patience) == std::future_status::ready);
  auto gone = calls.abort(lease);
  go_on.set_value();
  REQUIRE(gone.wait_for(patience) == std::future_status::ready);
  CHECK(result.get().end == End::answered);
}

TEST_CASE("an abort closes the connection even while a fork has copies of all descriptors") {
  std::promise<void> taken;
  std::promise<bool> closed;
  MisbehavingProvider provider([&](Connection& connection) {
    connection.read_request();
    taken.set_value();
    closed.set_value(connection.wait_closed(10s));
  });
  Calls calls;
  const auto lease = calls.next_lease();
  calls.start(lease, request_to(provider.url()));
  REQUIRE(taken.get_future().wait_for(patience) == std::future_status::ready);
  const pid_t fork = ::fork();
  if (fork == 0) {
    for (;;) ::pause();
  }
  REQUIRE(fork > 0);
  CHECK(calls.abort(lease).wait_for(patience) == std::future_status::ready);
  CHECK(closed.get_future().get());
  ::kill(fork, SIGKILL);
  ::waitpid(fork, nullptr, 0);
}

TEST_CASE("an abort does not wait for a name server that does not answer") {
  LookUps servers;
  servers.set("silent.invalid", Answer::silent);
  Calls calls;
  const auto lease = calls.next_lease();
  auto result = calls.start(lease, request_to("http://silent.invalid/"));
  REQUIRE(servers.await_begun("silent.invalid", 1));
  REQUIRE(calls.abort(lease).wait_for(patience) == std::future_status::ready);
  CHECK(result.get().end == End::aborted);
}

TEST_CASE("calls wait for one look-up of a silent name server, and each ends in time") {
  LookUps servers;
  servers.set("silent.invalid", Answer::silent);
  Calls calls{{.connect_timeout = 300ms}};
  std::vector<std::future<HttpResult>> results;
  for (int i = 0; i < 50; ++i) {
    results.push_back(calls.start(calls.next_lease(), request_to("http://silent.invalid/")));
    results.push_back(calls.start(calls.next_lease(), request_to("http://silent.invalid/", 200ms)));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    REQUIRE(results[i].wait_for(patience) == std::future_status::ready);
    const auto result = results[i].get();
    CHECK(result.end == (i % 2 == 0 ? End::not_sent : End::not_reached));
    CHECK(result.reason == ::curl_easy_strerror(CURLE_OPERATION_TIMEDOUT));
  }
  CHECK(calls.make(request_to("http://silent.invalid/", 100ms)).end == End::not_reached);
  CHECK(servers.begun("silent.invalid") == 1);
}

TEST_CASE("calls that wait for a name begin, or end, with its look-up") {
  LookUps servers;
  servers.set("late.invalid", Answer::silent);
  MisbehavingProvider provider([](Connection& connection) {
    while (connection.read_request()) connection.send(http_answer("200 OK", ""));
  });
  Calls calls;
  const auto url = "http://late.invalid:" + std::to_string(provider.port()) + "/";
  auto first = calls.start(calls.next_lease(), request_to(url));
  auto second = calls.start(calls.next_lease(), request_to(url));
  REQUIRE(servers.await_begun("late.invalid", 1));
  SECTION("that has an address") {
    servers.set("late.invalid", Answer::loopback);
    servers.wake();
    CHECK(first.get().end == End::answered);
    CHECK(second.get().end == End::answered);
  }
  SECTION("that has none") {
    servers.set("late.invalid", Answer::failed);
    servers.wake();
    const auto result = first.get();
    CHECK(result.end == End::not_sent);
    CHECK(result.reason == ::curl_easy_strerror(CURLE_COULDNT_RESOLVE_HOST));
    CHECK(second.get().end == End::not_sent);
  }
  SECTION("that celld cannot make") {
    servers.set("late.invalid", Answer::shortage);
    servers.wake();
    const auto result = first.get();
    CHECK(result.end == End::unable);
    CHECK(result.reason == "Too many open files");
    CHECK(second.get().end == End::unable);
  }
  CHECK(servers.begun("late.invalid") == 1);
}

TEST_CASE("a name is looked up once for many calls, and sent to the provider") {
  LookUps servers;
  servers.set("here.invalid", GENERATE(Answer::loopback, Answer::both));
  std::mutex mutex;
  std::vector<std::string> hosts;
  MisbehavingProvider provider([&](Connection& connection) {
    while (const auto request = connection.read_request()) {
      {
        const std::lock_guard lock(mutex);
        hosts.push_back(request->header("Host"));
      }
      connection.send(http_answer("200 OK", ""));
    }
  });
  Calls calls;
  const auto host = "here.invalid:" + std::to_string(provider.port());
  for (int i = 0; i < 3; ++i) {
    CHECK(calls.make(request_to("http://" + host + "/")).end == End::answered);
  }
  CHECK(servers.begun("here.invalid") == 1);
  const std::lock_guard lock(mutex);
  CHECK(hosts == std::vector<std::string>{host, host, host});
}

TEST_CASE("a transport may end while a name server is silent") {
  LookUps servers;
  servers.set("silent.invalid", Answer::silent);
  std::future<HttpResult> result;
  {
    Calls calls;
    result = calls.start(calls.next_lease(), request_to("http://silent.invalid/"));
    REQUIRE(servers.await_begun("silent.invalid", 1));
  }
  CHECK(result.get().end == End::aborted);
}

TEST_CASE("an abort of an unknown lease is confirmed") {
  Calls calls;
  CHECK(calls.abort({7, 7}).wait_for(patience) == std::future_status::ready);
}

TEST_CASE("a lease has one call at a time") {
  MisbehavingProvider provider([](Connection& connection) {
    connection.read_request();
    connection.wait_closed(10s);
  });
  Calls calls;
  auto first = calls.start({1, 1}, request_to(provider.url()));
  auto second = calls.start({1, 1}, request_to(provider.url()));
  REQUIRE(second.wait_for(patience) == std::future_status::ready);
  CHECK(second.get().end == End::aborted);
  CHECK(first.wait_for(0s) == std::future_status::timeout);
  calls.abort({1, 1}).wait();
  CHECK(first.get().end == End::aborted);
}

TEST_CASE("a transport that ends aborts each of its calls") {
  std::atomic<int> arrived{0};
  MisbehavingProvider provider([&](Connection& connection) {
    connection.read_request();
    ++arrived;
    connection.wait_closed(10s);
  });
  std::vector<std::future<HttpResult>> ends;
  {
    Calls calls;
    for (int i = 0; i < 4; ++i)
      ends.push_back(calls.start(calls.next_lease(), request_to(provider.url())));
    while (arrived < 4) std::this_thread::yield();
  }
  for (auto& end : ends) {
    REQUIRE(end.wait_for(0s) == std::future_status::ready);
    CHECK(end.get().end == End::aborted);
  }
}

TEST_CASE("a transport that ends aborts its calls, and its queue answers later operations") {
  MisbehavingProvider provider([](Connection& connection) { connection.wait_closed(10s); });
  std::promise<HttpResult> ended;
  std::shared_ptr<HttpCallQueue> queue;
  {
    HttpTransport transport;
    queue = transport.calls();
    queue->start({1, 1}, request_to(provider.url()),
                 [&](HttpResult result) { ended.set_value(std::move(result)); });
  }
  auto result = ended.get_future();
  REQUIRE(result.wait_for(0s) == std::future_status::ready);
  CHECK(result.get().end == End::aborted);

  End late = End::answered;
  bool confirmed = false;
  queue->start({1, 2}, request_to(provider.url()), [&](const HttpResult& r) { late = r.end; });
  queue->abort({1, 1}, [&] { confirmed = true; });
  CHECK(late == End::aborted);
  CHECK(confirmed);
}

TEST_CASE("only the end of a call with a small answer is reported through help_actors") {
  std::string body;
  MisbehavingProvider provider([&](Connection& connection) {
    while (connection.read_request()) connection.send(http_answer("200 OK", body));
  });
  std::atomic<bool> helping{false};
  HttpTransport transport{{}, [&](const std::function<void()>& send) {
                            helping = true;
                            send();
                            helping = false;
                          }};
  cells::LeaseSource leases{1};
  const auto is_helping = [&](std::size_t bytes) {
    body = std::string(bytes, 'x');
    std::promise<std::pair<bool, std::size_t>> ended;
    auto result = ended.get_future();
    transport.calls()->start(
        leases.next(), request_to(provider.url()),
        [&](const HttpResult& answer) { ended.set_value({helping, answer.body.size()}); });
    REQUIRE(result.wait_for(patience) == std::future_status::ready);
    const auto [was_helping, received] = result.get();
    CHECK(received == bytes);
    return was_helping;
  };
  CHECK(is_helping(0));
  CHECK(is_helping(16 << 10));
  CHECK_FALSE(is_helping((16 << 10) + 1));
}

TEST_CASE("a thousand calls are in flight at once on one thread") {
  constexpr int count = 1000;
  std::atomic<int> arrived{0};
  std::promise<void> all_arrived;
  auto all = all_arrived.get_future().share();
  MisbehavingProvider provider([&](Connection& connection) {
    connection.read_request();
    if (++arrived == count) all_arrived.set_value();
    const bool at_once = all.wait_for(patience) == std::future_status::ready;
    connection.send(http_answer(at_once ? "200 OK" : "500 Internal Server Error", "{}"));
  });
  Calls calls;
  std::vector<std::future<HttpResult>> results;
  for (int i = 0; i < count; ++i) {
    results.push_back(calls.start(calls.next_lease(), request_to(provider.url(), 20'000ms)));
  }
  int succeeded = 0;
  for (auto& result : results) {
    if (result.wait_for(patience) != std::future_status::ready) break;
    succeeded += result.get().status == 200 ? 1 : 0;
  }
  CHECK(succeeded == count);
}

TEST_CASE("calls that hang all end at their timeout") {
  constexpr int count = 300;
  MisbehavingProvider provider([](Connection& connection) { connection.wait_closed(10s); });
  Calls calls;
  std::vector<std::future<HttpResult>> results;
  const ::test::Stopwatch watch;
  for (int i = 0; i < count; ++i) {
    results.push_back(calls.start(calls.next_lease(), request_to(provider.url(), 500ms)));
  }
  int out_of_time = 0;
  for (auto& result : results) {
    if (result.wait_for(patience) != std::future_status::ready) break;
    const End end = result.get().end;
    // A busy machine may not have begun to send.
    out_of_time += end == End::timed_out || end == End::not_reached ? 1 : 0;
  }
  CHECK(watch.is_within(500ms + tolerance, "the end of all calls"));
  CHECK(out_of_time == count);
}

}  // namespace celld::providers
