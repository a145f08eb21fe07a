// Scrapes of a slow engine.
#include "src/metrics/scraper.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <httplib.h>

#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::metrics;

namespace {

/// A dispatcher without cells that answers the first survey and no other.
caf::behavior dispatcher_of_one_survey(caf::event_based_actor* self,
                                       const std::shared_ptr<std::atomic<int>>& surveys) {
  auto held = std::make_shared<std::vector<caf::response_promise>>();
  return {[self, held, surveys](const cells::ListCells&) -> caf::result<cells::CellsListed> {
    if (surveys->fetch_add(1) == 0) return cells::CellsListed{};
    auto promise = self->make_response_promise<cells::CellsListed>();
    held->push_back(promise);
    return promise;
  }};
}

class Scraped {
 public:
  Scraped() {
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
  }
  Scraped(const Scraped&) = delete;
  Scraped& operator=(const Scraped&) = delete;

  int surveys() const { return surveys_->load(); }

  int status() const {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(20, 0);
    const auto result = client.Get("/metrics");
    return result ? result->status : 0;
  }

 private:
  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  std::shared_ptr<std::atomic<int>> surveys_ = std::make_shared<std::atomic<int>>(0);
  caf::actor dispatcher_ = system_.spawn(dispatcher_of_one_survey, surveys_);
  Scraper scraper_ =
      spawn_scraper(system_, {std::make_shared<Metrics>(std::vector<std::string>{}, "1.2.3"),
                              caf::actor_cast<cells::CellDispatcher>(dispatcher_),
                              {},
                              [] { return cells::WallTime{}; },
                              [] { return DaemonReading{}; }});
  http::Server server_{{}, [](int status, std::string detail, const std::string&) {
                         return http::Response{status, "text/plain", std::move(detail), {}};
                       }};
  std::uint16_t port_ = 0;
};

}  // namespace

TEST_CASE("a scrape during a survey that does not end gets the previous result") {
  const Scraped scraped;
  // Scrapes share a fresh result; the last one here waits for a new survey.
  while (scraped.surveys() < 2) REQUIRE(scraped.status() == 200);
  CHECK(scraped.status() == 200);
}
