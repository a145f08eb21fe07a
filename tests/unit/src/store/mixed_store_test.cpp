// What the mixed store adds to the contract: which store a request reaches, and how answers merge.
#include "src/store/mixed_store.hpp"

#include <caf/scheduler/test_coordinator.hpp>
#include <utility>

#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store;
using namespace celld::store::test;

namespace {

constexpr std::uint64_t unbounded = std::uint64_t{1} << 40;
const CellKey bolt_cell{"bolt", "*"};

/// A mixed store over an in-memory one, which counts its commits.
class Mixed : public StoreUnderTest {
 public:
  explicit Mixed(std::uint64_t bytes_max = unbounded, StoreContent kept = {})
      : memory_(make_memory(bytes_max, std::move(kept))),
        system_(config_),
        store_(spawn_mixed_store(system_, memory_, spawn_memory_store(system_, disk_))),
        reader_(spawn_mixed_reader(system_, memory_, spawn_memory_reader(system_, disk_))) {}
  ~Mixed() override {
    caf::anon_send_exit(store_, caf::exit_reason::kill);
    caf::anon_send_exit(reader_, caf::exit_reason::kill);
  }

  std::optional<Durability> durability() const override { return std::nullopt; }
  JobStore store() const override { return store_; }
  JobReader reader() const override { return reader_; }
  caf::actor_system& system() override { return system_; }
  void reopen() override { FAIL("not needed here"); }
  const MemoryDisk& disk() const { return *disk_; }
  const MemoryDisk& memory() const { return memory_->content; }
  const MemoryBudget& budget() const { return memory_->budget; }
  const BatchesInMemory& batches() const { return memory_->batches; }

 private:
  static std::shared_ptr<SharedMemory> make_memory(std::uint64_t bytes_max, StoreContent kept) {
    auto memory = std::make_shared<SharedMemory>(bytes_max);
    if (!kept.jobs.empty()) memory->fill(std::move(kept));
    return memory;
  }

  std::shared_ptr<SharedMemory> memory_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  caf::actor_system_config config_;
  caf::actor_system system_;
  JobStore store_;
  JobReader reader_;
};

JobPtr in_memory(const JobSketch& sketch) {
  return changed(sketch_job(sketch), [](Job& job) { job.durability = Durability::memory; });
}

/// Of a customer whose cell keeps jobs in memory.
JobPtr bolt(JobId id) {
  return in_memory({.id = id, .entity = std::to_string(id), .customer = "bolt", .cell = bolt_cell});
}
JobPtr acme(JobId id) {
  return sketch_job({.id = id, .entity = std::to_string(id)});
}

InsertJob keyed(const JobPtr& job, const std::string& key, std::string digest = "d") {
  return {job, Idempotency{key, std::move(digest)}, unbounded};
}

/// Its next time is `due`.
Schedule a_schedule() {
  Schedule schedule;
  schedule.name = "s";
  schedule.revision = 1;
  schedule.progress.next = at_ms(100);
  return schedule;
}
const ScheduleAdvance due{"s", 1, at_ms(100), {at_ms(200), 0, 1, 0, 0}};

JobsListed page(std::initializer_list<JobId> ids, JobId next = 0, bool full = false) {
  JobsListed listed{{}, next, full};
  for (const auto id : ids) listed.jobs.push_back(acme(id));
  return listed;
}

}  // namespace

TEST_CASE("no request about a job in memory changes the other store") {
  Mixed mixed;
  Client client{mixed};
  client.ask(InsertJob{acme(1), {}, 0});
  const auto commits = mixed.disk().commits();
  CHECK(client.ask(InsertJob{bolt(2), {}, unbounded}).runnable);
  const auto run = running(bolt(2), {1, 1});
  client.tell(ClaimJob{run});
  CHECK(client.ask(RecordJob{{1, 1}, ended(run)}).applied);
  CHECK(client.ask(FindJob{2}).job->state == JobState::succeeded);
  CHECK(client.ask(FindJob{2}).job->durability == Durability::memory);
  CHECK(client.ask(FindJob{1}).job->durability == Durability::disk);
  CHECK(mixed.disk().commits() == commits);
  CHECK(mixed.disk().jobs().size() == 1);
  CHECK(mixed.memory().jobs().size() == 1);
}

