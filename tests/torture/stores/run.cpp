#include "tests/torture/stores/run.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <caf/scheduler/test_coordinator.hpp>

#include "src/store/memory_store.hpp"
#include "src/store/mixed_store.hpp"
#include "src/store/schedule_rows.hpp"
#include "src/store/sqlite.hpp"
#include "src/store/sqlite_reads.hpp"
#include "src/store/sqlite_store.hpp"
#include "tests/torture/dice.hpp"
#include "tests/torture/stores/generator.hpp"
#include "tests/torture/stores/judge.hpp"
#include "tests/unit/src/store/temporary_directory.hpp"

namespace stores {
namespace {

using celld::store::Connection;
using celld::store::MemoryDisk;
using celld::store::MemoryStoreOptions;
using celld::store::ReadLimits;
using celld::store::SharedMemory;
using celld::store::SqliteOptions;
using celld::store::SqliteStore;
using celld::store::Statement;
using celld::store::StoreContent;

constexpr std::size_t lives_max = 4;
constexpr std::size_t steps_max = 250;

struct Limits {
  ReadLimits reads;
  celld::store::WriteLimits writes;
  std::size_t commit_operations_max = 4096;
  std::size_t commit_bytes_max = 8 << 20;
  std::size_t few_operations = 4;
  milliseconds claim_delay{5};
  std::int64_t wal_pages_max = 4000;
};

/// Each limit has its usual value, or one so small that it is often reached.
Limits draw_limits(Dice& dice) {
  Limits limits;
  if (dice.one_in(2)) limits.reads.rows_max = 3;
  if (dice.one_in(2)) limits.reads.merged_max = 3;
  if (dice.one_in(2)) {
    limits.reads.names_max = 3;
    limits.reads.passed_max = 1;
  }
  if (dice.one_in(2)) limits.writes.generation_jobs = 3 + dice.below(20);
  if (dice.one_in(2)) limits.writes.jobs_per_move = 1;
  if (dice.one_in(2)) limits.writes.moved_per_job = 1 + dice.below(5);
  if (dice.one_in(2)) {
    limits.writes.partition_jobs = 3 + dice.below(20);
    limits.writes.filtered_min = limits.writes.filtered_max = 3;
    limits.writes.filtered_per_job = 1;
    limits.writes.partitions_looked_at = 1;
  }
  if (dice.one_in(2)) {
    limits.writes.partitions_max = 1 + dice.below(3);
    limits.writes.partitions_per_list = 1 + dice.below(2);
    limits.writes.retired_min = 1 + dice.below(3);
    limits.writes.retired_per_job = 1 + dice.below(3);
  }
  if (dice.one_in(2)) limits.writes.route_changes = 3;
  if (dice.one_in(2)) limits.writes.batches = 3;
  if (dice.one_in(2)) limits.commit_operations_max = 1 + dice.below(6);
  if (dice.one_in(3)) limits.commit_bytes_max = 2000;
  if (dice.one_in(2)) limits.few_operations = dice.below(3);
  limits.claim_delay = milliseconds{1 + dice.below(5)};
  if (dice.one_in(2)) limits.wal_pages_max = 20;
  return limits;
}

/// Everything in a database, while nothing writes to it.
StoreContent content_of(const std::string& database) {
  StoreContent content;
  celld::store::SqliteReads reads{database};
  ListJobs page{{}, 0, 1000};
  do {
    const auto listed = reads.read(page);
    for (const auto& job : listed.jobs) content.jobs[job->id].job = job;
    page.before = listed.next;
  } while (page.before != 0);
  for (auto& batch : reads.read(ListBatches{{}, false, 0, 1'000'000}).batches) {
    content.batches[batch.id] = batch;
  }
  Connection connection{database, Connection::Access::read_only};
  for (Statement row{connection, "SELECT id, marks FROM jobs"}; row.step();) {
    auto& stored = content.jobs.at(celld::store::to_id(row.integer(0)));
    stored.marks = celld::store::decode_marks(row.integer(1));
  }
  for (Statement row{connection, "SELECT customer, key, job, digest FROM idempotency_keys"};
       row.step();) {
    content.key_holders[{std::string{row.text(0)}, std::string{row.text(1)}}] = {
        celld::store::to_id(row.integer(2)), std::string{row.text(3)}};
  }
  for (Statement row{connection,
                     "SELECT customer, product, pool_size, cell_overrides.state,"
                     " pool_burst, pool_weight"
                     " FROM cell_overrides JOIN cells ON cells.id = cell"};
       row.step();) {
    auto& change = content.overrides[{std::string{row.text(0)}, std::string{row.text(1)}}];
    if (!row.is_null(2)) change.pool_size = static_cast<std::uint32_t>(row.integer(2));
    change.state = static_cast<CellState>(row.integer(3));
    if (!row.is_null(4)) change.pool_burst = static_cast<std::uint32_t>(row.integer(4));
    if (!row.is_null(5)) change.pool_weight = static_cast<std::uint32_t>(row.integer(5));
  }
  celld::store::ScheduleRows schedules{connection};
  for (auto& schedule : schedules.list({"", false, 1'000'000})) {
    content.schedules[schedule.name] = std::move(schedule);
  }
  for (Statement row{connection,
                     "SELECT customer, product, name, value"
                     " FROM quota_overrides JOIN cells ON cells.id = cell"};
       row.step();) {
    QuotaLimit limit{};
    if (!parse_quota_limit(row.text(2), limit)) continue;
    content.overrides[{std::string{row.text(0)}, std::string{row.text(1)}}].quota[limit] =
        row.real(3);
  }
  content.epoch = celld::store::to_id(
      connection.query_integer("SELECT value FROM settings WHERE name = 'epoch'"));
  content.last_id = celld::store::to_id(connection.query_integer(
      "SELECT max(value, (SELECT ifnull(max(id), 0) FROM jobs)) FROM settings"
      " WHERE name = 'last_place'"));
  return content;
}

class Run {
 public:
  Run(std::uint64_t seed, const Wrong& wrong, bool trace)
      : dice_(seed),
        both_kinds_(has_both_kinds(seed)),
        wrong_(wrong),
        tracing_(trace),
        limits_(draw_limits(dice_)) {
    if (!both_kinds_) sides_.push_back(&memory_);
    config_.set("scheduler.policy", caf::atom("testing"));
    config_.set("logger.file-verbosity", caf::atom("quiet"));
    config_.set("logger.console-verbosity", caf::atom("quiet"));
  }

