// What only the SQLite store promises: group commits, its lock, its schema, and clean failures.
#include "src/store/sqlite_store.hpp"

#include <sys/fsuid.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <thread>

#include "src/store/schema.hpp"
#include "src/store/sqlite.hpp"
#include "src/store/sqlite_jobs.hpp"
#include "tests/unit/src/http/api/stepped_system.hpp"
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store;
using namespace celld::store::test;

namespace {

JobPtr job_of(JobId id) {
  return sketch_job({.id = id, .entity = std::to_string(id)});
}

/// Sends all the inserts before it waits for the first answer. Returns the number of successes.
std::size_t insert_at_once(StoreUnderTest& under_test, JobId first, JobId end) {
  caf::scoped_actor self{under_test.system()};
  using Handle = decltype(self->request(under_test.store(), std::chrono::seconds{60},
                                        InsertJob{job_of(first)}));
  std::vector<Handle> waiting;
  for (JobId id = first; id < end; ++id) {
    waiting.push_back(
        self->request(under_test.store(), std::chrono::seconds{60}, InsertJob{job_of(id)}));
  }
  std::size_t granted = 0;
  for (auto& answer : waiting) {
    answer.receive([&](const JobInserted&) { ++granted; }, [](const caf::error&) {});
  }
  return granted;
}

std::string open_error(const SqliteOptions& options) {
  const auto opened = SqliteStore::open(options);
  const auto* error = std::get_if<std::string>(&opened);
  return error == nullptr ? "" : *error;
}

std::int64_t query(const std::string& database, const char* sql) {
  Connection connection{database, Connection::Access::read_only};
  return connection.query_integer(sql);
}

/// While it exists, SQLite's lock of checkpoints is taken, as while another process makes one.
class CheckpointLock {
 public:
  explicit CheckpointLock(const std::string& database)
      : connection_(database, Connection::Access::read_write) {
    connection_.query_integer("SELECT count(*) FROM jobs");  // Opens the index, which has the lock.
    sqlite3_file_control(connection_.handle(), nullptr, SQLITE_FCNTL_FILE_POINTER, &file_);
    REQUIRE(change(SQLITE_SHM_LOCK) == SQLITE_OK);
  }
  ~CheckpointLock() { change(SQLITE_SHM_UNLOCK); }
  CheckpointLock(const CheckpointLock&) = delete;
  CheckpointLock& operator=(const CheckpointLock&) = delete;

 private:
  int change(int how) {
    constexpr int checkpoint_lock = 1;  // WAL_CKPT_LOCK in SQLite's source.
    return file_->pMethods->xShmLock(file_, checkpoint_lock, 1, how | SQLITE_SHM_EXCLUSIVE);
  }

  Connection connection_;
  sqlite3_file* file_ = nullptr;
};

}  // namespace

TEST_CASE("operations that arrive together are committed together") {
  SqliteUnderTest under_test;
  CHECK(insert_at_once(under_test, 1, 5001) == 5000);
  CHECK(under_test.stats()->commits < 500);
}

TEST_CASE("each commit is reported with its number of operations") {
  std::atomic<std::size_t> operations{0};
  std::atomic<std::size_t> reports{0};
  SqliteOptions options;
  options.events.on_commit = [&](const CommitReport& report) {
    operations += report.operations;
    ++reports;
    if (report.took <= std::chrono::microseconds{0}) operations += 1'000'000;
  };
  SqliteUnderTest under_test{options};
  Client client{under_test};
  client.ask(FindKeyHolder{"acme", {"key", "digest"}});  // A read alone belongs to no commit.
  CHECK(insert_at_once(under_test, 1, 1001) == 1000);
  CHECK(operations == 1000);
  CHECK(reports == under_test.stats()->commits);
}

TEST_CASE("an answer comes after its commit") {
  SqliteUnderTest under_test;
  Client client{under_test};
  for (JobId id = 1; id <= 50; ++id) {
    client.ask(InsertJob{job_of(id)});
    REQUIRE(query(under_test.database(), "SELECT max(id) FROM jobs") ==
            static_cast<std::int64_t>(id));
  }
}

TEST_CASE("a full batch is committed before the mailbox is empty") {
  SqliteOptions options;
  options.commits.operations_max = 10;
  SqliteUnderTest under_test{options};
  CHECK(insert_at_once(under_test, 1, 1001) == 1000);
  CHECK(under_test.stats()->commits >= 100);
}

