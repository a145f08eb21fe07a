#include <string>
#include <string_view>

#include "src/cli/cell_view.hpp"
#include "src/cli/job_view.hpp"
#include "src/cli/problem.hpp"
#include "src/cli/text.hpp"
#include "src/json/time_text.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const WallTime now = *json::parse_time("2026-11-20T22:45:56.000Z");

json::Value a_job() {
  return json::Value::parse(R"({"id":"06f3k9v2m8qzr","state":"running","customer":"acme",
      "product":"dns","cell":{"customer":"acme","product":"*"},"action":"create",
      "entity":{"type":"zone","subtype":"primary","id":"bücher.example"},
      "services":["dns","billing"],"parameters":{"ttl":300},"priority":5,"labels":{"ticket":"T-1"},
      "attempt":1,"max_attempts":5,"timeout_ms":30000,"on_failure":"stop","durability":"disk",
      "created_at":"2026-11-20T22:42:56.123Z","run_at":"2026-11-20T22:42:56.123Z",
      "expires_at":null,"started_at":"2026-11-20T22:42:57.000Z","finished_at":null,
      "cancel_requested":false,
      "steps":[{"service":"dns","state":"succeeded","attempts":1,
                "started_at":"2026-11-20T22:42:57.000Z","finished_at":"2026-11-20T22:42:58.250Z",
                "progress":0.1},
               {"service":"billing","state":"running","attempts":1,
                "started_at":"2026-11-20T22:42:58.250Z","finished_at":null,"progress":0.42}],
      "properties":{},"messages":[{"time":"2026-11-20T22:42:58.000Z","severity":"warning",
                                   "service":"dns","text":"slow\n\u001b[31mday"}],
      "error":null,"batch":null})");
}

json::Value a_failed_job() {
  json::Value job = a_job();
  job["state"] = "failed";
  job["error"] = {{"code", "timeout"}, {"message", "no answer"}, {"service", "dns"}};
  return job;
}

}  // namespace

TEST_CASE("a job that compensates names the service that is to undo its step") {
  json::Value job = a_failed_job();
  job["state"] = "compensating";
  job["on_failure"] = "compensate";
  JobTable table(now);
  table.add(job);
  CHECK(contains(table.text({}), "undo billing"));
  job["steps"][1]["state"] = "undone";
  CHECK(contains(job_details(job, now, {}), "compensate"));
  CHECK_FALSE(contains(job_details(a_job(), now, {}), "on failure"));
  CHECK(contains(change_line(job, {}), "undo dns"));
}

TEST_CASE("a list of jobs has one line per job") {
  JobTable table(now);
  table.add(a_job());
  table.add(a_failed_job());
  CHECK(table.text({}) ==
        "ID             STATE    CUSTOMER  PRODUCT  ACTION  ENTITY               STEPS        "
        "ATTEMPT  AGE  ERROR\n"
        "06f3k9v2m8qzr  running  acme      dns      create  zone/bücher.example  1/2 billing      "
        "1/5   2m\n"
        "06f3k9v2m8qzr  failed   acme      dns      create  zone/bücher.example  1/2              "
        "1/5   2m  timeout: no answer (dns)\n");
}

TEST_CASE("all of a job is shown, without control characters") {
  const std::string text = job_details(a_job(), now, {});
  CAPTURE(text);
  for (const char* line :
       {"state       running\n", "cell        acme/*\n",
        "entity      zone/bücher.example (primary)\n",
        "created     2026-11-20T22:42:56.123Z, 2m ago\n", "labels      ticket=T-1\n",
        "parameters  {\"ttl\":300}\n", "dns      succeeded         1            1.2s\n",
        "billing  running           1       42%    2m\n", "dns      slow \uFFFD[31mday\n"})
    CHECK(contains(text, line));
  CHECK(text.find("error ") == std::string::npos);
  CHECK(text.find("due ") == std::string::npos);
}

TEST_CASE("a cancellation is shown until the job ends") {
  json::Value job = a_job();
  job["cancel_requested"] = true;
  CHECK(contains(job_details(job, now, {}), "state       running (cancelling)\n"));
  job["state"] = "cancelled";
  CHECK(contains(job_details(job, now, {}), "state       cancelled\n"));
}

TEST_CASE("a job that has not started shows when it is due") {
  json::Value job = a_job();
  job["started_at"] = nullptr;
  job["run_at"] = "2026-11-20T23:45:56.000Z";
  CHECK(contains(job_details(job, now, {}), "due         2026-11-20T23:45:56.000Z, in 60m\n"));
}

TEST_CASE("a change is one line") {
  CHECK(change_line(a_job(), {}) ==
        "2026-11-20T22:42:58.250Z  06f3k9v2m8qzr  running    acme/dns  create "
        "zone/bücher.example  1/2 billing\n");
  CHECK(job_sentence(a_failed_job()) == "job 06f3k9v2m8qzr failed: timeout: no answer (dns)");
}

TEST_CASE("a change fits the terminal") {
  for (const std::size_t width : {50, 60, 80}) {
    std::string line = change_line(a_job(), {.width = width});
    REQUIRE(line.ends_with("…\n"));
    line.pop_back();
    CHECK(width_of(line) == width);
  }
}

TEST_CASE("a state has the colour of its meaning") {
  json::Value job = a_job();
  for (const auto& [state, tone] :
       {std::pair{"succeeded", Tone::good}, std::pair{"failed", Tone::bad},
        std::pair{"running", Tone::busy}, std::pair{"retrying", Tone::waiting},
        std::pair{"cancelled", Tone::faint}, std::pair{"queued", Tone::plain}}) {
    job["state"] = state;
    CHECK(contains(change_line(job, {.width = 0, .colour = true}), "  " + toned(state, tone)));
  }
}

