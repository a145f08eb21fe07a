// The writer actor: the database as the backend of a group commit.
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/alarm.hpp"
#include "src/store/group_commit.hpp"
#include "src/store/opened_database.hpp"
#include "src/store/sqlite_reads.hpp"
#include "src/store/sqlite_store.hpp"

namespace celld::store {
namespace {

using Stop = std::shared_ptr<std::atomic<bool>>;

/// The counter has a connection of its own because counting takes time. It gives up once `stop` is
/// true.
NeedsCounter::behavior_type needs_counter(NeedsCounter::pointer self, const std::string& path,
                                          const Stop& stop, bool counts_once) {
  return {
      [=](const cells::CountNeeds& request) -> caf::result<cells::NeedsCounted> {
        if (counts_once) self->quit();
        try {
          SqliteReads reads{path};
          reads.stop_when(stop);
          return reads.read(request);
        } catch (const std::exception& failure) {
          return caf::make_error(caf::sec::runtime_error, std::string{failure.what()});
        }
      },
  };
}

class SqliteBackend {
 public:
  explicit SqliteBackend(std::shared_ptr<OpenedDatabase> database)
      : database_(std::move(database)) {}
  ~SqliteBackend() {
    *stop_ = true;
    if (counter_) caf::anon_send_exit(counter_, caf::exit_reason::user_shutdown);
  }
  SqliteBackend(const SqliteBackend&) = delete;
  SqliteBackend& operator=(const SqliteBackend&) = delete;

  template <class Request>
  auto apply(const Request& request) {
    return database_->jobs().apply(request);
  }
  bool changed() const { return database_->jobs().changed(); }
  std::size_t claims() const { return database_->jobs().claims(); }
  void commit(std::size_t operations) { database_->commit(operations); }
  void tidy() { database_->checkpoint_when_long(); }
  void send(const std::function<void()>& answers) const {
    const auto& help_actors = database_->options().events.help_actors;
    help_actors ? help_actors(answers) : answers();
  }

  /// An alarm instead of a delayed message, because almost every claim is committed before the
  /// alarm is due. The counter begins now, too: later, there may be no thread left.
  void begin(CommittingStore::pointer self) {
    self_ = self;
    if (!database_->options().own_threads) return;
    counter_ = self->system().spawn<caf::detached>(needs_counter, database_->path(), stop_, false);
    alarm_.emplace([store = caf::weak_actor_ptr{self->ctrl()}] {
      if (const auto alive = caf::actor_cast<caf::strong_actor_ptr>(store)) {
        caf::anon_send(caf::actor_cast<CommittingStore>(alive), CommitClaims{});
      }
    });
  }

  void remind(cells::microseconds delay) {
    if (alarm_) {
      alarm_->set(delay);
    } else {
      self_->delayed_send(self_, delay, CommitClaims{});
    }
  }

  bool forget() {
    if (!alarm_) return false;
    alarm_->clear();
    return true;
  }

  NeedsCounter counter(caf::actor_system& system) const {
    return counter_ ? counter_ : system.spawn(needs_counter, database_->path(), stop_, true);
  }

  void failed(const std::string& reason) const {
    if (const auto& on_fatal = database_->options().events.on_fatal) on_fatal(reason);
  }

 private:
  CommittingStore::pointer self_ = nullptr;
  std::optional<Alarm> alarm_;  ///< For claims; none on virtual time.
  Stop stop_ = std::make_shared<std::atomic<bool>>(false);
  NeedsCounter counter_;  ///< With a thread of its own; null on virtual time.
  std::shared_ptr<OpenedDatabase> database_;
};

}  // namespace

cells::JobStore SqliteStore::spawn_writer(caf::actor_system& system) {
  auto backend = std::make_shared<SqliteBackend>(std::exchange(opened_, nullptr));
  const auto writer = group_commit<SqliteBackend>;
  if (!options_.own_threads) return system.spawn(writer, std::move(backend), options_.commits);
  return system.spawn<caf::detached>(writer, std::move(backend), options_.commits);
}

}  // namespace celld::store