TEST_CASE("requests by id reach the store that has the job") {
  Mixed mixed;
  Client client{mixed};
  client.ask(InsertJob{acme(1), {}, 0});
  client.ask(InsertJob{bolt(2), {}, unbounded});
  CHECK(client.ask(CancelWaiting{1, acme_cell, at_ms(9)}).after);
  CHECK(client.ask(CancelWaiting{2, bolt_cell, at_ms(9)}).after);
  CHECK_FALSE(client.ask(CancelWaiting{3, bolt_cell, at_ms(9)}).before);
  CHECK(client.ask(ReopenEnded{1, acme_cell, 11, at_ms(9)}).after);
  CHECK(client.ask(ReopenEnded{2, bolt_cell, 12, at_ms(9)}).after);
  CHECK(mixed.disk().jobs().at(1).job->state == JobState::queued);
  CHECK(mixed.memory().jobs().at(2).job->state == JobState::queued);
}

TEST_CASE("what concerns both stores is merged") {
  Mixed mixed;
  Client client{mixed};
  client.ask(InsertJob{acme(1), {}, 0});
  client.ask(InsertJob{acme(2), {}, 0});
  client.ask(InsertJob{bolt(3), {}, unbounded});
  CHECK(client.ask(StartEpoch{}).last_id == 3);
  CHECK(client.ask(LoadCells{}).with_jobs == std::vector<CellKey>{acme_cell, bolt_cell});
  CHECK(client.ask(CountNeeds{{"dns"}}).jobs == std::map<std::string, std::uint64_t>{{"dns", 3}});
  CHECK(client.ask(FindOldestQueued{{acme_cell, bolt_cell, {"x", "*"}}}).places == Ids{1, 3, 0});
  const auto all = client.ask(ListBacklogs{});
  CHECK(all.backlogs ==
        std::vector<StoredBacklog>{{acme_cell, "acme", "dns"}, {bolt_cell, "bolt", "dns"}});
  CHECK(all.jobs == std::vector<std::uint64_t>{2, 1});
  const auto first = client.ask(ListBacklogs{std::nullopt, "", "", 1});
  CHECK(first.backlogs == std::vector<StoredBacklog>{{acme_cell, "acme", "dns"}});
  CHECK(client.ask(ListBacklogs{acme_cell, "acme", "dns", 1}).backlogs ==
        std::vector<StoredBacklog>{{bolt_cell, "bolt", "dns"}});
}

TEST_CASE("retention removes jobs of both kinds") {
  Mixed mixed;
  Client client{mixed};
  for (const auto& job : {acme(1), bolt(2)}) {
    client.ask(InsertJob{job, {}, unbounded});
    client.ask(RecordJob{{}, ended(job)});
  }
  const auto pruned = client.ask(PruneEnded{at_ms(6000), 1});
  CHECK(pruned.pruned == 2);
  CHECK(pruned.more);
  CHECK_FALSE(client.ask(PruneEnded{at_ms(6000), 1}).more);
  CHECK(mixed.disk().jobs().empty());
  CHECK(mixed.memory().jobs().empty());
  CHECK(mixed.budget().bytes() == 0);
}

