// A dispatcher, a store and their mailboxes, in random order: no job is lost or handed out twice,
// and none waits while it could run.
#include <deque>
#include <random>
#include <set>
#include <variant>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"
#include "tests/unit/cells/model/runnable_jobs.hpp"

using namespace model_test;
using Limits = DispatchQueue::Limits;

namespace {

/// Messages to the store.
struct Insert {
  JobPtr job;
};
struct Claim {
  JobPtr job;
};
struct Record {
  JobPtr job;
  bool runnable_again = false;
};
struct Question {
  DispatchQueue::Fetch fetch;
};

/// Messages to the dispatcher.
struct BecameRunnable {
  JobPtr job;
};
struct Recorded {
  JobPtr job;
  bool runnable_again = false;
};

/// What the neighbour holds at times.
constexpr std::size_t bytes_spent = 1 << 20;

class Cell {
 public:
  /// `budget`: of this cell and a neighbour; may be null.
  Cell(Limits limits, std::uint64_t seed, bool full_store, std::shared_ptr<WindowBudget> budget)
      : neighbour_(budget), queue_(limits, {}, std::move(budget)), dice_(seed) {
    for (int i = 0; full_store && i < 200; ++i) insert_now(fresh_job());
    if (full_store) queue_.expect_more();
    ask();
  }

  /// One random event.
  void step() {
    if (roll(20) == 0) {
      neighbour_.own() == 0 ? neighbour_.add(bytes_spent) : neighbour_.remove(bytes_spent);
    }
    switch (roll(10)) {
      case 0:
      case 1:
        if (created_ < jobs_max_) to_store_.push_back(Insert{fresh_job()});
        break;
      case 2:
      case 3:
        store_handles_one();
        break;
      case 4:
      case 5:
        dispatcher_handles_one();
        break;
      case 6:
      case 7:
        take();
        break;
      case 8:
        end_one();
        break;
      default:
        if (roll(20) == 0) expire_one();
        if (roll(50) == 0) queue_.expect_more();
        if (roll(10) == 0) queue_.seek(random_customer());
        if (roll(50) == 0) insert_unseen();
    }
    ask();
  }

  /// Delivers every message; false if there is no end of them.
  bool deliver_all() {
    for (int i = 0; i < 100'000; ++i) {
      ask();
      if (!to_store_.empty()) {
        store_handles_one();
      } else if (!to_dispatcher_.empty()) {
        dispatcher_handles_one();
      } else {
        return true;
      }
    }
    return false;
  }

  /// With every fetch answered, the queue hands out a runnable job if there is one.
  void check_not_idle() {
    REQUIRE(deliver_all());
    if (store_.empty()) {
      REQUIRE_FALSE(queue_.take());
      REQUIRE(queue_.empty());
    } else {
      REQUIRE(take());
    }
  }

  /// A customer that is sought has a job in the window if it has one at all.
  void check_found() {
    const auto customer = random_customer();
    REQUIRE(deliver_all());
    queue_.seek(customer);
    REQUIRE(deliver_all());
    REQUIRE(queue_.has(customer) == (store_.best_of(customer) != nullptr));
    queue_.seek(customer);
    REQUIRE_FALSE(queue_.next_fetch());
  }

  /// Hands out and ends every job.
  void take_all() {
    for (int i = 0; i < 100'000 && !(store_.empty() && in_hand_.empty() && quiet()); ++i) {
      check_not_idle();
      while (!in_service_.empty() && roll(3) == 0) end_one();
    }
    REQUIRE(store_.empty());
    while (!in_service_.empty()) end_one(true);
    REQUIRE(deliver_all());
  }

  void check_all_finished() {
    REQUIRE(finished_.size() == created_);
    REQUIRE(in_hand_.empty());
  }

 private:
  std::uint64_t roll(std::uint64_t sides) { return dice_() % sides; }
  bool quiet() const { return to_store_.empty() && to_dispatcher_.empty(); }
  bool in_hand(JobId id) const { return in_hand_.contains(id); }

  std::string random_customer() { return {static_cast<char>('a' + roll(7))}; }

  JobPtr fresh_job() {
    created_ += 1;
    return job_of(random_customer(), created_, static_cast<int>(1 + roll(3)));
  }

  /// A job that is never offered, and comes last of its customer's.
  void insert_unseen() {
    if (created_ >= jobs_max_) return;
    created_ += 1;
    insert_now(job_of(random_customer(), created_, 1));
    queue_.expect_more();
  }

  void insert_now(const JobPtr& job) { store_.insert(job); }

  void ask() {
    if (const auto asked = queue_.next_fetch()) to_store_.push_back(Question{*asked});
  }

  void store_handles_one() {
    if (to_store_.empty()) return;
    const auto asked = to_store_.front();
    to_store_.pop_front();
    if (const auto* insert = std::get_if<Insert>(&asked)) {
      store_.insert(insert->job);
      to_dispatcher_.push_back(BecameRunnable{insert->job});
    } else if (const auto* claim = std::get_if<Claim>(&asked)) {
      store_.erase(*claim->job);
    } else if (const auto* record = std::get_if<Record>(&asked)) {
      store_.erase(*record->job);
      if (record->runnable_again) store_.insert(record->job);
      to_dispatcher_.push_back(Recorded{record->job, record->runnable_again});
    } else {
      to_dispatcher_.push_back(store_.fetch(std::get<Question>(asked).fetch));
    }
  }

