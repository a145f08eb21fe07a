// Jobs that undo what they have done, and jobs behind a failed one.
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

using Kind = CallOutcome::Kind;
using S = StepState;
using States = std::vector<StepState>;

JobRequest to_undo(Fixture& engine, const std::string& entity,
                   std::vector<std::string> services = {"dns", "billing"}) {
  auto request = engine.request(entity, std::move(services));
  request.spec.on_failure = OnFailure::compensate;
  return request;
}

States states_of(Fixture& engine, JobId id) {
  States states;
  for (const auto& step : engine.stored(id)->steps) states.push_back(step.state);
  return states;
}

std::string service_called(Fixture& engine, JobId id) {
  const auto* pending = engine.call_of(id);
  if (!pending) return "";
  const Job& job = *pending->call.job;
  return job.spec->services[job.step] + (is_compensating(job) ? ".undo" : "");
}

/// A job whose first step is done and whose second one was rejected: its undo is under way.
JobId compensating_job(Fixture& engine, const std::string& entity = "a") {
  const JobId id = engine.submit(to_undo(engine, entity));
  engine.succeed(id);
  engine.end_call(id, outcome(Kind::rejected, "refused"));
  return id;
}

std::vector<CellRule> cancelling_rules(std::uint32_t pool_size = 1) {
  CellRule rule;
  rule.settings.pool_size = pool_size;
  rule.settings.timeout = milliseconds{1000};
  rule.settings.retry = {3, milliseconds{100}, milliseconds{1000}};
  rule.settings.on_predecessor_failed = OnPredecessorFailed::cancel;
  return {rule};
}

std::string code_of(Fixture& engine, JobId id) {
  const auto& error = engine.stored(id)->error;
  return error ? error->code : "";
}

}  // namespace

TEST_CASE("a job that failed has its steps undone, and then ends") {
  Fixture engine{1};
  const JobId id = compensating_job(engine);
  const JobId behind = engine.submit("a");
  CHECK(service_called(engine, id) == "dns.undo");
  CHECK(engine.cell().queue.counts[JobState::running] == 1);
  CHECK_FALSE(engine.call_of(behind));
  CHECK(engine.reported_ended.empty());
  engine.succeed(id);
  CHECK(engine.state(id) == JobState::failed);
  CHECK(states_of(engine, id) == States{S::undone, S::failed});
  CHECK(code_of(engine, id) == "refused");
  CHECK(engine.reported_ended == std::set<JobId>{id});
  CHECK(engine.call_of(behind));
}

TEST_CASE("a step that failed is undone if its provider may have done part of it") {
  Fixture engine{1};
  const JobId id = engine.submit(to_undo(engine, "a"));
  engine.succeed(id);
  auto unclear = outcome(Kind::rejected, "refused");
  unclear.in_doubt = true;
  engine.end_call(id, unclear);
  CHECK(service_called(engine, id) == "billing.undo");
  engine.succeed(id);
  CHECK(service_called(engine, id) == "dns.undo");
}

TEST_CASE("between two attempts at an undo, the job waits without a slot") {
  Fixture engine{1};
  const JobId id = compensating_job(engine);
  engine.end_call(id, outcome(Kind::retryable, "provider_error"));
  CHECK(engine.state(id) == JobState::compensating);
  CHECK(engine.cell().queue.counts[JobState::compensating] == 1);
  const JobId other = engine.submit("b");
  CHECK(engine.call_of(other));
  engine.succeed(other);
  engine.pass(milliseconds{1000});
  CHECK(service_called(engine, id) == "dns.undo");
  CHECK(current_attempt(*engine.call_of(id)->call.job) == 2);
}

TEST_CASE("a compensation goes on after a crash, wherever it was") {
  Fixture engine{1};
  const JobId id = engine.submit(to_undo(engine, "a", {"dns", "billing", "gpu"}));
  for (int i = 0; i < 2; ++i) engine.succeed(id);
  engine.end_call(id, outcome(Kind::rejected, "refused"));
  CHECK(service_called(engine, id) == "billing.undo");
  engine.crash_and_restart();
  CHECK(service_called(engine, id) == "billing.undo");
  CHECK(current_attempt(*engine.call_of(id)->call.job) == 1);  // An interruption is not counted.
  engine.succeed(id);
  CHECK(service_called(engine, id) == "dns.undo");
  engine.end_call(id, outcome(Kind::retryable, "provider_error"));
  engine.crash_and_restart();
  engine.pass(milliseconds{1000});
  CHECK(service_called(engine, id) == "dns.undo");
  engine.succeed(id);
  CHECK(states_of(engine, id) == States{S::undone, S::undone, S::failed});
}

