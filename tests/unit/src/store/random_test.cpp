// Random operations on the SQLite store. Each answer is compared with that of MemoryJobs.
#include <random>

#include "src/store/memory_jobs.hpp"
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store;
using namespace celld::store::test;

namespace {

const std::vector<CellKey> cell_keys{{"a", "*"}, {"b", "*"}, {"*", "*"}};

bool same(const JobPtr& a, const JobPtr& b) {
  return (!a && !b) || (a && b && *a == *b);
}

bool same(const std::vector<JobPtr>& a, const std::vector<JobPtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const JobPtr& x, const JobPtr& y) { return same(x, y); });
}

/// Applies the same operations to the store and to the model.
class Comparison {
 public:
  explicit Comparison(unsigned seed) : random_(seed) {}

  void step() {
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
        return insert();
      case 3:
      case 4:
      case 5:
        return claim();
      case 6:
      case 7:
      case 8:
      case 9:
        return record();
      case 10:
        return advance();
      case 11:
        return fetch();
      case 12:
        return rarely();
      case 13:
        return cancel();
      case 14:
        return reopen_job();
      default:
        return check_cells();
    }
  }

  void check_all_jobs() {
    client_.ask(FlushStore{});
    for (const auto id : ids_) REQUIRE(same(client_.ask(FindJob{id}).job, model_.find(id)));
  }

  void reopen() {
    client_.ask(FlushStore{});
    under_test_.reopen();
    check_all_jobs();
    check_epoch();
  }

 private:
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>{0, below - 1}(random_);
  }
  bool chance(std::size_t one_in) { return pick(one_in) == 0; }
  WallTime soon() { return at_ms(now_ms_ + static_cast<std::int64_t>(pick(200))); }
  const CellKey& some_cell() { return cell_keys[pick(cell_keys.size())]; }
  JobPtr some_job() { return ids_.empty() ? nullptr : model_.find(ids_[pick(ids_.size())]); }
  JobPtr some_unfinished_job() {
    for (int attempts = 0; attempts < 50; ++attempts) {
      const auto job = some_job();
      if (job && !is_ended(job->state)) return job;
    }
    return some_job();
  }

  void insert() {
    JobSketch sketch;
    sketch.id = next_id_ += 1 + pick(3);
    sketch.entity = "entity " + std::to_string(pick(12));
    sketch.customer = std::string(1, static_cast<char>('a' + pick(4)));
    sketch.product = chance(3) ? "mail" : "dns";
    sketch.priority = 1 + static_cast<int>(pick(9));
    sketch.cell = some_cell();
    if (chance(4)) sketch.run_at = soon();
    if (chance(5)) sketch.expires_at = soon();
    if (chance(3)) sketch.labels["ticket"] = "T-" + std::to_string(pick(5));
    const auto job = sketch_job(sketch);
    InsertJob request{job};
    if (chance(3)) request.idempotency = Idempotency{some_key(), chance(2) ? "one" : "two"};
    const auto expected = model_.apply(request);
    REQUIRE(expected);
    const auto inserted = client_.ask(request);
    REQUIRE(inserted.id == expected->id);
    REQUIRE(inserted.runnable == expected->runnable);
    check_holder(inserted.holder, expected->holder);
    if (!expected->holder.job) ids_.push_back(job->id);
  }

  std::string some_key() { return "key " + std::to_string(pick(100)); }

  static void check_holder(const KeyHolder& holder, const KeyHolder& expected) {
    REQUIRE(same(holder.job, expected.job));
    REQUIRE(holder.same_request == expected.same_request);
  }

  void find_key_holder() {
    const FindKeyHolder request{std::string(1, static_cast<char>('a' + pick(4))),
                                {some_key(), "one"}};
    check_holder(client_.ask(request), model_.apply(request));
  }

  void cancel() {
    const auto job = chance(5) ? some_job() : some_unfinished_job();
    if (!job) return;
    const auto& cell = chance(5) ? some_cell() : job->cell;
    const CancelWaiting request{chance(20) ? 7 : job->id, cell, at_ms(now_ms_)};
    const auto expected = model_.apply(request);
    const auto cancelled = client_.ask(request);
    REQUIRE(same(cancelled.before, expected.before));
    REQUIRE(same(cancelled.after, expected.after));
    REQUIRE(same(cancelled.promoted, expected.promoted));
  }

  void reopen_job() {
    const auto job = some_job();
    if (!job) return;
    const auto& cell = chance(5) ? some_cell() : job->cell;
    const ReopenEnded request{job->id, cell, ++next_id_, at_ms(now_ms_)};
    const auto expected = model_.apply(request);
    const auto reopened = client_.ask(request);
    REQUIRE(same(reopened.before, expected.before));
    REQUIRE(same(reopened.after, expected.after));
    REQUIRE(reopened.runnable == expected.runnable);
  }

  void claim() {
    auto job = some_unfinished_job();
    if (!chance(8)) job = runnable_job();
    if (!job) return;
    const ClaimJob request{running(job, {1, ++leases_})};
    model_.apply(request);
    client_.tell(request);
  }

  JobPtr runnable_job() {
    const auto fetched = model_.apply(FetchRunnable{some_cell(), "", false, 100, 1});
    if (fetched.customers.empty()) return nullptr;
    return fetched.customers[pick(fetched.customers.size())].jobs[0];
  }

  JobPtr running_job() {
    const auto loaded = model_.apply(LoadCell{some_cell()});
    return loaded.running.empty() ? nullptr : loaded.running[pick(loaded.running.size())];
  }

  void record() {
    auto job = chance(4) ? some_job() : running_job();
    if (!job) return;
    const auto lease = chance(10) ? Lease{1, 1 + pick(100)} : job->lease;
    const RecordJob request{lease, next_version(job)};
    const auto expected = model_.apply(request);
    const auto recorded = client_.ask(request);
    REQUIRE(recorded.applied == expected.applied);
    REQUIRE(same(recorded.promoted, expected.promoted));
  }

  JobPtr next_version(const JobPtr& job) {
    switch (pick(6)) {
      case 0:
        return retrying(job, soon());
      case 1:
        return changed(job, [](Job& next) {
          next.state = JobState::queued;
          next.properties["zone"] = R"({"id": 7, "name": "}, \"x\": [1.50, 1e400]"})";
          next.next_attempt_at.reset();
        });
      case 2:
        return settling(job, soon());
      case 3:
        return changed(job, [&](Job& next) {
          next.state = JobState::failed;
          next.error = JobError{"provider_error", "no \"zone\"\n", "dns"};
          next.messages.push_back({soon(), Severity::warning, "dns", "odd: \xC3\xA9\t"});
        });
      default:
        return ended(job);
    }
  }

  void advance() {
    now_ms_ += static_cast<std::int64_t>(pick(150));
    const std::size_t limit = 1 + pick(20);
    const AdvanceDue request{some_cell(), at_ms(now_ms_), next_id_ + 1, limit};
    next_id_ += limit;
    const auto expected = model_.apply(request);
    const auto done = client_.ask(request);
    REQUIRE(same(done.runnable, expected.runnable));
    REQUIRE(same(done.promoted_elsewhere, expected.promoted_elsewhere));
    REQUIRE(same(done.expired, expected.expired));
    REQUIRE(done.queued == expected.queued);
    REQUIRE(done.next_due == expected.next_due);
    for (const auto& job : expected.expired) {
      if (chance(3)) continue;
      const RecordJob record{job->lease, ended(job, JobState::failed)};
      const auto promoted = model_.apply(record).promoted;
      REQUIRE(same(client_.ask(record).promoted, promoted));
    }
  }

  void fetch() {
    FetchRunnable request{some_cell(), "", chance(2), 1 + pick(4), 1 + pick(5), 1 << 20};
    if (chance(2)) request.customer = std::string(1, static_cast<char>('a' + pick(4)));
    if (chance(3)) request.bytes_max = pick(4000);
    const auto expected = model_.apply(request);
    const auto fetched = client_.ask(request);
    REQUIRE(fetched.complete == expected.complete);
    REQUIRE(fetched.customers.size() == expected.customers.size());
    for (std::size_t i = 0; i < expected.customers.size(); ++i) {
      REQUIRE(fetched.customers[i].customer == expected.customers[i].customer);
      REQUIRE(fetched.customers[i].complete == expected.customers[i].complete);
      REQUIRE(same(fetched.customers[i].jobs, expected.customers[i].jobs));
    }
  }

  void rarely() {
    switch (pick(8)) {
      case 0:
        return move();
      case 4:
        return prune();
      case 1:
        return check_epoch();
      case 3:
        return find_key_holder();
      case 2: {
        SetCellOverride request{some_cell(), {}};
        if (!chance(3)) request.change.pool_size = 1 + pick(100);
        request.change.state = static_cast<CellState>(pick(3));
        model_.apply(request);
        client_.ask(request);
        return;
      }
      default:
        if (const auto job = chance(5) ? some_job() : runnable_job()) {
          model_.apply(HoldJob{job->id});
          client_.tell(HoldJob{job->id});
        }
    }
  }

  void prune() {
    const PruneEnded request{at_ms(chance(2) ? 5001 : now_ms_ - 300), 1 + pick(20),
                             std::chrono::hours{1}};
    const auto expected = model_.apply(request);
    const auto done = client_.ask(request);
    REQUIRE(done.pruned == expected.pruned);
    REQUIRE(done.more == expected.more);
    REQUIRE(done.reached == expected.reached);
  }

  void move() {
    const auto backlogs = model_.apply(ListBacklogs{{}, {}, {}, 100}).backlogs;
    if (backlogs.empty()) return;
    const MoveJobs request{backlogs[pick(backlogs.size())], some_cell(), 100'000};
    const auto moved = model_.apply(request).moved;
    REQUIRE(client_.ask(request).moved == moved);
  }

  void check_epoch() {
    const auto expected = model_.apply(StartEpoch{});
    const auto started = client_.ask(StartEpoch{});
    REQUIRE(started.epoch == expected.epoch);
    REQUIRE(started.last_id == expected.last_id);
  }

  void check_cells() {
    const auto expected = model_.apply(LoadCells{});
    const auto loaded = client_.ask(LoadCells{});
    REQUIRE(loaded.with_jobs == expected.with_jobs);
    REQUIRE(loaded.overrides == expected.overrides);
    const ListBacklogs all{{}, {}, {}, 1000};
    REQUIRE(client_.ask(all).backlogs == model_.apply(all).backlogs);
    for (const auto& key : cell_keys) {
      const auto wanted = model_.apply(LoadCell{key});
      const auto cell = client_.ask(LoadCell{key});
      REQUIRE(cell.counts == wanted.counts);
      REQUIRE(same(cell.running, wanted.running));
      REQUIRE(cell.runnable == wanted.runnable);
      REQUIRE(cell.next_due == wanted.next_due);
    }
  }

  std::mt19937 random_;
  MemoryJobs model_;
  SqliteUnderTest under_test_;
  Client client_{under_test_};
  std::vector<JobId> ids_;
  JobId next_id_ = JobId{1000} << 20;
  std::uint64_t leases_ = 0;
  std::int64_t now_ms_ = 1000;
};

}  // namespace

TEST_CASE("the SQLite store gives the same answers as the model") {
  for (const unsigned seed : {1U, 2U, 3U}) {
    INFO("seed " << seed);
    Comparison comparison{seed};
    for (int step = 0; step < 3000; ++step) {
      INFO("step " << step);
      comparison.step();
      if (step % 1000 == 999) comparison.reopen();
    }
    comparison.check_all_jobs();
  }
}
