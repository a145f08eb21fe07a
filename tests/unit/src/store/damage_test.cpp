// Bytes of the database that change on the disk: what celld reads is what it wrote, or it fails.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/store/backup_copy.hpp"
#include "src/store/sqlite.hpp"
#include "src/store/wal_check.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace celld::store;  // NOLINT: tests of the store.
using namespace celld::store::test;

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t wal_header_bytes = 32;
constexpr std::size_t frame_bytes = 24 + page_bytes;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// A small page, an index, and values that continue on pages of their own.
void add_row(Connection& connection, int id) {
  const auto number = std::to_string(id);
  const auto bytes = id % 3 == 0 ? "9000" : "300";
  connection.execute(("INSERT INTO things VALUES (" + number + ", 'name " + number +
                      "', hex(zeroblob(" + bytes + ")))")
                         .c_str());
}

void make_table(Connection& connection) {
  connection.execute("PRAGMA journal_mode = WAL");
  connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, text TEXT)");
  connection.execute("CREATE INDEX things_by_name ON things (name)");
}

/// Reads every page of a database.
void read_all(const std::filesystem::path& path) {
  BackupCopy copy{path.string(), path.string() + ".copy", {}};
  while (!copy.step()) {
  }
}

/// The database at `path`, and its content when it is whole.
struct Sample {
  Sample() {
    {
      Connection connection{path.string(), Connection::Access::read_write};
      make_table(connection);
      for (int id = 1; id <= 30; ++id) add_row(connection, id);
    }
    whole = read_file(path);
    REQUIRE(whole.size() > 20 * page_bytes);
  }

  bool is_found(const std::string& bytes) const {
    write_file(path, bytes);
    try {
      read_all(path);
      return false;
    } catch (const SqliteFailure& failure) {
      return std::string(failure.what()).find("the database is damaged") != std::string::npos;
    }
  }
  bool flip_is_found(std::size_t at, int bit) const {
    auto bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    return is_found(bytes);
  }

  TemporaryDirectory directory;
  std::filesystem::path path = directory.path() / "sample.db";
  std::string whole;
};

/// A write-ahead log of several transactions. `ends[i]`: the number of frames when i + 1 of them
/// were committed.
struct SampleLog {
  SampleLog() {
    Connection connection{database.string(), Connection::Access::read_write};
    make_table(connection);
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    for (int id = 1; id <= 6; ++id) {
      add_row(connection, id);
      ends.push_back((std::filesystem::file_size(live) - wal_header_bytes) / frame_bytes);
    }
    whole = read_file(live);
    unmoved = read_file(database);
    connection.execute("PRAGMA wal_checkpoint(FULL)");
    checkpointed = read_file(database);
  }

  bool lost(const std::string& bytes) const { return lost(bytes, unmoved); }
  bool lost(const std::string& bytes, const std::string& database_bytes) const {
    write_file(copy, database_bytes);
    write_file(copy.string() + "-wal", bytes);
    return lost_commits(copy.string());
  }
  bool flip_is_found(std::size_t at) const {
    auto bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 16);
    return lost(bytes);
  }

  TemporaryDirectory directory;
  std::filesystem::path database = directory.path() / "sample.db";
  std::filesystem::path live = directory.path() / "sample.db-wal";
  std::filesystem::path copy = directory.path() / "damaged.db";
  std::vector<std::size_t> ends;
  std::string whole;
  std::string unmoved;       ///< The database, without what the log has.
  std::string checkpointed;  ///< The database, with what the log has.
};

/// The log as a machine writes it whose words are big-endian (SQLite's file format, section 4.2).
std::string with_big_endian_checksums(std::string log) {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t byte = 0; byte < 4; ++byte)
      value = value << 8 | static_cast<unsigned char>(log[at + byte]);
    return value;
  };
  const auto add = [&](std::size_t from, std::size_t to) {
    for (; from < to; from += 8) {
      first += word(from) + second;
      second += word(from + 4) + first;
    }
  };
  const auto put = [&](std::size_t at) {
    for (std::size_t byte = 0; byte < 4; ++byte) {
      log[at + byte] = static_cast<char>(first >> (24 - 8 * byte));
      log[at + 4 + byte] = static_cast<char>(second >> (24 - 8 * byte));
    }
  };
  log[3] |= 1;
  add(0, 24);
  put(24);
  for (auto at = wal_header_bytes; at + frame_bytes <= log.size(); at += frame_bytes) {
    add(at, at + 8);
    add(at + 24, at + frame_bytes);
    put(at + 16);
  }
  return log;
}

}  // namespace