TEST_CASE("a compensation cannot be cancelled, and a job with an undone step not reopened") {
  Fixture engine{1};
  const JobId id = compensating_job(engine);
  const auto refused_while_it_runs = engine.cancel(id);
  CHECK_FALSE(refused_while_it_runs.accepted);
  CHECK(is_compensating(*refused_while_it_runs.job));
  engine.end_call(id, outcome(Kind::retryable, "provider_error"));
  CHECK_FALSE(engine.cancel(id).accepted);
  CHECK_FALSE(engine.reopen(id).accepted);
  engine.pass(milliseconds{1000});
  engine.succeed(id);
  const auto refused = engine.reopen(id);
  CHECK_FALSE(refused.accepted);
  CHECK(refused.job->state == JobState::failed);
}

TEST_CASE("an undo times out like a step, and no expiry ends it") {
  Fixture engine{1};
  auto request = to_undo(engine, "a");
  request.expires_at = engine.wall + milliseconds{500};
  const JobId id = engine.submit(std::move(request));
  engine.succeed(id);
  engine.end_call(id, outcome(Kind::rejected, "refused"));
  engine.pass(milliseconds{700});
  CHECK(service_called(engine, id) == "dns.undo");
  for (int i = 0; i < 100 && !is_ended(engine.state(id)); ++i) engine.pass(milliseconds{100});
  CHECK(engine.state(id) == JobState::failed);
  CHECK(states_of(engine, id) == States{S::undo_failed, S::failed});
  CHECK(engine.recorder->attempts.back().cause == AbortCause::timeout);
}

TEST_CASE("a job that expires while it runs is undone from there") {
  Fixture engine{1};
  auto request = to_undo(engine, "a");
  request.expires_at = engine.wall + milliseconds{500};
  const JobId id = engine.submit(std::move(request));
  engine.succeed(id);
  engine.pass(milliseconds{600});
  CHECK(service_called(engine, id) == "billing.undo");
  engine.succeed(id);
  engine.succeed(id);
  CHECK(states_of(engine, id) == States{S::undone, S::undone});
  CHECK(code_of(engine, id) == "expired");
}

TEST_CASE("a drained cell finishes its compensations, and a shutdown hands them back") {
  Fixture engine{1};
  const JobId id = compensating_job(engine);
  engine.set_state(CellState::draining);
  CHECK(engine.call_of(id));
  engine.end_call(id, outcome(Kind::retryable, "provider_error"));
  engine.pass(milliseconds{1000});
  CHECK(service_called(engine, id) == "dns.undo");
}

TEST_CASE("the undo of a pull service is leased") {
  Fixture engine{1};
  const JobId id = engine.submit(to_undo(engine, "a", {"vm", "dns"}));
  const auto first = engine.lease("host-1");
  REQUIRE(first.size() == 1);
  CHECK(engine.end_lease(first[0].job->lease, outcome(Kind::succeeded)));
  engine.end_call(id, outcome(Kind::rejected, "refused"));
  CHECK(engine.stored(id)->lane == "vm");
  const auto second = engine.lease("host-1");
  REQUIRE(second.size() == 1);
  CHECK(is_compensating(*second[0].job));
  CHECK_FALSE(engine.cancel(id).accepted);
  CHECK(engine.extend(second[0].job->lease).lease);
  CHECK(engine.end_lease(second[0].job->lease, outcome(Kind::succeeded)));
  CHECK(states_of(engine, id) == States{S::undone, S::failed});
}

