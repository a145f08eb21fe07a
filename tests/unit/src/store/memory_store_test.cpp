// What only the in-memory store can do: fail on demand, run on virtual time, report its history.
#include "src/store/memory_store.hpp"

#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store;
using namespace celld::store::test;

namespace {

/// An actor system on virtual time, in which nothing runs unless the test lets it.
struct Simulated {
  Simulated() {
    config.set("scheduler.policy", caf::atom("testing"));
    system = std::make_unique<caf::actor_system>(config);
    coordinator = dynamic_cast<caf::scheduler::test_coordinator*>(&system->scheduler());
  }
  ~Simulated() {
    if (store) caf::anon_send_exit(store, caf::exit_reason::kill);
    coordinator->run();
    store = nullptr;
    coordinator->clock().cancel_all();
  }

  caf::actor_system_config config;
  std::unique_ptr<caf::actor_system> system;
  caf::scheduler::test_coordinator* coordinator = nullptr;
  JobStore store;
};

/// Records the answers to inserts in the order in which they arrive.
struct Asker {
  std::vector<JobId> answered;
  std::size_t refused = 0;
};

caf::behavior asker(caf::stateful_actor<std::shared_ptr<Asker>>* self,
                    const std::shared_ptr<Asker>& notes, const JobStore& store) {
  self->state = notes;
  return {[self, store](const JobPtr& job) {
    self->request(store, caf::infinite, InsertJob{job})
        .then([self](const JobInserted& inserted) { self->state->answered.push_back(inserted.id); },
              [self](const caf::error&) { ++self->state->refused; });
  }};
}

}  // namespace

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(cells::JobPtr)

TEST_CASE("a commit includes what arrived before it, and a crash loses the rest") {
  const auto disk = std::make_shared<MemoryDisk>();
  {
    Simulated simulated;
    MemoryStoreOptions options;
    options.commits.commit_delay = [] { return microseconds{500}; };
    simulated.store = spawn_memory_store(*simulated.system, disk, options);
    const auto notes = std::make_shared<Asker>();
    auto client = simulated.system->spawn(asker, notes, simulated.store);
    for (JobId id = 1; id <= 3; ++id) {
      caf::anon_send(client, sketch_job({.id = id, .entity = std::to_string(id)}));
    }
    simulated.coordinator->run();
    CHECK(notes->answered.empty());
    CHECK(disk->jobs().empty());
    simulated.coordinator->advance_time(microseconds{500});
    simulated.coordinator->run();
    CHECK(notes->answered == Ids{1, 2, 3});
    CHECK(disk->jobs().size() == 3);
    CHECK(disk->commits() == 1);
    caf::anon_send(client, sketch_job({.id = 4, .entity = "late"}));
    simulated.coordinator->run();
    caf::anon_send_exit(client, caf::exit_reason::kill);
  }
  CHECK(disk->jobs().size() == 3);
  Simulated again;
  again.store = spawn_memory_store(*again.system, disk);
  caf::scoped_actor self{*again.system};
  auto loaded = self->request(again.store, std::chrono::seconds{1}, LoadCell{acme_cell});
  again.coordinator->run();
  loaded.receive([](const CellLoaded& cell) { CHECK(cell.counts.unfinished() == 3); },
                 [](const caf::error&) { FAIL("no answer"); });
}

