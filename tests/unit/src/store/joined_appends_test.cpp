// The write-ahead log through the layer of src/store/joined_appends.hpp.
#include "src/store/sqlite.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/store/temporary_directory.hpp"

using namespace celld::store;

namespace {

class Database {
 public:
  Database() {
    writer.query_text("PRAGMA journal_mode = WAL");
    writer.execute("CREATE TABLE texts (text TEXT)");
  }

  std::int64_t rows() { return reader->query_integer("SELECT count(*) FROM texts"); }
  std::uintmax_t log_bytes() const { return std::filesystem::file_size(path_ + "-wal"); }

 private:
  test::TemporaryDirectory directory_;
  const std::string path_ = (directory_.path() / "database").string();

 public:
  Connection writer{path_, Connection::Access::read_write};
  std::optional<Connection> reader{std::in_place, path_, Connection::Access::read_only};
};

}  // namespace

TEST_CASE("a commit is written to the log before another connection reads it") {
  // FULL writes and syncs the log before it announces the commit; NORMAL does not sync.
  for (const char* synchronous : {"PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"}) {
    Database database;
    database.writer.execute(synchronous);
    for (int row = 1; row <= 20; ++row) {
      const auto before = database.log_bytes();
      database.writer.execute("INSERT INTO texts VALUES (hex(randomblob(5000)))");
      CHECK(database.log_bytes() > before);
      CHECK(database.rows() == row);
      CHECK(database.reader->query_integer("SELECT sum(length(text)) FROM texts") == 10'000 * row);
    }
  }
}

TEST_CASE("a transaction larger than the cache reads what it has appended to the log") {
  Database database;
  database.writer.execute("PRAGMA cache_size = 10; BEGIN");
  for (int row = 0; row < 300; ++row) {
    database.writer.execute("INSERT INTO texts VALUES (hex(randomblob(1000)))");
  }
  CHECK(database.writer.query_integer("SELECT sum(length(text)) FROM texts") == 600'000);
  CHECK(database.rows() == 0);
  database.writer.execute("COMMIT");
  CHECK(database.rows() == 300);
  CHECK(database.reader->query_text("PRAGMA integrity_check") == "ok");
}

TEST_CASE("a log that was checkpointed and begun anew is read correctly") {
  Database database;
  for (int round = 1; round <= 5; ++round) {
    database.writer.execute("INSERT INTO texts VALUES (hex(randomblob(9000)))");
    database.writer.query_integer("PRAGMA wal_checkpoint(RESTART)");
    CHECK(database.rows() == round);
  }
  database.reader.reset();
  database.writer.query_text("PRAGMA journal_mode = DELETE");
  database.writer.execute("INSERT INTO texts VALUES ('without a log')");
  database.writer.query_text("PRAGMA journal_mode = WAL");
  database.writer.execute("INSERT INTO texts VALUES ('with a log')");
  CHECK(database.writer.query_integer("SELECT count(*) FROM texts") == 7);
}
