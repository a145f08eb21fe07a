// Schedules as the API reads and shows them.
#include <string>
#include <variant>
#include <vector>

#include "src/http/api/query.hpp"
#include "src/http/api/schedule_json.hpp"
#include "src/json/time_text.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::api;
using Found = std::vector<json::Fault>;

namespace {

SubmissionRules rules() {
  cells::CellRule acme;
  acme.customer = "acme";
  return {{"dns"}, std::make_shared<const cells::Routing>(std::vector{acme})};
}

std::string zone_fault(const std::string& zone) {
  return zone == "Mars/Base" ? "is not on this planet" : "";
}

std::variant<cells::ScheduleSpec, Problem> parse(std::string body, BoundCustomer only = {},
                                                 std::string name = "nightly") {
  http::Request request;
  request.method = "PUT";
  request.captures = {std::move(name)};
  request.headers = {{"content-type", "application/json"}};
  request.body = std::move(body);
  return parse_schedule(request, rules(), zone_fault, only);
}

std::string body(const std::string& customer = "acme", const std::string& zone = "Europe/Berlin") {
  return R"({"cron": "30 2 * * *", "time_zone": ")" + zone + R"(", "job": {"customer": ")" +
         customer +
         R"(", "product": "dns", "action": "renew", "entity": {"type": "zone", "id": "e"},
            "services": ["dns"]}})";
}

}  // namespace

TEST_CASE("a schedule is read with its job") {
  const auto parsed = parse(body());
  REQUIRE(std::holds_alternative<cells::ScheduleSpec>(parsed));
  const auto& spec = std::get<cells::ScheduleSpec>(parsed);
  CHECK(spec.timing.cron == "30 2 * * *");
  CHECK(spec.job.action == "renew");
}

TEST_CASE("an unknown time zone and a wrong name are faults beside those of the body") {
  const auto parsed = parse(body("acme", "Mars/Base"), {}, "a b");
  REQUIRE(std::holds_alternative<Problem>(parsed));
  const auto& problem = std::get<Problem>(parsed);
  CHECK(problem.kind == ProblemKind::invalid_request);
  CHECK(problem.errors ==
        Found{{"", "the name in the path must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}"},
              {"/time_zone", "is not on this planet"}});
}

TEST_CASE("a number out of range is a fault, also in the parameters of a schedule's job") {
  auto text = body();
  text.insert(text.find("\"product\""), R"("parameters": {"a": [1e999]}, )");
  const auto parsed = parse(text);
  REQUIRE(std::holds_alternative<Problem>(parsed));
  const auto& problem = std::get<Problem>(parsed);
  CHECK(problem.kind == ProblemKind::invalid_request);
  CHECK(problem.errors == Found{{"/job/parameters/a/0", "is a number out of range"}});
}

TEST_CASE("a bound token cannot schedule jobs of other customers, whatever their cells") {
  for (const char* customer : {"bolt", "unknown"}) {
    const auto parsed = parse(body(customer), "acme");
    REQUIRE(std::holds_alternative<Problem>(parsed));
    CHECK(std::get<Problem>(parsed).kind == ProblemKind::not_found);
  }
  CHECK(std::holds_alternative<cells::ScheduleSpec>(parse(body(), "acme")));
}

TEST_CASE("a schedule is shown with its progress, and its document reads as the same schedule") {
  cells::Schedule schedule;
  schedule.name = "nightly";
  schedule.spec = std::get<cells::ScheduleSpec>(parse(body()));
  schedule.progress.next = json::parse_time("2026-11-25T01:30:00.000Z");
  schedule.progress.last_job = 1;
  schedule.progress.fired = 3;
  auto shown = json::Value::parse(schedule_json(schedule));
  CHECK(shown["next_run_at"] == "2026-11-25T01:30:00.000Z");
  CHECK(shown["last_job"] == cells::format_job_id(1));
  CHECK(shown["fired"] == 3);
  CHECK(shown["configured"] == false);
  CHECK(shown["job"]["priority"] == 5);
  CHECK_FALSE(shown.contains("every_ms"));
  for (const char* name :
       {"name", "configured", "next_run_at", "last_job", "fired", "skipped", "missed"})
    shown.erase(name);
  CHECK(std::get<cells::ScheduleSpec>(parse(json::dump(shown))) == schedule.spec);

  schedule.progress = {};
  shown = json::Value::parse(schedule_json(schedule));
  CHECK(shown["next_run_at"].is_null());
  CHECK(shown["last_job"].is_null());
}

TEST_CASE("a page of schedules goes on behind its last one") {
  cells::SchedulesListed page;
  CHECK(schedule_list_json(page) == R"({"items":[],"next_cursor":null})");
  cells::Schedule schedule;
  schedule.spec.timing.every = std::chrono::seconds{1};
  for (const char* name : {"a", "b"}) {
    schedule.name = name;
    page.schedules.push_back(schedule);
  }
  page.more = true;
  const auto shown = json::Value::parse(schedule_list_json(page));
  CHECK(shown["items"].size() == 2);
  const auto next = parse_schedule_query({{"cursor", shown["next_cursor"]}, {"limit", "7"}});
  REQUIRE(std::holds_alternative<cells::ListSchedules>(next));
  CHECK(std::get<cells::ListSchedules>(next).after == "b");
  CHECK(std::get<cells::ListSchedules>(next).limit == 7);
  CHECK(std::holds_alternative<Faults>(parse_schedule_query({{"cursor", "a b"}, {"x", "1"}})));
}
