// The text that Prometheus reads.
#include "src/metrics/metrics.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::metrics;
using cells::AbortCause;
using cells::AttemptEnd;

namespace {

cells::Job job(const cells::CellKey& cell, const std::string& service) {
  cells::JobSpec spec;
  spec.services = {service};
  cells::Job made;
  made.cell = cell;
  made.spec = std::make_shared<const cells::JobSpec>(std::move(spec));
  return made;
}

cells::CellStatus status(const std::string& customer, std::uint64_t queued) {
  cells::CellStatus made;
  made.key = {customer, "*"};
  made.queue.counts[cells::JobState::queued] = queued;
  made.pool.target = 4;
  made.pool.busy = 1;
  made.pool.borrowed = 2;
  made.pool.lent = 3;
  made.pool.short_by = 5;
  made.pool.ready = 6;
  made.pool.retiring = 7;
  return made;
}

bool has_line(const std::string& text, const std::string& line) {
  CAPTURE(text);
  return text.find("\n" + line + "\n") != std::string::npos;
}

double value_of(const std::string& text, const std::string& name) {
  const auto at = text.find("\n" + name + " ");
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + name.size() + 2));
}

}  // namespace

TEST_CASE("attempts are counted by service and outcome") {
  Metrics metrics{{"dns"}, "1.2.3"};
  auto& engine = metrics.engine();
  const auto second = std::chrono::seconds{1};
  engine.attempt_ended(job({}, "dns"), AttemptEnd::Kind::succeeded, AbortCause::none, second);
  engine.attempt_ended(job({}, "dns"), AttemptEnd::Kind::unknown, AbortCause::timeout, second);
  engine.attempt_ended(job({}, "dns"), AttemptEnd::Kind::unknown, AbortCause::none, second);
  engine.attempt_ended(job({}, "gone"), AttemptEnd::Kind::interrupted, AbortCause::worker_lost,
                       second);
  const auto text = metrics.text({}, {});
  for (const auto* outcome : {"succeeded", "timeout", "unknown"}) {
    CHECK(has_line(
        text, "celld_attempts_total{outcome=\"" + std::string(outcome) + "\",service=\"dns\"} 1"));
  }
  CHECK(has_line(text, R"~(celld_attempts_total{outcome="interrupted",service="(others)"} 1)~"));
  CHECK(has_line(text, R"~(celld_run_seconds_count{service="dns"} 3)~"));
  CHECK(has_line(text, R"~(celld_run_seconds_sum{service="dns"} 3)~"));
  CHECK(has_line(text, R"~(celld_run_seconds_count{service="(others)"} 0)~"));
  CHECK(has_line(text, R"~(celld_lease_expiries_total{customer="*",product="*"} 1)~"));
}

TEST_CASE("each end of an attempt is counted under its own outcome") {
  using Kind = AttemptEnd::Kind;
  const std::vector<std::tuple<std::string, Kind, AbortCause>> ends = {
      {"succeeded", Kind::succeeded, AbortCause::none},
      {"rejected", Kind::rejected, AbortCause::none},
      {"retryable", Kind::retryable, AbortCause::none},
      {"throttled", Kind::throttled, AbortCause::none},
      {"unknown", Kind::unknown, AbortCause::none},
      {"timeout", Kind::unknown, AbortCause::timeout},
      {"expired", Kind::expired, AbortCause::expiry},
      {"cancelled", Kind::cancelled, AbortCause::cancel},
      {"interrupted", Kind::interrupted, AbortCause::worker_lost},
      {"handed_back", Kind::handed_back, AbortCause::hand_back},
      {"pending", Kind::pending, AbortCause::none},
  };
  Metrics metrics{{"dns"}, "1.2.3"};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto& [outcome, kind, cause] = ends[i];
    for (std::size_t times = 0; times <= i; ++times)
      metrics.engine().attempt_ended(job({}, "dns"), kind, cause, std::chrono::seconds{1});
  }
  const auto text = metrics.text({}, {});
  for (std::size_t i = 0; i < ends.size(); ++i) {
    CHECK(has_line(text, "celld_attempts_total{outcome=\"" + std::get<0>(ends[i]) +
                             "\",service=\"dns\"} " + std::to_string(i + 1)));
  }
}

