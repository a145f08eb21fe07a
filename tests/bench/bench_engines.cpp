// What the life of a job costs on three storage engines, without HTTP and actors: celld's store;
// RocksDB, a log-structured merge tree, as the yardstick for what celld's b-tree costs; and a redo
// journal in front of celld's store. Each makes every group of changes durable with one sync.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "src/store/opened_database.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace celld::bench;
using namespace celld;
using Clock = std::chrono::steady_clock;

struct Plan {
  std::size_t jobs = 200'000;
  std::vector<std::size_t> groups{1, 20, 1000};
};

/// A job of about 300 bytes in its row, for an entity with a random id, of one of 50 customers.
cells::JobPtr make_job(std::uint64_t id, std::mt19937_64& random) {
  std::array<char, 40> entity{};
  std::snprintf(entity.data(), entity.size(), "%016llx.example.com",
                static_cast<unsigned long long>(random()));
  cells::JobSpec spec;
  spec.customer = "customer-" + std::to_string(random() % 50);
  spec.product = "dns";
  spec.action = "create";
  spec.entity = {"zone", "", entity.data()};
  spec.services = {"provider"};
  spec.parameters = R"({"ttl":300,"primary":"ns1.example.com","contact":"hostmaster@example.com"})";
  spec.priority = 5;
  spec.timeout = cells::milliseconds{30'000};
  spec.max_attempts = 5;
  cells::Job job;
  job.id = id;
  job.spec = std::make_shared<const cells::JobSpec>(std::move(spec));
  job.cell = {"*", "*"};
  job.state = cells::JobState::queued;
  job.place = id;
  job.steps.resize(1);
  job.created_at = job.run_at = cells::WallTime{cells::milliseconds{1'790'000'000'000}};
  return std::make_shared<const cells::Job>(std::move(job));
}

template <class Change>
cells::JobPtr changed(const cells::JobPtr& job, const Change& change) {
  auto next = std::make_shared<cells::Job>(*job);
  change(*next);
  return next;
}

cells::JobPtr started(const cells::JobPtr& job) {
  return changed(job, [](cells::Job& next) {
    next.state = cells::JobState::running;
    next.lease = {1, next.id};
    next.steps[0].state = cells::StepState::running;
    ++next.steps[0].attempts;
  });
}

cells::JobPtr ended(const cells::JobPtr& job) {
  return changed(job, [](cells::Job& next) {
    next.state = cells::JobState::succeeded;
    next.place = 0;
    next.finished_at = next.created_at;
    next.steps[0].state = cells::StepState::succeeded;
  });
}

class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  virtual void insert(const cells::JobPtr& job) = 0;
  virtual void start(const cells::JobPtr& job) = 0;
  virtual void end(const cells::JobPtr& job) = 0;
  /// Makes all changes durable.
  virtual void commit() = 0;
};

/// celld's own store, on the calling thread.
class Sqlite : public Engine {
 public:
  explicit Sqlite(const std::filesystem::path& directory)
      : database_(options_, (directory / "celld.db").string(),
                  {lock(directory / "directory.lock"), lock(directory / "database.lock")},
                  std::make_shared<store::SqliteStats>()) {
    database_.jobs().apply(cells::StartEpoch{});
    database_.commit(1);
  }

  void insert(const cells::JobPtr& job) override {
    database_.jobs().apply(cells::InsertJob{job});
    ++operations_;
  }
  void start(const cells::JobPtr& job) override {
    database_.jobs().apply(cells::ClaimJob{job});
    ++operations_;
  }
  void end(const cells::JobPtr& job) override {
    database_.jobs().apply(cells::RecordJob{job->lease, job});
    ++operations_;
  }
  void commit() override {
    database_.commit(std::exchange(operations_, 0));
    database_.checkpoint_when_long();
  }

 private:
  static store::FileLock lock(const std::filesystem::path& path) {
    std::string error;
    auto held = store::FileLock::acquire(path.string(), error);
    if (!held) throw std::runtime_error(error);
    return std::move(*held);
  }

  store::SqliteOptions options_;
  store::OpenedDatabase database_;
  std::size_t operations_ = 0;
};

/// The text of a job that a journal or a row of RocksDB holds.
std::string text_of(const cells::Job& job) {
  const auto& spec = *job.spec;
  std::string text(160, '\0');  // Numbers and times.
  for (const auto& part : {spec.customer, spec.product, spec.action, spec.entity.type,
                           spec.entity.id, spec.services[0], spec.parameters}) {
    text += part;
    text += '\0';
  }
  return text;
}

/// Appends each change to a journal and syncs it. The database follows without syncs, in larger
/// transactions, and is synced before the journal begins again.
class Journal : public Engine {
 public:
  explicit Journal(const std::filesystem::path& directory)
      : database_(directory),
        journal_(::open((directory / "journal").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) {
    if (journal_.get() < 0) throw std::runtime_error("cannot write in " + directory.string());
  }

  void insert(const cells::JobPtr& job) override {
    pending_ += text_of(*job);
    database_.insert(job);
  }
  void start(const cells::JobPtr& job) override {
    pending_.append(32, 's');
    database_.start(job);
  }
  void end(const cells::JobPtr& job) override {
    pending_.append(64, 'e');
    database_.end(job);
  }
  void commit() override {
    const auto size = static_cast<ssize_t>(pending_.size());
    if (::pwrite(journal_.get(), pending_.data(), pending_.size(), at_) != size ||
        ::fdatasync(journal_.get()) != 0) {
      throw std::runtime_error("cannot write the journal");
    }
    at_ += size;
    behind_ += size;
    pending_.clear();
    if (behind_ >= behind_max) {
      database_.commit();
      behind_ = 0;
    }
    if (at_ >= bytes_max) at_ = 0;
  }

 private:
  static constexpr off_t behind_max = 1 << 20;
  static constexpr off_t bytes_max = 64 << 20;

  Sqlite database_;
  Descriptor journal_;
  std::string pending_;
  off_t at_ = 0;
  off_t behind_ = 0;
};

/// The rows and the four indexes of celld's store as keys: by line, by turn, by origin, by entity.
class Rocks : public Engine {
 public:
  explicit Rocks(const std::filesystem::path& directory) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    const auto status = rocksdb::DB::Open(options, (directory / "rocks").string(), &opened);
    if (!status.ok()) throw std::runtime_error(status.ToString());
    database_.reset(opened);
  }

