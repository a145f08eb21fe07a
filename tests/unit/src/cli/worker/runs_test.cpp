#include "src/cli/worker/runs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "src/providers/steady_now.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;
using namespace std::chrono_literals;

namespace {

std::vector<GrantedLease> leases(int count, int first = 1) {
  std::vector<GrantedLease> granted;
  for (int number = first; number < first + count; ++number) {
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
  explicit SmallRuns(std::string command = "true")
      : runs({.command = std::move(command),
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

/// Returns once the thread waits for something.
void wait_until_asleep(pid_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (;;) {
    std::ifstream file(path);
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    if (stat.find(") S ") != std::string::npos) return;
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("a worker asks for no more leases than one answer may have") {
  SmallRuns small;
  CHECK(small.runs.wait_for_room({}) == 3);
  small.runs.begin(leases(5));
  CHECK(small.runs.wait_for_room({}) <= 3);
  small.wait_until_none_runs();
}

TEST_CASE("a worker sends its reports in requests of a limited size") {
  SmallRuns small;
  small.runs.begin(leases(7));
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

TEST_CASE("a worker sends the heartbeat of a lease only once at a time") {
  SmallRuns small("exec sleep 600");
  auto granted = leases(2);
  for (auto& lease : granted) lease.expires_in = 400ms;
  small.runs.begin(std::move(granted));
  const auto first = std::get<Runs::Heartbeat>(small.runs.next_delivery());
  const auto second = std::get<Runs::Heartbeat>(small.runs.next_delivery());
  CHECK(first.lease != second.lease);
  small.runs.on_term(first, {10min, false});
  small.runs.on_no_answer(second.lease);
  CHECK(std::get<Runs::Heartbeat>(small.runs.next_delivery()).lease == second.lease);
  small.runs.give_up();
  small.runs.send_signals();
}

TEST_CASE("of the heartbeats that are due, that of the lease that ends first is sent first") {
  SmallRuns small("exec sleep 600");
  small.runs.begin(leases(2));
  // The answers to old heartbeats make the next ones due.
  small.runs.on_term({"L1", "", providers::steady_now() - 1min}, {10min, false});
  small.runs.on_term({"L2", "", providers::steady_now() - 1min}, {9min, false});
  CHECK(std::get<Runs::Heartbeat>(small.runs.next_delivery()).lease == "L2");
  CHECK(std::get<Runs::Heartbeat>(small.runs.next_delivery()).lease == "L1");
  small.runs.give_up();
  small.runs.send_signals();
}

TEST_CASE("a worker sends long reports in requests that celld takes") {
  // Three of them are longer than the 512 KiB of one request.
  SmallRuns small(
      R"(printf '{"properties":{"x":"'; head -c 200000 /dev/zero | tr '\0' x; printf '"}}')");
  small.runs.begin(leases(3));
  small.wait_until_none_runs();
  const auto first = std::get<Runs::Reports>(small.runs.next_delivery());
  CHECK(first.leases == std::vector<std::string>{"L1", "L2"});
  REQUIRE(first.reports.size() == 2);
  CHECK(first.reports[1].size() > 200'000);
  CHECK(std::get<Runs::Reports>(small.runs.next_delivery()).leases ==
        std::vector<std::string>{"L3"});
}

TEST_CASE("a worker that gives up starts no command any more") {
  SmallRuns small("exec sleep 600");
  small.runs.give_up();
  small.runs.begin(leases(1));
  CHECK(small.runs.running() == 0);
  CHECK(std::get<Runs::Reports>(small.runs.next_delivery()).leases.size() == 1);
}

TEST_CASE("a command that cannot be started counts once") {
  SmallRuns small("exit 127");
  small.runs.begin(leases(1));
  small.wait_until_none_runs();
  CHECK(small.runs.take_failed_start());
  CHECK_FALSE(small.runs.take_failed_start());
  CHECK(small.runs.fails_to_start());
  small.runs.begin(leases(1, 2));
  small.wait_until_none_runs();
  CHECK(small.runs.take_failed_start());
}

TEST_CASE("a command that rejects its job has been started, whatever code it reports") {
  SmallRuns small(R"(echo '{"code":"communications_error"}'; exit 1)");
  small.runs.begin(leases(1));
  small.wait_until_none_runs();
  CHECK_FALSE(small.runs.take_failed_start());
  CHECK_FALSE(small.runs.fails_to_start());
}

TEST_CASE("a worker sends a report only once at a time, and again without an answer") {
  SmallRuns small;
  small.runs.begin(leases(1));
  small.wait_until_none_runs();
  const auto first = std::get<Runs::Reports>(small.runs.next_delivery());
  CHECK(first.leases == std::vector<std::string>{"L1"});
  small.runs.begin(leases(1, 2));
  CHECK(std::get<Runs::Reports>(small.runs.next_delivery()).leases ==
        std::vector<std::string>{"L2"});
  small.runs.on_no_answer("L1");
  CHECK(std::get<Runs::Reports>(small.runs.next_delivery()).leases == first.leases);
}

TEST_CASE("a heartbeat that is due is sent between two requests with reports") {
  SmallRuns small;
  small.runs.begin(leases(8));  // There is no room for the command of the last.
  small.wait_until_none_runs();
  // The answer to an old heartbeat makes the next one due.
  small.runs.on_term({"L8", "", providers::steady_now() - 1min}, {10min, false});
  CHECK(std::holds_alternative<Runs::Reports>(small.runs.next_delivery()));
  CHECK(std::holds_alternative<Runs::Heartbeat>(small.runs.next_delivery()));
  CHECK(std::holds_alternative<Runs::Reports>(small.runs.next_delivery()));
}

TEST_CASE("a worker keeps a report beyond the end of its lease, until it stops") {
  SmallRuns small;
  auto granted = leases(1);
  granted[0].expires_in = 300ms;
  small.runs.begin(std::move(granted));
  const auto end_of_lease = std::chrono::steady_clock::now() + 300ms;
  small.wait_until_none_runs();
  bool has_expired = false;
  while (!has_expired) {
    has_expired = std::chrono::steady_clock::now() >= end_of_lease;
    auto next = std::async(std::launch::async, [&] { return small.runs.next_delivery(); });
    if (next.wait_for(60s) != std::future_status::ready) small.runs.end_leasing();
    REQUIRE(std::holds_alternative<Runs::Reports>(next.get()));
    small.runs.on_no_answer("L1");
  }
  CHECK_FALSE(small.runs.has_abandoned_reports());
  small.runs.end_leasing();
  CHECK(std::holds_alternative<Runs::Over>(small.runs.next_delivery()));
  CHECK(small.runs.has_abandoned_reports());
}

TEST_CASE("a lease whose report is on its way is not forgotten") {
  SmallRuns small;
  small.runs.begin(leases(1));
  small.wait_until_none_runs();
  small.runs.next_delivery();
  small.runs.end_leasing();
  CHECK(small.runs.wait_for_room({}) > 0);
  small.runs.on_reported("L1");
  CHECK(std::holds_alternative<Runs::Over>(small.runs.next_delivery()));
}

TEST_CASE("a worker that has stopped knows of results that celld did not take") {
  using End = std::function<void(Runs&)>;
  const std::pair<const char*, End> ends[] = {{"lost", [](Runs& runs) { runs.on_lost("L1"); }},
                                              {"refused twice", [](Runs& runs) {
                                                 runs.on_report_refused("L1", "it has faults");
                                                 runs.on_report_refused("L1", "it has faults");
                                               }}};
  for (const auto& [name, end] : ends) {
    for (const bool has_stopped : {true, false}) {
      INFO(name << ", stopped: " << has_stopped);
      SmallRuns small;
      small.runs.begin(leases(1));
      small.wait_until_none_runs();
      small.runs.next_delivery();
      if (has_stopped) small.runs.end_leasing();
      end(small.runs);
      CHECK(small.runs.has_abandoned_reports() == has_stopped);
    }
  }
}

TEST_CASE("a worker that waits for room goes on once an unreported lease is over") {
  using End = std::function<void(Runs&, const std::string&)>;
  const std::pair<const char*, End> ends[] = {
      {"reported", [](Runs& runs, const std::string& lease) { runs.on_reported(lease); }},
      {"lost", [](Runs& runs, const std::string& lease) { runs.on_lost(lease); }},
      {"refused twice", [](Runs& runs, const std::string& lease) {
         runs.on_report_refused(lease, "it has faults");
         runs.on_report_refused(lease, "it has faults");
       }}};
  for (const auto& [name, end] : ends) {
    INFO(name);
    SmallRuns small;
    // As many reports as there may be beside running commands.
    small.runs.begin(leases(7));
    small.wait_until_none_runs();
    small.runs.begin(leases(7, 8));
    small.wait_until_none_runs();
    std::stop_source stop;
    std::promise<pid_t> thread;
    auto room = std::async(std::launch::async, [&] {
      thread.set_value(::gettid());
      return small.runs.wait_for_room(stop.get_token());
    });
    wait_until_asleep(thread.get_future().get());
    end(small.runs, "L3");
    CHECK(room.wait_for(60s) == std::future_status::ready);
    stop.request_stop();
    CHECK(room.get() == 1);
  }
}

TEST_CASE("a command has the trace context of its job, and none from the worker's environment") {
  ::setenv("TRACEPARENT", "of the worker", 1);
  SmallRuns small{R"(printf '{"properties":{"trace":"%s"}}' "${TRACEPARENT-none}")"};
  auto granted = leases(2);
  granted[1].traceparent = "of the job";
  small.runs.begin(granted);
  small.wait_until_none_runs();
  ::unsetenv("TRACEPARENT");
  const auto delivery = small.runs.next_delivery();
  const auto& reports = std::get<Runs::Reports>(delivery).reports;
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].find(R"({"trace":"none"})") != std::string::npos);
  CHECK(reports[1].find(R"({"trace":"of the job"})") != std::string::npos);
}

TEST_CASE("leases for which there is no room wait until other commands have ended") {
  SmallRuns small;
  small.runs.begin(leases(20));
  CHECK(small.runs.running() <= 7);
  std::set<std::string> reported;
  const auto deliver = [&] {
    const auto delivery = small.runs.next_delivery();
    if (std::holds_alternative<Runs::Over>(delivery)) return false;
    for (const auto& lease : std::get<Runs::Reports>(delivery).leases) {
      CHECK(reported.insert(lease).second);
      small.runs.on_reported(lease);
    }
    return true;
  };
  SECTION("all of them are started") {
    while (small.runs.start_waiting()) {
      CHECK(small.runs.running() <= 7);
      deliver();
    }
    small.runs.end_leasing();
    while (deliver()) continue;
    CHECK(reported.size() == 20);
  }
  SECTION("unless leasing has ended") {
    small.runs.end_leasing();
    while (deliver()) continue;
    CHECK(reported.size() == 7);
    CHECK(!small.runs.start_waiting());
  }
}