  RunResult run() {
    try {
      std::filesystem::create_directory(data_directory());
      const std::size_t lives = 2 + dice_.below(lives_max - 1);
      open();
      for (std::size_t life = 0; life < lives && result_.violation.empty(); ++life) {
        live();
        end_life();
      }
      close();
    } catch (const std::exception& error) {
      violate(error.what());
    }
    return std::move(result_);
  }

 private:
  struct Side {
    explicit Side(const char* side_name) : name(side_name) {}

    const char* name;
    std::shared_ptr<Record> record;
    JobStore store;
    JobReader reader;
    caf::actor client;
    std::vector<caf::strong_actor_ptr> actors{};  ///< All of this side.
  };

  // --- A life --------------------------------------------------------------------------------

  /// Opens the stores. The one in memory gets the content of the other.
  void open() {
    system_ = std::make_unique<caf::actor_system>(config_);
    scheduler_ = dynamic_cast<caf::scheduler::test_coordinator*>(&system_->scheduler());
    history_ = std::make_shared<History>();
    sqlite_.record = std::make_shared<Record>();
    memory_.record = std::make_shared<Record>();
    open_sqlite();
    before_ = content_of(database());
    if (ended_) judge_last_life();
    history_->both_kinds = both_kinds_;
    both_kinds_ ? join_memory() : open_memory();
    generator_.begin_life(before_);
    for (Side* side : sides_) {
      side->client = spawn_client(*system_, side->store, side->reader, history_, side->record,
                                  side == &sqlite_ ? wrong_ : Wrong{},
                                  std::make_shared<MemoryDisk>(before_, limits_.reads));
      add_actors(*side, side->client);
    }
    if (wrong_.loses_commits) copy_database(lost_directory());
    send(generator_.start_epoch());
  }