TEST_CASE("of the stores that have more to prune, the one further behind says how far pruning is") {
  using Ends = std::vector<std::int64_t>;
  const auto reached = [](const Ends& on_disk, const Ends& in_memory) {
    Mixed mixed;
    Client client{mixed};
    JobId id = 0;
    const auto add = [&](const JobPtr& job, std::int64_t ms) {
      client.ask(InsertJob{job, {}, unbounded});
      const auto end = [ms](Job& next) { next.finished_at = at_ms(ms); };
      client.ask(RecordJob{{}, changed(ended(job), end)});
    };
    for (const auto ms : on_disk) add(acme(++id), ms);
    for (const auto ms : in_memory) add(bolt(++id), ms);
    const auto pruned = client.ask(PruneEnded{at_ms(1000), 2, std::chrono::hours{1}});
    CHECK(pruned.more);
    return pruned.reached;
  };
  CHECK(reached({300, 400, 500}, {100}) == at_ms(400));
  CHECK(reached({100}, {300, 400, 500}) == at_ms(400));
  CHECK(reached({300, 400, 500}, {100, 200, 600}) == at_ms(200));
  CHECK(reached({100, 200, 600}, {300, 400, 500}) == at_ms(200));
}

TEST_CASE("a page lists jobs of both kinds, newest first, and its cursor continues in both") {
  Mixed mixed;
  Client client{mixed};
  for (JobId id = 1; id <= 9; ++id) {
    client.ask(InsertJob{id % 3 == 0 ? bolt(id) : acme(id), {}, unbounded});
  }
  Ids seen;
  JobId before = 0;
  do {
    const auto listed = client.ask(ListJobs{{}, before, 2});
    CHECK(listed.jobs.size() <= 2);
    for (const auto id : ids(listed.jobs)) seen.push_back(id);
    before = listed.next;
  } while (before != 0);
  CHECK(seen == Ids{9, 8, 7, 6, 5, 4, 3, 2, 1});
  JobFilter of_bolt;
  of_bolt.customer = "bolt";
  CHECK(ids(client.ask(ListJobs{of_bolt}).jobs) == Ids{9, 6, 3});
}

TEST_CASE("a job in memory is found behind more others than one page looks at") {
  Mixed mixed;
  Client client{mixed};
  constexpr JobId others = 10'001;
  client.ask(InsertJob{acme(1), {}, 0});
  client.ask(InsertJob{
      in_memory({.id = 2, .entity = "old", .customer = "old", .cell = bolt_cell}), {}, unbounded});
  for (JobId id = 3; id < 3 + others; ++id) client.ask(InsertJob{bolt(id), {}, unbounded});
  JobFilter of_old;
  of_old.customer = "old";
  Ids found;
  JobId before = 0;
  do {
    const auto listed = client.ask(ListJobs{of_old, before});
    for (const auto id : ids(listed.jobs)) found.push_back(id);
    before = listed.next;
  } while (before != 0);
  CHECK(found == Ids{2});
}

TEST_CASE("the oldest queued job may be one that a shutdown has kept") {
  StoreContent kept;
  MemoryJobs jobs;
  jobs.apply(InsertJob{bolt(7)});
  jobs.commit_to(kept);
  Mixed mixed{unbounded, std::move(kept)};
  Client client{mixed};
  CHECK(client.ask(FindOldestQueued{{bolt_cell}}).places == Ids{7});
}

TEST_CASE("merged pages end where one of them stopped looking") {
  const ListJobs request{{}, 0, 3};
  const auto both = merge_pages(page({9, 4}), page({8}), request);
  CHECK(ids(both.jobs) == Ids{9, 8, 4});
  CHECK(both.next == 0);
  const auto cut = merge_pages(page({9, 4}), page({8}, 7, false), request);
  CHECK(ids(cut.jobs) == Ids{9, 8});
  CHECK(cut.next == 7);
  CHECK_FALSE(cut.full);
  const auto later = merge_pages(page({9, 8, 7}, 7, true), page({6, 5, 4}, 4, true), request);
  CHECK(ids(later.jobs) == Ids{9, 8, 7});
  CHECK(later.next == 7);
  CHECK(later.full);
  const auto limited = merge_pages(page({9, 7}), page({8, 6}), request);
  CHECK(ids(limited.jobs) == Ids{9, 8, 7});
  CHECK(limited.next == 7);
  CHECK(limited.full);
  const auto small = merge_pages(page({9, 7}), page({8}), {{}, 0, 3, 1});
  CHECK(ids(small.jobs) == Ids{9});
  CHECK(small.next == 9);
  CHECK(small.full);
}