TEST_CASE("the time in the queue is counted in seconds") {
  Metrics metrics{{"dns"}, "1.2.3"};
  metrics.engine().first_attempt_began(job({}, "dns"), std::chrono::milliseconds{1500});
  CHECK(has_line(metrics.text({}, {}), "celld_queue_wait_seconds_sum 1.5"));
}

TEST_CASE("stale reports and restarts of dispatchers have counters of their own") {
  Metrics metrics{{}, "1.2.3"};
  metrics.engine().stale_report({}, {});
  metrics.engine().stale_report({}, {});
  metrics.engine().cell_restarted({});
  const auto text = metrics.text({}, {});
  CHECK(has_line(text, "celld_stale_reports_total 2"));
  CHECK(has_line(text, "celld_dispatcher_restarts_total 1"));
}

TEST_CASE("due times of schedules are counted by outcome") {
  Metrics metrics{{}, "1.2.3"};
  metrics.engine().due_times_passed("nightly", cells::DueOutcome::fired, 1);
  metrics.engine().due_times_passed("hourly", cells::DueOutcome::fired, 1);
  metrics.engine().due_times_passed("hourly", cells::DueOutcome::missed, 5);
  const auto text = metrics.text({}, {});
  CHECK(has_line(text, R"~(celld_schedule_times_total{outcome="fired"} 2)~"));
  CHECK(has_line(text, R"~(celld_schedule_times_total{outcome="skipped"} 0)~"));
  CHECK(has_line(text, R"~(celld_schedule_times_total{outcome="missed"} 5)~"));
}

TEST_CASE("a service added later has labels of its own, up to a limit") {
  Metrics metrics{{"dns"}, "1.2.3"};
  const auto attempt_at = [&](const std::string& service) {
    metrics.engine().attempt_ended(job({}, service), AttemptEnd::Kind::succeeded, AbortCause::none,
                                   std::chrono::seconds{1});
  };
  const auto succeeded = [](const std::string& service) {
    return R"(celld_attempts_total{outcome="succeeded",service=")" + service + "\"} ";
  };
  attempt_at("new");
  metrics.engine().add_service("new");
  attempt_at("new");
  metrics.engine().add_service("new");
  attempt_at("new");
  for (std::size_t i = 2; i < labelled_services_max; ++i)
    metrics.engine().add_service("s" + std::to_string(i));
  metrics.engine().add_service("too-many");
  attempt_at("too-many");
  const auto text = metrics.text({}, {});
  CHECK(has_line(text, succeeded("new") + "2"));
  CHECK(has_line(text, succeeded("(others)") + "2"));
  CHECK(has_line(text, succeeded("s1999") + "0"));
  CHECK(text.find("too-many") == std::string::npos);
}

TEST_CASE("undos that fail for good are counted by service") {
  Metrics metrics{{"dns"}, "1.2.3"};
  cells::Job before = job({}, "dns");
  before.steps.resize(1);
  cells::Job after = before;
  after.steps[0].state = cells::StepState::undo_failed;
  metrics.engine().lease_ended(before, after, AbortCause::none);  // It does not compensate.
  before.error = cells::JobError{};
  metrics.engine().lease_ended(before, after, AbortCause::none);
  after.steps[0].state = cells::StepState::undone;
  metrics.engine().lease_ended(before, after, AbortCause::none);
  CHECK(has_line(metrics.text({}, {}), R"~(celld_undo_failures_total{service="dns"} 1)~"));
}

