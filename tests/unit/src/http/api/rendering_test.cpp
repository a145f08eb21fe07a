#include <string>

#include "src/http/api/cell_json.hpp"
#include "src/http/api/job_json.hpp"
#include "src/http/api/query.hpp"
#include "src/json/json.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using cells::WallTime;
using std::chrono::milliseconds;

namespace {

json::Value parsed(const std::string& text) {
  auto result = json::parse(text);
  if (const auto* error = std::get_if<json::SyntaxError>(&result)) FAIL(error->detail);
  return std::get<json::Document>(std::move(result)).value;
}

cells::Job fresh_job() {
  cells::JobSpec spec;
  spec.customer = "acme";
  spec.product = "dns";
  spec.action = "create";
  spec.entity = {"zone", "", "example.com"};
  spec.services = {"dns", "billing"};
  spec.timeout = milliseconds(30000);
  spec.max_attempts = 5;
  cells::Job job;
  job.id = cells::first_job_id_at(WallTime(milliseconds(1795214576123)));
  job.spec = std::make_shared<cells::JobSpec>(spec);
  job.cell = {"acme", "*"};
  job.steps.resize(2);
  job.created_at = job.run_at = WallTime(milliseconds(1795214576123));
  return job;
}

}  // namespace

TEST_CASE("a new job is shown with every documented member") {
  const cells::Job job = fresh_job();
  CHECK(parsed(api::job_json(job)) ==
        json::Value::parse(R"({"id": ")" + cells::format_job_id(job.id) + R"(", "state": "queued",
    "customer": "acme", "product": "dns", "cell": {"customer": "acme", "product": "*"},
    "action": "create", "entity": {"type": "zone", "id": "example.com"},
    "services": ["dns", "billing"], "parameters": {}, "priority": 5, "labels": {},
    "attempt": 0, "max_attempts": 5, "timeout_ms": 30000, "on_failure": "stop",
    "durability": "disk", "created_at": "2026-11-20T22:42:56.123Z",
    "run_at": "2026-11-20T22:42:56.123Z", "expires_at": null, "started_at": null,
    "finished_at": null, "cancel_requested": false,
    "steps": [{"service": "dns", "state": "waiting", "attempts": 0, "started_at": null,
               "finished_at": null, "progress": null},
              {"service": "billing", "state": "waiting", "attempts": 0, "started_at": null,
               "finished_at": null, "progress": null}],
    "properties": {}, "messages": [], "error": null, "batch": null})"));
}

TEST_CASE("a job that moves between cells is shown in the most specific one that could take it") {
  cells::Job job = fresh_job();
  job.cell = cells::between_cells;
  CHECK(parsed(api::job_json(job))["cell"] ==
        json::Value{{"customer", "acme"}, {"product", "dns"}});
}

TEST_CASE("an ended job is shown with its results, escaped as JSON") {
  cells::Job job = fresh_job();
  cells::JobSpec spec = *job.spec;
  spec.entity = {"zone \"x\"", "primary", "\xff"};
  spec.labels = {{"a\nb", "c\\d"}};
  spec.parameters = R"({"ttl":300})";
  job.spec = std::make_shared<cells::JobSpec>(spec);
  const WallTime later = job.created_at + milliseconds(7);
  job.state = cells::JobState::failed;
  job.step = 1;
  job.steps[0] = {cells::StepState::succeeded, 1, job.created_at, later, 1.0};
  job.steps[1] = {cells::StepState::failed, 3, later, later, 0.25};
  job.properties = {{"zone id", R"({"n":[1]})"}, {"x", "null"}};
  job.messages = {{later, cells::Severity::warning, "dns", "slow"}};
  job.error = {"timeout", "no answer", "billing"};
  job.started_at = job.created_at;
  job.finished_at = job.expires_at = later;
  job.cancel_requested = true;

  const json::Value shown = parsed(api::job_json(job));
  CHECK(shown["entity"] ==
        json::Value::parse(R"({"type":"zone \"x\"","subtype":"primary","id":"\ufffd"})"));
  CHECK(shown["labels"]["a\nb"] == "c\\d");
  CHECK(shown["parameters"]["ttl"] == 300);
  CHECK(shown["state"] == "failed");
  CHECK(shown["attempt"] == 3);
  CHECK(shown["steps"][0]["progress"] == 1.0);
  CHECK(shown["steps"][1]["state"] == "failed");
  CHECK(shown["steps"][1]["finished_at"] == "2026-11-20T22:42:56.130Z");
  CHECK(shown["properties"] == json::Value::parse(R"({"x":null,"zone id":{"n":[1]}})"));
  CHECK(shown["messages"] == json::Value::parse(R"([{"time":"2026-11-20T22:42:56.130Z",
    "severity":"warning","service":"dns","text":"slow"}])"));
  CHECK(shown["error"] ==
        json::Value::parse(R"({"code":"timeout","message":"no answer","service":"billing"})"));
  CHECK(shown["cancel_requested"] == true);
  CHECK(shown["expires_at"] == "2026-11-20T22:42:56.130Z");

  job.step = 2;
  job.error->service.clear();
  CHECK(parsed(api::job_json(job))["attempt"] == 3);
  CHECK(parsed(api::job_json(job))["error"]["service"].is_null());
}

