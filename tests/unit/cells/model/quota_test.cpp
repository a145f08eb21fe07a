// Quotas: rates of submissions, room of customers, and what refusals say.
#include "cells/model/quota.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cells/model/admission.hpp"
#include "cells/model/cell_settings.hpp"
#include "cells/model/end_rate_meter.hpp"
#include "cells/model/running_quota.hpp"
#include "cells/model/submission_rates.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;

namespace {

const CellKey cell{"acme", "dns"};
constexpr SteadyTime start{1000s};

/// A submission that adds a job at once, unless it is refused.
std::optional<SubmissionRates::TooFast> take(SubmissionRates& rates, const std::string& customer,
                                             SteadyTime now, bool asks_again = false) {
  const auto refused = rates.reserve(customer, now, asks_again);
  if (!refused) rates.confirm(customer, now);
  return refused;
}

/// The rate after jobs ended at these times.
double rate_after(const std::vector<SteadyTime>& ends, SteadyTime now) {
  EndRateMeter meter;
  for (const auto at : ends) meter.count(at);
  return meter.per_second(now);
}

}  // namespace

TEST_CASE("every limit has a name, a value in the settings, and an override") {
  for (std::size_t i = 0; i < quota_limit_count; ++i) {
    const auto limit = static_cast<QuotaLimit>(i);
    QuotaLimit parsed{};
    REQUIRE(parse_quota_limit(to_string(limit), parsed));
    CHECK(parsed == limit);
    const auto changed = overridden({}, {{limit, 70'000}});
    CHECK(quota_of(changed, limit) == 70'000);
    CHECK(overridden(changed, {{limit, quota_of({}, limit)}}) == CellSettings{});
  }
  QuotaLimit none{};
  CHECK_FALSE(parse_quota_limit("queue.max", none));
}

TEST_CASE("a customer has room for as many jobs and bytes as its quota says") {
  CHECK_FALSE(refuse_room({}, 1'000'000, 1'000'000, 1));
  CHECK_FALSE(refuse_room({3, 0}, 2, 0, 600));
  CHECK(refuse_room({3, 0}, 3, 1500, 600) == CustomerFull{true, 3, 3, 3});
  CHECK_FALSE(refuse_room({0, 1000}, 1, 400, 600));
  CHECK(refuse_room({0, 1000}, 1, 401, 600) == CustomerFull{false, 1000, 401, 1});
}

TEST_CASE("a job counts for what was asked for") {
  JobSpec spec = spec_with_services({"dns"});
  const auto bytes = queued_bytes(spec);
  spec.parameters = R"({"ttl":300})";
  spec.labels["ticket"] = "T-1";
  CHECK(queued_bytes(spec) == bytes + 9 + 9);
  spec.entity.id += ".example";
  CHECK(queued_bytes(spec) == bytes + 9 + 9 + 8);
}

TEST_CASE("jobs may be submitted at the rate and in the burst that the quota allows") {
  SubmissionRates rates;
  rates.limit({}, {2, 4}, start);
  for (int n = 0; n < 4; ++n) CHECK_FALSE(take(rates, "acme", start));
  const auto refused = take(rates, "acme", start);
  REQUIRE(refused);
  CHECK(refused->of_customer);
  CHECK(refused->wait == 500ms);
  CHECK_FALSE(take(rates, "other", start));
  CHECK_FALSE(take(rates, "acme", start + 500ms));
  CHECK(take(rates, "acme", start + 500ms));
}

TEST_CASE("without a burst, a second's jobs may be submitted at once") {
  SubmissionRates rates;
  rates.limit({2.5, 0}, {}, start);
  for (int n = 0; n < 3; ++n) CHECK_FALSE(take(rates, "acme", start));
  const auto refused = take(rates, "acme", start);
  REQUIRE(refused);
  CHECK_FALSE(refused->of_customer);
}

TEST_CASE("clients that come too fast are asked to return one after the other") {
  SubmissionRates rates;
  rates.limit({0.1, 1}, {}, start);
  CHECK_FALSE(take(rates, "a", start));
  CHECK(take(rates, "a", start)->wait == 10s);
  CHECK(take(rates, "b", start)->wait == 20s);
  CHECK(take(rates, "c", start)->wait == 30s);
  CHECK_FALSE(take(rates, "a", start + 10s));
  CHECK_FALSE(take(rates, "b", start + 20s));
  CHECK_FALSE(take(rates, "c", start + 30s));
  CHECK(take(rates, "d", start + 30s)->wait == 10s);
}

TEST_CASE("a refused batch learns when there is room, and does not put off other clients") {
  SubmissionRates rates;
  rates.limit({}, {10, 1}, start);
  CHECK_FALSE(take(rates, "acme", start));
  for (int n = 0; n < 100; ++n) CHECK(take(rates, "acme", start, true)->wait == 100ms);
  CHECK(take(rates, "acme", start)->wait == 100ms);
  CHECK_FALSE(take(rates, "acme", start + 100ms, true));
}

TEST_CASE("clients that never return do not push later ones back without end") {
  SubmissionRates rates;
  rates.limit({1, 1}, {}, start);
  CHECK_FALSE(take(rates, "a", start));
  for (int n = 0; n < 100'000; ++n) CHECK(take(rates, "a", start)->wait <= 1h);
}

TEST_CASE("a client that retries too often puts off others only until as many were accepted") {
  const bool of_customer = GENERATE(false, true);
  SubmissionRates rates;
  rates.limit(of_customer ? RateQuota{} : RateQuota{1, 1},
              of_customer ? RateQuota{1, 1} : RateQuota{}, start);
  CHECK_FALSE(take(rates, "acme", start));
  for (int n = 1; n <= 40; ++n) CHECK(take(rates, "acme", start)->wait == std::chrono::seconds{n});
  for (int n = 1; n <= 30; ++n) CHECK_FALSE(take(rates, "acme", start + std::chrono::seconds{n}));
  CHECK(take(rates, "acme", start + 30s)->wait == 11s);
  CHECK_FALSE(take(rates, "acme", start + 100s));
  CHECK(take(rates, "acme", start + 100s)->wait == 1s);
}

TEST_CASE("refused clients put off others until after the last of them should have come back") {
  const auto wait_at = [](SteadyTime at) {
    SubmissionRates rates;
    rates.limit({}, {1, 1}, start);
    CHECK_FALSE(take(rates, "acme", start));
    CHECK(take(rates, "acme", start)->wait == 1s);
    CHECK(take(rates, "acme", start)->wait == 2s);  // And has an interval more to come back.
    CHECK_FALSE(take(rates, "acme", start + 2500ms));
    return take(rates, "acme", at)->wait;
  };
  CHECK(wait_at(start + 3s) == 1500ms);
  CHECK(wait_at(start + 3s + 1us) == 500ms - 1us);
}

TEST_CASE("after a rate is lowered, no client waits for longer than for its whole burst") {
  SubmissionRates rates;
  rates.limit({}, {1000, 1000}, start);
  for (int n = 0; n < 1000; ++n) CHECK_FALSE(take(rates, "acme", start));
  rates.limit({}, {1, 2}, start);
  CHECK(take(rates, "acme", start)->wait == 1s);
}

TEST_CASE("a rate that is raised holds at once") {
  SubmissionRates rates;
  rates.limit({0.001, 1}, {0.01, 1}, start);
  CHECK_FALSE(take(rates, "acme", start));
  CHECK(take(rates, "acme", start)->wait == 1000s);
  rates.limit({100, 1}, {100, 1}, start + 1s);
  CHECK(take(rates, "acme", start + 1s)->wait <= 20ms);
  CHECK_FALSE(take(rates, "acme", start + 1s + 20ms));
}

TEST_CASE("a submission that added no job counts for no rate") {
  SubmissionRates rates;
  rates.limit({1, 1}, {1, 1}, start);
  CHECK_FALSE(rates.reserve("a", start));
  CHECK(rates.reserve("a", start)->wait == 1s);
  CHECK(rates.reserve("b", start));
  rates.release("a", start);
  CHECK_FALSE(take(rates, "a", start));
  CHECK(take(rates, "a", start));
}

TEST_CASE("a submission counts from its own time, however late its job is stored") {
  SubmissionRates rates;
  rates.limit({}, {10, 2}, start);
  CHECK_FALSE(rates.reserve("a", start));
  rates.confirm("a", start);
  CHECK_FALSE(rates.reserve("a", start));
  CHECK(rates.reserve("a", start + 90ms));
  rates.confirm("a", start);
  CHECK(rates.reserve("a", start + 99ms));
  CHECK_FALSE(rates.reserve("a", start + 100ms));
}

TEST_CASE("an even sender is not refused while its last job is being stored") {
  SubmissionRates rates;
  rates.limit({}, {50, 1}, start);
  for (int n = 0; n < 10; ++n) CHECK_FALSE(rates.reserve("a", start + n * 20ms));
  CHECK(rates.reserve("a", start + 199ms, true)->wait == 1ms);
  for (int n = 0; n < 9; ++n) rates.release("a", start + n * 20ms);
  CHECK(rates.reserve("a", start + 199ms, true)->wait == 1ms);
  rates.release("a", start + 180ms);
  CHECK_FALSE(rates.reserve("a", start + 199ms));
}

TEST_CASE("a customer with a reserved submission is not forgotten") {
  SubmissionRates rates;
  rates.limit({}, {1, 1}, start);
  CHECK_FALSE(rates.reserve("a", start));
  for (int n = 0; n < 1000; ++n) CHECK_FALSE(take(rates, std::to_string(n), start));
  CHECK(rates.reserve("a", start));
}

TEST_CASE("a rate that is switched off and on forgets what was reserved") {
  SubmissionRates rates;
  rates.limit({1, 1}, {1, 1}, start);
  CHECK_FALSE(rates.reserve("a", start));
  rates.limit({}, {}, start);
  rates.limit({1, 1}, {1, 1}, start);
  CHECK_FALSE(rates.reserve("a", start));
  rates.release("a", start);
  rates.release("a", start);
  CHECK_FALSE(rates.reserve("a", start));
  CHECK(rates.reserve("a", start));
}

TEST_CASE("jobs are never added faster than the rate, whatever becomes of submissions") {
  constexpr int burst = 3;
  constexpr milliseconds interval{100};
  std::mt19937 random{7};
  SubmissionRates rates;
  rates.limit({}, {10, burst}, start);
  std::vector<SteadyTime> reserved;
  std::vector<SteadyTime> added;
  for (SteadyTime now = start; now < start + 100s; now += milliseconds{random() % 60}) {
    if (!rates.reserve("a", now)) reserved.push_back(now);
    while (!reserved.empty() && random() % 3 == 0) {
      const auto one = reserved.begin() + static_cast<std::ptrdiff_t>(random() % reserved.size());
      if (random() % 2 == 0) {
        rates.release("a", *one);
      } else {
        rates.confirm("a", *one);
        added.push_back(*one);
      }
      reserved.erase(one);
    }
  }
  std::sort(added.begin(), added.end());
  CHECK(added.size() > 300);
  for (std::size_t n = burst; n < added.size(); ++n) {
    for (std::size_t first = 0; first + burst <= n; ++first) {
      const auto events = static_cast<std::int64_t>(n - first + 1);
      if (added[n] - added[first] < interval * (events - burst)) {
        FAIL(events << " events in " << (added[n] - added[first]).count() << " us");
      }
    }
  }
}

TEST_CASE("what was submitted counts under a new rate") {
  SubmissionRates rates;
  rates.limit({1, 1}, {}, start);
  CHECK_FALSE(take(rates, "a", start));
  rates.limit({2, 1}, {}, start);
  CHECK(take(rates, "a", start));
  rates.limit({}, {}, start);
  CHECK_FALSE(take(rates, "a", start));
}

TEST_CASE("a customer is remembered until its burst is whole again") {
  SubmissionRates rates;
  rates.limit({}, {100, 1}, start);
  for (int n = 0; n < 10'000; ++n) {
    CHECK_FALSE(take(rates, "c" + std::to_string(n), start + milliseconds{n}));
  }
  CHECK(rates.size() < 200);
}

TEST_CASE("no more customers are remembered than allowed, even if no burst is whole again") {
  SubmissionRates rates;
  rates.limit({}, {0.001, 1}, start);
  for (std::size_t n = 0; n <= SubmissionRates::customers_max; ++n) {
    take(rates, std::to_string(n), start);
  }
  CHECK(rates.size() <= SubmissionRates::customers_max);
}

TEST_CASE("no customer is remembered once customers may submit at any rate") {
  SubmissionRates rates;
  rates.limit({}, {100, 1}, start);
  CHECK_FALSE(take(rates, "acme", start));
  rates.limit({}, {}, start);
  CHECK(rates.size() == 0);
}

TEST_CASE("a customer at its limit of running jobs starts none until one ends") {
  RunningQuota running;
  running.limit(2);
  running.begin("acme");
  CHECK_FALSE(running.is_reached("acme"));
  running.begin("acme");
  CHECK(running.is_reached("acme"));
  CHECK_FALSE(running.is_reached("other"));
  running.limit(0);
  CHECK_FALSE(running.is_reached("acme"));
  running.limit(2);
  running.end("acme");
  running.end("other");
  CHECK_FALSE(running.is_reached("acme"));
  running.end("acme");
  CHECK(running.running().empty());
}

TEST_CASE("the rate at which jobs end is known from many a second to one an hour") {
  CHECK(rate_after({}, start) == 0);
  for (const auto gap : {microseconds{1ms}, microseconds{200ms}, microseconds{1s},
                         microseconds{20s}, microseconds{600s}, microseconds{3600s}}) {
    EndRateMeter meter;
    SteadyTime now = start;
    const auto jobs = std::max<std::int64_t>(50, microseconds{12s} / gap);
    for (std::int64_t n = 0; n < jobs; ++n) meter.count(now += gap);
    const double per_second = meter.per_second(now + gap / 2);
    const double expected = 1 / std::chrono::duration<double>(gap).count();
    CHECK(per_second > expected / 2);
    CHECK(per_second < expected * 2);
  }
}

TEST_CASE("over a few seconds, the rate is that of the jobs that ended after the first one") {
  CHECK(rate_after(std::vector<SteadyTime>(21, start), start + 5s) == Approx(4));
}

TEST_CASE("jobs that end together count as often as they are") {
  EndRateMeter meter;
  SteadyTime now = start;
  for (int n = 0; n < 10; ++n) {
    now += 60s;
    for (int job = 0; job < 16; ++job) meter.count(now);
  }
  CHECK(meter.per_second(now + 30s) > 16.0 / 120);
  CHECK(meter.per_second(now + 30s) < 16.0 / 30);
}

TEST_CASE("the rate falls once no job has ended for longer than the usual pause") {
  const std::vector<SteadyTime> ends{start, start + 20s, start + 40s};
  CHECK(rate_after(ends, start + 60s) == Approx(2.0 / 40));
  CHECK(rate_after(ends, start + 100s) == Approx(2.0 / 80));
}

TEST_CASE("a cell that becomes slow is known to be slow after two jobs") {
  EndRateMeter meter;
  SteadyTime now = start;
  for (int n = 0; n < 10'000; ++n) meter.count(now += 10ms);
  for (int n = 0; n < 2; ++n) meter.count(now += 300s);
  CHECK(meter.per_second(now) < 2.0 / 300);
  CHECK(meter.per_second(now) > 0.5 / 300);
}

TEST_CASE("a cell full of bytes says when there will be room") {
  TurnedAway none;
  JobCounts counts;
  counts[JobState::queued] = 10;
  counts.bytes = 10'000;
  CHECK_FALSE(refuse_bytes(cell, counts, 0, 5000, 1, none));
  CHECK_FALSE(refuse_bytes(cell, counts, 15'000, 5000, 1, none));
  const auto refusal = refuse_bytes(cell, counts, 14'999, 5000, 1, none);
  REQUIRE(refusal);
  CHECK(refusal->kind == Refusal::Kind::cell_bytes_full);
  CHECK(refusal->limit == 14'999);
  CHECK(refusal->depth == 10'000);
  CHECK(refusal->retry_after == 1s);
  CHECK(refuse_bytes(cell, counts, 10'000, 5000, 1, none)->retry_after == 6s);  // Behind one more.
}

TEST_CASE("a customer's refusal says when its own jobs will have ended") {
  TurnedAway none;
  const auto jobs = refuse_customer(cell, {true, 5, 9, 9}, 600, 0.5, none);
  CHECK(jobs.kind == Refusal::Kind::customer_jobs_full);
  CHECK(jobs.limit == 5);
  CHECK(jobs.depth == 9);
  CHECK(jobs.retry_after == 10s);
  TurnedAway others;
  const auto bytes = refuse_customer(cell, {false, 10'000, 9000, 9}, 3500, 0.5, others);
  CHECK(bytes.kind == Refusal::Kind::customer_bytes_full);
  CHECK(bytes.retry_after == 6s);
}

TEST_CASE("the size of a single job decides when there will be room for another") {
  TurnedAway none;
  JobCounts counts;
  counts[JobState::queued] = 1;
  counts.bytes = 10;
  CHECK(refuse_bytes(cell, counts, 10, 20, 1, none)->retry_after == 2s);
  TurnedAway others;
  CHECK(refuse_customer(cell, {false, 10, 10, 1}, 20, 1, others).retry_after == 2s);
}

TEST_CASE("without jobs, each that ends is assumed to make room for one byte") {
  TurnedAway none;
  CHECK(refuse_bytes(cell, {}, 10, 15, 1, none)->retry_after == 5s);
  TurnedAway others;
  CHECK(refuse_customer(cell, {false, 10, 0, 0}, 15, 1, others).retry_after == 5s);
}

TEST_CASE("a job that is larger than the memory for jobs is refused for good") {
  TurnedAway none;
  const CellKey cell{"acme", "*"};
  const auto waits = refuse_memory(cell, {true, 1000, 900, 1000}, 9, 1, none);
  CHECK(waits.kind == Refusal::Kind::cell_bytes_full);
  CHECK(waits.depth == 900);
  CHECK(waits.retry_after == 1s);
  CHECK(refuse_memory(cell, {false, 1000, 900, 1000}, 9, 1, none).kind ==
        Refusal::Kind::memory_full);
  for (const bool in_cell : {true, false}) {
    const auto never = refuse_memory(cell, {in_cell, 1000, 0, 1001}, 0, 1, none);
    CHECK(never.kind == Refusal::Kind::job_too_large);
    CHECK(never.limit == 1000);
    CHECK(never.depth == 1001);
    CHECK(never.bytes_of == (in_cell ? Refusal::BytesOf::cell : Refusal::BytesOf::memory));
    CHECK(never.retry_after == 0s);
  }
}

TEST_CASE("as many customers are remembered as matter") {
  CustomerEndRates rates;
  for (int n = 0; n < 10'000; ++n)
    rates.job_ended(std::to_string(n), start + std::chrono::seconds{n});
  CHECK(rates.size() <= 1000);
  CHECK(rates.of("9999").ended.per_second(start + 10'000s) > 0);
  for (int n = 0; n < 10'000; ++n) rates.of("never " + std::to_string(n));
  CHECK(rates.size() <= 1000);
}

TEST_CASE("of too many customers, those are remembered whose jobs ended last") {
  CustomerEndRates rates;
  const auto second = [](int n) { return n * 617 % 1000; };  // Each of 0 to 999 once, in no order.
  for (int n = 0; n < 1000; ++n)
    rates.job_ended(std::to_string(n), start + std::chrono::seconds{second(n)});
  rates.job_ended("one more", start + 1000s);
  CHECK(rates.size() == 501);
  for (int n = 0; n < 1000; ++n) {
    if (second(n) >= 500) rates.of(std::to_string(n));  // Adds it, if it is not there.
  }
  CHECK(rates.size() == 501);
}

TEST_CASE("the customers are looked through only once their number has doubled") {
  SubmissionRates rates;
  rates.limit({}, {1, 1}, start);
  for (int n = 0; n < 65; ++n) CHECK_FALSE(take(rates, "c" + std::to_string(n), start));
  // By now all could be forgotten, but the 65th has just looked.
  CHECK_FALSE(take(rates, "later", start + 100s));
  CHECK(rates.size() == 66);
  for (int n = 0; n < 63; ++n) {
    CHECK_FALSE(take(rates, "d" + std::to_string(n), start + 100s));
  }
  CHECK(rates.size() == 64);  // The one that found 128 has looked again.
}
