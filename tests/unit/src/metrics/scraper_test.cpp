// Scrapes of a slow engine, and of one with many cells.
#include "src/metrics/scraper.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>
#include <caf/scheduler/test_coordinator.hpp>

#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::metrics;

namespace {

/// Services of each kind: without protection, protected, held by its provider, pulled. The last is
/// protected, too.
cells::ServicesListed services_of_each_kind() {
  cells::ServicesListed listed;
  listed.services["dns"].in_flight = 7;
  auto& limited = listed.services["mail"];
  limited.protection.limits.concurrency = 9;
  limited.in_flight = 8;
  limited.waiting = 6;
  limited.circuit = cells::CircuitState::half_open;
  auto& held = listed.services["web"];
  held.protection.limits.concurrency = 9;
  held.paused_until = cells::WallTime{std::chrono::seconds(9)};
  auto& pulled = listed.services["vm"];
  pulled.protection.limits.concurrency = 9;
  pulled.in_flight = 3;
  pulled.waiting = 4;
  pulled.leases = cells::LeaseTraffic{2, 5};
  return listed;
}

/// A dispatcher without cells that answers the first survey and no other.
caf::behavior dispatcher_of_one_survey(caf::event_based_actor* self,
                                       const std::shared_ptr<std::atomic<int>>& surveys) {
  auto held = std::make_shared<std::vector<caf::response_promise>>();
  return {[self, held, surveys](const cells::ListCells&) -> caf::result<cells::CellsListed> {
            if (surveys->fetch_add(1) == 0) return cells::CellsListed{};
            auto promise = self->make_response_promise<cells::CellsListed>();
            held->push_back(promise);
            return promise;
          },
          [](const cells::ListServices&) { return services_of_each_kind(); }};
}

/// A dispatcher of one cell, which its first survey does not find yet. The second survey waits
/// until the dispatcher is released.
caf::behavior dispatcher_to_be_released(caf::event_based_actor* self,
                                        const std::shared_ptr<std::atomic<int>>& surveys) {
  using Held = std::vector<caf::typed_response_promise<cells::CellsListed>>;
  auto held = std::make_shared<Held>();
  return {[self, held, surveys](const cells::ListCells&) -> caf::result<cells::CellsListed> {
            if (surveys->fetch_add(1) == 0) return cells::CellsListed{};
            auto promise = self->make_response_promise<cells::CellsListed>();
            held->push_back(promise);
            return promise;
          },
          [](const cells::ListServices&) { return services_of_each_kind(); },
          [held](caf::ok_atom) {
            cells::CellsListed listed;
            listed.cells.emplace_back().key = {"new", "*"};
            for (auto& promise : *held) promise.deliver(listed);
          }};
}

/// Under the policy "testing", only this makes the time of the actors pass.
void pass_time(caf::actor_system& system, std::chrono::seconds time) {
  dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler()).advance_time(time);
}

/// A dispatcher without cells; each survey takes so long. Counts the surveys.
template <int seconds>
caf::behavior dispatcher_of_slow_surveys(caf::event_based_actor* self,
                                         const std::shared_ptr<std::atomic<int>>& surveys) {
  return {[self, surveys](const cells::ListCells&) {
            ++*surveys;
            pass_time(self->system(), std::chrono::seconds(seconds));
            return cells::CellsListed{};
          },
          [](const cells::ListServices&) { return services_of_each_kind(); }};
}

constexpr std::size_t cell_count = 10;

/// A dispatcher of ten cells, each with one queued job; counts the pages that it lists.
caf::behavior dispatcher_of_ten_cells(caf::event_based_actor*,
                                      const std::shared_ptr<std::atomic<int>>& pages) {
  return {[pages](const cells::ListCells& request) {
            ++*pages;
            cells::CellsListed listed;
            for (std::size_t i = 0; i < cell_count; ++i) {
              cells::CellStatus status;
              status.key = {"c" + std::to_string(i), "*"};
              status.queue.counts[cells::JobState::queued] = 1;
              if (request.after && status.key <= *request.after) continue;
              if (listed.cells.size() == request.limit) {
                listed.more_after = listed.cells.back().key;
                break;
              }
              listed.cells.push_back(std::move(status));
            }
            return listed;
          },
          [](const cells::ListServices&) { return services_of_each_kind(); }};
}