TEST_CASE("the undo of a protected service waits for a permit") {
  Fixture engine{4};
  engine.protection["dns"].limits.concurrency = 1;
  engine.crash_and_restart();
  const JobId id = engine.submit(to_undo(engine, "a"));
  engine.succeed(id);
  const JobId other = engine.submit("b");
  CHECK(engine.call_of(other));
  engine.end_call(id, outcome(Kind::rejected, "refused"));
  CHECK_FALSE(engine.call_of(id));
  CHECK(engine.state(id) == JobState::compensating);
  engine.succeed(other);
  CHECK(service_called(engine, id) == "dns.undo");
}

TEST_CASE("a job waits for the undo of its service to be configured") {
  Fixture engine{1};
  const JobId id = compensating_job(engine);
  engine.undoes = {{"dns", {}}};
  engine.crash_and_restart();
  CHECK_FALSE(engine.call_of(id));
  CHECK(engine.state(id) == JobState::compensating);
  engine.undoes.clear();
  CellRule rule;
  CHECK(engine.reconfigure({rule}, {"dns"}).undos_needed.empty());
  CHECK(service_called(engine, id) == "dns.undo");
}

TEST_CASE("a reload removes no service and no undo that a job may need") {
  Fixture engine{1};
  compensating_job(engine);
  engine.undoes = {{"dns", {}}, {"billing", {}}};
  const CellRule rule;
  using Needs = std::map<std::string, std::uint64_t>;
  CHECK(engine.reconfigure({rule}, {"dns", "billing"}).undos_needed == Needs{{"dns", 1}});
  CHECK(engine.reconfigure({rule}, {}, {"dns"}).needed == Needs{{"dns", 1}});
  CHECK(engine.reconfigure({rule}, {"billing"}).undos_needed.empty());
  CHECK(engine.try_to_submit(to_undo(engine, "b")).refusal->kind == Refusal::Kind::service_removed);
}

TEST_CASE("a reload may remove the undo of an action that no job needs") {
  Fixture engine{1};
  const auto action = engine.stored(compensating_job(engine))->spec->action;
  const CellRule rule;
  engine.undoes = {{"dns", ActionSet{{action}}}};
  CHECK(engine.reconfigure({rule}, {"dns"}).undos_needed.empty());
  auto other = to_undo(engine, "b");
  CHECK_FALSE(engine.try_to_submit(other).refusal);
  other.spec.action = "other";
  CHECK(engine.try_to_submit(other).refusal->kind == Refusal::Kind::service_removed);
  engine.undoes = {{"dns", ActionSet{{"other"}}}};
  CHECK(engine.reconfigure({rule}, {"dns"}).undos_needed.at("dns") == 2);
}

TEST_CASE("a job waits for the undo of its own action to be configured") {
  Fixture engine{1};
  const JobId id = compensating_job(engine);
  engine.undoes = {{"dns", ActionSet{{"other"}}}};
  engine.crash_and_restart();
  CHECK_FALSE(engine.call_of(id));
  engine.undoes.clear();
  CHECK(engine.reconfigure({CellRule{}}, {"dns"}).undos_needed.empty());
  CHECK(service_called(engine, id) == "dns.undo");
}

TEST_CASE("a compensation moves with its job to another cell") {
  Fixture engine{1};
  const JobId id = compensating_job(engine);
  engine.end_call(id, outcome(Kind::retryable, "provider_error"));
  CellRule rule;
  CellRule own;
  own.customer = "acme";
  engine.reconfigure({rule, own});
  CHECK(engine.stored(id)->cell == CellKey{"acme", "*"});
  engine.pass(milliseconds{2000});
  CHECK(service_called(engine, id) == "dns.undo");
  engine.succeed(id);
  CHECK(engine.state(id) == JobState::failed);
}

// --- Followers -------------------------------------------------------------------------------

TEST_CASE("by default, the jobs behind a failed one run") {
  Fixture engine{1};
  const JobId first = engine.submit("a");
  const JobId second = engine.submit("a");
  engine.end_call(first, outcome(Kind::rejected, "refused"));
  CHECK(engine.call_of(second));
}