/// Computed here once more: celld refuses a database whose checksums another release wrote in
/// another way.
TEST_CASE("each page ends with the checksum of every release") {
  const Sample sample;
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t byte = 4; byte-- > 0;)
      value = value << 8 | static_cast<unsigned char>(sample.whole[at + byte]);
    return value;
  };
  for (std::uint32_t page = 0; page < sample.whole.size() / page_bytes; ++page) {
    const auto begin = page * page_bytes, end = begin + page_bytes - 8;
    std::uint32_t first = page + 1, second = page + 1;
    for (auto at = begin; at < end; at += 8) {
      first += word(at) + second;
      second += word(at + 4) + first;
    }
    INFO("page " << page + 1);
    CHECK(word(end) == second);
    CHECK(word(end + 4) == first);
  }
}

TEST_CASE("a bit that flips in any page is found when the page is read") {
  const Sample sample;
  CHECK_FALSE(sample.is_found(sample.whole));
  for (std::size_t page = 0; page < sample.whole.size(); page += page_bytes) {
    for (std::size_t at = 0; at < page_bytes; at += 511) {
      INFO("page " << page / page_bytes + 1 << ", byte " << at);
      CHECK(sample.flip_is_found(page + at, static_cast<int>(at % 8)));
    }
  }
}

TEST_CASE("a bit that flips in the header of a database does not switch its checksums off") {
  const Sample sample;
  for (std::size_t at = 0; at < 100; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      INFO("byte " << at << ", bit " << bit);
      CHECK(sample.flip_is_found(at, bit));
    }
  }
}

TEST_CASE("a page that is torn, empty, cut off or at the wrong place is found") {
  const Sample sample;
  const auto pages = sample.whole.size() / page_bytes;
  for (std::size_t page = 1; page < pages; ++page) {
    INFO("page " << page + 1);
    const auto at = page * page_bytes;
    auto torn = sample.whole;
    torn.replace(at + page_bytes / 2, 512, sample.whole, at - page_bytes / 2, 512);
    CHECK((torn == sample.whole || sample.is_found(torn)));
    auto empty = sample.whole;
    empty.replace(at, page_bytes, page_bytes, '\0');
    CHECK(sample.is_found(empty));
    auto displaced = sample.whole;
    displaced.replace(at, page_bytes, sample.whole, page_bytes * ((page + 1) % pages), page_bytes);
    CHECK(sample.is_found(displaced));
    CHECK(sample.is_found(sample.whole.substr(0, at)));
    CHECK(sample.is_found(sample.whole.substr(0, at + 1000)));
  }
}

TEST_CASE("a database that another program wrote receives checksums at the next start") {
  TemporaryDirectory directory;
  const auto path = directory.path() / "celld.db";
  {
    sqlite3* handle = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &handle) == SQLITE_OK);
    const char* belongs_to_celld = "PRAGMA application_id = 0x43454c44";
    REQUIRE(sqlite3_exec(handle, belongs_to_celld, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(handle);
  }
  REQUIRE(read_file(path)[20] == 0);
  SqliteOptions options;
  options.data_directory = directory.path().string();
  {
    const SqliteUnderTest adopted{options};
  }
  CHECK(read_file(path)[20] == 8);
  CHECK_NOTHROW(read_all(path));
}

TEST_CASE("a log that lacks a commit differs from one that a power cut interrupted") {
  const SampleLog log;
  CHECK_FALSE(log.lost(log.whole));
  for (std::size_t size = 0; size < log.whole.size(); size += 1000) {
    INFO("cut off after " << size);
    CHECK_FALSE(log.lost(log.whole.substr(0, size)));
  }
  const auto last_two = log.ends[log.ends.size() - 3];
  for (std::size_t at = 0; at < log.whole.size(); at += 97) {
    INFO("byte " << at);
    const auto frame = at < wal_header_bytes ? 0 : (at - wal_header_bytes) / frame_bytes;
    if (frame < last_two) CHECK(log.flip_is_found(at));
    if (frame >= log.ends[log.ends.size() - 2]) CHECK_FALSE(log.flip_is_found(at));
  }
}

