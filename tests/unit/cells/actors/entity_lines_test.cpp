// The order of jobs of one entity.
#include <string>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

TEST_CASE("jobs of one entity run one after another, and do not hold up others") {
  Fixture engine{4};
  const JobId first = engine.submit("a");
  const JobId second = engine.submit("a");
  auto urgent_request = engine.request("a");
  urgent_request.spec.priority = 9;
  const JobId urgent = engine.submit(std::move(urgent_request));
  const JobId other = engine.submit("b");
  CHECK(engine.call_of(first));
  CHECK(engine.call_of(other));
  CHECK_FALSE(engine.call_of(second));
  engine.succeed(other);
  engine.end_call(first, outcome(CallOutcome::Kind::retryable, "provider_error"));
  CHECK_FALSE(engine.call_of(second));  // The head keeps its place through its retries.
  engine.pass(milliseconds{2000});
  engine.succeed(first);
  CHECK(engine.call_of(second));
  CHECK_FALSE(engine.call_of(urgent));
  engine.succeed(second);
  engine.succeed(urgent);
  CHECK(engine.state(urgent) == JobState::succeeded);
}

TEST_CASE("a scheduled job takes its place in line when it is first due") {
  Fixture engine{1};
  auto later = engine.request("a");
  later.delay = milliseconds{5000};
  const JobId scheduled = engine.submit(std::move(later));
  CHECK(engine.state(scheduled) == JobState::scheduled);
  const JobId now = engine.submit("a");
  CHECK(engine.call_of(now));
  engine.succeed(now);
  for (int second = 0; second < 5; ++second) engine.pass(milliseconds{1000});
  REQUIRE(engine.call_of(scheduled));
  engine.succeed(scheduled);
  CHECK(engine.reported_ended.count(scheduled) == 1);
}

TEST_CASE("a job that arrives while others get their places goes behind them") {
  Fixture f{4};
  const auto later = [&](const std::string& entity, milliseconds delay) {
    JobRequest request = f.request(entity);
    request.delay = delay;
    return f.submit(std::move(request));
  };
  const auto in_steps_of = [&](milliseconds step) {
    for (int i = 0; i < 10; ++i) f.pass(step);
  };
  later("other", milliseconds{50});
  const JobId first = later("zone", milliseconds{120});
  f.commit_delay = milliseconds{100};
  f.pass(milliseconds{60});  // The AdvanceDue for the other job is in the store's mailbox.
  f.pass(milliseconds{70});
  caf::anon_send(f.engine(), SubmitJob{f.request("zone")});
  in_steps_of(milliseconds{50});
  CHECK(f.recorder->submissions.size() == 3);
  REQUIRE(f.call_of(first));
  f.succeed(first);
  in_steps_of(milliseconds{50});
  CHECK(f.state(first) == JobState::succeeded);
  CHECK(f.recorder->hand_outs.size() == 3);
}

TEST_CASE("a job that expires while it waits fails, and its line moves on") {
  Fixture engine{1};
  const JobId blocker = engine.submit("x");
  auto hurried = engine.request("a");
  hurried.expires_at = engine.wall + milliseconds{500};
  const JobId expiring = engine.submit(std::move(hurried));
  const JobId follower = engine.submit("a");
  engine.pass(milliseconds{600});
  CHECK(engine.state(expiring) == JobState::failed);
  CHECK(engine.stored(expiring)->error->code == "expired");
  engine.succeed(blocker);
  CHECK(engine.call_of(follower));
}
