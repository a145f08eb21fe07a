// Look-ups on threads, and the names that need one.
#include "src/providers/http/name_look_ups.hpp"

#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/providers/http/url_parts.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/providers/http/look_ups.hpp"
#include "tests/unit/src/providers/http/transport_fixture.hpp"

namespace celld::providers {
namespace {

using Texts = std::vector<std::string>;
using End = HostAddresses::End;
using test::LookUps;
using Answer = LookUps::Answer;

/// Collects the ends of look-ups.
class Ends {
 public:
  NameLookUps::Ended collector() {
    return [state = state_](const std::string& name, HostAddresses found) {
      const std::lock_guard lock(state->mutex);
      state->ends.emplace(name, std::move(found));
      state->changed.notify_all();
    };
  }
  std::optional<HostAddresses> of(const std::string& name) {
    std::unique_lock lock(state_->mutex);
    const bool ended =
        state_->changed.wait_for(lock, test::patience, [&] { return state_->ends.contains(name); });
    return ended ? std::optional(state_->ends.at(name)) : std::nullopt;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, HostAddresses> ends;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::size_t thread_count() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

std::string named(const std::string& url) {
  const auto host = named_host(url);
  return host ? host->name + ":" + host->port : "";
}

}  // namespace

TEST_CASE("a look-up ends with addresses, or says what kept it from them") {
  LookUps servers;
  servers.set("one.invalid", Answer::loopback);
  servers.set("two.invalid", Answer::both);
  servers.set("ill.invalid", Answer::failed);
  Ends ends;
  NameLookUps look_ups(ends.collector());
  servers.set("out.invalid", Answer::shortage);
  for (const char* name :
       {"one.invalid", "two.invalid", "ill.invalid", "out.invalid", "no.invalid"}) {
    look_ups.start(name);
  }
  const auto one = ends.of("one.invalid");
  REQUIRE(one);
  CHECK(one->end == End::found);
  CHECK(one->addresses == Texts{"127.0.0.1"});
  const auto two = ends.of("two.invalid");
  REQUIRE(two);
  CHECK(two->addresses == Texts{"::1", "127.0.0.1"});
  const auto ill = ends.of("ill.invalid");
  REQUIRE(ill);
  CHECK(ill->end == End::failed);
  CHECK(ill->shortage == 0);
  const auto out = ends.of("out.invalid");
  REQUIRE(out);
  CHECK(out->end == End::failed);
  CHECK(out->shortage == EMFILE);
  const auto none = ends.of("no.invalid");
  REQUIRE(none);
  CHECK(none->end == End::unknown);
}

TEST_CASE("an address that is valid on one link only is left out") {
  LookUps servers;
  servers.set("link.invalid", Answer::scoped);
  Ends ends;
  NameLookUps look_ups(ends.collector());
  look_ups.start("link.invalid");
  const auto link = ends.of("link.invalid");
  REQUIRE(link);
  CHECK(link->end == End::found);
  CHECK(link->addresses == Texts{"127.0.0.1"});
}

TEST_CASE("silent name servers hold up a bounded number of threads, and no other look-up") {
  LookUps servers;
  Ends ends;
  NameLookUps look_ups(ends.collector());
  const auto start_silent = [&](std::size_t first, std::size_t last) {
    for (auto i = first; i < last; ++i) {
      const auto name = "silent-" + std::to_string(i) + ".invalid";
      servers.set(name, Answer::silent);
      look_ups.start(name);
    }
  };
  const auto before = thread_count();
  start_silent(1, NameLookUps::threads_max);
  servers.set("one.invalid", Answer::loopback);
  look_ups.start("one.invalid");
  CHECK(ends.of("one.invalid"));

  start_silent(NameLookUps::threads_max, 4 * NameLookUps::threads_max);
  // One more may be about to end.
  CHECK(thread_count() <= before + NameLookUps::threads_max + 1);
  look_ups.start("more.invalid");
  for (std::size_t i = 1; i < 4 * NameLookUps::threads_max; ++i) {
    servers.set("silent-" + std::to_string(i) + ".invalid", Answer::failed);
  }
  REQUIRE(servers.await_begun("silent-1.invalid", 1));
  servers.wake();
  CHECK(ends.of("silent-1.invalid"));
  CHECK(ends.of("more.invalid"));
}

TEST_CASE("look-ups that hang may outlive their starter") {
  LookUps servers;
  servers.set("silent.invalid", Answer::silent);
  Ends ends;
  {
    NameLookUps look_ups(ends.collector());
    look_ups.start("silent.invalid");
    REQUIRE(servers.await_begun("silent.invalid", 1));
  }
  servers.wake();
  CHECK(ends.of("silent.invalid"));
}

TEST_CASE("only names need a look-up") {
  CHECK(named("http://DNS.example/zones") == "dns.example:80");
  CHECK(named("https://user:secret@dns.example:8443/?a#b") == "dns.example:8443");
  CHECK(named("https://dns.example") == "dns.example:443");
  CHECK(named("http://127.0.0.1:8080/").empty());
  CHECK(named("http://[::1]:8080/").empty());
  CHECK(named("http://localhost:8080/").empty());
  CHECK(named("http://dns.LOCALHOST/").empty());
  CHECK(named("http://").empty());
}

}  // namespace celld::providers
