#include "src/cli/worker/runs.hpp"

#include <fcntl.h>

#include <atomic>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;
using namespace std::chrono_literals;

namespace {

std::vector<GrantedLease> leases(int count) {
  std::vector<GrantedLease> granted;
  for (int number = 1; number <= count; ++number) {
    GrantedLease lease;
    lease.name = "L" + std::to_string(number);
    lease.job = "1m84w5wj00000";
    lease.service = "vm";
    lease.expires_in = 10min;
    granted.push_back(lease);
  }
  return granted;
}

/// Runs of a command that ends at once, with limits that are easy to reach.
class SmallRuns {
 public:
  SmallRuns()
      : runs({.command = "true",
              .directory = "/",
              .worker = "w1",
              .concurrency = 7,
              .grace = 1s,
              .leases_max = 3,
              .reports_max = 3},
             providers::Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}, log_,
             [this] { note_change(); }) {}

  void wait_until_none_runs() {
    for (int seen = changes_; runs.running() > 0; seen = changes_) changes_.wait(seen);
  }

 private:
  void note_change() {
    ++changes_;
    changes_.notify_all();
  }

  const WorkerLog log_{true};
  std::atomic<int> changes_ = 0;

 public:
  Runs runs;
};

}  // namespace

TEST_CASE("a worker asks for no more leases than one answer may have") {
  SmallRuns small;
  CHECK(small.runs.wait_for_room({}) == 3);
  REQUIRE(small.runs.begin(leases(5)));
  CHECK(small.runs.wait_for_room({}) <= 3);
  small.wait_until_none_runs();
}

TEST_CASE("a worker sends its reports in requests of a limited size") {
  SmallRuns small;
  REQUIRE(small.runs.begin(leases(7)));
  small.runs.end_leasing();
  small.wait_until_none_runs();
  std::multiset<std::string> reported;
  std::size_t requests = 0;
  for (;;) {
    const auto delivery = small.runs.next_delivery();
    if (std::holds_alternative<Runs::Over>(delivery)) break;
    const auto& reports = std::get<Runs::Reports>(delivery);
    CHECK(reports.leases.size() <= 3);
    CHECK(reports.reports.size() == reports.leases.size());
    ++requests;
    for (const auto& lease : reports.leases) {
      reported.insert(lease);
      small.runs.on_reported(lease);
    }
  }
  CHECK(reported == std::multiset<std::string>{"L1", "L2", "L3", "L4", "L5", "L6", "L7"});
  CHECK(requests >= 3);
}