  void dispatcher_handles_one() {
    if (to_dispatcher_.empty()) return;
    auto message = std::move(to_dispatcher_.front());
    to_dispatcher_.pop_front();
    if (const auto* became = std::get_if<BecameRunnable>(&message)) {
      offer(became->job);
    } else if (const auto* recorded = std::get_if<Recorded>(&message)) {
      in_hand_.erase(recorded->job->id);
      if (recorded->runnable_again) offer(recorded->job);
    } else {
      auto& answer = std::get<RunnableJobs::Answer>(message);
      queue_.fetched(std::move(answer.customers), answer.complete,
                     [this](JobId id) { return in_hand(id); });
    }
  }

  void offer(const JobPtr& job) {
    if (!in_hand(job->id)) queue_.offer(job);
  }

  /// A worker takes a job, which must be its customer's best; false if there is none.
  bool take() {
    const JobPtr job = queue_.take();
    if (!job) return false;
    const bool known_to_store = quiet();
    REQUIRE_FALSE(in_hand(job->id));
    REQUIRE_FALSE(finished_.contains(job->id));
    if (known_to_store) REQUIRE(store_.best_of(job->spec->customer)->id == job->id);
    in_hand_.insert(job->id);
    in_service_.push_back(job);
    to_store_.push_back(Claim{job});
    return true;
  }

  /// A random job in service ends; most are then finished, the others become runnable again.
  void end_one(bool for_good = false) {
    if (in_service_.empty()) return;
    const auto at = in_service_.begin() + static_cast<std::ptrdiff_t>(roll(in_service_.size()));
    const JobPtr job = *at;
    in_service_.erase(at);
    queue_.ended(job->spec->customer, microseconds{roll(20'000)});
    const bool again = !for_good && roll(4) == 0;
    if (!again) finished_.insert(job->id);
    to_store_.push_back(Record{job, again});
  }

  /// A waiting job expires.
  void expire_one() {
    const JobPtr job = store_.best_of(random_customer());
    if (!job || in_hand(job->id) || !quiet()) return;
    queue_.remove(*job);
    in_hand_.insert(job->id);
    finished_.insert(job->id);
    to_store_.push_back(Record{job, false});
  }

  static constexpr std::size_t jobs_max_ = 1000;

  WindowBytes neighbour_;
  DispatchQueue queue_;
  RunnableJobs store_;
  std::deque<std::variant<Insert, Claim, Record, Question>> to_store_;
  std::deque<std::variant<BecameRunnable, Recorded, RunnableJobs::Answer>> to_dispatcher_;
  std::set<JobId> in_hand_;  ///< Taken, and not yet reported as stored.
  std::vector<JobPtr> in_service_;
  std::set<JobId> finished_;
  std::size_t created_ = 0;
  std::mt19937_64 dice_;
};

void run_cells(Limits limits, std::optional<std::size_t> bytes_of_all = {}) {
  CAPTURE(limits.customers_max, limits.jobs_max, limits.bytes_max, limits.jobs_min, bytes_of_all);
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    CAPTURE(seed);
    Cell cell(limits, seed, seed % 2 == 0,
              bytes_of_all ? std::make_shared<WindowBudget>(*bytes_of_all) : nullptr);
    for (int i = 0; i < 1500; ++i) {
      cell.step();
      if (i % 50 == 0) cell.check_not_idle();
      if (i % 50 == 25) cell.check_found();
    }
    cell.take_all();
    cell.check_all_finished();
  }
}

std::size_t bytes_of(std::size_t jobs) {
  return jobs * approximate_bytes(*job_of("a", 1));
}

}  // namespace

TEST_CASE("a large queue loses no job, hands none out twice and is never idle") {
  run_cells(Limits{});
}

TEST_CASE("a queue for few customers or jobs loses none, repeats none and is never idle") {
  const std::size_t customers_max = GENERATE(1, 2, 3, 8);
  const std::size_t jobs_max = GENERATE(1, 3, 8, 30);
  run_cells({customers_max, jobs_max, 4 << 20});
}

TEST_CASE("a queue of few bytes loses no job, hands none out twice and is never idle") {
  const std::size_t bytes_max = GENERATE(1UL, bytes_of(2), bytes_of(5), bytes_of(12));
  const std::size_t customers_max = GENERATE(2, 256);
  run_cells({customers_max, 64, bytes_max});
}

TEST_CASE("a queue whose neighbours spend the budget loses no job and is never idle") {
  const std::size_t bytes_of_all = GENERATE(0UL, bytes_of(3), bytes_spent);
  const std::size_t jobs_min = GENERATE(1, 2, 5);
  const std::size_t customers_max = GENERATE(2, 256);
  run_cells({customers_max, 64, 4 << 20, jobs_min}, bytes_of_all);
}