TEST_CASE("an idempotency key belongs to one job of its customer, of either kind") {
  Mixed mixed;
  Client client{mixed};
  const auto on_disk = sketch_job({.id = 1, .customer = "bolt", .product = "dns"});
  client.ask(keyed(on_disk, "k"));
  CHECK(client.ask(keyed(bolt(2), "k")).holder.job->id == 1);
  CHECK(client.ask(keyed(bolt(2), "k")).holder.same_request);
  CHECK_FALSE(client.ask(keyed(bolt(2), "k", "other")).holder.same_request);
  CHECK_FALSE(client.ask(keyed(bolt(3), "m")).holder.job);
  CHECK(client.ask(FindKeyHolder{"bolt", {"m", "d"}}).job->id == 3);
  CHECK(client.ask(FindKeyHolder{"bolt", {"k", "d"}}).job->id == 1);
  CHECK_FALSE(client.ask(FindKeyHolder{"acme", {"m", "d"}}).job);
  const auto again = sketch_job({.id = 4, .customer = "bolt", .product = "dns"});
  CHECK(client.ask(keyed(again, "m")).holder.job->id == 3);
  CHECK(mixed.disk().jobs().size() == 1);
  CHECK(mixed.memory().jobs().size() == 1);
}

TEST_CASE("of submissions with one key that arrive at once, one is accepted") {
  Mixed mixed;
  caf::scoped_actor self{mixed.system()};
  const auto other_kind = sketch_job({.id = 2, .customer = "bolt", .product = "mail"});
  std::vector<JobInserted> answers;
  const auto take = [&](JobInserted& inserted) { answers.push_back(std::move(inserted)); };
  const auto fail = [&](const caf::error& error) { FAIL(mixed.system().render(error)); };
  const std::chrono::seconds patience{60};
  auto first = self->request(mixed.store(), patience, keyed(bolt(1), "k"));
  auto second = self->request(mixed.store(), patience, keyed(other_kind, "k"));
  auto third = self->request(mixed.store(), patience, keyed(bolt(3), "k"));
  auto look = self->request(mixed.store(), patience, FindKeyHolder{"bolt", {"k", "d"}});
  first.receive(take, fail);
  second.receive(take, fail);
  third.receive(take, fail);
  look.receive([](const KeyHolder& holder) { CHECK(holder.job->id == 1); }, fail);
  CHECK_FALSE(answers[0].holder.job);
  CHECK(answers[1].holder.job->id == 1);
  CHECK(answers[2].holder.job->id == 1);
  CHECK(mixed.disk().jobs().empty());
  CHECK(mixed.memory().jobs().size() == 1);
}

TEST_CASE("a job in memory that asks the disk first is in each list and count asked for later") {
  Mixed mixed;
  caf::scoped_actor self{mixed.system()};
  caf::anon_send(mixed.store(), SaveSchedule{a_schedule()});
  const auto fail = [&](const caf::error& error) { FAIL(mixed.system().render(error)); };
  const std::chrono::seconds patience{60};
  const auto ask = [&](const auto& request) {
    return self->request(mixed.store(), patience, request);
  };
  auto with_key = ask(keyed(bolt(1), "k"));
  auto counted = ask(CountNeeds{{"dns"}});
  auto listed = ask(ListBacklogs{});
  const auto inserted = [](const JobInserted& answer) { CHECK(answer.runnable); };
  using Counts = std::map<std::string, std::uint64_t>;
  with_key.receive(inserted, fail);
  counted.receive([](const NeedsCounted& needs) { CHECK(needs.jobs == Counts{{"dns", 1}}); }, fail);
  listed.receive(
      [](const BacklogsListed& page) { CHECK(page.jobs == std::vector<std::uint64_t>{1}); }, fail);
  auto fired = ask(InsertJob{bolt(2), {}, unbounded, due});
  auto counted_again = ask(CountNeeds{{"dns"}});
  ListBacklogs in_memory;
  in_memory.durability = Durability::memory;
  auto listed_again = ask(in_memory);
  fired.receive(inserted, fail);
  counted_again.receive([](const NeedsCounted& needs) { CHECK(needs.jobs == Counts{{"dns", 2}}); },
                        fail);
  listed_again.receive(
      [](const BacklogsListed& page) { CHECK(page.jobs == std::vector<std::uint64_t>{2}); }, fail);
}

