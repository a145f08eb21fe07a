// The stores that the contract tests run on.
#include "src/store/memory_store.hpp"
#include "src/store/mixed_store.hpp"
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

namespace celld::store::test {
namespace {

class MemoryUnderTest : public StoreUnderTest {
 public:
  MemoryUnderTest() { open(); }
  ~MemoryUnderTest() override { close(); }

  cells::JobStore store() const override { return store_; }
  cells::JobReader reader() const override { return reader_; }
  caf::actor_system& system() override { return *system_; }
  void reopen() override {
    close();
    open();
  }

 private:
  void open() {
    system_ = std::make_unique<caf::actor_system>(config_);
    store_ = spawn_memory_store(*system_, disk_);
    reader_ = spawn_memory_reader(*system_, disk_);
  }
  void close() {
    caf::anon_send_exit(store_, caf::exit_reason::kill);
    caf::anon_send_exit(reader_, caf::exit_reason::kill);
    store_ = nullptr;
    reader_ = nullptr;
    system_.reset();
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  cells::JobStore store_;
  cells::JobReader reader_;
};

/// Keeps jobs of one kind, the other store being in memory as well. A crash loses no job in memory,
/// as if a shutdown had kept them.
class MixedUnderTest : public StoreUnderTest {
 public:
  explicit MixedUnderTest(cells::Durability durability) : durability_(durability) { open(); }
  ~MixedUnderTest() override { close(); }

  std::optional<cells::Durability> durability() const override { return durability_; }
  cells::JobStore store() const override { return store_; }
  cells::JobReader reader() const override { return reader_; }
  caf::actor_system& system() override { return *system_; }
  void reopen() override {
    close();
    open();
  }

 private:
  void open() {
    system_ = std::make_unique<caf::actor_system>(config_);
    store_ = spawn_mixed_store(*system_, memory_, spawn_memory_store(*system_, disk_));
    reader_ = spawn_mixed_reader(*system_, memory_, spawn_memory_reader(*system_, disk_));
  }
  void close() {
    caf::anon_send_exit(store_, caf::exit_reason::kill);
    caf::anon_send_exit(reader_, caf::exit_reason::kill);
    store_ = nullptr;
    reader_ = nullptr;
    system_.reset();
  }

  const cells::Durability durability_;
  std::shared_ptr<SharedMemory> memory_ = std::make_shared<SharedMemory>(1 << 30);
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  cells::JobStore store_;
  cells::JobReader reader_;
};

}  // namespace

const std::vector<std::pair<std::string, MakeStore>>& store_kinds() {
  static const std::vector<std::pair<std::string, MakeStore>> kinds{
      {"memory", [] { return std::make_unique<MemoryUnderTest>(); }},
      {"SQLite", [] { return std::make_unique<SqliteUnderTest>(); }},
      {"SQLite that writes its indexes after each third job",
       [] {
         SqliteOptions options;
         options.writes = {.generation_jobs = 3,
                           .jobs_per_move = 1,
                           .moved_per_job = 3,
                           .partition_jobs = 3,
                           .partitions_max = 3,
                           .partitions_per_list = 3,
                           .retired_per_job = 3,
                           .retired_min = 3,
                           .partitions_looked_at = 3,
                           .filtered_per_job = 3,
                           .filtered_min = 3,
                           .filtered_max = 3,
                           .batches = 3,
                           .route_changes = 3};
         options.commits.few_operations = 3;
         return std::make_unique<SqliteUnderTest>(options);
       }},
      {"mixed, jobs on disk",
       [] { return std::make_unique<MixedUnderTest>(cells::Durability::disk); }},
      {"mixed, jobs in memory",
       [] { return std::make_unique<MixedUnderTest>(cells::Durability::memory); }},
  };
  return kinds;
}

}  // namespace celld::store::test
