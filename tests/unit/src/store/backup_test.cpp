// Copies of a database that is in use.
#include "src/store/backup.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "src/repr_digest.hpp"
#include "src/store/backup_copy.hpp"
#include "src/store/sqlite.hpp"
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store;
using namespace celld::store::test;

namespace {

JobPtr big_job(JobId id) {
  return sketch_job({.id = id,
                     .entity = std::to_string(id),
                     .parameters = "{\"text\":\"" + std::string(4000, 'x') + "\"}"});
}

/// Reads a complete copy and checks its size and digest.
std::string content_of(BackupCopy& copy) {
  std::string content;
  for (auto piece = copy.read(100'000); !piece.empty(); piece = copy.read(100'000)) {
    content += piece;
  }
  CHECK(content.size() == copy.bytes());
  celld::ReprDigest digest;
  digest.add(content);
  CHECK(digest.text() == copy.digest());
  return content;
}

/// Puts the copy, and nothing else, into a data directory.
std::string restored(const TemporaryDirectory& directory, const std::string& content) {
  std::ofstream{directory.path() / "celld.db", std::ios::binary} << content;
  return directory.path().string();
}

std::string partial_of(const SqliteUnderTest& under_test) {
  return under_test.data_directory() + "/" + backup_file;
}

}  // namespace

TEST_CASE("a copy shows the moment at which it began, not later writes") {
  SqliteUnderTest under_test;
  Client client{under_test};
  for (JobId id = 1; id <= 20; ++id) client.ask(InsertJob{big_job(id)});
  BackupCopy copy{
      under_test.database(), partial_of(under_test), {.step_pages = 3, .step_bytes = 3 * 4096}};
  struct stat status{};
  REQUIRE(::stat(partial_of(under_test).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
  JobId id = 20;
  int steps = 0;
  for (; !copy.step(); ++steps) {
    client.ask(CancelWaiting{++id - 20, acme_cell, at_ms(9)});
    client.ask(InsertJob{big_job(id)});
  }
  CHECK(steps > 20);
  CHECK_FALSE(std::filesystem::exists(partial_of(under_test)));

  const TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = restored(directory, content_of(copy));
  {
    // The copy needs no other file and opens read-only.
    Connection readable{options.data_directory + "/celld.db", Connection::Access::read_only};
    CHECK(readable.query_text("PRAGMA integrity_check") == "ok");
    CHECK(readable.query_text("PRAGMA journal_mode") == "delete");
  }
  SqliteUnderTest again{options};
  Client after{again};
  CHECK(after.ask(LoadCell{acme_cell}).counts[JobState::queued] == 20);
  CHECK(after.ask(FindJob{20}).job->spec->parameters == big_job(20)->spec->parameters);
  CHECK_FALSE(after.ask(FindJob{21}).job);
}

TEST_CASE("a copy that is abandoned or runs out of space leaves no file behind") {
  SqliteUnderTest under_test;
  Client client{under_test};
  for (JobId id = 1; id <= 100; ++id) client.ask(InsertJob{big_job(id)});
  {
    const BackupCopy copy{under_test.database(), partial_of(under_test), {}};
    CHECK(std::filesystem::exists(partial_of(under_test)));
  }
  CHECK_FALSE(std::filesystem::exists(partial_of(under_test)));
  std::string why;
  try {
    BackupCopy copy{under_test.database(), partial_of(under_test), {.pages_max = 50}};
    while (!copy.step()) continue;
  } catch (const SqliteFailure& failure) {
    why = failure.what();
  }
  CHECK(why.find("full") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(partial_of(under_test)));
  CHECK(client.ask(InsertJob{big_job(200)}).runnable);
}

TEST_CASE("a copy leaves some of the disk to the writer") {
  SqliteUnderTest under_test;
  Client client{under_test};
  client.ask(InsertJob{big_job(1)});
  {
    BackupCopy copy{under_test.database(),
                    partial_of(under_test),
                    {.spared_bytes = UINT64_MAX, .spared_fraction = 1}};  // More than is free.
    CHECK_THROWS_AS(copy.step(), SqliteFailure);
  }
  CHECK_FALSE(std::filesystem::exists(partial_of(under_test)));
  // The smaller of the two holds.
  const BackupOptions few_bytes{.spared_bytes = 1, .spared_fraction = 1};
  const BackupOptions small_share{.spared_bytes = UINT64_MAX, .spared_fraction = UINT64_MAX};
  for (const auto& options : {few_bytes, small_share}) {
    BackupCopy copy{under_test.database(), partial_of(under_test), options};
    CHECK_NOTHROW(copy.step());
  }
}

TEST_CASE("the next start removes the partial copy that a crash left behind") {
  SqliteUnderTest under_test;
  under_test.close();
  std::ofstream{partial_of(under_test)} << "left";
  under_test.open();
  CHECK_FALSE(std::filesystem::exists(partial_of(under_test)));
}

TEST_CASE("a copy is made and read through messages, and can be dropped or replaced at any time") {
  SqliteOptions options;
  TemporaryDirectory directory;
  options.data_directory = directory.path().string();
  options.backup.step_bytes = 100;  // Many steps, so that a second request comes during a copy.
  auto opened = SqliteStore::open(options);
  auto& store = std::get<SqliteStore>(opened);
  caf::actor_system_config config;
  caf::actor_system system{config};
  const auto maker = store.spawn_backup_maker(system);
  caf::scoped_actor self{system};
  BackupMade made;
  std::string error;
  const auto make = [&] {
    self->request(maker, std::chrono::seconds{60}, MakeBackup{})
        .receive([&](const BackupMade& answer) { made = answer; },
                 [&](const caf::error& failed) { error = system.render(failed); });
  };
  const auto read = [&] {
    std::string data;
    self->request(maker, std::chrono::seconds{60}, ReadBackup{1 << 20})
        .receive([&](const BackupPiece& piece) { data = piece.data; },
                 [&](const caf::error& failed) { error = system.render(failed); });
    return data;
  };
  CHECK(read().empty());
  CHECK(error.find("no copy") != std::string::npos);
  make();
  const auto content = read();
  CHECK(content.size() == made.bytes);
  celld::ReprDigest digest;
  digest.add(content);
  CHECK(made.digest == digest.text());
  CHECK(read().empty());
  self->send(maker, DropBackup{});
  error.clear();
  CHECK(read().empty());
  CHECK(error.find("no copy") != std::string::npos);
  make();
  CHECK(read().size() == made.bytes);
  // A request replaces the one before it unless that one is already answered.
  for (error.clear(); error.empty();) {
    auto replaced = self->request(maker, std::chrono::seconds{60}, MakeBackup{});
    make();
    replaced.receive([](const BackupMade&) {},
                     [&](const caf::error& failed) { error += system.render(failed); });
  }
  CHECK(error.find("a newer backup request replaced this one") != std::string::npos);
  CHECK(read().size() == made.bytes);
  // A read that comes during a copy is refused, and disturbs nothing.
  for (error.clear(); error.empty();) {
    auto making = self->request(maker, std::chrono::seconds{60}, MakeBackup{});
    read();
    making.receive([&](const BackupMade& answer) { made = answer; },
                   [&](const caf::error& failed) { FAIL(system.render(failed)); });
  }
  CHECK(error.find("no copy") != std::string::npos);
  CHECK(read().size() == made.bytes);
  caf::anon_send_exit(maker, caf::exit_reason::user_shutdown);
}
