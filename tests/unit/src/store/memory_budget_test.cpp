// The memory that jobs in memory take, and what makes room for others.
#include "src/store/memory_budget.hpp"

#include <map>
#include <string>

#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port's jobs.
using namespace celld::store;
using namespace celld::store::test;

namespace {

constexpr std::uint64_t unbounded = std::uint64_t{1} << 40;

JobPtr ended_at(const JobPtr& job, std::int64_t ms) {
  return changed(ended(job), [&](Job& next) { next.finished_at = at_ms(ms); });
}

JobPtr a_job(JobId id, const std::string& customer = "acme") {
  return sketch_job(
      {.id = id, .entity = std::to_string(id), .customer = customer, .cell = {customer, "*"}});
}

}  // namespace

TEST_CASE("a budget counts what each cell's jobs take, through every change") {
  MemoryBudget budget{unbounded};
  const auto one = a_job(1);
  const auto two = a_job(2, "bolt");
  budget.changed(nullptr, one.get());
  budget.changed(nullptr, two.get());
  CHECK(budget.bytes_of(acme_cell) == memory_bytes(*one));
  CHECK(budget.bytes() == memory_bytes(*one) + memory_bytes(*two));
  const auto grown = changed(one, [](Job& job) {
    job.properties["zone"] = std::string(5000, 'x');
    job.steps[0].operation = std::string(5000, 'x');
  });
  CHECK(memory_bytes(*grown) > memory_bytes(*one) + 10'000);
  budget.changed(one.get(), grown.get());
  CHECK(budget.bytes_of(acme_cell) == memory_bytes(*grown));
  const auto moved = changed(grown, [](Job& job) { job.cell = {"bolt", "*"}; });
  budget.changed(grown.get(), moved.get());
  CHECK(budget.bytes_of(acme_cell) == 0);
  CHECK(budget.bytes_of({"bolt", "*"}) == memory_bytes(*moved) + memory_bytes(*two));
  budget.changed(moved.get(), nullptr);
  budget.changed(two.get(), nullptr);
  CHECK(budget.bytes() == 0);
}

TEST_CASE("a job counts for more than its texts") {
  // What celld takes for each small job that is queued (tests/bench/bench_memory.cpp).
  CHECK(memory_bytes(*a_job(1)) > 1750);
}

TEST_CASE("the messages, the error and the worker of a job count") {
  const auto one = a_job(1);
  const auto with = [&](auto change) { return memory_bytes(*changed(one, change)); };
  const std::string text(4000, 'x');
  CHECK(with([&](Job& job) { job.messages.assign(100, {at_ms(1), Severity::info, text, text}); }) >
        memory_bytes(*one) + 800'000);
  CHECK(with([&](Job& job) { job.error = JobError{text, text, text}; }) >
        memory_bytes(*one) + 12'000);
  CHECK(with([&](Job& job) { job.steps[0].worker = text; }) > memory_bytes(*one) + 4000);
}

TEST_CASE("the labels of a job count, however short they are") {
  const auto bytes = [](const std::map<std::string, std::string>& labels) {
    return memory_bytes(*sketch_job({.id = 1, .labels = labels}));
  };
  CHECK(bytes({{"note", std::string(5000, 'x')}}) > bytes({}) + 5000);
  CHECK(bytes({{"a", "1"}, {"b", "2"}, {"c", "3"}}) > bytes({}) + 6 * sizeof(std::string));
}

TEST_CASE("room in a cell comes from its own ended jobs, the oldest end first") {
  MemoryBudget budget{unbounded};
  const auto size = memory_bytes(*a_job(1));
  for (const auto& [id, ms] : {std::pair{1, 300}, {2, 100}, {3, 200}}) {
    const auto job = a_job(static_cast<JobId>(id));
    const auto end = ended_at(job, ms);
    budget.changed(nullptr, job.get());
    budget.changed(job.get(), end.get());
  }
  const auto other = ended_at(a_job(9, "bolt"), 1);
  budget.changed(nullptr, other.get());
  CHECK(budget.room_for(*a_job(4), 4 * size).to_remove.empty());
  CHECK(budget.room_for(*a_job(4), 3 * size).to_remove == Ids{2});
  CHECK(budget.room_for(*a_job(4), 2 * size).to_remove == Ids{2, 3});
}

TEST_CASE("a job that has been removed makes no room again") {
  MemoryBudget budget{unbounded};
  const auto size = memory_bytes(*a_job(1));
  const auto first = ended_at(a_job(1), 100);
  for (const auto& job : {first, ended_at(a_job(2), 200), a_job(3)}) {
    budget.changed(nullptr, job.get());
  }
  CHECK(budget.room_for(*a_job(4), 3 * size).to_remove == Ids{1});
  budget.changed(first.get(), nullptr);
  budget.changed(nullptr, a_job(4).get());
  CHECK(budget.room_for(*a_job(5), 3 * size).to_remove == Ids{2});
}

TEST_CASE("a cell whose unfinished jobs leave no room is full, and nothing is removed") {
  MemoryBudget budget{unbounded};
  const auto size = memory_bytes(*a_job(1));
  const auto end = ended_at(a_job(1), 100);
  const auto waiting = a_job(2);
  budget.changed(nullptr, end.get());
  budget.changed(nullptr, waiting.get());
  const auto room = budget.room_for(*a_job(3), size + size / 2);
  REQUIRE(room.full);
  CHECK(*room.full == MemoryFull{true, size + size / 2, 2 * size, size});
  CHECK(room.to_remove.empty());
}

TEST_CASE("the bound of all jobs removes ended jobs of any cell, then refuses") {
  const auto size = memory_bytes(*a_job(1));
  MemoryBudget budget{2 * size};
  const auto end = ended_at(a_job(1, "bolt"), 100);
  const auto waiting = a_job(2);
  budget.changed(nullptr, end.get());
  budget.changed(nullptr, waiting.get());
  CHECK(budget.room_for(*a_job(3), unbounded).to_remove == Ids{1});
  budget.changed(end.get(), nullptr);
  const auto other = a_job(4, "bolt");
  budget.changed(nullptr, other.get());
  const auto room = budget.room_for(*a_job(3), unbounded);
  REQUIRE(room.full);
  CHECK(*room.full == MemoryFull{false, 2 * size, 2 * size, size});
  budget.limit(3 * size);
  CHECK_FALSE(budget.room_for(*a_job(3), unbounded).full);
}

TEST_CASE("what makes room in the cell of a new job counts for the bound of all jobs, too") {
  const auto size = memory_bytes(*a_job(1));
  MemoryBudget budget{2 * size};
  const auto own = ended_at(a_job(1), 200);
  const auto older = ended_at(a_job(2, "bolt"), 100);
  budget.changed(nullptr, own.get());
  budget.changed(nullptr, older.get());
  CHECK(budget.room_for(*a_job(3), size).to_remove == Ids{1});
}

TEST_CASE("a job that still keeps its entity makes no room") {
  MemoryBudget budget{unbounded};
  const auto size = memory_bytes(*a_job(1));
  const auto keeps = settling(a_job(1), at_ms(9000));
  budget.changed(nullptr, keeps.get());
  CHECK(budget.room_for(*a_job(2), memory_bytes(*keeps)).full);
  const auto settled = ended_at(keeps, 100);
  budget.changed(keeps.get(), settled.get());
  CHECK(budget.room_for(*a_job(2), size).to_remove == Ids{1});
}

TEST_CASE("jobs that have grown push ended jobs of their cell out") {
  MemoryBudget budget{unbounded};
  const auto size = memory_bytes(*a_job(1));
  const auto end = ended_at(a_job(1), 100);
  const auto waiting = a_job(2);
  budget.changed(nullptr, end.get());
  CHECK_FALSE(budget.room_for(*waiting, 2 * size + 100).full);
  budget.changed(nullptr, waiting.get());
  CHECK(budget.excess(acme_cell).empty());
  const auto grown = changed(waiting, [](Job& job) { job.lane = std::string(500, 'x'); });
  budget.changed(waiting.get(), grown.get());
  CHECK(budget.excess(acme_cell) == Ids{1});
}

TEST_CASE("jobs that have grown beyond the bound of all jobs push ended jobs of any cell out") {
  MemoryBudget budget{2 * memory_bytes(*a_job(1)) + 100};
  const auto end = ended_at(a_job(1, "bolt"), 100);
  const auto waiting = a_job(2);
  budget.changed(nullptr, end.get());
  budget.changed(nullptr, waiting.get());
  CHECK(budget.excess(acme_cell).empty());
  const auto grown = changed(waiting, [](Job& job) { job.lane = std::string(500, 'x'); });
  budget.changed(waiting.get(), grown.get());
  CHECK(budget.excess(acme_cell) == Ids{1});
}

TEST_CASE("a budget forgets a cell, and its bound, with its last job") {
  MemoryBudget budget{unbounded};
  const auto size = memory_bytes(*a_job(1));
  const auto end = ended_at(a_job(1), 100);
  budget.changed(nullptr, end.get());
  CHECK_FALSE(budget.room_for(*a_job(2), 2 * size).full);
  budget.changed(end.get(), nullptr);
  // The next jobs of the cell find nothing left of it.
  for (const auto& job : {end, a_job(2), a_job(3)}) budget.changed(nullptr, job.get());
  CHECK(budget.excess(acme_cell).empty());
  CHECK(budget.room_for(*a_job(4), 2 * size).full);
  CHECK(budget.excess(acme_cell) == Ids{1});
}

TEST_CASE("the lane of a job counts twice, since its name is in an index as well") {
  const auto bytes = [](const std::string& lane) {
    return memory_bytes(*sketch_job({.id = 1, .lane = lane}));
  };
  CHECK(bytes(std::string(1000, 'x')) >= bytes("") + 2000);
}

TEST_CASE("the services of a job count") {
  const auto bytes = [](const std::vector<std::string>& services) {
    return memory_bytes(*sketch_job({.id = 1, .services = services}));
  };
  const std::string name(100, 'x');
  CHECK(bytes(std::vector(10, name)) > bytes({name}) + 9 * (sizeof(Step) + sizeof name + 100));
}