/// A dispatcher that cannot list its cells.
caf::behavior dispatcher_without_cells(caf::event_based_actor*,
                                       const std::shared_ptr<std::atomic<int>>& surveys) {
  return {[surveys](const cells::ListCells&) -> caf::result<cells::CellsListed> {
            ++*surveys;
            return caf::make_error(caf::sec::runtime_error);
          },
          [](const cells::ListServices&) { return services_of_each_kind(); }};
}

/// A dispatcher without cells that cannot list its services.
caf::behavior dispatcher_without_services(caf::event_based_actor*,
                                          const std::shared_ptr<std::atomic<int>>& surveys) {
  return {[surveys](const cells::ListCells&) {
            ++*surveys;
            return cells::CellsListed{};
          },
          [](const cells::ListServices&) -> caf::result<cells::ServicesListed> {
            return caf::make_error(caf::sec::runtime_error);
          }};
}

/// A dispatcher of a cell with a queued job. Its first survey fails after this cell; then the cell
/// is gone.
caf::behavior dispatcher_of_a_broken_survey(caf::event_based_actor*,
                                            const std::shared_ptr<std::atomic<int>>& pages) {
  return {[pages](const cells::ListCells&) -> caf::result<cells::CellsListed> {
            const int page = ++*pages;
            if (page == 2) return caf::make_error(caf::sec::runtime_error);
            cells::CellsListed listed;
            if (page > 2) return listed;
            cells::CellStatus status;
            status.key = {"c0", "*"};
            status.queue.counts[cells::JobState::queued] = 1;
            listed.more_after = status.key;
            listed.cells.push_back(std::move(status));
            return listed;
          },
          [](const cells::ListServices&) { return services_of_each_kind(); }};
}

/// Every oldest job has waited for two seconds.
caf::behavior reader_of_old_jobs(caf::event_based_actor*, cells::WallTime submitted) {
  return {[submitted](const cells::FindOldestQueued& request) {
    const auto place = cells::first_job_id_at(submitted);
    return cells::OldestQueued{std::vector(request.cells.size(), place)};
  }};
}

/// The queues have become empty meanwhile.
caf::behavior reader_of_no_jobs(caf::event_based_actor*, cells::WallTime) {
  return {[](const cells::FindOldestQueued& request) {
    return cells::OldestQueued{std::vector<cells::JobId>(request.cells.size(), 0)};
  }};
}

/// The clock has been set back by two seconds since every job came.
caf::behavior reader_of_later_jobs(caf::event_based_actor*, cells::WallTime) {
  return {[](const cells::FindOldestQueued& request) {
    const auto place = cells::first_job_id_at(cells::WallTime{std::chrono::seconds(5)});
    return cells::OldestQueued{std::vector(request.cells.size(), place)};
  }};
}

caf::behavior reader_that_fails(caf::event_based_actor*, cells::WallTime) {
  return {[](const cells::FindOldestQueued&) -> caf::result<cells::OldestQueued> {
    return caf::make_error(caf::sec::runtime_error);
  }};
}

using Dispatcher = caf::behavior (*)(caf::event_based_actor*,
                                     const std::shared_ptr<std::atomic<int>>&);
using Reader = caf::behavior (*)(caf::event_based_actor*, cells::WallTime);

