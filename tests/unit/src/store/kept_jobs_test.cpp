// The file in which a shutdown keeps jobs in memory.
#include "src/store/kept_jobs.hpp"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "src/store/sqlite.hpp"
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/temporary_directory.hpp"

using namespace cells;  // NOLINT: tests of the port's jobs.
using namespace celld::store;
using namespace celld::store::test;

namespace {

const auto keep_all = [](const Job&) { return true; };

StoreContent content_of(MemoryJobs& jobs) {
  StoreContent content;
  jobs.commit_to(content);
  return content;
}

StoreContent read_back(const std::string& path) {
  auto read = read_kept_jobs(path);
  if (const auto* error = std::get_if<std::string>(&read)) FAIL(*error);
  return std::get<StoreContent>(std::move(read));
}

JobPtr in_memory(const JobPtr& job) {
  return changed(job, [](Job& next) { next.durability = Durability::memory; });
}

}  // namespace

TEST_CASE("kept jobs come back as they were, with their keys and lines") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  MemoryJobs jobs;
  const auto waiting = in_memory(sketch_job({.id = 1, .labels = {{"ticket", "T-1"}}}));
  const auto follower = in_memory(sketch_job({.id = 2}));
  const auto leased = in_memory(sketch_job({.id = 3, .entity = "leased"}));
  const auto scheduled =
      in_memory(sketch_job({.id = 4, .entity = "later", .run_at = at_ms(90'000)}));
  jobs.apply(InsertJob{waiting, Idempotency{"k", "digest"}});
  for (const auto& job : {follower, leased, scheduled}) jobs.apply(InsertJob{job});
  jobs.apply(ClaimJob{running(leased, {7, 1})});
  const auto content = content_of(jobs);
  REQUIRE(write_kept_jobs(path, content, keep_all).empty());
  const auto kept = read_back(path);
  REQUIRE(kept.jobs.size() == 4);
  for (const auto& [id, stored] : content.jobs) {
    CHECK(*kept.jobs.at(id).job == *stored.job);
    CHECK(kept.jobs.at(id).marks == stored.marks);
  }
  CHECK(kept.key_holders == content.key_holders);
  CHECK(kept.last_id == 4);
  MemoryJobs again{kept};
  CHECK(again.apply(LoadCell{acme_cell}).running.size() == 1);
  CHECK(again.apply(FetchRunnable{acme_cell, "acme", false, 1, 9}).customers[0].jobs.size() == 1);
}

TEST_CASE("a kept job is still the follower of a failed one") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  MemoryJobs jobs;
  const auto first = in_memory(sketch_job({.id = 1}));
  jobs.apply(InsertJob{first});
  jobs.apply(InsertJob{in_memory(sketch_job({.id = 2}))});
  jobs.apply(RecordJob{{}, ended(first, JobState::failed)});
  REQUIRE(jobs.find(2)->failed_ahead == 2);
  REQUIRE(write_kept_jobs(path, content_of(jobs), keep_all).empty());
  CHECK(*read_back(path).jobs.at(2).job == *jobs.find(2));
}

TEST_CASE("places above all ids are known after a start") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  MemoryJobs jobs;
  jobs.apply(InsertJob{in_memory(sketch_job({.id = 4, .run_at = at_ms(1000)}))});
  jobs.apply(AdvanceDue{acme_cell, at_ms(1000), 90, 10});
  REQUIRE(write_kept_jobs(path, content_of(jobs), keep_all).empty());
  CHECK(read_back(path).last_id == 90);
}

TEST_CASE("the head of a line stays its head, also behind a lower place") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  MemoryJobs jobs;
  const auto head = in_memory(sketch_job({.id = 5}));
  jobs.apply(InsertJob{head});
  jobs.apply(ClaimJob{running(head, {7, 1})});
  jobs.apply(InsertJob{in_memory(sketch_job({.id = 4}))});
  REQUIRE(write_kept_jobs(path, content_of(jobs), keep_all).empty());
  const auto kept = read_back(path);
  CHECK(kept.jobs.at(5).marks.head);
  CHECK_FALSE(kept.jobs.at(4).marks.head);
}