TEST_CASE("a list of jobs has a cursor if more jobs follow") {
  const auto job = std::make_shared<cells::Job>(fresh_job());
  const json::Value last = parsed(api::job_list_json({job, job}, 0));
  CHECK(last["items"].size() == 2);
  CHECK(last["next_cursor"].is_null());
  const json::Value empty = parsed(api::job_list_json({}, job->id));
  CHECK(empty["items"].empty());
  CHECK(empty["next_cursor"].is_string());
}

TEST_CASE("a cell is shown with every documented member") {
  api::CellView cell;
  cells::CellStatus& status = cell.status;
  status.key = {"acme", "*"};
  status.pool = {8, 3, 5, 1, 0, 2, 0};
  status.queue.counts[cells::JobState::queued] = 120;
  status.queue.counts[cells::JobState::scheduled] = 4;
  status.queue.counts[cells::JobState::retrying] = 2;
  status.queue.counts[cells::JobState::running] = 5;
  status.queue.submitted_per_s = 12;
  status.queue.finished_per_s = 1.0 / 3;
  status.changed.pool_size = 8;
  cell.oldest_queued = milliseconds(350);
  CHECK(parsed(api::cell_json(cell)) == json::Value::parse(R"({
    "customer": "acme", "product": "*",
    "pool": {"target": 8, "ready": 3, "busy": 5, "retiring": 1, "borrowed": 0, "lent": 2},
    "queue": {"queued": 120, "scheduled": 4, "retrying": 2, "compensating": 0, "running": 5, "max_jobs": 100000, "bytes": 0, "max_bytes": null,
              "oldest_queued_ms": 350},
    "rates": {"submitted_per_s": 12.0, "finished_per_s": 0.333}, "state": "active",
    "quota": {"pool": {"size": 4, "weight": 1}, "timeout_ms": 30000, "timeout_max_ms": 3600000,
              "queue": {"max_jobs": 100000, "max_bytes": null, "submissions_per_s": null,
                        "submissions_burst": null}, "durability": "disk",
              "priority_step_ms": 0,
              "customers": {"weights": {"*": 1},
                            "quota": {"max_jobs": null, "max_bytes": null, "max_running": null,
                                      "submissions_per_s": null, "submissions_burst": null}},
              "on_stop": "forget",
              "on_predecessor_failed": "continue",
              "retry": {"max_attempts": 5, "backoff_ms": 1000, "backoff_max_ms": 60000}},
    "overrides": {"pool.size": 8}})"));

  status.changed.pool_burst = 9;
  status.changed.pool_weight = 3;
  status.settings.pool_burst = 7;
  status.pool.borrowed = 1;
  status.pool.short_by = 2;
  const auto value = parsed(api::cell_json(cell));
  CHECK(value["overrides"] == json::Value{{"pool.size", 8}, {"pool.burst", 9}, {"pool.weight", 3}});
  CHECK(value["quota"]["pool"]["burst"] == 7);
  CHECK(value["pool"]["borrowed"] == 1);
  CHECK(value["pool"]["short_by"] == 2);
  status.changed = {};
  CHECK(parsed(api::cell_json(cell))["overrides"] == json::Value::object());
}

TEST_CASE("a list of cells has a cursor if more cells follow, even on an empty page") {
  const api::CellView cell;
  CHECK(
      parsed(api::cell_list_json({cell}, cells::CellKey{"acme", "*"}))["next_cursor"].is_string());
  CHECK(parsed(api::cell_list_json({cell, cell}, std::nullopt))["next_cursor"].is_null());
  CHECK(parsed(api::cell_list_json({}, std::nullopt))["items"] == json::Value::array());
  CHECK(parsed(api::cell_list_json({}, cells::CellKey{"acme", "*"}))["next_cursor"].is_string());
}

TEST_CASE("a list of cells ends at 8 MiB") {
  api::CellView cell;
  cell.status.settings.weights = cells::CustomerWeights{{{std::string(5 << 20, 'c'), 4}}};
  const auto named = [&](const std::string& customer) {
    cell.status.key = {customer, "dns"};
    return cell;
  };
  const auto page = parsed(api::cell_list_json({named("a"), named("b"), named("c")}, std::nullopt));
  REQUIRE(page["items"].size() == 2);
  CHECK(page["next_cursor"] == api::cell_cursor({"b", "dns"}));
  const auto rest = parsed(api::cell_list_json({named("c"), named("d")}, std::nullopt));
  CHECK(rest["items"].size() == 2);
  CHECK(rest["next_cursor"].is_null());
}