TEST_CASE("a batch shows its jobs in memory as they are, although its row is behind") {
  Mixed mixed;
  Client client{mixed};
  const auto of_batch = [](const JobPtr& job) {
    return changed(job, [](Job& next) { next.batch = 77; });
  };
  const auto queued = [&] {
    const auto batch = client.ask(FindBatch{77}).batch;
    const auto listed = client.ask(ListBatches{.limit = 9}).batches;
    REQUIRE(batch);
    CHECK(listed == std::vector{*batch});
    return batch->counts[JobState::queued];
  };
  client.ask(OpenBatch{77, {}, at_ms(5)});
  client.ask(InsertJob{of_batch(acme(1)), {}, 0});
  for (const JobId id : {2, 3, 4}) client.ask(InsertJob{of_batch(bolt(id)), {}, unbounded});
  CHECK(queued() == 4);
  CHECK(mixed.disk().content().batches.at(77).counts[JobState::queued] == 2);
  const auto closed = client.ask(CloseBatch{77, at_ms(6)}).batch;
  REQUIRE(closed);
  CHECK(closed->counts[JobState::queued] == 4);
  client.ask(CancelWaiting{2, bolt_cell, at_ms(9)});
  CHECK(queued() == 3);
  CHECK(mixed.disk().content().batches.at(77).counts[JobState::queued] == 4);
  client.ask(FlushStore{Durability::disk});
  CHECK(mixed.disk().content().batches.at(77).counts[JobState::queued] == 4);
  client.ask(FlushStore{});
  CHECK(mixed.disk().content().batches.at(77).counts[JobState::queued] == 3);
  client.ask(StartEpoch{at_ms(10)});  // As if all jobs in memory had been kept.
  CHECK(queued() == 3);
  CHECK(client.ask(FindBatch{77}).batch->forgotten == 0);
}

TEST_CASE("the counts of a batch are forgotten once the disk knows that its last job is gone") {
  Mixed mixed;
  Client client{mixed};
  const auto job = changed(bolt(1), [](Job& next) { next.batch = 77; });
  client.ask(OpenBatch{77, {}, at_ms(5)});
  client.ask(InsertJob{job, {}, unbounded});
  client.ask(RecordJob{{}, ended(job)});
  client.ask(CloseBatch{77, at_ms(6)});
  REQUIRE(mixed.batches().find(77));
  client.ask(PruneEnded{at_ms(6000), 1});  // The disk answers the note of the batch before this.
  CHECK_FALSE(mixed.batches().find(77));
}

TEST_CASE("a new job in memory pushes out what ended first, and is refused without room") {
  Mixed mixed;
  Client client{mixed};
  const auto size = memory_bytes(*bolt(1));
  const auto insert = [&](JobId id) { return client.ask(InsertJob{bolt(id), {}, 2 * size}); };
  CHECK_FALSE(insert(1).full);
  CHECK_FALSE(insert(2).full);
  const auto full = insert(3).full;
  REQUIRE(full);
  CHECK(full->in_cell);
  CHECK(full->limit == 2 * size);
  CHECK(full->depth == 2 * size);
  CHECK_FALSE(client.ask(FindJob{3}).job);
  client.ask(RecordJob{{}, ended(bolt(2))});
  CHECK_FALSE(insert(3).full);
  CHECK_FALSE(client.ask(FindJob{2}).job);
  CHECK(client.ask(FindJob{1}).job);
}