  void insert(const cells::JobPtr& job) override {
    batch_.Put(key('r', job->id), text_of(*job));
    for (const auto& index : keys_of(*job)) batch_.Put(index, "");
  }
  void start(const cells::JobPtr& job) override {
    rocksdb::PinnableSlice row;
    database_->Get({}, database_->DefaultColumnFamily(), key('r', job->id), &row);
    batch_.Put(key('r', job->id), text_of(*job));
    batch_.Delete(keys_of(*job)[1]);
  }
  void end(const cells::JobPtr& job) override {
    batch_.Put(key('r', job->id), text_of(*job));
    batch_.Delete(keys_of(*job)[0]);
  }
  void commit() override {
    rocksdb::WriteOptions durable;
    durable.sync = true;
    const auto status = database_->Write(durable, &batch_);
    if (!status.ok()) throw std::runtime_error(status.ToString());
    batch_.Clear();
  }

 private:
  static std::string key(char table, std::uint64_t id) {
    std::array<char, 20> text{};
    std::snprintf(text.data(), text.size(), "%c%016llx", table,
                  static_cast<unsigned long long>(id));
    return text.data();
  }
  static std::vector<std::string> keys_of(const cells::Job& job) {
    const auto& spec = *job.spec;
    return {'l' + spec.customer + spec.entity.id + key('.', job.id),
            't' + spec.customer + key('.', job.id), 'o' + spec.customer + key('.', job.id),
            'e' + spec.entity.id + key('.', job.id)};
  }

  std::unique_ptr<rocksdb::DB> database_;
  rocksdb::WriteBatch batch_;
};

std::uint64_t bytes_written() {
  std::ifstream io{"/proc/self/io"};
  std::string name;
  std::uint64_t value = 0;
  while (io >> name >> value) {
    if (name == "wchar:") return value;
  }
  throw std::runtime_error("/proc/self/io has no wchar");
}

/// The processor time of all threads of this process, so far.
double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

/// Each group inserts jobs, starts those of the group before, and ends those of the one before it.
void measure(Engine& engine, const std::string& name, std::size_t jobs, std::size_t group,
             Report& report) {
  std::mt19937_64 random{1};
  std::array<std::vector<cells::JobPtr>, 3> ages;
  std::uint64_t id = 1'000'000;
  const auto groups = std::max<std::size_t>(jobs / group, 10);
  const auto jobs_in_fifth = groups / 5 * group;
  const auto place = name + ", groups of " + std::to_string(group);
  const auto bytes_before = bytes_written();
  const auto cpu_before = cpu_us();
  auto begun = Clock::now();
  for (std::size_t i = 0; i < groups; ++i) {
    ages[2] = std::move(ages[1]);
    ages[1] = std::move(ages[0]);
    ages[0].clear();
    for (auto& job : ages[2]) engine.end(ended(job));
    for (auto& job : ages[1]) engine.start(job = started(job));
    for (std::size_t n = 0; n < group; ++n) {
      ages[0].push_back(make_job(++id, random));
      engine.insert(ages[0].back());
    }
    engine.commit();
    const bool first_fifth = i + 1 == groups / 5;
    if (!first_fifth && i + 1 != groups) {
      if (i + 1 == groups - groups / 5) begun = Clock::now();
      continue;
    }
    const std::chrono::duration<double, std::micro> took = Clock::now() - begun;
    report.add(place + (first_fifth ? ", first fifth" : ", last fifth"), "us/job",
               took.count() / static_cast<double>(jobs_in_fifth));
  }
  report.add(place + ", CPU", "us/job",
             (cpu_us() - cpu_before) / static_cast<double>(groups * group));
  report.add(
      place + ", bytes written", "/job",
      static_cast<double>(bytes_written() - bytes_before) / static_cast<double>(groups * group));
}

template <class Kind>
void measure_kind(const std::string& name, const Plan& plan, const Arguments& arguments,
                  Report& report) {
  for (const auto group : plan.groups) {
    const auto directory = arguments.directory / "celld-bench-engines";
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    {
      Kind engine{directory};
      // Small groups sync too often for as many jobs.
      measure(engine, name, std::min(plan.jobs, group * 2000), group, report);
    }
    std::filesystem::remove_all(directory);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  return run_benchmark(
      argc, argv, "lives of jobs on storage engines",
      [&](CLI::App& app) {
        app.add_option("--jobs", plan.jobs, "jobs of each measurement, at most 2,000 groups");
        app.add_option("--groups", plan.groups, "jobs for each sync, measured in turn");
      },
      [&](const Arguments& arguments, Report& report) {
        measure_kind<Sqlite>("celld's store", plan, arguments, report);
        measure_kind<Rocks>("RocksDB", plan, arguments, report);
        measure_kind<Journal>("a redo journal", plan, arguments, report);
      });
}