class Scraped {
 public:
  explicit Scraped(Dispatcher dispatcher, caf::atom_value policy = caf::atom("stealing"),
                   Reader reader = reader_of_old_jobs)
      : system_(config_.set("scheduler.policy", policy)),
        dispatcher_(system_.spawn<caf::detached>(dispatcher, surveys_)),
        reader_(system_.spawn<caf::detached>(reader, cells::WallTime{std::chrono::seconds(1)})) {
    server_.handle("GET", "/metrics", [this](const http::Request&, http::Responder responder) {
      caf::anon_send(scraper_, Scrape{std::move(responder)});
    });
    port_ = server_.bind("127.0.0.1", 0).first;
    server_.start();
  }
  ~Scraped() {
    server_.stop(std::chrono::milliseconds(0));
    caf::anon_send_exit(scraper_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(dispatcher_, caf::exit_reason::kill);
    caf::anon_send_exit(reader_, caf::exit_reason::kill);
  }
  Scraped(const Scraped&) = delete;
  Scraped& operator=(const Scraped&) = delete;

  int surveys() const { return surveys_->load(); }
  CellTallies& tallies() { return metrics_->tallies(); }

  void pass(std::chrono::seconds time) { pass_time(system_, time); }
  void release() { caf::anon_send(dispatcher_, caf::ok_atom::value); }

  int status() const {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(20, 0);
    const auto result = client.Get("/metrics");
    return result ? result->status : 0;
  }

  std::string text() const {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(20, 0);
    const auto result = client.Get("/metrics");
    return result ? result->body : "";
  }

 private:
  caf::actor_system_config config_;
  caf::actor_system system_;
  std::shared_ptr<std::atomic<int>> surveys_ = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<Metrics> metrics_ =
      std::make_shared<Metrics>(std::vector<std::string>{}, "1.2.3");
  caf::actor dispatcher_;
  caf::actor reader_;
  Scraper scraper_ =
      spawn_scraper(system_, {metrics_, caf::actor_cast<cells::CellDispatcher>(dispatcher_),
                              caf::actor_cast<cells::JobReader>(reader_),
                              [] { return cells::WallTime{std::chrono::seconds(3)}; },
                              [] { return DaemonReading{}; }, 3, 3});
  http::Server server_{{}, [](int status, std::string detail, const std::string&) {
                         return http::Response{status, "text/plain", std::move(detail), {}};
                       }};
  std::uint16_t port_ = 0;
};

}  // namespace

TEST_CASE("a scrape during a survey that does not end gets the previous result") {
  const Scraped scraped{dispatcher_of_one_survey};
  // Scrapes share a fresh result; the last one here waits for a new survey.
  while (scraped.surveys() < 2) REQUIRE(scraped.status() == 200);
  CHECK(scraped.status() == 200);
}

TEST_CASE("a scrape waits for its own survey, whatever time an earlier survey had") {
  Scraped scraped{dispatcher_to_be_released, caf::atom("testing")};
  REQUIRE(scraped.status() == 200);
  scraped.pass(std::chrono::seconds(1));  // The result is no longer fresh.
  auto answer = std::async(std::launch::async, [&] { return scraped.text(); });
  while (scraped.surveys() < 2 &&
         answer.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) {
    std::this_thread::yield();
  }
  scraped.pass(std::chrono::seconds(1));  // Two since the first survey, one since the second.
  scraped.release();
  CHECK(answer.get().find("celld_jobs{customer=\"new\"") != std::string::npos);
}

TEST_CASE("the result of a survey is fresh for ten times as long as the survey took") {
  Scraped scraped{dispatcher_of_slow_surveys<1>, caf::atom("testing")};
  REQUIRE(scraped.status() == 200);
  scraped.pass(std::chrono::seconds(9));
  REQUIRE(scraped.status() == 200);
  CHECK(scraped.surveys() == 1);
  scraped.pass(std::chrono::seconds(2));
  REQUIRE(scraped.status() == 200);
  CHECK(scraped.surveys() == 2);
}

TEST_CASE("the result of a survey is fresh for a second, however short the survey was") {
  Scraped scraped{dispatcher_of_slow_surveys<0>, caf::atom("testing")};
  REQUIRE(scraped.status() == 200);
  REQUIRE(scraped.status() == 200);
  CHECK(scraped.surveys() == 1);
  scraped.pass(std::chrono::seconds(1));
  REQUIRE(scraped.status() == 200);
  CHECK(scraped.surveys() == 2);
}

TEST_CASE("no result of a survey is fresh for more than a minute") {
  Scraped scraped{dispatcher_of_slow_surveys<10>, caf::atom("testing")};
  REQUIRE(scraped.status() == 200);
  scraped.pass(std::chrono::seconds(61));
  REQUIRE(scraped.status() == 200);
  CHECK(scraped.surveys() == 2);
}

TEST_CASE("a survey of three cells at a time misses none") {
  const Scraped scraped{dispatcher_of_ten_cells};
  const std::string text = scraped.text();
  CHECK(scraped.surveys() == 4);
  for (std::size_t i = 0; i < cell_count; ++i) {
    const std::string labels = "customer=\"c" + std::to_string(i) + "\",product=\"*\"";
    CHECK(text.find("celld_oldest_queued_age_seconds{" + labels + "} 2") != text.npos);
    CHECK(text.find("celld_jobs{" + labels + ",state=\"queued\"} 1") != text.npos);
  }
}