TEST_CASE("a job in memory that grows pushes out what ended first") {
  Mixed mixed;
  Client client{mixed};
  const auto bound = 2 * memory_bytes(*bolt(1)) + 1000;
  for (const JobId id : {1, 2}) CHECK(client.ask(InsertJob{bolt(id), {}, bound}).runnable);
  client.ask(RecordJob{{}, ended(bolt(1))});
  CHECK(client.ask(FindJob{1}).job);
  const auto run = running(bolt(2), {1, 1});
  client.tell(ClaimJob{run});
  const auto grown = changed(run, [](Job& job) { job.properties["a"] = std::string(5000, 'x'); });
  CHECK(client.ask(RecordJob{{1, 1}, grown}).applied);
  CHECK_FALSE(client.ask(FindJob{1}).job);
  CHECK(client.ask(FindJob{2}).job);
}

TEST_CASE("the bound of all jobs in memory holds over the cells") {
  const auto size = memory_bytes(*bolt(1));
  Mixed mixed{2 * size};
  Client client{mixed};
  client.ask(InsertJob{bolt(1), {}, unbounded});
  client.ask(
      InsertJob{in_memory({.id = 2, .entity = "2", .customer = "cast", .cell = {"cast", "*"}}),
                {},
                unbounded});
  const auto full = client.ask(InsertJob{bolt(3), {}, unbounded}).full;
  REQUIRE(full);
  CHECK_FALSE(full->in_cell);
  CHECK(full->limit == 2 * size);
  CHECK_FALSE(client.ask(InsertJob{acme(4), {}, 0}).full);
}

/// A store of both kinds that handles requests only once an answer is wanted.
class OnDemand {
 public:
  explicit OnDemand(const MemoryStoreOptions& of_disk = {})
      : store_(spawn_mixed_store(
            system_, std::make_shared<SharedMemory>(unbounded),
            spawn_memory_store(system_, std::make_shared<MemoryDisk>(), of_disk))) {}
  ~OnDemand() {
    end();
    scheduler_.clock().cancel_all();
  }
  OnDemand(const OnDemand&) = delete;
  OnDemand& operator=(const OnDemand&) = delete;

  template <class Question>
  auto request(Question question) {
    return self_->request(store_, patience, std::move(question));
  }
  void end() {
    scheduler_.run();
    caf::anon_send_exit(store_, caf::exit_reason::kill);
    scheduler_.run();
  }
  template <class Answer, class Pending>
  Answer answer_to(Pending& pending) {
    scheduler_.run();
    Answer answer;
    pending.receive([&](Answer& received) { answer = std::move(received); },
                    [&](const caf::error& error) { FAIL(system_.render(error)); });
    return answer;
  }
  /// After `end`.
  template <class Answer, class Pending>
  caf::error error_of(Pending& pending) {
    scheduler_.advance_time(patience);  // For a question without any answer.
    caf::error error;
    pending.receive([](const Answer&) { FAIL("the store has ended"); },
                    [&](const caf::error& received) { error = received; });
    return error;
  }

 private:
  static constexpr std::chrono::minutes patience{1};

  struct Config : caf::actor_system_config {
    Config() { set("scheduler.policy", caf::atom("testing")); }
  };

  Config config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& scheduler_ =
      dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  JobStore store_;
  caf::scoped_actor self_{system_};
};

/// The disk answers nothing once it has something to commit.
MemoryStoreOptions slow_disk() {
  MemoryStoreOptions options;
  options.commits.commit_delay = [] { return std::chrono::hours{1}; };
  return options;
}

