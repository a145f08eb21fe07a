// The writer actor: batches, answers, and failures of the database.
#include <exception>
#include <utility>

#include "src/store/answers.hpp"
#include "src/store/commit_batch.hpp"
#include "src/store/opened_database.hpp"
#include "src/store/sqlite_reads.hpp"
#include "src/store/sqlite_store.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

namespace {

/// It has a thread and a connection of its own because counting takes time.
NeedsCounter::behavior_type needs_counter(NeedsCounter::pointer self, const std::string& path) {
  return {
      [self, path](const CountNeeds& request) -> caf::result<NeedsCounted> {
        self->quit();
        try {
          return SqliteReads{path}.read(request);
        } catch (const SqliteFailure& failure) {
          return caf::make_error(caf::sec::runtime_error, std::string{failure.what()});
        }
      },
  };
}

class Writer {
 public:
  using Pointer = CommittingStore::stateful_pointer<Writer>;

  void start(Pointer self, std::shared_ptr<OpenedDatabase> database) {
    self_ = self;
    database_ = std::move(database);
  }

  /// Applies the request. The answer is sent once the result is on disk.
  template <class Answer, class Request>
  caf::typed_response_promise<Answer> perform(const Request& request, std::size_t bytes = 0) {
    return answer<Answer>(
        bytes, [&]() -> std::optional<Answer> { return database_->jobs().apply(request); });
  }

  /// Applies a request that has no answer.
  template <class Request>
  void note(const Request& request, std::size_t bytes = 0) {
    if (guard([&] { database_->jobs().apply(request); })) finish_operation(bytes);
  }

  /// Commits first, so that the counter sees all writes so far.
  caf::result<NeedsCounted> count_needs(const CountNeeds& request) {
    if (!failure_) commit();
    if (failure_) return *failure_;
    return self_->delegate(spawn_counter(), request);
  }

  void commit_batch(std::uint64_t batch) {
    if (armed_ && batch == batch_) commit();
  }

  void commit_claims() {
    claims_armed_ = false;
    if (has_changes()) commit();
  }

 private:
  template <class Answer, class Operation>
  caf::typed_response_promise<Answer> answer(std::size_t bytes, Operation operation) {
    auto promise = self_->template make_response_promise<Answer>();
    std::optional<Answer> value;
    if (!guard([&] { value = operation(); })) {
      promise.deliver(*failure_);
    } else if (!value) {
      promise.deliver(caf::make_error(caf::sec::invalid_argument, "the job id is in use"));
    } else {
      answers_.add(promise, std::move(*value));
      finish_operation(bytes);
    }
    return promise;
  }

  /// Runs an operation that may fail. False: this one or an earlier one failed.
  template <class Operation>
  bool guard(Operation operation) {
    if (failure_) return false;
    try {
      operation();
      return true;
    } catch (const std::exception& failure) {  // Of any type: the operation may be half done.
      fail(failure.what());
      return false;
    }
  }

  void fail(const std::string& text) {
    failure_ = cannot_commit(text);
    // The reason goes first: an actor that receives an error ends, and its report needs the reason.
    if (const auto& on_fatal = database_->options().on_fatal) on_fatal(text);
    answers_.fail_all(*failure_);
  }

  NeedsCounter spawn_counter() const {
    auto& system = self_->system();
    const auto& path = database_->path();
    return database_->options().own_threads ? system.spawn<caf::detached>(needs_counter, path)
                                            : system.spawn(needs_counter, path);
  }

  bool has_changes() const {
    return !failure_ && (database_->jobs().changed() || database_->jobs().claims() != 0);
  }

