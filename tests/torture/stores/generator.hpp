// Draws random operations and looks for a store whose state it knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/store/memory_jobs.hpp"
#include "tests/torture/dice.hpp"
#include "tests/torture/stores/history.hpp"

namespace stores {

using torture::Dice;

/// The names that the jobs of a run have. In a run with jobs of both kinds, every other product and
/// every other cell is for jobs in memory.
struct Names {
  std::vector<std::string> customers;
  std::vector<std::string> products;
  std::vector<std::string> entity_types;
  std::vector<std::string> entities;
  std::vector<CellKey> cells;
  std::vector<std::string> lanes{"", "", "vm", "gpu"};
};

class Generator {
 public:
  /// With `both_kinds`, some jobs are in memory, the others on disk.
  Generator(Dice& dice, bool both_kinds);

  /// Continues with this state: the one that the last life left.
  void begin_life(const celld::store::StoreContent& content);
  Operation start_epoch();
  Operation flush() { return operation(FlushStore{some_kind()}); }
  Operation next();
  Look look();
  /// What a store contains once it has done every operation.
  const celld::store::StoreContent& content() const { return content_; }

 private:
  Operation operation(Request request);
  Scope scope_of(const Request& request) const;
  std::size_t revealed(const Answer& answer) const;

  Request insert();
  Request insert(std::shared_ptr<const JobSpec> spec, InsertJob request);
  Request contend(FindKeyHolder claimed);
  Request claim();
  Request record();
  Request cancel();
  Request reopen();
  CustomerRoom some_room();
  Request show(JobId claimed);
  Request hold();
  Request release_holds();
  Request change_lane();
  Request move();
  Request load_cell();
  Request fetch();
  Request advance();
  Request prune();
  Request open_batch();
  Request close_batch();
  Request mark_cancelled();
  BatchInMemory some_in_memory();
  BatchId some_batch() { return batches_.empty() ? 7 : dice_.one_of(batches_); }
  BatchId some_batch_for_job();
  ActionSet some_actions();
  BatchOwner some_owner();
  Request change_schedule();
  ScheduleAdvance some_advance();
  std::string some_schedule() { return "schedule " + std::to_string(dice_.below(3)); }
  Request set_override();
  Request list_backlogs();
  ListJobs list();

  JobPtr some_job();
  JobPtr some_stale_version();
  JobPtr some_runnable_job();
  JobPtr some_running_job();
  Job next_version(const JobPtr& job);
  std::shared_ptr<JobSpec> some_spec();
  const CellKey& some_cell() { return dice_.one_of(names_.cells); }
  const CellKey& some_cell(Durability kind);
  const CellKey& some_cell_like(const JobPtr& job);
  Durability kind_of(const CellKey& cell) const;
  Durability kind_of(const JobSpec& spec) const;
  std::optional<Durability> some_kind();
  std::string some_lane() { return dice_.one_of(names_.lanes); }
  Idempotency some_idempotency(std::string key) {
    return {std::move(key), dice_.one_in(2) ? "one" : "two"};
  }
  std::string some_key() { return "key " + std::to_string(dice_.below(12)); }
  WallTime now() const { return WallTime{milliseconds{now_ms_}}; }
  WallTime soon() { return now() + milliseconds{dice_.below(300)}; }
  WallTime around_now();
  std::size_t some_limit() { return dice_.one_in(3) ? 1000 : 1 + dice_.below(5); }

  Dice& dice_;
  const bool both_kinds_;
  Names names_;
  celld::store::MemoryJobs model_;
  celld::store::StoreContent content_;   ///< Of the model.
  std::vector<JobId> ids_;               ///< Of all jobs that ever were.
  std::vector<JobPtr> versions_;         ///< Some that jobs once had.
  std::vector<BatchId> batches_;         ///< Of all batches that ever were.
  std::size_t operations_ = 0;           ///< In this life.
  std::map<JobId, std::size_t> claims_;  ///< The number of operations up to the claim of a job.
  JobId last_claim_ = 0;                 ///< 0: no answer has been asked to show it yet.
  JobId watched_ = 0;
  std::optional<FindKeyHolder> claimed_key_;  ///< By the last job in memory that has one.
  std::uint64_t leases_ = 0;
  JobIdSource id_source_;
  std::int64_t now_ms_ = 1'700'000'000'000;
};

}  // namespace stores