  void open_sqlite() {
    SqliteOptions options;
    options.data_directory = data_directory();
    options.commits.operations_max = limits_.commit_operations_max;
    options.commits.bytes_max = limits_.commit_bytes_max;
    options.commits.few_operations = limits_.few_operations;
    options.commits.claim_delay = limits_.claim_delay;
    options.wal_pages_max = limits_.wal_pages_max;
    options.writes = limits_.writes;
    options.reads = limits_.reads;
    options.own_threads = false;
    options.events.on_fatal = [record = sqlite_.record](const std::string&) {
      ++record->fatal_reports;
    };
    if (ended_ && dice_.one_in(6)) {
      Connection sized{database(), Connection::Access::read_only};
      options.database_pages_max =
          sized.query_integer("PRAGMA page_count") + static_cast<std::int64_t>(dice_.below(12));
      sqlite_.record->may_fail = true;
    }
    auto opened = SqliteStore::open(options);
    if (const auto* error = std::get_if<std::string>(&opened)) throw std::runtime_error(*error);
    auto& store = std::get<SqliteStore>(opened);
    sqlite_.store = store.spawn_writer(*system_);
    sqlite_.reader = store.spawn_reader(*system_);
    add_actors(sqlite_, sqlite_.store, sqlite_.reader);
  }

  /// Puts the store of both kinds in front of the SQLite store.
  void join_memory() {
    auto memory = std::make_shared<SharedMemory>(std::uint64_t{1} << 40);
    sqlite_.store = celld::store::spawn_mixed_store(*system_, memory, sqlite_.store);
    sqlite_.reader = celld::store::spawn_mixed_reader(*system_, memory, sqlite_.reader);
    add_actors(sqlite_, sqlite_.store, sqlite_.reader);
  }

  template <class... Handles>
  static void add_actors(Side& side, const Handles&... handles) {
    (side.actors.push_back(caf::actor_cast<caf::strong_actor_ptr>(handles)), ...);
  }

  void open_memory() {
    disk_ = std::make_shared<MemoryDisk>(before_, limits_.reads);
    MemoryStoreOptions options;
    if (dice_.one_in(2)) {
      options.commits.commit_delay = [this] { return microseconds{dice_.below(3000)}; };
    }
    options.commits.claim_delay = dice_.one_in(3) ? milliseconds{0} : limits_.claim_delay;
    options.commits.operations_max = limits_.commit_operations_max;
    options.commits.bytes_max = limits_.commit_bytes_max;
    options.commits.few_operations = limits_.few_operations;
    options.on_fatal = [record = memory_.record](const std::string&) { ++record->fatal_reports; };
    memory_.record->may_fail = dice_.one_in(6);
    if (memory_.record->may_fail) {
      auto& fails = dice_.one_in(2) ? options.fail_operation : options.fail_commit;
      fails = [this] { return dice_.one_in(30); };
      options.failed_commit_lands = [this] { return dice_.one_in(2); };
    }
    memory_.store = spawn_memory_store(*system_, disk_, options);
    memory_.reader = spawn_memory_reader(*system_, disk_);
    add_actors(memory_, memory_.store, memory_.reader);
  }

  void live() {
    const std::size_t steps = dice_.below(steps_max);
    for (std::size_t step = 0; step < steps && !is_over(); ++step) {
      if (!dice_.one_in(4)) send(generator_.next());
      if (dice_.one_in(4)) send(generator_.look());
      if (dice_.one_in(5)) scheduler_->advance_time(microseconds{dice_.below(4000)});
      // Now and then nothing runs for a while, so that operations come together.
      if (dice_.one_in(20)) idle_steps_ = dice_.below(20);
      if (idle_steps_ > 0) {
        --idle_steps_;
      } else {
        run_some(dice_.below(12));
      }
    }
    if (dice_.one_in(3)) complete();
  }

  bool is_over() const {
    const auto failed = [](const Side& side) {
      return side.record->failed || !side.record->violation.empty();
    };
    return std::any_of(sides_.begin(), sides_.end(), [&](auto* side) { return failed(*side); }) &&
           history_->operations.size() % 16 == 0;
  }

  /// Waits until everything is answered and, by itself or by a flush, on disk.
  void complete() {
    if (dice_.one_in(2)) send(generator_.flush());
    settle();
    for (Side* side : sides_) {
      auto& record = *side->record;
      if (record.fatal_reports > 0 && !record.may_fail) record.violate("the store failed");
      // No answer shows a failure if only operations without answers were under way.
      if (record.failed || record.fatal_reports > 0) continue;
      record.durable = record.sent;
      if (record.answered.size() != answers_expected())
        record.violate("not everything was answered");
    }
  }

