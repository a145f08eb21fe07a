// The SQLite store in a directory of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "src/store/sqlite_store.hpp"
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/temporary_directory.hpp"

namespace celld::store::test {

class SqliteUnderTest : public StoreUnderTest {
 public:
  explicit SqliteUnderTest(SqliteOptions options = {}) : options_(std::move(options)) {
    if (options_.data_directory.empty()) options_.data_directory = directory_.path().string();
    open();
  }
  ~SqliteUnderTest() override { close(); }

  cells::JobStore store() const override { return store_; }
  cells::JobReader reader() const override { return reader_; }
  caf::actor_system& system() override { return *system_; }
  void reopen() override {
    close();
    open();
  }

  std::shared_ptr<const SqliteStats> stats() const { return stats_; }
  StoreStatistics statistics() const { return statistics_(); }
  std::string data_directory() const { return options_.data_directory; }
  std::string database() const { return data_directory() + "/" + options_.path; }

  void open() {
    auto opened = SqliteStore::open(options_);
    if (const auto* error = std::get_if<std::string>(&opened)) FAIL(*error);
    auto& database = std::get<SqliteStore>(opened);
    system_ = std::make_unique<caf::actor_system>(config_);
    stats_ = database.stats();
    statistics_ = database.statistics();
    store_ = database.spawn_writer(*system_);
    reader_ = database.spawn_reader(*system_);
  }
  void close() {
    if (!system_) return;
    caf::anon_send_exit(store_, caf::exit_reason::kill);
    caf::anon_send_exit(reader_, caf::exit_reason::kill);
    store_ = nullptr;
    reader_ = nullptr;
    system_.reset();
  }

 private:
  TemporaryDirectory directory_;
  SqliteOptions options_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  cells::JobStore store_;
  cells::JobReader reader_;
  std::shared_ptr<const SqliteStats> stats_;
  std::function<StoreStatistics()> statistics_;
};

}  // namespace celld::store::test