  /// Commits a full batch, schedules a commit for other changes, and answers at once if there are
  /// none.
  void finish_operation(std::size_t bytes) {
    const auto& options = database_->options();
    ++operations_;
    bytes_ += bytes;
    if (operations_ >= options.batch_operations_max || bytes_ >= options.batch_bytes_max) {
      commit();
    } else if (!database_->jobs().changed()) {
      answers_.deliver_all();
      if (database_->jobs().claims() != 0) {
        arm_claims();
      } else {  // Only reads so far: they belong to no commit.
        operations_ = 0;
        bytes_ = 0;
      }
    } else if (!armed_) {
      armed_ = true;
      self_->send(self_, CommitBatch{batch_});
    }
  }

  void arm_claims() {
    if (std::exchange(claims_armed_, true)) return;
    self_->delayed_send(self_, database_->options().claim_delay, CommitClaims{});
  }

  void commit() {
    armed_ = false;
    ++batch_;
    const auto operations = std::exchange(operations_, 0);
    bytes_ = 0;
    if (has_changes() && !guard([&] { database_->commit(operations); })) return;
    answers_.deliver_all();
    guard([&] { database_->checkpoint_when_long(); });
  }

  Pointer self_ = nullptr;
  std::shared_ptr<OpenedDatabase> database_;
  Answers answers_;
  std::optional<caf::error> failure_;
  std::uint64_t batch_ = 1;
  std::size_t operations_ = 0;
  std::size_t bytes_ = 0;
  bool armed_ = false;         ///< A CommitBatch of this batch is on its way.
  bool claims_armed_ = false;  ///< A CommitClaims is on its way.
};

CommittingStore::behavior_type sqlite_writer(Writer::Pointer self,
                                             const std::shared_ptr<OpenedDatabase>& database) {
  auto& writer = self->state;
  writer.start(self, database);
  return {
      [&writer](const StartEpoch& request) { return writer.perform<EpochStarted>(request); },
      [&writer](const LoadCells& request) { return writer.perform<CellsLoaded>(request); },
      [&writer](const ListBacklogs& request) { return writer.perform<BacklogsListed>(request); },
      [&writer](const MoveJobs& request) { return writer.perform<JobsMoved>(request); },
      [&writer](const CountNeeds& request) { return writer.count_needs(request); },
      [&writer](const ReleaseHolds& request) { writer.note(request); },
      [&writer](const LoadCell& request) { return writer.perform<CellLoaded>(request); },
      [&writer](const InsertJob& request) {
        return writer.perform<JobInserted>(request, approximate_bytes(*request.job));
      },
      [&writer](const FindKeyHolder& request) { return writer.perform<KeyHolder>(request); },
      [&writer](const ClaimJob& request) { writer.note(request, approximate_bytes(*request.job)); },
      [&writer](const RecordJob& request) {
        return writer.perform<JobRecorded>(request, approximate_bytes(*request.job));
      },
      [&writer](const CancelWaiting& request) { return writer.perform<WaitingCancelled>(request); },
      [&writer](const ReopenEnded& request) { return writer.perform<EndedReopened>(request); },
      [&writer](const HoldJob& request) { writer.note(request); },
      [&writer](const FetchRunnable& request) { return writer.perform<RunnableFetched>(request); },
      [&writer](const AdvanceDue& request) { return writer.perform<DueAdvanced>(request); },
      [&writer](const PruneEnded& request) { return writer.perform<EndedPruned>(request); },
      [&writer](const SetCellOverride& request) {
        return writer.perform<CellOverrideSet>(request);
      },
      [&writer](const FlushStore& request) { return writer.perform<StoreFlushed>(request); },
      [&writer](CommitBatch due) { writer.commit_batch(due.batch); },
      [&writer](CommitClaims) { writer.commit_claims(); },
  };
}

}  // namespace

JobStore SqliteStore::spawn_writer(caf::actor_system& system) {
  auto opened = std::exchange(opened_, nullptr);
  if (!options_.own_threads) return system.spawn(sqlite_writer, std::move(opened));
  return system.spawn<caf::detached>(sqlite_writer, std::move(opened));
}

}  // namespace celld::store