  void settle() {
    for (int round = 0; round < 3; ++round) {
      while (scheduler_->try_run_once()) continue;
      scheduler_->advance_time(milliseconds{50});
    }
  }

  std::size_t answers_expected() const {
    const auto& operations = history_->operations;
    return static_cast<std::size_t>(
        std::count_if(operations.begin(), operations.end(), [](const Operation& operation) {
          return operation.expected.index() > 1;  // Neither no answer nor a refusal.
        }));
  }

  /// Operations about one kind may be answered before earlier ones about the other, and those that
  /// ask first may be done after later ones. Waits where that would change an answer.
  void await_order(Scope scope) {
    const bool asked = std::exchange(last_scope_, scope) == Scope::asks_first;
    if (scope == Scope::both || asked != (scope == Scope::asks_first)) settle();
  }

  void send(Operation operation) {
    const Scope scope = operation.scope;
    if (both_kinds_) await_order(scope);
    note([&] { return to_text(operation.request) + " -> " + to_text(operation.expected); });
    history_->operations.push_back(std::move(operation));
    ++result_.operations;
    for (Side* side : sides_) caf::anon_send(side->client, Ask{history_->operations.size() - 1});
    if (scope == Scope::both) settle();
  }

  void send(Look look) {
    note([&] { return to_text(look); });
    if (both_kinds_) settle();
    history_->looks.push_back(std::move(look));
    ++result_.looks;
    for (Side* side : sides_) caf::anon_send(side->client, Watch{history_->looks.size() - 1});
    if (both_kinds_) judge_looks();
  }

  /// The next page of a full one may begin anywhere before the next job. Two stores joined begin it
  /// at the last job listed.
  static void align_pages(Answer& answer, const Answer& expected) {
    auto* page = std::get_if<JobsListed>(&answer);
    const auto* expected_page = std::get_if<JobsListed>(&expected);
    if (!page || !expected_page || !page->full || page->jobs.empty()) return;
    if (expected_page->next <= page->next && page->next <= page->jobs.back()->id) {
      page->next = expected_page->next;
    }
  }

  /// Both stores are at rest, so there is one right answer.
  void judge_looks() {
    settle();
    auto& record = *sqlite_.record;
    // No answer shows a failure if only a claim was under way.
    const bool has_failed = record.failed || record.fatal_reports > 0;
    auto content = generator_.content();
    blur(content);
    const MemoryDisk disk{std::move(content)};
    for (auto* looks : {&record.looked, &record.counted}) {
      for (auto& looked : *looks) {
        blur(looked.answer);
        const auto& look = history_->looks[looked.look];
        const auto expected =
            std::visit([&disk](const auto& each) -> Answer { return disk.read(each); }, look);
        align_pages(looked.answer, expected);
        if (has_failed || shows(disk, look, looked.answer, pages_are_short())) continue;
        record.violate(to_text(look) + "\n  expected " + to_text(expected) + "\n  answered " +
                       to_text(looked.answer));
      }
      looks->clear();
    }
  }

  void run_some(std::size_t messages) {
    for (auto& ready = scheduler_->jobs; messages > 0 && !ready.empty(); --messages) {
      const auto chosen = static_cast<std::ptrdiff_t>(dice_.below(ready.size()));
      std::rotate(ready.begin(), ready.begin() + chosen, ready.begin() + chosen + 1);
      scheduler_->run_once();
    }
  }

  // --- Its end -------------------------------------------------------------------------------

  /// Ends the life with a crash, and begins the next one, unless something is wrong.
  void end_life() {
    note([] { return std::string{"crash"}; });
    ++result_.crashes;
    for (const Side* side : sides_) result_.failures += side->record->failed;
    ended_ = Ended{history_, *sqlite_.record, *memory_.record, std::move(before_), nullptr};
    if (wrong_.loses_commits) {
      data_number_ = lost_number_;
    } else if (dice_.one_in(2)) {
      copy_database(directory(++directories_));
      data_number_ = directories_;
    }
    kill();
    ended_->disk = std::exchange(disk_, nullptr);
    for (const Side* side : sides_) {
      if (!side->record->violation.empty()) violate(side->name + (": " + side->record->violation));
    }
    if (result_.violation.empty()) open();
  }