TEST_CASE("a job that found no room after its schedule had advanced is added once, when there is") {
  OnDemand store;
  auto saved = store.request(SaveSchedule{a_schedule()});
  store.answer_to<ScheduleSaved>(saved);
  const auto room_for_one = memory_bytes(*bolt(1));
  auto fired = store.request(InsertJob{bolt(1), {}, room_for_one, due});
  auto other =
      store.request(InsertJob{bolt(2), {}, room_for_one});  // Before the schedule has advanced.
  CHECK(store.answer_to<JobInserted>(fired).full);
  CHECK(store.answer_to<JobInserted>(other).runnable);
  auto again = store.request(InsertJob{bolt(3), {}, unbounded, due});
  CHECK(store.answer_to<JobInserted>(again).runnable);
  auto list = store.request(LoadSchedules{"", false, 9});
  CHECK(store.answer_to<SchedulesLoaded>(list).schedules.at(0).progress.last_job == bolt(3)->id);
  auto once_more = store.request(InsertJob{bolt(4), {}, unbounded, due});
  CHECK(store.answer_to<JobInserted>(once_more).is_stale);
  const ScheduleAdvance next_due{"s", 1, at_ms(200), {at_ms(300), 0, 2, 0, 0}};
  const ScheduleAdvance last_due{"s", 1, at_ms(300), {at_ms(400), 0, 3, 0, 0}};
  auto no_room = store.request(InsertJob{bolt(5), {}, 3 * room_for_one, next_due});
  auto third = store.request(InsertJob{bolt(6), {}, 3 * room_for_one});
  CHECK(store.answer_to<JobInserted>(no_room).full);
  CHECK(store.answer_to<JobInserted>(third).runnable);
  // The time before is given up.
  auto later = store.request(InsertJob{bolt(7), {}, unbounded, last_due});
  CHECK(store.answer_to<JobInserted>(later).runnable);
  auto twice = store.request(InsertJob{bolt(8), {}, unbounded, last_due});
  CHECK(store.answer_to<JobInserted>(twice).is_stale);
}

TEST_CASE("a due time whose job never found room has not fired") {
  OnDemand store;
  Schedule schedule = a_schedule();
  schedule.progress = {at_ms(100), 77, 4, 0, 0};
  auto saved = store.request(SaveSchedule{schedule});
  store.answer_to<ScheduleSaved>(saved);
  const auto room_for_one = memory_bytes(*bolt(1));
  const ScheduleAdvance firing{"s", 1, at_ms(100), {at_ms(200), 77, 5, 0, 0}};
  auto fired = store.request(InsertJob{bolt(1), {}, room_for_one, firing});
  auto other = store.request(InsertJob{bolt(2), {}, room_for_one});
  CHECK(store.answer_to<JobInserted>(fired).full);
  CHECK(store.answer_to<JobInserted>(other).runnable);
  const ScheduleProgress missed{at_ms(200), 77, 4, 0, 1};
  auto given_up = store.request(AdvanceSchedule{{"s", 1, at_ms(100), missed}});
  CHECK(store.answer_to<ScheduleAdvanced>(given_up).applied);
  auto list = store.request(LoadSchedules{"", false, 9});
  CHECK(store.answer_to<SchedulesLoaded>(list).schedules.at(0).progress == missed);
  auto twice = store.request(AdvanceSchedule{{"s", 1, at_ms(100), missed}});
  CHECK_FALSE(store.answer_to<ScheduleAdvanced>(twice).applied);
}

TEST_CASE("a job whose customer was full after its schedule had advanced is added later") {
  OnDemand store;
  auto saved = store.request(SaveSchedule{a_schedule()});
  store.answer_to<ScheduleSaved>(saved);
  auto fired = store.request(InsertJob{bolt(1), {}, unbounded, due, CustomerRoom{1, unbounded}});
  auto other = store.request(InsertJob{bolt(2), {}, unbounded});  // Before the schedule advances.
  CHECK(store.answer_to<JobInserted>(fired).customer_full);
  CHECK(store.answer_to<JobInserted>(other).runnable);
  auto again = store.request(InsertJob{bolt(3), {}, unbounded, due});
  CHECK(store.answer_to<JobInserted>(again).runnable);
}

TEST_CASE("a job for which there is no room does not advance its schedule") {
  OnDemand store;
  auto saved = store.request(SaveSchedule{a_schedule()});
  store.answer_to<ScheduleSaved>(saved);
  auto other = store.request(InsertJob{bolt(1), {}, unbounded});
  store.answer_to<JobInserted>(other);
  auto fired = store.request(InsertJob{bolt(2), {}, memory_bytes(*bolt(1)), due});
  CHECK(store.answer_to<JobInserted>(fired).full);
  auto list = store.request(LoadSchedules{"", false, 9});
  CHECK(store.answer_to<SchedulesLoaded>(list).schedules.at(0).progress == a_schedule().progress);
}

