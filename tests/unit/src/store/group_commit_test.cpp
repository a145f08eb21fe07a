// Which operations share a commit.
#include <functional>
#include <memory>
#include <string>

#include <caf/scheduler/test_coordinator.hpp>

#include "src/store/memory_store.hpp"
#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store;
using namespace celld::store::test;

namespace {

constexpr milliseconds claim_delay{5};

/// A store that runs when the test lets it, on virtual time.
class Store {
 public:
  explicit Store(std::size_t bytes_max = CommitOptions{}.bytes_max) {
    config_.set("scheduler.policy", caf::atom("testing"));
    system_ = std::make_unique<caf::actor_system>(config_);
    MemoryStoreOptions options;
    options.commits.claim_delay = claim_delay;
    options.commits.bytes_max = bytes_max;
    store_ = spawn_memory_store(*system_, disk, options);
  }
  ~Store() {
    caf::anon_send_exit(store_, caf::exit_reason::kill);
    run();
    store_ = nullptr;
    coordinator().clock().cancel_all();
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  void run() { coordinator().run(); }
  /// Timers that are due now are sent, and not yet handled.
  void advance(milliseconds time) { coordinator().advance_time(time); }
  void pass(milliseconds time) {
    advance(time);
    run();
  }
  template <class Request>
  void send(const Request& request) {
    caf::anon_send(store_, request);
  }
  static JobPtr job(JobId id) { return sketch_job({.id = id, .entity = std::to_string(id)}); }
  void send_insert(JobId id) { send(InsertJob{job(id)}); }
  void insert(JobId id) {
    send_insert(id);
    run();
  }
  /// Claims the job and records its end.
  void end(JobId id) {
    const Lease lease{1, id};
    const auto started = running(disk->jobs().at(id).job, lease);
    send(ClaimJob{started});
    send(RecordJob{lease, ended(started)});
    run();
  }
  bool shows_end(JobId id) const { return is_ended(disk->jobs().at(id).job->state); }

  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();

 private:
  caf::scheduler::test_coordinator& coordinator() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  JobStore store_;
};

/// Submission 2 arrives during the commit of the end of job 1.
void submit_during_an_end(Store& store) {
  store.insert(1);
  store.disk->on_commit = [&](const JobPtr&, const Job& after) {
    if (is_ended(after.state)) store.send_insert(2);
  };
  store.end(1);
  store.disk->on_commit = nullptr;
  REQUIRE(store.disk->commits() == 3);
}

}  // namespace

TEST_CASE("a commit is bounded in bytes, which the next one counts anew") {
  Store store{3 * approximate_bytes(*Store::job(1))};
  const auto inserted_at_once = [&](JobId first, JobId end) {
    for (JobId id = first; id < end; ++id) store.send_insert(id);
    store.run();
    return store.disk->commits();
  };
  CHECK(inserted_at_once(1, 4) == 1);
  CHECK(inserted_at_once(4, 6) == 2);
  CHECK(inserted_at_once(6, 9) == 3);
  CHECK(inserted_at_once(100, 107) == 6);  // Three, three, and one.
}

TEST_CASE("the ends of jobs count in the bytes of a commit") {
  Store store{3 * approximate_bytes(*Store::job(1))};
  for (JobId id = 1; id <= 7; ++id) store.insert(id);
  const auto before = store.disk->commits();
  for (JobId id = 1; id <= 7; ++id) store.send(RecordJob{{}, ended(Store::job(id))});
  store.run();
  CHECK(store.disk->commits() == before + 3);  // Three, three, and one.
}

TEST_CASE("claims count in the bytes of a commit") {
  const auto claimed = [](JobId id) { return running(Store::job(id), {1, id}); };
  Store store{3 * approximate_bytes(*claimed(1))};
  for (JobId id = 1; id <= 7; ++id) store.insert(id);
  const auto before = store.disk->commits();
  for (JobId id = 1; id <= 7; ++id) store.send(ClaimJob{claimed(id)});
  store.run();
  CHECK(store.disk->commits() == before + 2);  // Three, three, and one that still waits.
}

TEST_CASE("schedules count in the bytes of a commit") {
  const auto named = [](const std::string& name) {
    Schedule schedule;
    schedule.name = name;
    return schedule;
  };
  Store store{3 * approximate_bytes(named("1"))};
  for (int i = 1; i <= 7; ++i) store.send(SaveSchedule{named(std::to_string(i))});
  store.run();
  CHECK(store.disk->commits() == 3);  // Three, three, and one.
}

TEST_CASE("an end alone is committed at once unless a submission had to wait for one before") {
  Store store;
  for (JobId id = 1; id <= 3; ++id) {
    store.insert(id);
    store.end(id);
    CHECK(store.shows_end(id));
    CHECK(store.disk->commits() == 2 * id);
    store.pass(2 * claim_delay);
  }
}

TEST_CASE("the end of a job shares the commit of the submission that follows") {
  Store store;
  submit_during_an_end(store);
  store.end(2);
  CHECK_FALSE(store.shows_end(2));
  store.insert(3);
  CHECK(store.shows_end(2));
  CHECK(store.disk->commits() == 4);
  store.end(3);
  CHECK(store.disk->commits() == 4);
}

TEST_CASE("an end that waits is committed with any other request") {
  Store store;
  submit_during_an_end(store);
  store.insert(3);
  store.end(2);
  REQUIRE_FALSE(store.shows_end(2));
  SECTION("another end") {
    store.end(3);
    CHECK(store.shows_end(3));
  }
  SECTION("a question") {
    store.send(LoadCells{});
    store.run();
  }
  CHECK(store.shows_end(2));
  CHECK(store.disk->commits() == 5);
}

TEST_CASE("an end that no submission follows is committed in time, and the next one at once") {
  Store store;
  submit_during_an_end(store);
  store.end(2);
  store.pass(claim_delay);  // The time of the claim of job 1, which is committed.
  CHECK_FALSE(store.shows_end(2));
  store.pass(claim_delay);
  CHECK(store.shows_end(2));
  CHECK(store.disk->commits() == 4);
  store.insert(3);
  store.end(3);
  CHECK(store.shows_end(3));
}

TEST_CASE("another request that had to wait for an end makes no end wait") {
  Store store;
  store.insert(1);
  store.insert(2);
  store.disk->on_commit = [&](const JobPtr&, const Job& after) {
    if (!is_ended(after.state)) return;
    store.send(LoadCells{});
    store.send_insert(3);
  };
  store.end(1);
  store.disk->on_commit = nullptr;
  store.end(2);
  CHECK(store.shows_end(2));
}

TEST_CASE("a timer that had to wait for an end makes no end wait") {
  Store store;
  store.insert(1);
  store.disk->on_commit = [&](const JobPtr&, const Job& after) {
    if (is_ended(after.state)) store.advance(claim_delay);
  };
  store.end(1);
  store.disk->on_commit = nullptr;
  store.insert(2);
  store.end(2);
  CHECK(store.shows_end(2));
}

TEST_CASE("a group that is committed because it is full does not cut the next one short") {
  Store store{3 * approximate_bytes(*Store::job(1))};
  store.disk->on_commit = [&](const JobPtr&, const Job& after) {
    if (after.id == 3) store.send_insert(5);
  };
  // Job 4 begins the next group before the message that would have committed the first one.
  for (JobId id = 1; id <= 4; ++id) store.send_insert(id);
  store.run();
  CHECK(store.disk->commits() == 2);
}

TEST_CASE("an end that shared its commit makes no later end wait") {
  Store store;
  store.insert(1);
  store.disk->on_commit = [&](const JobPtr&, const Job& after) {
    if (is_ended(after.state)) store.send_insert(3);
  };
  store.send_insert(2);
  store.end(1);
  store.disk->on_commit = nullptr;
  REQUIRE(store.disk->commits() == 3);
  store.end(2);
  CHECK(store.shows_end(2));
}