TEST_CASE("a failed commit fails every later request and is reported once") {
  const auto disk = std::make_shared<MemoryDisk>();
  Simulated simulated;
  bool failing = false;
  const bool lands = GENERATE(false, true);  // A failed commit may have reached the disk.
  int fatal = 0;
  MemoryStoreOptions options;
  options.fail_commit = [&failing] { return failing; };
  options.on_fatal = [&fatal](const std::string&) { ++fatal; };
  options.failed_commit_lands = [lands] { return lands; };
  simulated.store = spawn_memory_store(*simulated.system, disk, options);
  const auto notes = std::make_shared<Asker>();
  auto client = simulated.system->spawn(asker, notes, simulated.store);
  const auto insert = [&](JobId id) {
    caf::anon_send(client, sketch_job({.id = id, .entity = std::to_string(id)}));
  };
  insert(1);
  simulated.coordinator->run();
  failing = true;
  insert(2);
  insert(3);
  simulated.coordinator->run();
  failing = false;
  insert(4);
  simulated.coordinator->run();
  CHECK(notes->answered == Ids{1});
  CHECK(notes->refused == 3);
  bool is_counted = false;
  {
    caf::scoped_actor self{*simulated.system};
    auto counted = self->request(simulated.store, std::chrono::seconds{1}, CountNeeds{{"dns"}});
    simulated.coordinator->run();
    counted.receive([&](const NeedsCounted&) { is_counted = true; }, [](const caf::error&) {});
  }
  CHECK_FALSE(is_counted);
  CHECK(fatal == 1);
  CHECK(disk->jobs().size() == (lands ? 3 : 1));
  caf::anon_send_exit(client, caf::exit_reason::kill);
}

TEST_CASE("the history reports each committed change once, in order") {
  const auto disk = std::make_shared<MemoryDisk>();
  std::vector<std::pair<JobId, JobState>> history;
  disk->on_commit = [&history](const JobPtr& before, const Job& after) {
    CHECK((before == nullptr) == (after.state == JobState::queued));
    history.emplace_back(after.id, after.state);
  };
  Simulated simulated;
  simulated.store = spawn_memory_store(*simulated.system, disk);
  const auto job = sketch_job({.id = 1});
  caf::anon_send(simulated.store, InsertJob{job});
  caf::anon_send(simulated.store, InsertJob{sketch_job({.id = 2})});
  caf::anon_send(simulated.store, ClaimJob{running(job, {1, 1})});
  caf::anon_send(simulated.store, RecordJob{{1, 1}, ended(running(job, {1, 1}))});
  caf::anon_send(simulated.store, RecordJob{{1, 1}, ended(running(job, {1, 1}))});
  simulated.coordinator->run();
  CHECK(history == std::vector<std::pair<JobId, JobState>>{{1, JobState::queued},
                                                           {2, JobState::queued},
                                                           {1, JobState::running},
                                                           {1, JobState::succeeded}});
}

TEST_CASE("a claim is committed before an answer shows it") {
  const auto disk = std::make_shared<MemoryDisk>();
  Simulated simulated;
  MemoryStoreOptions options;
  options.commits.claim_delay = microseconds{5000};
  simulated.store = spawn_memory_store(*simulated.system, disk, options);
  const Idempotency idempotency{"key", "digest"};
  caf::anon_send(simulated.store, InsertJob{sketch_job({.id = 1}), idempotency});
  simulated.coordinator->run();
  caf::anon_send(simulated.store, ClaimJob{running(sketch_job({.id = 1}), {1, 1})});
  simulated.coordinator->run();
  CHECK(disk->commits() == 1);
  const auto find_holder = [&] {
    caf::anon_send(simulated.store, FindKeyHolder{"acme", idempotency});
    simulated.coordinator->run();
  };
  find_holder();
  CHECK(disk->commits() == 2);
  CHECK(disk->jobs().at(1).job->state == JobState::running);
  find_holder();
  CHECK(disk->commits() == 2);
}

TEST_CASE("nothing of a job is kept in memory once retention has removed it") {
  MemoryJobs jobs;
  StoreContent content;
  std::weak_ptr<const JobSpec> spec;
  {
    const auto job = sketch_job({.id = 1});
    spec = job->spec;
    jobs.apply(InsertJob{job});
    jobs.apply(RecordJob{{}, ended(job)});
  }
  jobs.commit_to(content);
  CHECK_FALSE(spec.expired());
  jobs.apply(PruneEnded{at_ms(6000), 1});
  jobs.commit_to(content);
  CHECK(spec.expired());
}