TEST_CASE("where the cell says so, the jobs behind a failed one are cancelled") {
  Fixture engine{1};
  engine.configure(cancelling_rules());
  engine.crash_and_restart();
  const JobId first = engine.submit("a");
  const JobId second = engine.submit("a");
  const JobId third = engine.submit("a");
  auto later = engine.request("a");
  later.delay = milliseconds{60'000};
  const JobId scheduled = engine.submit(std::move(later));
  const JobId other = engine.submit("b");
  engine.end_call(first, outcome(Kind::rejected, "refused"));
  for (const JobId id : {second, third}) {
    CHECK(engine.state(id) == JobState::cancelled);
    CHECK(code_of(engine, id) == "predecessor_failed");
    CHECK(engine.reported_ended.contains(id));
  }
  CHECK(engine.state(scheduled) == JobState::scheduled);
  CHECK(engine.call_of(other));
  engine.succeed(other);
  CHECK(engine.recorder->hand_outs.size() == 2);
  const JobId fourth = engine.submit("a");
  CHECK(engine.call_of(fourth));
  CHECK(engine.cell().queue.counts.unfinished() == 2);
}

TEST_CASE("followers are cancelled after the compensation of the job before them") {
  Fixture engine{1};
  engine.configure(cancelling_rules());
  engine.crash_and_restart();
  const JobId first = compensating_job(engine);
  const JobId second = engine.submit("a");
  CHECK(engine.state(second) == JobState::queued);
  engine.succeed(first);
  CHECK(engine.state(first) == JobState::failed);
  CHECK(engine.state(second) == JobState::cancelled);
}

TEST_CASE("followers are cancelled in a paused cell, and where the failed job settles") {
  Fixture engine{1};
  engine.configure(cancelling_rules());
  engine.settle_time = milliseconds{5000};
  engine.crash_and_restart();
  auto request = engine.request("a");
  request.spec.max_attempts = 1;
  const JobId first = engine.submit(std::move(request));
  const JobId second = engine.submit("a");
  engine.set_state(CellState::paused);
  engine.end_call(first, outcome(Kind::unknown, "timeout"));
  CHECK(engine.state(first) == JobState::failed);
  CHECK(engine.state(second) == JobState::cancelled);
}

TEST_CASE("a job that expires in the middle of its line takes those behind it along") {
  Fixture engine{1};
  engine.configure(cancelling_rules());
  engine.crash_and_restart();
  const JobId first = engine.submit("a");
  auto hurried = engine.request("a");
  hurried.expires_at = engine.wall + milliseconds{500};
  const JobId second = engine.submit(std::move(hurried));
  const JobId third = engine.submit("a");
  engine.pass(milliseconds{600});
  CHECK(engine.state(second) == JobState::failed);
  CHECK(engine.state(third) == JobState::cancelled);
  CHECK(engine.call_of(first));
}

TEST_CASE("a crash among the followers leaves none of them behind") {
  Fixture engine{1};
  engine.configure(cancelling_rules());
  engine.crash_and_restart();
  const JobId first = engine.submit("a");
  std::vector<JobId> behind;
  for (int i = 0; i < 5; ++i) behind.push_back(engine.submit("a"));
  engine.commit_delay = milliseconds{100};
  const PendingCall* pending = engine.call_of(first);
  caf::anon_send(pending->provider,
                 EndCall{pending->call.lease, outcome(Kind::rejected, "refused")});
  for (int i = 0; i < 3; ++i) engine.pass(milliseconds{100});
  CHECK(engine.state(behind.front()) == JobState::cancelled);
  CHECK(engine.state(behind.back()) == JobState::queued);
  engine.commit_delay = milliseconds{0};
  engine.crash_and_restart();
  for (const JobId id : behind) CHECK(code_of(engine, id) == "predecessor_failed");
}

TEST_CASE("the setting of the new cell decides whether a follower that moves is cancelled") {
  Fixture engine{1};
  auto rules = cancelling_rules();
  engine.configure({rules[0]});
  engine.crash_and_restart();
  const JobId first = engine.submit("a");
  const JobId second = engine.submit("a");
  CellRule own;
  own.customer = "acme";  // It has the default.
  engine.reconfigure({rules[0], own});
  engine.end_call(first, outcome(Kind::rejected, "refused"));
  CHECK(engine.stored(second)->cell == CellKey{"acme", "*"});
  CHECK(engine.call_of(second));
  engine.succeed(second);
  CHECK(engine.state(second) == JobState::succeeded);
}