TEST_CASE("jobs in memory enter their line in the order of their requests") {
  OnDemand store;
  const auto of_entity = [](JobId id, const std::string& entity) {
    return in_memory({.id = id, .entity = entity, .customer = "bolt", .cell = bolt_cell});
  };
  // Only the first has a key, which the store on disk may know.
  auto first = store.request(InsertJob{of_entity(1, "one"), Idempotency{"key", "d"}, unbounded});
  auto second = store.request(InsertJob{of_entity(2, "one"), {}, unbounded});
  auto elsewhere = store.request(InsertJob{of_entity(3, "other"), {}, unbounded});
  CHECK(store.answer_to<JobInserted>(first).runnable);
  CHECK_FALSE(store.answer_to<JobInserted>(second).runnable);
  CHECK(store.answer_to<JobInserted>(elsewhere).runnable);
}

TEST_CASE("the mixed store ends when the other store ends") {
  caf::actor_system_config config;
  caf::actor_system system{config};
  const auto other = spawn_memory_store(system, std::make_shared<MemoryDisk>());
  const auto store = spawn_mixed_store(system, std::make_shared<SharedMemory>(unbounded), other);
  caf::scoped_actor self{system};
  caf::anon_send_exit(other, caf::exit_reason::user_shutdown);
  self->wait_for(store);
  SUCCEED("it has ended");
}

TEST_CASE("a store that ends answers a submission that waits for the disk") {
  OnDemand store{slow_disk()};
  store.request(InsertJob{acme(1), {}, 0});
  auto asks_first = store.request(keyed(bolt(2), "k"));
  store.end();
  CHECK(store.error_of<JobInserted>(asks_first) == caf::sec::request_receiver_down);
}

TEST_CASE("a store that ends answers a submission that waits for the key of another") {
  OnDemand store{slow_disk()};
  store.request(InsertJob{acme(1), {}, 0});
  store.request(keyed(bolt(2), "k"));
  auto waits = store.request(keyed(bolt(3), "k"));
  store.end();
  CHECK(store.error_of<JobInserted>(waits) == caf::sec::request_receiver_down);
}

TEST_CASE("a schedule that is made anew fires at a time that had found no room before") {
  OnDemand store;
  const auto save = [&] {
    auto saved = store.request(SaveSchedule{a_schedule()});
    store.answer_to<ScheduleSaved>(saved);
  };
  save();
  const auto room_for_one = memory_bytes(*bolt(1));
  auto fired = store.request(InsertJob{bolt(1), {}, room_for_one, due});
  auto other = store.request(InsertJob{bolt(2), {}, room_for_one});
  CHECK(store.answer_to<JobInserted>(fired).full);
  CHECK(store.answer_to<JobInserted>(other).runnable);
  auto removed = store.request(RemoveSchedule{"s"});
  CHECK(store.answer_to<ScheduleRemoved>(removed).found);
  save();
  auto again = store.request(InsertJob{bolt(3), {}, unbounded, due});
  CHECK(store.answer_to<JobInserted>(again).runnable);
}

TEST_CASE("a backlog with jobs of both kinds is listed once, with all of them") {
  Mixed mixed;
  Client client{mixed};
  client.ask(InsertJob{acme(1), {}, 0});
  for (const JobId id : {2, 3}) {
    client.ask(InsertJob{in_memory({.id = id, .entity = std::to_string(id)}), {}, unbounded});
  }
  const auto all = client.ask(ListBacklogs{});
  CHECK(all.backlogs == std::vector<StoredBacklog>{{acme_cell, "acme", "dns"}});
  CHECK(all.jobs == std::vector<std::uint64_t>{3});
}
