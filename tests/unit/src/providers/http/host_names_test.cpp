// What is known of host names, and for how long.
#include "src/providers/http/host_names.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;
using End = HostAddresses::End;

constexpr auto name = "dns.example";

class Fixture {
 public:
  /// How long a call waits; nothing: it does not.
  std::optional<cells::milliseconds> wait(cells::milliseconds at_most = 10s) {
    const auto until = names_.wait_for(name, now_, now_ + at_most);
    if (!until) return std::nullopt;
    return std::chrono::duration_cast<cells::milliseconds>(*until - now_);
  }
  Texts addresses() { return names_.addresses(name, now_); }
  void end(End end, Texts addresses = {}) { names_.ended(name, {end, std::move(addresses)}, now_); }
  void pass(cells::milliseconds time) { now_ += time; }
  /// The names that were looked up.
  Texts looked_up;

 private:
  HostNames names_{[this](const std::string& each) { looked_up.push_back(each); }};
  cells::SteadyTime now_{1h};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "calls to a new name wait for one look-up, as long as they may") {
  CHECK(wait() == 10s);
  pass(1s);
  CHECK(wait() == 10s);
  CHECK(looked_up == Texts{name});
  CHECK(addresses().empty());
  end(End::found, {"192.0.2.1", "192.0.2.2"});
  CHECK_FALSE(wait());
  CHECK(addresses() == Texts{"192.0.2.1", "192.0.2.2"});
  CHECK(looked_up == Texts{name});
}

TEST_CASE_METHOD(Fixture, "after a minute, a name is looked up again") {
  wait();
  end(End::found, {"192.0.2.1"});
  pass(60s - 1ms);
  CHECK_FALSE(wait());
  pass(1ms);
  CHECK(wait() == 1800ms);
  CHECK(looked_up.size() == 2);
  end(End::found, {"192.0.2.9"});
  CHECK_FALSE(wait());
  CHECK(addresses() == Texts{"192.0.2.9"});
}

TEST_CASE_METHOD(Fixture, "a call that has old addresses keeps half of its time for them") {
  wait();
  end(End::found, {"192.0.2.1"});
  pass(2min);
  CHECK(wait(500ms) == 250ms);
}

TEST_CASE_METHOD(Fixture, "a look-up without an end holds up only the calls of its first moments") {
  wait();
  end(End::found, {"192.0.2.1"});
  pass(2min);
  CHECK(wait() == 1800ms);
  pass(1s);
  CHECK(wait() == 800ms);
  pass(800ms);
  CHECK_FALSE(wait());
  CHECK(addresses() == Texts{"192.0.2.1"});
  CHECK(looked_up.size() == 2);
}

TEST_CASE_METHOD(Fixture, "while name servers fail, old addresses serve for a day") {
  wait();
  end(End::found, {"192.0.2.1"});
  pass(1h);
  wait();
  CHECK(addresses() == Texts{"192.0.2.1"});  // The look-up has no end yet.
  end(End::failed);
  CHECK(addresses() == Texts{"192.0.2.1"});
  pass(30s - 1ms);
  CHECK_FALSE(wait());
  pass(1ms);
  CHECK(wait() == 1800ms);
  CHECK(looked_up.size() == 3);
  end(End::failed);
  pass(23h - 30s);
  CHECK(addresses() == Texts{"192.0.2.1"});
  pass(1ms);
  CHECK(wait() == 10s);
  CHECK(addresses().empty());
}

TEST_CASE_METHOD(Fixture, "a name that is gone has no addresses any more") {
  wait();
  end(End::found, {"192.0.2.1"});
  pass(1min);
  wait();
  end(End::unknown);
  CHECK(addresses().empty());
  CHECK(wait() == 10s);
  CHECK(looked_up.size() == 3);
}

TEST_CASE_METHOD(Fixture, "a name without addresses is looked up for the next call") {
  wait();
  end(GENERATE(End::failed, End::unknown));
  CHECK(addresses().empty());
  CHECK(wait() == 10s);
  CHECK(looked_up.size() == 2);
}

}  // namespace celld::providers