  void close() {
    if (system_) kill();
  }

  /// What is on disk if the process is killed now.
  void copy_database(const std::string& to) const {
    std::filesystem::create_directory(to);
    for (const char* suffix : {"", "-wal"}) {
      const std::string from = database() + suffix;
      if (std::filesystem::exists(from))
        std::filesystem::copy_file(from, to + "/celld.db" + suffix);
    }
  }

  /// Ends all actors before they handle another message.
  void kill() {
    scheduler_->clock().cancel_all();
    for (Side* side : sides_) {
      for (const auto& actor : std::exchange(side->actors, {})) {
        actor->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                       caf::make_message(caf::exit_msg{actor->address(), caf::exit_reason::kill}),
                       nullptr);
      }
      side->store = nullptr;
      side->reader = nullptr;
      side->client = nullptr;
    }
    while (scheduler_->try_run_once()) continue;
    scheduler_->clock().cancel_all();
    system_.reset();
  }

  void judge_last_life() {
    if (both_kinds_) return judge_disk_part();
    const auto of_sqlite =
        judge(ended_->before, *ended_->history, ended_->sqlite, before_, limits_.reads);
    const auto of_memory = judge(ended_->before, *ended_->history, ended_->memory,
                                 ended_->disk->content(), limits_.reads);
    result_.lost += ended_->sqlite.sent - of_sqlite.survived;
    if (!of_sqlite.violation.empty()) violate("SQLite: " + of_sqlite.violation);
    if (!of_memory.violation.empty()) violate("memory: " + of_memory.violation);
  }

  void judge_disk_part() {
    const auto part = disk_part(*ended_->history, ended_->sqlite);
    ended_->before.batches.clear();
    StoreContent left = before_;
    left.batches.clear();
    const auto verdict = judge(ended_->before, part.history, part.record, left, limits_.reads);
    result_.lost += part.record.sent - verdict.survived;
    if (!verdict.violation.empty()) violate("the disk of both kinds: " + verdict.violation);
  }

  // --- Helpers -------------------------------------------------------------------------------

  void violate(const std::string& what) {
    if (!result_.violation.empty()) return;
    result_.violation = what;
    note([&] { return "VIOLATION: " + what; });
  }

  template <class MakeText>
  void note(MakeText make_text) {
    if (!tracing_) return;
    const auto number = history_ ? history_->operations.size() : 0;
    result_.trace.push_back(std::to_string(number) + "  " + make_text());
  }

  bool pages_are_short() const { return limits_.reads.rows_max < ReadLimits{}.rows_max; }

  std::string directory(std::size_t number) const {
    return (root_.path() / std::to_string(number)).string();
  }
  std::string data_directory() const { return directory(data_number_); }
  std::string database() const { return data_directory() + "/celld.db"; }
  std::string lost_directory() {
    lost_number_ = ++directories_;
    return directory(lost_number_);
  }

  /// A life that is to be judged once the content of its database is known.
  struct Ended {
    std::shared_ptr<const History> history;
    Record sqlite;
    Record memory;
    StoreContent before;
    std::shared_ptr<MemoryDisk> disk;
  };

  Dice dice_;
  const bool both_kinds_;
  const Wrong wrong_;
  const bool tracing_;
  const Limits limits_;
  const celld::store::test::TemporaryDirectory root_;
  std::size_t directories_ = 0;
  std::size_t data_number_ = 0;
  std::size_t lost_number_ = 0;
  Generator generator_{dice_, both_kinds_};
  RunResult result_;

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
  std::shared_ptr<History> history_;
  StoreContent before_;  ///< At the start of the life.
  std::shared_ptr<MemoryDisk> disk_;
  Side sqlite_{"SQLite"};
  Side memory_{"memory"};
  std::vector<Side*> sides_{&sqlite_};
  Scope last_scope_ = Scope::disk;
  std::optional<Ended> ended_;
  std::size_t idle_steps_ = 0;
};

}  // namespace

bool has_both_kinds(std::uint64_t seed) {
  return seed % 3 == 2;
}

RunResult run_seed(std::uint64_t seed, const Wrong& wrong, bool trace) {
  return Run{seed, wrong, trace}.run();
}

}  // namespace stores