TEST_CASE("a survey without the ages of jobs has all else") {
  const Scraped scraped{dispatcher_of_ten_cells, caf::atom("stealing"), reader_that_fails};
  const std::string text = scraped.text();
  for (std::size_t i = 0; i < cell_count; ++i) {
    const std::string labels = "customer=\"c" + std::to_string(i) + "\",product=\"*\"";
    CHECK(text.find("celld_jobs{" + labels + ",state=\"queued\"} 1") != text.npos);
  }
  CHECK(text.find("\ncelld_oldest_queued_age_seconds{") == text.npos);
}

TEST_CASE("the oldest job has the age 0 if there is none, or if the clock was set back") {
  for (const auto reader : {reader_of_no_jobs, reader_of_later_jobs}) {
    const Scraped scraped{dispatcher_of_ten_cells, caf::atom("stealing"), reader};
    CHECK(
        scraped.text().find("celld_oldest_queued_age_seconds{customer=\"c0\",product=\"*\"} 0\n") !=
        std::string::npos);
  }
}

TEST_CASE("a survey that the dispatcher does not answer whole ends with what there is") {
  for (const auto dispatcher : {dispatcher_without_cells, dispatcher_without_services}) {
    const Scraped scraped{dispatcher};
    CHECK(scraped.status() == 200);
  }
}

TEST_CASE("a survey that broke off leaves no cell to the next one") {
  Scraped scraped{dispatcher_of_a_broken_survey, caf::atom("testing")};
  const std::string series = "celld_jobs{customer=\"c0\"";
  CHECK(scraped.text().find(series) != std::string::npos);
  scraped.pass(std::chrono::seconds(2));
  CHECK(scraped.text().find(series) == std::string::npos);
  CHECK(scraped.surveys() == 3);
}

TEST_CASE("a survey covers the leases of pull services, and of no others") {
  const Scraped scraped{dispatcher_of_ten_cells};
  const std::string text = scraped.text();
  CHECK(text.find("celld_leases_out{service=\"vm\"} 3\n") != text.npos);
  CHECK(text.find("celld_lease_requests_waiting{service=\"vm\"} 2\n") != text.npos);
  CHECK(text.find("celld_leases_granted_total{service=\"vm\"} 5\n") != text.npos);
  CHECK(text.find("celld_leases_out{service=\"dns\"}") == text.npos);
}

TEST_CASE("a survey covers the calls of protected services, and of no others") {
  const Scraped scraped{dispatcher_of_ten_cells};
  const std::string text = scraped.text();
  CHECK(text.find("celld_service_calls{service=\"mail\"} 8\n") != text.npos);
  CHECK(text.find("celld_service_jobs_waiting{service=\"mail\"} 6\n") != text.npos);
  CHECK(text.find("celld_service_blocked{service=\"mail\"} 1\n") != text.npos);
  CHECK(text.find("celld_service_blocked{service=\"web\"} 1\n") != text.npos);
  CHECK(text.find("celld_service_jobs_waiting{service=\"vm\"} 4\n") != text.npos);
  CHECK(text.find("celld_service_calls{service=\"dns\"}") == text.npos);
  CHECK(text.find("celld_service_calls{service=\"vm\"}") == text.npos);
}

TEST_CASE("scrapes rank the cells at most once a minute") {
  Scraped scraped{dispatcher_of_ten_cells, caf::atom("testing")};
  const auto submit = [&](const std::string& customer, int jobs) {
    for (int i = 0; i < jobs; ++i) scraped.tallies().submitted({customer, "*"});
  };
  const auto has_label = [&](const std::string& customer) {
    const auto labelled = scraped.tallies().snapshot().labelled;
    return std::any_of(labelled.begin(), labelled.end(),
                       [&](const auto& each) { return each.first.customer == customer; });
  };
  // The answer to the second scrape comes after the ranking, if any, that follows the first.
  const auto scrape = [&] { return scraped.status() + scraped.status() == 400; };
  for (std::size_t i = 0; i < CellTallies::Limits{}.labels_max; ++i)
    submit("c" + std::to_string(i), 1);
  submit("first", 10);
  REQUIRE(scrape());
  CHECK(has_label("first"));
  submit("second", 10);
  scraped.pass(std::chrono::seconds(58));
  REQUIRE(scrape());
  CHECK_FALSE(has_label("second"));
  scraped.pass(std::chrono::seconds(2));
  REQUIRE(scrape());
  CHECK(has_label("second"));
}