TEST_CASE("an undo that fails for good is counted at its own service, whichever comes next") {
  Metrics metrics{{"dns", "mail"}, "1.2.3"};
  cells::JobSpec spec;
  spec.services = {"dns", "mail"};
  cells::Job before;
  before.spec = std::make_shared<const cells::JobSpec>(std::move(spec));
  before.steps.resize(2);
  before.step = 1;
  before.error = cells::JobError{};
  cells::Job after = before;
  after.step = 0;
  after.steps[1].state = cells::StepState::undo_failed;
  metrics.engine().lease_ended(before, after, AbortCause::none);
  const auto text = metrics.text({}, {});
  CHECK(has_line(text, R"~(celld_undo_failures_total{service="mail"} 1)~"));
  CHECK(has_line(text, R"~(celld_undo_failures_total{service="dns"} 0)~"));
}

TEST_CASE("requests are counted by endpoint and status class") {
  Metrics metrics{{}, "1.2.3"};
  auto& http = metrics.http();
  http.serves({{"GET", "/v1/jobs/{}"}, {"POST", "/v1/jobs"}});
  const auto took = std::chrono::milliseconds{250};
  http.answered(0, 200, took);
  http.answered(1, 202, took);
  http.answered(1, 400, took);
  http.answered(1, 500, took);
  http.answered(std::nullopt, 404, took);
  const auto refusals = {400, 408, 413, 414, 415, 431, 503, 505};
  for (const int status : refusals) http.refused(status);
  http.refused(418);
  const auto text = metrics.text({}, {});
  CHECK(has_line(
      text, R"~(celld_http_requests_total{method="GET",route="/v1/jobs/{}",status="2xx"} 1)~"));
  for (const auto* status : {"2xx", "4xx", "5xx"}) {
    CHECK(has_line(text, "celld_http_requests_total{method=\"POST\",route=\"/v1/jobs\",status=\"" +
                             std::string(status) + "\"} 1"));
  }
  CHECK(has_line(text,
                 R"~(celld_http_requests_total{method="(any)",route="(none)",status="4xx"} 1)~"));
  CHECK(has_line(text, R"~(celld_http_request_seconds_count{method="POST",route="/v1/jobs"} 3)~"));
  CHECK(has_line(text, R"~(celld_http_request_seconds_sum{method="POST",route="/v1/jobs"} 0.75)~"));
  for (const int status : refusals) {
    CHECK(has_line(text, "celld_http_refusals_total{status=\"" + std::to_string(status) + "\"} 1"));
  }
  CHECK(has_line(text, R"~(celld_http_refusals_total{status="other"} 1)~"));
}

TEST_CASE("cells with a label are exported one by one, and the others as a sum") {
  Metrics metrics{{}, "1.2.3"};
  CellTallies few{{1, 100}};
  CellSurvey survey;
  auto changed = status("acme", 7);
  changed.settings.jobs_max = 100;
  changed.changed.quota[cells::QuotaLimit::queue_jobs] = 5;
  survey.add(changed, few);
  auto bolt = status("bolt", 2);
  bolt.settings.jobs_max = 10;
  survey.add(bolt, few);
  auto zeta = status("zeta", 3);
  zeta.settings.jobs_max = 20;
  survey.add(zeta, few);
  auto paused = status("idle", 0);
  paused.settings.jobs_max = 30;
  paused.changed.state = cells::CellState::paused;
  survey.add(paused, few);
  auto template_cell = status("*", 9);
  template_cell.is_template = true;
  survey.add(template_cell, few);
  survey.labelled[{"acme", "*"}].oldest_queued_s = 12.5;
  const auto text = metrics.text(survey, {});
  CHECK(has_line(text, R"~(celld_jobs{customer="acme",product="*",state="queued"} 7)~"));
  CHECK(has_line(text, R"~(celld_jobs{customer="(others)",product="(others)",state="queued"} 5)~"));
  CHECK(has_line(text, R"~(celld_jobs_max{customer="acme",product="*"} 5)~"));
  CHECK(text.find("bolt") == std::string::npos);
  CHECK(has_line(text, R"~(celld_workers{customer="acme",product="*",state="busy"} 1)~"));
  CHECK(has_line(text, R"~(celld_workers_target{customer="(others)",product="(others)"} 12)~"));
  CHECK(has_line(text, R"~(celld_slots_borrowed{customer="acme",product="*"} 2)~"));
  CHECK(has_line(text, R"~(celld_slots_lent{customer="acme",product="*"} 3)~"));
  CHECK(has_line(text, R"~(celld_slots_short{customer="acme",product="*"} 5)~"));
  CHECK(has_line(text, R"~(celld_slots_short{customer="(others)",product="(others)"} 15)~"));
  CHECK(has_line(text, R"~(celld_workers{customer="acme",product="*",state="ready"} 6)~"));
  CHECK(has_line(text, R"~(celld_workers{customer="acme",product="*",state="retiring"} 7)~"));
  CHECK(has_line(text, R"~(celld_oldest_queued_age_seconds{customer="acme",product="*"} 12.5)~"));
  const std::string others = R"~({customer="(others)",product="(others)")~";
  CHECK(has_line(text, "celld_jobs_max" + others + "} 60"));
  CHECK(has_line(text, "celld_workers" + others + R"~(,state="busy"} 3)~"));
  CHECK(has_line(text, "celld_workers" + others + R"~(,state="ready"} 18)~"));
  CHECK(has_line(text, "celld_workers" + others + R"~(,state="retiring"} 21)~"));
  CHECK(has_line(text, "celld_slots_borrowed" + others + "} 6"));
  CHECK(has_line(text, "celld_slots_lent" + others + "} 9"));
  CHECK(has_line(text, R"~(celld_cells{state="active"} 3)~"));
  CHECK(has_line(text, R"~(celld_cells{state="paused"} 1)~"));
}