TEST_CASE("a log in which the salts of a frame have changed lacks the commits behind it") {
  const SampleLog log;
  const auto last_two = log.ends[log.ends.size() - 3];
  for (std::size_t frame = 0; frame < last_two; ++frame) {
    for (std::size_t at = 8; at < 16; ++at) {
      INFO("frame " << frame << ", byte " << at);
      CHECK(log.flip_is_found(wal_header_bytes + frame * frame_bytes + at));
    }
  }
}

TEST_CASE("a log that a big-endian machine wrote is verified by the same rules") {
  const SampleLog log;
  auto bytes = with_big_endian_checksums(log.whole);
  CHECK_FALSE(log.lost(bytes));
  bytes[wal_header_bytes + 100] ^= 1;
  CHECK(log.lost(bytes));
}

TEST_CASE("a log whose header was being replaced lacks nothing that the database has") {
  const SampleLog log;
  SECTION("each length to which the write of the header can be cut") {
    for (std::size_t written = 1; written < wal_header_bytes; ++written) {
      INFO(written << " bytes");
      auto bytes = log.whole;
      for (auto at = 12; at < static_cast<int>(written); ++at) bytes[at] ^= 0x55;
      CHECK_FALSE(log.lost(bytes, log.checkpointed));
      if (written > 12) CHECK(log.lost(bytes, log.unmoved));
    }
  }
  auto cut = log.whole;
  cut[20] ^= 1;
  SECTION("any page that the database does not have as in the log") {
    for (std::size_t page = 0; page < log.checkpointed.size(); page += page_bytes) {
      INFO("page " << page / page_bytes + 1);
      auto other = log.checkpointed;
      other[page + 1000] ^= 1;
      CHECK(log.lost(cut, other));
    }
  }
  SECTION("a database that was cut off") {
    CHECK(log.lost(cut, ""));
    CHECK(log.lost(cut, log.checkpointed.substr(0, log.checkpointed.size() - 9)));
  }
  SECTION("a checksum of a page, which is written with the page into the database") {
    auto other = log.checkpointed;
    other[page_bytes + page_bytes - 1] ^= 1;
    CHECK_FALSE(log.lost(cut, other));
  }
  SECTION("older frames after the last transaction") {
    REQUIRE(log.ends[0] > 1);
    const auto older = log.whole.substr(wal_header_bytes, log.ends[0] * frame_bytes);
    CHECK_FALSE(log.lost(cut + older, log.checkpointed));
  }
  SECTION("no frames, so that nothing was committed") {
    CHECK_FALSE(log.lost(cut.substr(0, wal_header_bytes)));
  }
  SECTION("frames that were never committed") {
    const auto committed = wal_header_bytes + log.ends[log.ends.size() - 2] * frame_bytes;
    REQUIRE(log.ends.back() - log.ends[log.ends.size() - 2] > 1);
    CHECK(log.lost(cut.substr(0, committed + frame_bytes), log.checkpointed));
    CHECK(log.lost(cut.substr(0, wal_header_bytes + frame_bytes - 1), log.checkpointed));
  }
}

TEST_CASE("a log whose header was being replaced may have pages that the database gave up") {
  TemporaryDirectory directory;
  const auto path = directory.path() / "sample.db";
  const auto log = directory.path() / "sample.db-wal";
  Connection connection{path.string(), Connection::Access::read_write};
  make_table(connection);
  for (int id = 1; id <= 6; ++id) add_row(connection, id);
  connection.execute("DELETE FROM things");
  connection.execute("VACUUM");
  connection.execute("PRAGMA wal_checkpoint(FULL)");
  REQUIRE(std::filesystem::file_size(log) > 4 * std::filesystem::file_size(path));
  auto bytes = read_file(log);
  bytes[20] ^= 1;
  write_file(directory.path() / "copy.db", read_file(path));
  write_file(directory.path() / "copy.db-wal", bytes);
  CHECK_FALSE(lost_commits((directory.path() / "copy.db").string()));
}

TEST_CASE("a store whose log lacks a commit does not open, nor one behind a symbolic link") {
  const std::string name = GENERATE("celld.db", "real.db");
  const SampleLog log;
  TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  auto bytes = log.whole;
  bytes[wal_header_bytes + 100] ^= 1;
  write_file(directory.path() / name, log.unmoved);
  write_file(directory.path() / (name + "-wal"), bytes);
  if (name != options.path) std::filesystem::create_symlink(name, directory.path() / options.path);
  const auto opened = SqliteStore::open(options);
  REQUIRE(std::holds_alternative<std::string>(opened));
  CHECK(std::get<std::string>(opened).find(name + "-wal cannot be read") != std::string::npos);
}
