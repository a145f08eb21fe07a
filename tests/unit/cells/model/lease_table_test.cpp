#include "cells/model/lease_table.hpp"

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;

namespace {

constexpr SteadyTime start{1000s};

JobPtr job_that_expires(JobId id, std::optional<WallTime> expires_at) {
  Job job = queued_job();
  job.id = id;
  job.expires_at = expires_at;
  return std::make_shared<const Job>(std::move(job));
}

void add(LeaseTable& table, Lease lease, JobId job, SteadyTime deadline,
         std::optional<WallTime> expires_at = std::nullopt, AbortCause abort = AbortCause::none) {
  table.add(lease, {job_that_expires(job, expires_at), start, deadline, abort, false, 5});
}

using Leases = std::vector<Lease>;

}  // namespace

TEST_CASE("an empty table has no leases and no deadlines") {
  LeaseTable table;
  CHECK(table.size() == 0);
  CHECK(table.all().empty());
  CHECK_FALSE(table.find({1, 1}));
  CHECK_FALSE(table.has_job(1));
  CHECK_FALSE(table.next_deadline());
  CHECK_FALSE(table.next_expiry());
  CHECK(table.overdue(SteadyTime::max()).empty());
  CHECK(table.expired(WallTime::max()).empty());
}

TEST_CASE("a live lease is found by lease and by job") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 30s);
  REQUIRE(table.find({1, 1}));
  CHECK(table.find({1, 1})->worker == 5);
  CHECK(table.has_job(10));
  CHECK_FALSE(table.has_job(11));
  CHECK(table.size() == 1);
  const LeaseTable& read_only = table;
  CHECK(read_only.find({1, 1})->job->id == 10);
  CHECK_FALSE(read_only.find({1, 2}));
}

TEST_CASE("the lease of a job is found while it is live") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 30s);
  CHECK(table.lease_of(10) == Lease{1, 1});
  CHECK_FALSE(table.lease_of(11));
  table.remove({1, 1});
  CHECK_FALSE(table.lease_of(10));
}

TEST_CASE("a lease of another epoch or counter is not live") {
  LeaseTable table;
  add(table, {2, 1}, 10, start + 30s);
  CHECK_FALSE(table.find({1, 1}));
  CHECK_FALSE(table.find({2, 2}));
}

TEST_CASE("the entry of a lease can be changed") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 30s);
  table.find({1, 1})->started = true;
  table.find({1, 1})->worker = 0;
  CHECK(table.find({1, 1})->started);
  CHECK(table.find({1, 1})->worker == 0);
}

TEST_CASE("a removed lease leaves nothing behind") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 30s, noon);
  const LiveLease gone = table.remove({1, 1});
  CHECK(gone.job->id == 10);
  CHECK(gone.deadline == start + 30s);
  CHECK(gone.abort == AbortCause::none);
  CHECK_FALSE(table.find({1, 1}));
  CHECK_FALSE(table.has_job(10));
  CHECK(table.size() == 0);
  CHECK_FALSE(table.next_deadline());
  CHECK_FALSE(table.next_expiry());
}

TEST_CASE("a job can be leased again after its lease was removed") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 30s);
  table.remove({1, 1});
  add(table, {1, 2}, 10, start + 60s);
  CHECK(table.has_job(10));
  CHECK_FALSE(table.find({1, 1}));
  CHECK(table.find({1, 2}));
}

TEST_CASE("leases are listed in order") {
  LeaseTable table;
  add(table, {2, 1}, 10, start + 1s);
  add(table, {1, 9}, 11, start + 3s);
  add(table, {1, 2}, 12, start + 2s);
  CHECK(table.all() == Leases{{1, 2}, {1, 9}, {2, 1}});
}

TEST_CASE("leases are overdue from their deadline on, the earliest first") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 30s);
  add(table, {1, 2}, 11, start + 10s);
  add(table, {1, 3}, 12, start + 10s);
  CHECK(table.next_deadline() == start + 10s);
  CHECK(table.overdue(start + 10s - 1us).empty());
  CHECK(table.overdue(start + 10s) == Leases{{1, 2}, {1, 3}});
  CHECK(table.overdue(start + 1h) == Leases{{1, 2}, {1, 3}, {1, 1}});
  CHECK(table.size() == 3);
}

TEST_CASE("leases expire with their jobs") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 30s);
  add(table, {1, 2}, 11, start + 30s, noon + 2s);
  add(table, {1, 3}, 12, start + 30s, noon + 1s);
  CHECK(table.next_expiry() == noon + 1s);
  CHECK(table.expired(noon).empty());
  CHECK(table.expired(noon + 1s) == Leases{{1, 3}});
  CHECK(table.expired(noon + 1h) == Leases{{1, 3}, {1, 2}});
}

TEST_CASE("an aborted lease stays live, but its deadline and expiry no longer count") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 10s, noon + 1s);
  add(table, {1, 2}, 11, start + 20s, noon + 2s);
  table.abort({1, 1}, AbortCause::timeout);
  CHECK(table.find({1, 1})->abort == AbortCause::timeout);
  CHECK(table.has_job(10));
  CHECK(table.next_deadline() == start + 20s);
  CHECK(table.next_expiry() == noon + 2s);
  CHECK(table.overdue(start + 1h) == Leases{{1, 2}});
  CHECK(table.expired(noon + 1h) == Leases{{1, 2}});
  CHECK(table.remove({1, 1}).abort == AbortCause::timeout);
}

TEST_CASE("a lease can be aborted again for another cause") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 10s);
  table.abort({1, 1}, AbortCause::timeout);
  table.abort({1, 1}, AbortCause::worker_lost);
  CHECK(table.find({1, 1})->abort == AbortCause::worker_lost);
  CHECK(table.overdue(start + 1h).empty());
}

TEST_CASE("a lease that is added as aborted has no deadline") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 10s, noon, AbortCause::worker_lost);
  CHECK(table.size() == 1);
  CHECK_FALSE(table.next_deadline());
  CHECK_FALSE(table.next_expiry());
  CHECK(table.remove({1, 1}).abort == AbortCause::worker_lost);
  CHECK_FALSE(table.has_job(10));
}

TEST_CASE("a lease without a deadline gets one when its worker begins") {
  LeaseTable table;
  add(table, {1, 1}, 10, SteadyTime::max());
  CHECK(table.overdue(start + 1h).empty());
  table.start({1, 1}, start + 30s);
  CHECK(table.find({1, 1})->started);
  CHECK(table.next_deadline() == start + 30s);
  CHECK(table.overdue(start + 30s) == Leases{{1, 1}});
  table.abort({1, 1}, AbortCause::timeout);
  CHECK_FALSE(table.next_deadline());
}

TEST_CASE("an aborted lease gets no deadline when its worker begins") {
  LeaseTable table;
  add(table, {1, 1}, 10, start + 10s);
  table.abort({1, 1}, AbortCause::cancel);
  table.start({1, 1}, start + 30s);
  CHECK(table.find({1, 1})->started);
  CHECK_FALSE(table.next_deadline());
  table.remove({1, 1});
  CHECK(table.size() == 0);
}