TEST_CASE("only open jobs that are to be kept are written") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  MemoryJobs jobs;
  const auto done = in_memory(sketch_job({.id = 1, .entity = "a"}));
  const auto keeps_entity = in_memory(sketch_job({.id = 2, .entity = "b"}));
  jobs.apply(InsertJob{done});
  jobs.apply(InsertJob{keeps_entity});
  jobs.apply(InsertJob{in_memory(sketch_job({.id = 3, .entity = "c", .customer = "bolt"}))});
  jobs.apply(RecordJob{{}, ended(done)});
  jobs.apply(RecordJob{{}, changed(settling(keeps_entity, at_ms(9000)), [](Job& job) {
                         job.finished_at = at_ms(5000);
                       })});
  const auto content = content_of(jobs);
  const auto of_acme = [](const Job& job) { return job.spec->customer == "acme"; };
  REQUIRE(write_kept_jobs(path, content, of_acme).empty());
  const auto kept = read_back(path);
  REQUIRE(kept.jobs.size() == 1);
  CHECK(kept.jobs.begin()->first == 2);
}

TEST_CASE("a file that a crash left unfinished adds nothing to the next one") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  const auto write = [&](JobId id) {
    MemoryJobs jobs;
    jobs.apply(InsertJob{in_memory(sketch_job({.id = id}))});
    return write_kept_jobs(path, content_of(jobs), keep_all);
  };
  REQUIRE(write(1).empty());
  std::filesystem::rename(path, path + ".new");
  REQUIRE(write(2).empty());
  const auto kept = read_back(path);
  REQUIRE(kept.jobs.size() == 1);
  CHECK(kept.jobs.begin()->first == 2);
}

TEST_CASE("a file that cannot be completed is removed, at once or by the next start") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  const auto is_gone = [&] {
    return !std::filesystem::exists(path + ".new") &&
           !std::filesystem::exists(path + ".new-journal");
  };
  SECTION("a start removes what a crash left") {
    for (const char* suffix : {".new", ".new-journal"}) std::ofstream{path + suffix} << "x";
    CHECK(read_back(path).jobs.empty());
    CHECK(is_gone());
  }
  SECTION("a disk without room") {
    MemoryJobs jobs;
    for (JobId id = 1; id <= 200; ++id) jobs.apply(InsertJob{in_memory(sketch_job({.id = id}))});
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{64 << 10, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto error = write_kept_jobs(path, content_of(jobs), keep_all);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(error.starts_with("cannot write " + path + ".new: "));
    CHECK(is_gone());
  }
}

TEST_CASE("without jobs to keep there is no file, and removing it twice is no error") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  CHECK(write_kept_jobs(path, {}, keep_all).empty());
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(read_back(path).jobs.empty());
  MemoryJobs jobs;
  jobs.apply(InsertJob{in_memory(sketch_job({.id = 1}))});
  REQUIRE(write_kept_jobs(path, content_of(jobs), keep_all).empty());
  CHECK(remove_kept_jobs(path).empty());
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(remove_kept_jobs(path).empty());
}

TEST_CASE("a file that a newer celld wrote is refused with the reason") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  MemoryJobs jobs;
  jobs.apply(InsertJob{in_memory(sketch_job({.id = 1}))});
  REQUIRE(write_kept_jobs(path, content_of(jobs), keep_all).empty());
  Connection{path, Connection::Access::read_write}.execute("PRAGMA user_version = 1000");
  const auto read = read_kept_jobs(path);
  REQUIRE(std::holds_alternative<std::string>(read));
  CHECK(std::get<std::string>(read).find("newer celld") != std::string::npos);
}

TEST_CASE("a file that cannot be read, written or removed is reported") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "kept";
  std::ofstream{path} << std::string(4096, 'x');
  const auto read = read_kept_jobs(path);
  REQUIRE(std::holds_alternative<std::string>(read));
  CHECK(std::get<std::string>(read).find(path) != std::string::npos);
  MemoryJobs jobs;
  jobs.apply(InsertJob{in_memory(sketch_job({.id = 1}))});
  CHECK_FALSE(write_kept_jobs(path + "/below", content_of(jobs), keep_all).empty());
  CHECK(remove_kept_jobs(path + "/below").starts_with("cannot remove " + path + "/below: "));
}