TEST_CASE("a list of cells has one line per cell") {
  CellTable table;
  table.add(json::Value::parse(R"({"customer":"acme","product":"dns","state":"active",
      "pool":{"target":8,"busy":5,"borrowed":1,"lent":2},
      "queue":{"queued":30,"scheduled":4,"retrying":6,"running":7,"oldest_queued_ms":125000},
      "rates":{"submitted_per_s":12.34,"finished_per_s":0.5},
      "quota":{"pool":{"size":8,"burst":10,"weight":3}},"overrides":{"pool.burst":9}})"));
  table.add(json::Value::parse(R"({"customer":"*","product":"*","state":"paused",
      "pool":{"target":4},"queue":{"queued":0,"oldest_queued_ms":0}})"));
  CHECK(table.text({}) ==
        "CELL      STATE   POOL  BURST  WEIGHT  BUSY  BORROWED  LENT  QUEUED  SCHEDULED  RETRYING"
        "  RUNNING  OLDEST  IN/S  OUT/S\n"
        "acme/dns  active    8*      9       3     5         1     2      30          4         6"
        "        7      2m  12.3    0.5\n"
        "*/*       paused     4      4       1     0         0     0       0          0         0"
        "        0           0.0    0.0\n");
}

TEST_CASE("the sentence about a cell names the members of its pool that are overridden") {
  auto cell = json::Value::parse(R"({"customer":"acme","product":"dns","state":"active",
      "pool":{"target":4},"queue":{"queued":30,"running":7}})");
  const std::string begin = "cell acme/dns is active, with a pool of 4, burst 4, weight ";
  const std::string end = "; jobs: 7 running, 30 queued";
  CHECK(cell_sentence(cell) == begin + "1" + end);
  cell["pool"]["short_by"] = 3;
  CHECK(cell_sentence(cell).find("with a pool of 4, burst 7,") != std::string::npos);
  cell["pool"]["short_by"] = 0;
  cell["overrides"] = {{"queue.max_jobs", 9}};
  CHECK(cell_sentence(cell) == begin + "1" + end);
  cell["overrides"]["pool.weight"] = 2;
  CHECK(cell_sentence(cell) == begin + "2 (overridden: weight)" + end);
  cell["overrides"]["pool.size"] = 4;
  CHECK(cell_sentence(cell) == begin + "2 (overridden: size, weight)" + end);
}

TEST_CASE("the outcome of a job determines the exit code") {
  json::Value job = a_job();
  CHECK(outcome_of(job) == ExitCode::not_ended);
  for (const auto& [state, code] :
       {std::pair{"succeeded", ExitCode::ok}, std::pair{"failed", ExitCode::job_not_succeeded},
        std::pair{"cancelled", ExitCode::job_not_succeeded}}) {
    job["state"] = state;
    CHECK(outcome_of(job) == code);
  }
}

TEST_CASE("views accept any JSON") {
  for (const char* text : {"null", "[]", "{}", "7", R"({"steps":7,"entity":[],"labels":{"a":1}})",
                           R"({"steps":[7],"error":{},"messages":[null],"queue":7})"}) {
    const auto value = json::Value::parse(text);
    JobTable jobs(now);
    jobs.add(value);
    CellTable cells;
    cells.add(value);
    CHECK(!jobs.text({}).empty());
    CHECK(!cells.text({.width = 20}).empty());
    CHECK(!job_details(value, now, {.width = 20}).empty());
    CHECK(!change_line(value, {.width = 20}).empty());
    CHECK(!cell_sentence(value).empty());
  }
}

TEST_CASE("a problem is reported with every fault and its pointer") {
  Answer answer;
  answer.status = 422;
  answer.body = R"({"type":"/problems/invalid-request","title":"The request has faults",
      "status":422,"detail":"The request has 2 faults: see `errors`.",
      "errors":[{"pointer":"/entity/id","detail":"is required"},
                {"pointer":"","detail":"is \u001b[2Jbad"}]})";
  const Failure failure = failure_of(answer);
  CHECK(failure.code() == ExitCode::refused);
  CHECK(std::string(failure.what()) ==
        "The request has faults (422)\n  The request has 2 faults: see `errors`.\n"
        "  /entity/id: is required\n  is \uFFFD[2Jbad");
}

TEST_CASE("the status of celld's refusal determines the exit code") {
  for (const auto& [status, code] :
       {std::pair{400, ExitCode::refused}, std::pair{401, ExitCode::refused},
        std::pair{404, ExitCode::not_found}, std::pair{409, ExitCode::refused},
        std::pair{429, ExitCode::refused}, std::pair{500, ExitCode::unavailable},
        std::pair{503, ExitCode::unavailable}, std::pair{302, ExitCode::unavailable}}) {
    Answer answer;
    answer.status = status;
    answer.body = R"({"title":"no"})";
    CHECK(failure_of(answer).code() == code);
    answer.body = "<html>\x1b[2J";  // Not from celld.
    const Failure failure = failure_of(answer);
    CHECK(failure.code() == ExitCode::unavailable);
    CHECK(std::string(failure.what()).find('\x1b') == std::string::npos);
  }
}

TEST_CASE("of an answer that is not from celld, only the beginning is quoted") {
  Answer answer;
  answer.status = 502;
  answer.body = std::string(10'000, 'x');
  CHECK(std::string(failure_of(answer).what()) ==
        "unexpected response, not from celld (502)\n  " + std::string(200, 'x'));
}
