// What clients of /v1/batches receive.
#include "src/http/api/batch_answers.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace celld::api;
using cells::Refusal;
using std::chrono::milliseconds;

namespace {

Problem problem_for(Refusal::Kind kind) {
  Refusal refusal;
  refusal.kind = kind;
  return refusal_ends_batch(refusal);
}

}  // namespace

TEST_CASE("Retry-After is in whole seconds, rounded up, and at least one") {
  for (const auto& [pause, seconds] : std::vector<std::pair<milliseconds, std::string>>{
           {milliseconds{0}, "1"}, {milliseconds{1000}, "1"}, {milliseconds{1001}, "2"}}) {
    celld::http::Response response;
    add_retry_after(response, pause);
    REQUIRE(response.headers.size() == 1);
    CHECK(response.headers[0].first == "Retry-After");
    CHECK(response.headers[0].second == seconds);
  }
}

TEST_CASE("a report is a 200 only if the client has seen the end of its batch") {
  const auto seen = report_response(7, "{}", true);
  CHECK(seen.status == 200);
  CHECK(seen.body == "{}");
  REQUIRE(seen.headers.size() == 1);
  CHECK(seen.headers[0].first == "Location");
  CHECK(seen.headers[0].second == "/v1/batches/" + cells::format_job_id(7));
  CHECK(report_response(7, "{}", false).status == 202);
}

TEST_CASE("a batch that ends early tells its client to send the rest, from that line on") {
  for (const auto& problem : {sender_too_slow(), sender_paused(), shutdown_ends_batch(),
                              problem_for(Refusal::Kind::draining)}) {
    CHECK(problem.detail.find("from this line on") != std::string::npos);
  }
  const auto names_limit = [](Refusal::Kind kind) {
    return problem_for(kind).detail.find("`queue.max_jobs`") != std::string::npos;
  };
  CHECK(shutdown_refuses_batch().detail.find("from this line on") == std::string::npos);
  CHECK(names_limit(Refusal::Kind::queue_full));
  CHECK_FALSE(names_limit(Refusal::Kind::customer_rate));
}
