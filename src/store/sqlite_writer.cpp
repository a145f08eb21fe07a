// The writer actor: the database as the backend of a group commit.
#include <utility>

#include "src/store/group_commit.hpp"
#include "src/store/opened_database.hpp"
#include "src/store/sqlite_reads.hpp"
#include "src/store/sqlite_store.hpp"

namespace celld::store {
namespace {

/// It has a thread and a connection of its own because counting takes time.
NeedsCounter::behavior_type needs_counter(NeedsCounter::pointer self, const std::string& path) {
  return {
      [self, path](const cells::CountNeeds& request) -> caf::result<cells::NeedsCounted> {
        self->quit();
        try {
          return SqliteReads{path}.read(request);
        } catch (const SqliteFailure& failure) {
          return caf::make_error(caf::sec::runtime_error, std::string{failure.what()});
        }
      },
  };
}

class SqliteBackend {
 public:
  explicit SqliteBackend(std::shared_ptr<OpenedDatabase> database)
      : database_(std::move(database)) {}

  template <class Request>
  auto apply(const Request& request) {
    return database_->jobs().apply(request);
  }
  bool changed() const { return database_->jobs().changed(); }
  std::size_t claims() const { return database_->jobs().claims(); }
  void commit(std::size_t operations) { database_->commit(operations); }
  void tidy() { database_->checkpoint_when_long(); }

  NeedsCounter spawn_counter(caf::actor_system& system) const {
    const auto& path = database_->path();
    return database_->options().own_threads ? system.spawn<caf::detached>(needs_counter, path)
                                            : system.spawn(needs_counter, path);
  }

  void failed(const std::string& reason) const {
    if (const auto& on_fatal = database_->options().events.on_fatal) on_fatal(reason);
  }

 private:
  std::shared_ptr<OpenedDatabase> database_;
};

}  // namespace

cells::JobStore SqliteStore::spawn_writer(caf::actor_system& system) {
  auto backend = std::make_shared<SqliteBackend>(std::exchange(opened_, nullptr));
  const auto writer = group_commit<SqliteBackend>;
  if (!options_.own_threads) return system.spawn(writer, std::move(backend), options_.batches);
  return system.spawn<caf::detached>(writer, std::move(backend), options_.batches);
}

}  // namespace celld::store