TEST_CASE("all of its unfinished jobs make a cell busy, not only those in its queue") {
  CellTallies tallies{{1, 100}};
  CellSurvey survey;
  survey.add(status("idle", 0), tallies);  // Takes the label.
  auto busy = status("busy", 0);
  busy.queue.counts[cells::JobState::running] = 50;
  survey.add(busy, tallies);
  tallies.rank();
  const auto labelled = tallies.snapshot().labelled;
  REQUIRE(labelled.size() == 1);
  CHECK(labelled[0].first.customer == "busy");
}

TEST_CASE("cells are counted by their state") {
  using State = cells::CellState;
  const Metrics metrics{{}, "1.2.3"};
  CellTallies tallies;
  CellSurvey survey;
  for (const auto state : {State::active, State::paused, State::paused, State::draining,
                           State::draining, State::draining}) {
    auto cell = status("acme", 0);
    cell.changed.state = state;
    survey.add(cell, tallies);
  }
  const auto text = metrics.text(survey, {});
  CHECK(has_line(text, R"~(celld_cells{state="active"} 1)~"));
  CHECK(has_line(text, R"~(celld_cells{state="paused"} 2)~"));
  CHECK(has_line(text, R"~(celld_cells{state="draining"} 3)~"));
}

TEST_CASE("each reason for a refusal has one series of its own") {
  using Kind = cells::Refusal::Kind;
  const std::map<Kind, std::string> series_of = {
      {Kind::no_cell, "(others) no_cell"},
      {Kind::timeout_too_long, "acme timeout_too_long"},
      {Kind::queue_full, "acme queue_full"},
      {Kind::too_many_cells, "(others) too_many_cells"},
      {Kind::shutting_down, "(others) draining"},
      {Kind::draining, "acme cell_draining"},
      {Kind::service_removed, "(others) service_gone"},
      {Kind::key_reused, "acme key_reused"},
      {Kind::cell_bytes_full, "acme cell_memory_full"},
      {Kind::memory_full, "acme memory_full"},
      {Kind::durability_differs, "(others) durability_differs"},
      {Kind::queue_rate, "acme queue_rate"},
      {Kind::customer_jobs_full, "acme customer_jobs"},
      {Kind::customer_bytes_full, "acme customer_bytes"},
      {Kind::customer_rate, "acme customer_rate"},
      {Kind::job_too_large, "acme job_too_large"},
  };
  REQUIRE(series_of.size() == cells::Refusal::kind_count);
  Metrics metrics{{}, "1.2.3"};
  std::map<std::string, int> expected;
  for (const auto& [kind, series] : series_of) {
    expected[series] = static_cast<int>(expected.size()) + 1;
    for (int times = 0; times < expected[series]; ++times)
      metrics.tallies().refused({"acme", "*"}, kind);
  }
  const auto text = metrics.text({}, {});
  std::map<std::string, int> counted;
  const std::regex line(
      R"~(\ncelld_refusals_total\{customer="(.*)",product=".*",reason="(.*)"\} (.*))~");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    if ((*it)[3] != "0") counted[(*it)[1].str() + " " + (*it)[2].str()] = std::stoi((*it)[3]);
  }
  CHECK(counted == expected);
}