TEST_CASE("a claim whose end is recorded in the same commit costs no commit of its own") {
  SqliteOptions options;
  options.commits.claim_delay = milliseconds{60'000};
  SqliteUnderTest under_test{options};
  Client client{under_test};
  client.ask(InsertJob{job_of(1)});
  const auto before = under_test.stats()->commits.load();
  client.tell(ClaimJob{running(job_of(1), {1, 1})});
  CHECK(client.ask(RecordJob{{1, 1}, ended(running(job_of(1), {1, 1}))}).applied);
  CHECK(under_test.stats()->commits == before + 1);
}

TEST_CASE("a claim that no other commit includes gets its own after the delay") {
  SqliteOptions options;
  options.commits.claim_delay = milliseconds{1};
  SqliteUnderTest under_test{options};
  Client client{under_test};
  for (JobId id = 1; id <= 3; ++id) {
    client.ask(InsertJob{job_of(id)});
    const auto before = under_test.stats()->commits.load();
    client.tell(ClaimJob{running(job_of(id), {1, id})});
    while (under_test.stats()->commits == before) std::this_thread::yield();
  }
  CHECK(query(under_test.database(), "SELECT count(*) FROM jobs WHERE state = 2") == 3);
}

TEST_CASE("a store without threads of its own waits for claims by the time of its actor system") {
  const TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  options.commits.claim_delay = milliseconds{60'000};
  options.own_threads = false;
  auto opened = SqliteStore::open(options);
  auto& database = std::get<SqliteStore>(opened);
  celld::api::testing::SteppedSystem stepped;
  const auto store = database.spawn_writer(stepped.system());
  caf::anon_send(store, InsertJob{job_of(1)});
  stepped.take_messages();
  caf::anon_send(store, ClaimJob{running(job_of(1), {1, 1})});
  stepped.take_messages();
  CHECK(database.stats()->commits == 1);
  stepped.pass(milliseconds{60'000});
  CHECK(database.stats()->commits == 2);
  stepped.end({caf::actor_cast<caf::actor>(store)});
}

TEST_CASE("a claim is on disk before a flush is answered or an answer shows the claim") {
  SqliteOptions options;
  options.commits.claim_delay = milliseconds{60'000};
  SqliteUnderTest under_test{options};
  Client client{under_test};
  const Idempotency idempotency{"key", "digest"};
  client.ask(InsertJob{job_of(1), idempotency});
  const auto running_on_disk = [&] {
    return query(under_test.database(), "SELECT count(*) FROM jobs WHERE state = 2");
  };
  client.tell(ClaimJob{running(job_of(1), {1, 1})});
  client.ask(LoadCells{});
  CHECK(running_on_disk() == 0);
  SECTION("FlushStore") {
    client.ask(FlushStore{});
  }
  SECTION("FindKeyHolder") {
    CHECK(client.ask(FindKeyHolder{"acme", idempotency}).job->state == JobState::running);
  }
  SECTION("InsertJob with the same key") {
    const auto answer = client.ask(InsertJob{job_of(2), idempotency});
    CHECK(answer.holder.job->state == JobState::running);
  }
  SECTION("CancelWaiting") {
    CHECK(client.ask(CancelWaiting{1, acme_cell, at_ms(1)}).before->state == JobState::running);
  }
  CHECK(running_on_disk() == 1);
}

TEST_CASE("a request that changes nothing reads in the transaction that the next commit ends") {
  Connection connection{":memory:", Connection::Access::read_write};
  migrate(connection);
  SqliteJobs jobs{connection, WriteLimits{}};
  const auto check = [&](const auto& request) {
    REQUIRE_FALSE(connection.in_transaction());
    jobs.apply(request);
    CHECK(connection.in_transaction());
    jobs.commit();
  };
  check(FindKeyHolder{"acme", {"key", "digest"}});
  check(ClaimJob{running(job_of(1), {1, 1})});
  check(RecordJob{{1, 1}, ended(job_of(1))});
  check(CancelWaiting{1, acme_cell, at_ms(1)});
  check(ReopenEnded{1, acme_cell, 2, at_ms(1)});
  check(HoldJob{1});
  check(ReleaseHolds{acme_cell});
  check(ChangeLane{1, "lane"});
  check(FetchRunnable{acme_cell, "acme"});
  check(AdvanceDue{acme_cell, at_ms(1)});
  check(PruneEnded{at_ms(1)});
  check(LoadCell{acme_cell});
  check(LoadSchedules{});
}

TEST_CASE("a second store on the same directory is refused until the first has closed") {
  TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = (directory.path() / "data").string();
  {
    SqliteUnderTest first{options};
    const auto asked = std::chrono::steady_clock::now();
    const auto error = open_error(options);
    // A child of a celld that was killed may share its locks for a moment.
    CHECK(std::chrono::steady_clock::now() - asked >= milliseconds{1000});
    CHECK(error.find("another celld holds") != std::string::npos);
    CHECK(error.find("celld.lock") != std::string::npos);
    options.path = "other.db";
    CHECK(open_error(options).find("another celld holds") != std::string::npos);
  }
  CHECK(open_error(options).empty());
}

TEST_CASE("a second store on the same database is refused, whatever its directory and path") {
  TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = (directory.path() / "first").string();
  SqliteUnderTest first{options};
  std::filesystem::create_directory_symlink(directory.path() / "first", directory.path() / "link");
  std::filesystem::create_symlink(first.database(), directory.path() / "link.db");
  SqliteOptions other;
  other.data_directory = (directory.path() / "second").string();
  for (const auto& path :
       {std::filesystem::path{first.database()}, directory.path() / "link" / "celld.db",
        directory.path() / "link.db", directory.path() / "second" / ".." / "first" / "celld.db"}) {
    INFO(path);
    other.path = path.string();
    const auto error = open_error(other);
    CHECK(error.find("another celld holds") != std::string::npos);
    CHECK(error.find("celld.db.lock") != std::string::npos);
  }
  first.close();
  CHECK(open_error(other).empty());
}

TEST_CASE("a lock file that is a symbolic link is refused, and nothing is made behind it") {
  const TemporaryDirectory directory;
  const auto behind = directory.path() / "behind";
  SqliteOptions options;
  options.data_directory = directory.path().string();
  for (const char* name : {"celld.lock", "celld.db.lock"}) {
    INFO(name);
    std::filesystem::create_symlink(behind, directory.path() / name);
    const auto error = open_error(options);
    CHECK(error.starts_with("cannot open "));
    CHECK(error.find(name) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(behind));
    std::filesystem::remove(directory.path() / name);
  }
  CHECK(open_error(options).empty());
}

TEST_CASE("no other user can open the lock files, and so hold their locks") {
  const TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  const auto mask = ::umask(0);
  const auto error = open_error(options);
  ::umask(mask);
  CHECK(error.empty());
  for (const char* name : {"celld.lock", "celld.db.lock"}) {
    INFO(name);
    CHECK(std::filesystem::status(directory.path() / name).permissions() ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  }
}

TEST_CASE("each database has a secret of its own, which is the same at every start") {
  const auto secret_in = [](const TemporaryDirectory& directory) {
    SqliteOptions options;
    options.data_directory = directory.path().string();
    const auto opened = SqliteStore::open(options);
    REQUIRE(std::holds_alternative<SqliteStore>(opened));
    return std::get<SqliteStore>(opened).secret();
  };
  const TemporaryDirectory one;
  const TemporaryDirectory other;
  const auto secret = secret_in(one);
  const auto other_secret = secret_in(other);
  for (const std::size_t i : {0, 1}) {
    CHECK(secret[i] != 0);
    CHECK(other_secret[i] != secret[i]);
  }
  CHECK(secret_in(one) == secret);
  // Each celld must read them in the same way: they are in the names of leases.
  const auto stored = [&](const char* sql) {
    Connection connection{(one.path() / "celld.db").string(), Connection::Access::read_write};
    return static_cast<std::uint64_t>(connection.query_integer(sql));
  };
  CHECK(secret[0] == stored("SELECT value FROM settings WHERE name = 'secret_1'"));
  CHECK(secret[1] == stored("SELECT value FROM settings WHERE name = 'secret_2'"));
}

TEST_CASE("a database in the place of an unfinished backup is refused, and stays") {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "celld-backup.partial";
  std::ofstream(file) << "kept";
  SqliteOptions options;
  options.data_directory = directory.path().string();
  options.path = file.string();
  CHECK(open_error(options).find("unfinished backups") != std::string::npos);
  CHECK(std::filesystem::file_size(file) == 4);
}

TEST_CASE("a file copy of an open store holds every answered write") {
  TemporaryDirectory copy;
  SqliteUnderTest under_test;
  Client client{under_test};
  CHECK(insert_at_once(under_test, 1, 301) == 300);
  client.tell(ClaimJob{running(job_of(7), {1, 1})});
  client.ask(RecordJob{{1, 1}, ended(running(job_of(7), {1, 1}))});
  for (const char* suffix : {"", "-wal"}) {
    std::filesystem::copy_file(under_test.database() + suffix,
                               (copy.path() / "celld.db").string() + suffix);
  }
  SqliteOptions options;
  options.data_directory = copy.path().string();
  SqliteUnderTest crashed{options};
  Client after{crashed};
  CHECK(after.ask(StartEpoch{}).last_id == 300);
  CHECK(after.ask(LoadCell{acme_cell}).counts.unfinished() == 299);
  CHECK(after.ask(FindJob{7}).job->state == JobState::succeeded);
  CHECK(query(crashed.database(), "SELECT count(*) FROM jobs") == 300);
}

TEST_CASE("the counts of the backlogs match the jobs") {
  SqliteUnderTest under_test;
  Client client{under_test};
  CHECK(insert_at_once(under_test, 1, 101) == 100);
  for (JobId id = 1; id <= 30; ++id) {
    const auto claimed = running(job_of(id), {1, id});
    client.tell(ClaimJob{claimed});
    if (id % 3 == 0) client.ask(RecordJob{{1, id}, ended(claimed)});
    if (id % 3 == 1) client.ask(RecordJob{{1, id}, settling(claimed, at_ms(9))});
  }
  client.ask(FlushStore{});
  const auto count = [&](const char* sql) { return query(under_test.database(), sql); };
  CHECK(count("SELECT queued FROM route_counts") == 70);
  CHECK(count("SELECT count(*) FROM jobs WHERE state = 1") == 70);
  CHECK(count("SELECT running FROM route_counts") == 10);
  CHECK(count("SELECT count(*) FROM jobs WHERE state = 2") == 10);
  CHECK(count("SELECT settling FROM route_counts") == 10);
  CHECK(count("SELECT runnable FROM route_counts") ==
        count("SELECT count(*) FROM jobs WHERE turn < 10"));
}

TEST_CASE("a full disk fails every request, is reported once, and acknowledges no write") {
  std::string reason;
  std::atomic<int> fatal{0};
  SqliteOptions options;
  options.database_pages_max = 200;
  options.events.on_fatal = [&](const std::string& text) {
    reason = text;
    ++fatal;
  };
  SqliteUnderTest under_test{options};
  const auto granted = insert_at_once(under_test, 1, 20'001);
  CHECK(granted < 20'000);
  CHECK(fatal == 1);
  CHECK(reason.find("full") != std::string::npos);
  CHECK(insert_at_once(under_test, 30'000, 30'010) == 0);
  caf::scoped_actor self{under_test.system()};
  bool refused = false;
  self->request(under_test.store(), std::chrono::seconds{60}, LoadCells{})
      .receive([](const CellsLoaded&) {}, [&](const caf::error&) { refused = true; });
  CHECK(refused);
  CHECK(fatal == 1);
  // The granted inserts are there; the others were rolled back or never began.
  CHECK(query(under_test.database(), "SELECT count(*) FROM jobs") ==
        static_cast<std::int64_t>(granted));
}

TEST_CASE("a store whose files lose their names acknowledges nothing more, and names the file") {
  std::string reason;
  std::atomic<int> fatal{0};
  SqliteOptions options;
  options.events.on_fatal = [&](const std::string& text) {
    reason = text;
    ++fatal;
  };
  SqliteUnderTest under_test{options};
  REQUIRE(insert_at_once(under_test, 1, 2) == 1);
  auto lost = std::filesystem::canonical(under_test.database()).string();
  SECTION("the database is removed") {
    std::filesystem::remove(lost);
  }
  SECTION("the database is replaced") {
    std::filesystem::copy_file(lost, lost + ".copy");
    std::filesystem::rename(lost + ".copy", lost);
  }
  SECTION("its log is removed") {
    lost += "-wal";
    std::filesystem::remove(lost);
  }
  SECTION("a lock is removed") {  // Looked at once a second.
    const bool of_directory = GENERATE(false, true);
    lost = of_directory ? under_test.data_directory() + "/celld.lock" : lost + ".lock";
    std::filesystem::remove(lost);
    const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    for (JobId id = 10; fatal == 0 && std::chrono::steady_clock::now() < give_up_at; ++id)
      insert_at_once(under_test, id, id + 1);
  }
  CHECK(insert_at_once(under_test, 2, 3) == 0);
  CHECK(fatal == 1);
  CHECK(reason.find(lost + " was removed or replaced") != std::string::npos);
}

TEST_CASE("a log whose database is missing or empty is not dropped") {
  SqliteUnderTest under_test;
  REQUIRE(insert_at_once(under_test, 1, 2) == 1);
  TemporaryDirectory directory;
  const auto database = directory.path() / "celld.db";
  std::filesystem::copy_file(under_test.database() + "-wal", database.string() + "-wal");
  SqliteOptions options;
  options.data_directory = directory.path().string();
  SECTION("missing") {}
  SECTION("empty") {
    std::ofstream{database};
  }
  CHECK(open_error(options).find("celld.db-wal is not empty") != std::string::npos);
  std::filesystem::resize_file(database.string() + "-wal", 0);
  CHECK(open_error(options).empty());
}

TEST_CASE("the store waits for a database lock that another process holds briefly") {
  SqliteUnderTest under_test;
  Connection other{under_test.database(), Connection::Access::read_write};
  other.execute("BEGIN IMMEDIATE");
  caf::scoped_actor self{under_test.system()};
  self->request(under_test.store(), std::chrono::milliseconds{100}, InsertJob{job_of(1)})
      .receive([](const JobInserted&) { FAIL("the insert succeeded despite the lock"); },
               [](const caf::error& error) { CHECK(error == caf::sec::request_timeout); });
  other.execute("ROLLBACK");
  CHECK(insert_at_once(under_test, 2, 3) == 1);
  CHECK(query(under_test.database(), "SELECT count(*) FROM jobs") == 2);
}

TEST_CASE("the reason of a failure is reported before any request is answered with an error") {
  std::promise<void> answered;
  auto is_answered = answered.get_future();
  bool reported_first = false;
  SqliteOptions options;
  options.database_pages_max = 200;
  options.events.on_fatal = [&](const std::string&) {
    reported_first =
        is_answered.wait_for(std::chrono::milliseconds{50}) == std::future_status::timeout;
  };
  SqliteUnderTest under_test{options};
  caf::scoped_actor self{under_test.system()};
  bool refused = false;
  for (JobId id = 1; !refused && id < 20'000; ++id) {
    self->request(under_test.store(), std::chrono::seconds{60}, InsertJob{job_of(id)})
        .receive([](const JobInserted&) {}, [&](const caf::error&) { refused = true; });
  }
  answered.set_value();
  REQUIRE(refused);
  CHECK(reported_first);
}

TEST_CASE("a checkpoint runs when the write-ahead log is long, and keeps it short") {
  SqliteOptions options;
  options.wal_pages_max = 50;
  options.commits.operations_max = 100;
  SqliteUnderTest under_test{options};
  CHECK(insert_at_once(under_test, 1, 5001) == 5000);
  Client{under_test}.ask(LoadCells{});  // The writer has ended its last checkpoint before.
  CHECK(under_test.stats()->checkpoints > 3);
  CHECK(under_test.statistics().checkpoints == under_test.stats()->checkpoints);
  CHECK(std::filesystem::file_size(under_test.database() + "-wal") < (8U << 20));
}

TEST_CASE("a checkpoint that another process makes at the same time is no failure") {
  std::atomic<int> fatal{0};
  SqliteOptions options;
  options.wal_pages_max = 1;
  options.events.on_fatal = [&](const std::string&) { ++fatal; };
  SqliteUnderTest under_test{options};
  const CheckpointLock lock{under_test.database()};
  CHECK(insert_at_once(under_test, 1, 2) == 1);
  CHECK(insert_at_once(under_test, 2, 3) == 1);
  CHECK(under_test.stats()->checkpoints > 0);
  CHECK(fatal == 0);
}

TEST_CASE("a write-ahead log that has grown during a long read is cut back afterwards") {
  constexpr std::size_t kept = 1'000'000;
  SqliteOptions options;
  options.wal_pages_max = 10;
  options.wal_bytes_kept = kept;
  SqliteUnderTest under_test{options};
  Client client{under_test};
  const auto log_bytes = [&] { return std::filesystem::file_size(under_test.database() + "-wal"); };
  client.ask(InsertJob{job_of(1)});
  {
    Connection reader{under_test.database(), Connection::Access::read_only};
    reader.execute("BEGIN");
    CHECK(reader.query_integer("SELECT count(*) FROM jobs") == 1);
    const std::string parameters = R"({"text":")" + std::string(kept / 2, 'x') + R"("})";
    for (JobId id = 2; id <= 6; ++id) {
      client.ask(InsertJob{
          sketch_job({.id = id, .entity = std::to_string(id), .parameters = parameters})});
    }
    CHECK(log_bytes() > 2 * kept);
  }
  // The checkpoint after the first commit copies the whole log; a later commit begins it anew.
  for (JobId id = 7; id <= 9; ++id) client.ask(InsertJob{job_of(id)});
  CHECK(log_bytes() <= kept);
}

TEST_CASE("the statistics name the sizes of the database and of its write-ahead log") {
  SqliteUnderTest under_test;
  Client{under_test}.ask(InsertJob{job_of(1)});
  CHECK(under_test.statistics().checkpoints == 0);
  const auto free = under_test.statistics().free_bytes.value();
  CHECK(free > 0);
  CHECK(free <= std::filesystem::space(under_test.data_directory()).capacity);
  const auto files = under_test.statistics().file_bytes;
  REQUIRE(files.size() == 2);
  CHECK(files[0].first == "database");
  CHECK(files[0].second == std::filesystem::file_size(under_test.database()));
  CHECK(files[1].first == "log");
  CHECK(files[1].second == std::filesystem::file_size(under_test.database() + "-wal"));
  CHECK(files[1].second > 0);
}

TEST_CASE("the statistics give the sizes of the files behind a symbolic link") {
  const TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  options.path = "real.db";
  REQUIRE(open_error(options).empty());
  std::filesystem::create_symlink("real.db", directory.path() / "link.db");
  options.path = "link.db";
  SqliteUnderTest under_test{options};
  Client{under_test}.ask(InsertJob{job_of(1)});
  const auto files = under_test.statistics().file_bytes;
  REQUIRE(files.size() == 2);
  CHECK(files[0].second == std::filesystem::file_size(directory.path() / "real.db"));
  CHECK(files[1].second == std::filesystem::file_size(directory.path() / "real.db-wal"));
  CHECK(files[1].second > 0);
}

TEST_CASE("only the answers of a commit of few operations are sent through help_actors") {
  std::atomic<int> small_commits{0};
  std::atomic<int> large_commits{0};
  std::atomic<int> sent{0};
  SqliteOptions options;
  options.events.on_commit = [&](const CommitReport& report) {
    ++(report.operations <= 4 ? small_commits : large_commits);
  };
  options.events.help_actors = [&](const std::function<void()>& send) {
    ++sent;
    send();
  };
  SqliteUnderTest under_test{options};
  CHECK(insert_at_once(under_test, 1, 2) == 1);
  CHECK(sent == 1);
  CHECK(insert_at_once(under_test, 2, 1001) == 999);
  Client{under_test}.ask(InsertJob{job_of(1001)});  // The writer has sent all answers before.
  CHECK(large_commits > 0);
  CHECK(sent == small_commits);
}

TEST_CASE("the most operations whose answers are sent through help_actors are as configured") {
  const TemporaryDirectory directory;
  int sent = 0;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  options.commits.few_operations = 3;
  options.events.help_actors = [&](const std::function<void()>& send) {
    ++sent;
    send();
  };
  options.own_threads = false;
  auto opened = SqliteStore::open(options);
  auto& database = std::get<SqliteStore>(opened);
  celld::api::testing::SteppedSystem stepped;
  const auto store = database.spawn_writer(stepped.system());
  const auto sent_for = [&](JobId first, JobId end) {
    sent = 0;
    for (JobId id = first; id < end; ++id) caf::anon_send(store, InsertJob{job_of(id)});
    stepped.take_messages();
    return sent;
  };
  CHECK(sent_for(1, 4) == 1);
  CHECK(sent_for(4, 8) == 0);
  CHECK(database.stats()->commits == 2);
  stepped.end({caf::actor_cast<caf::actor>(store)});
}

TEST_CASE("a newer database, one of another program, and a file that is no database are refused") {
  TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  const auto write = [&](const char* name, const char* sql) {
    options.path = name;
    CHECK(open_error(options).empty());
    Connection connection{(directory.path() / name).string(), Connection::Access::read_write};
    connection.execute(sql);
    return open_error(options);
  };
  CHECK(write("newer.db", "PRAGMA user_version = 1000").find("newer celld") != std::string::npos);
  CHECK(write("strange.db", "PRAGMA application_id = 1").find("another program") !=
        std::string::npos);
  options.path = "text.db";
  {
    std::ofstream{directory.path() / "text.db"} << std::string(5000, 'x');
  }
  const auto error = open_error(options);
  CHECK(error.find("text.db") != std::string::npos);
  CHECK(error.find("the database is damaged: ") != std::string::npos);
  options.path = "no/such/directory.db";
  CHECK(open_error(options).find("no/such/directory.db") != std::string::npos);
}

TEST_CASE("a database that lacks a cell is refused with the reason") {
  SqliteUnderTest under_test;
  Client{under_test}.ask(InsertJob{job_of(1)});
  under_test.close();
  Connection{under_test.database(), Connection::Access::read_write}.execute("DELETE FROM cells");
  SqliteOptions options;
  options.data_directory = std::filesystem::path{under_test.database()}.parent_path().string();
  options.path = under_test.database();
  CHECK(open_error(options).find("unknown cell") != std::string::npos);
}

namespace {

/// Why a database with an override and a job in a lane is refused after this change.
std::string error_after(const std::string& sql) {
  SqliteUnderTest under_test;
  Client client{under_test};
  CellOverride change;
  change.pool_size = 3;
  change.quota[QuotaLimit::queue_jobs] = 7;
  client.ask(SetCellOverride{acme_cell, change});
  client.ask(InsertJob{sketch_job({.id = 1, .lane = "vm"})});
  under_test.close();
  SqliteOptions options;
  options.data_directory = under_test.data_directory();
  REQUIRE(open_error(options).empty());
  Connection{under_test.database(), Connection::Access::read_write}.execute(sql.c_str());
  return open_error(options);
}

}  // namespace

TEST_CASE("a database with the override of a pool that is out of range is refused") {
  for (const char* size : {"0", "-1", "100001"}) {
    INFO(size);
    CHECK(error_after(std::string{"UPDATE cell_overrides SET pool_size = "} + size)
              .find("override of a pool is out of range") != std::string::npos);
  }
}

TEST_CASE("a database with a quota of an unknown name is refused") {
  CHECK(
      error_after("UPDATE quota_overrides SET name = 'other'").find("quota has an unknown name") !=
      std::string::npos);
}

TEST_CASE("a database with counts of lanes that celld does not write is refused") {
  for (const char* lanes : {"1", "1:", "1:0", "1:1,", "x:1"}) {
    INFO(lanes);
    CHECK(error_after(std::string{"UPDATE route_changes SET lanes = '"} + lanes + "'")
              .find("counts of a lane cannot be read") != std::string::npos);
  }
  CHECK(error_after("UPDATE route_changes SET lanes = '2:1'").find("unknown lane") !=
        std::string::npos);
}

TEST_CASE("a database whose directory cannot be synced is refused with the reason") {
  const TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  // A directory must be readable to be synced. Root can read each one, unless its thread acts on
  // files as another user.
  std::filesystem::permissions(directory.path(), static_cast<std::filesystem::perms>(0333));
  constexpr uid_t other_user = 65534;
  const int user = ::setfsuid(other_user);
  std::error_code unreadable;
  static_cast<void>(std::filesystem::directory_iterator{directory.path(), unreadable});
  // The other user may not reach the directory at all.
  const bool is_writable = std::ofstream{directory.path() / "probe"}.good();
  const auto error = open_error(options);
  ::setfsuid(static_cast<uid_t>(user));
  std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_all);
  if (!is_writable || !unreadable) {
    std::cerr << "not judged: no directory here can be written to and not read\n";
    return;
  }
  CHECK(error.find("cannot sync " + options.data_directory) != std::string::npos);
}

TEST_CASE("a database that belongs to another user is refused with the reason, and so is its log") {
  const std::string foreign = GENERATE("celld.db", "celld.db-wal");
  SqliteUnderTest under_test;
  REQUIRE(insert_at_once(under_test, 1, 2) == 1);
  const TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
  for (const std::string name : {"celld.db", "celld.db-wal"}) {
    std::filesystem::copy_file(under_test.data_directory() + "/" + name, directory.path() / name);
    const auto bits = name == foreign ? 0444 : 0666;
    std::filesystem::permissions(directory.path() / name,
                                 static_cast<std::filesystem::perms>(bits));
  }
  // Root can write to each file, unless its thread acts on files as another user.
  constexpr uid_t other_user = 65534;
  const int user = ::setfsuid(other_user);
  const bool is_reachable = std::ofstream{directory.path() / "probe"}.good();
  const bool is_foreign = !std::ofstream{directory.path() / foreign, std::ios::app}.good();
  const auto error = open_error(options);
  ::setfsuid(static_cast<uid_t>(user));
  if (!is_reachable || !is_foreign) {
    std::cerr << "not judged: no thread here can act as another user\n";
    return;
  }
  CHECK(error.find("celld cannot write to " + options.data_directory + "/" + foreign + ": ") !=
        std::string::npos);
}

TEST_CASE("migrating twice changes nothing the second time") {
  TemporaryDirectory directory;
  Connection connection{(directory.path() / "x.db").string(), Connection::Access::read_write};
  migrate(connection);
  CHECK(connection.query_integer("PRAGMA user_version") == schema_version);
  migrate(connection);
  CHECK(connection.query_integer("SELECT count(*) FROM jobs_for_people") == 0);
}

TEST_CASE("the space of pruned jobs is reused, and no rows of them remain") {
  SqliteUnderTest under_test;
  Client client{under_test};
  JobId id = 0;
  const auto fill_and_prune = [&] {
    for (int i = 0; i < 300; ++i) {
      const auto job = sketch_job({.id = ++id,
                                   .entity = "entity " + std::to_string(id),
                                   .labels = {{"ticket", std::to_string(id)}, {"a", "b"}},
                                   .parameters = "{\"text\":\"" + std::string(1000, 'x') + "\"}"});
      client.ask(InsertJob{job, Idempotency{"key " + std::to_string(id), "digest"}});
      const auto claimed = running(job, {1, id});
      client.tell(ClaimJob{claimed});
      client.ask(RecordJob{{1, id}, ended(claimed)});
    }
    while (client.ask(PruneEnded{at_ms(5001), 50, std::chrono::hours{1}}).more) continue;
    return query(under_test.database(), "PRAGMA page_count");
  };
  const auto pages = fill_and_prune();
  CHECK(pages > 100);
  for (int round = 0; round < 3; ++round) CHECK(fill_and_prune() <= pages + pages / 20);
  for (const char* table : {"jobs", "job_labels", "idempotency_keys"}) {
    INFO(table);
    CHECK(query(under_test.database(), ("SELECT count(*) FROM " + std::string{table}).c_str()) ==
          0);
  }
}

TEST_CASE("a pruning step ends when its time is up, after removing at least one job") {
  SqliteUnderTest under_test;
  Client client{under_test};
  for (JobId id = 1; id <= 3; ++id) {
    client.ask(InsertJob{job_of(id)});
    client.ask(CancelWaiting{id, acme_cell, at_ms(10)});
  }
  const auto step = client.ask(PruneEnded{at_ms(11), 3, microseconds{0}});
  CHECK(step.pruned == 1);
  CHECK(step.more);
}

TEST_CASE("a filter that matches nothing costs bounded work per page") {
  SqliteUnderTest under_test;
  Client client{under_test};
  CHECK(insert_at_once(under_test, 1, 25'001) == 25'000);
  ListJobs request;
  request.filter.service = "nothing";
  std::size_t pages = 0;
  do {
    const auto page = client.ask(request);
    CHECK(page.jobs.empty());
    request.before = page.next;
    ++pages;
  } while (request.before != 0 && pages < 10);
  CHECK(pages == 3);
}
