// A store that keeps jobs of the kind `memory` in memory, and everything else in another store.
//
// One actor sends each request to the store that it concerns, or to both. The transitions of jobs
// in memory are those of MemoryJobs, applied in that actor, so that no answer about such a job
// waits for the disk. One exception: a submission with an idempotency key first asks the other
// store whether the key is in use there. Batches are in the other store, which from time to time
// receives their counts of jobs in memory (BatchesInMemory).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "src/store/batches_in_memory.hpp"
#include "src/store/memory_budget.hpp"
#include "src/store/memory_store.hpp"
#include "src/store/store.hpp"

namespace celld::store {

/// The jobs in memory. Shared by the actors of the store.
struct SharedMemory {
  explicit SharedMemory(std::uint64_t bytes_max) : budget(bytes_max) {}

  /// Begins with these jobs. Only before the store is spawned.
  void fill(StoreContent jobs);

  MemoryDisk content;
  MemoryBudget budget;
  BatchesInMemory batches;
};

/// Another store, with a place for jobs in memory.
class MixedStore final : public Store {
 public:
  MixedStore(std::unique_ptr<Store> other, std::shared_ptr<SharedMemory> memory)
      : other_(std::move(other)), memory_(std::move(memory)) {}

  cells::JobStore spawn_writer(caf::actor_system& system) override;
  cells::JobReader spawn_reader(caf::actor_system& system) const override;
  BackupMaker spawn_backup_maker(caf::actor_system& system) const override {
    return other_->spawn_backup_maker(system);
  }
  std::function<StoreStatistics()> statistics() const override;
  std::array<std::uint64_t, 2> secret() const override { return other_->secret(); }
  std::string lock_path(std::string_view suffix) const override {
    return other_->lock_path(suffix);
  }

 private:
  std::unique_ptr<Store> other_;
  std::shared_ptr<SharedMemory> memory_;
};

/// The store actor over `other`. When either of the two ends, so does the other.
cells::JobStore spawn_mixed_store(caf::actor_system& system, std::shared_ptr<SharedMemory> memory,
                                  cells::JobStore other);
cells::JobReader spawn_mixed_reader(caf::actor_system& system,
                                    std::shared_ptr<const SharedMemory> memory,
                                    cells::JobReader other);

/// Merges two pages of answers to the same request, about different jobs.
cells::JobsListed merge_pages(const cells::JobsListed& one, const cells::JobsListed& other,
                              const cells::ListJobs& request);

}  // namespace celld::store