TEST_CASE("the daemon's readings and commits are exported") {
  Metrics metrics{{}, "1.2.3"};
  metrics.committed({3, std::chrono::microseconds{200}});
  const auto text = metrics.text(
      {}, {true, 5, 100, 2, 3, {{"accepted", 6}}, {4, {{"database", 7}, {"log", 0}}, 77, 99}});
  for (const auto* line : {
           R"~(celld_build_info{version="1.2.3"} 1)~",
           "celld_ready 1",
           "celld_http_connections 5",
           "celld_http_connections_max 100",
           "celld_http_event_streams 2",
           "celld_batches_reading 3",
           R"~(celld_batch_lines_total{outcome="accepted"} 6)~",
           "celld_store_checkpoints_total 4",
           "celld_job_memory_bytes 77",
           "celld_store_free_bytes 99",
           R"~(celld_store_file_bytes{file="log"} 0)~",
           R"~(celld_store_commit_seconds_bucket{le="0.0001"} 0)~",
           R"~(celld_store_commit_seconds_bucket{le="0.00025"} 1)~",
           "celld_store_batch_operations_sum 3",
       }) {
    CHECK(has_line(text, line));
  }
  CHECK(text.find("\ncelld_process_open_fds ") != std::string::npos);
  CHECK(text.find("\ncelld_process_resident_memory_bytes ") != std::string::npos);
}

TEST_CASE("the metrics of the process are its own, and its limits in force") {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur -= 1;  // The hard limit stays higher.
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  const auto processor_seconds = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  };
  while (processor_seconds() < 0.1) {
  }
  const Metrics metrics{{}, "1.2.3"};
  const auto text = metrics.text({}, {});
  CHECK(has_line(text, "celld_process_max_fds " + std::to_string(limit.rlim_cur)));
  const auto shown = value_of(text, "celld_process_cpu_seconds_total");
  CHECK(shown >= 0.05);
  CHECK(shown <= processor_seconds() + 0.05);
}

TEST_CASE("the memory of the process is what is resident, not what is reserved") {
  constexpr std::size_t reserved_bytes = std::size_t{1} << 30;
  void* reserved = ::mmap(nullptr, reserved_bytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(reserved != MAP_FAILED);
  const Metrics metrics{{}, "1.2.3"};
  const auto shown = value_of(metrics.text({}, {}), "celld_process_resident_memory_bytes");
  ::munmap(reserved, reserved_bytes);
  double total_pages = 0;
  double resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  REQUIRE(resident_pages > 0);
  const double resident = resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
  CHECK(shown >= 0.5 * resident);
  CHECK(shown <= 1.5 * resident);
}

TEST_CASE("the start of the process is a time in seconds") {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const auto before = now();
  const Metrics metrics{{}, "1.2.3"};
  const auto after = now();
  const auto shown = value_of(metrics.text({}, {}), "celld_process_start_time_seconds");
  CHECK(shown >= before - 0.01);
  CHECK(shown <= after + 0.01);
}

TEST_CASE("the metric of open descriptors counts all but the one that reads them") {
  constexpr int descriptors_expected = 1024;
  int open = 0;
  for (int fd = 0; fd < descriptors_expected; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) ++open;
  }
  const Metrics metrics{{}, "1.2.3"};
  CHECK(has_line(metrics.text({}, {}), "celld_process_open_fds " + std::to_string(open)));
}
