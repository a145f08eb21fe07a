// Which job of a cell runs next: a window onto the cell's runnable jobs, shared fairly between
// customers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cells/model/customer_weights.hpp"
#include "cells/model/fair_turns.hpp"
#include "cells/model/job.hpp"
#include "cells/model/time.hpp"
#include "cells/model/window_budget.hpp"

namespace cells {

/// What decides the order of a cell's jobs, and may change at any time.
struct DispatchTerms {
  CustomerWeights weights;
  milliseconds priority_step{0};  ///< See priority_rank.
  /// How many jobs of one customer may run at once; 0: any number. Also bounds how many jobs are
  /// fetched for the customer.
  std::uint32_t running_max = 0;

  bool operator==(const DispatchTerms&) const = default;
};

/// Holds a bounded part of the runnable jobs; the rest stay in the store.
///
/// Customers take turns by their weights (FairTurns). Within a customer, jobs go by their ranks
/// (priority_rank), then by their places.
///
/// For each customer in the window the queue holds the first jobs in that order, and fetches the
/// next when they run low. When there are more customers than fit, a customer leaves the window
/// after its turn, and a sweep over the names of customers brings in the others. Not thread-safe.
class DispatchQueue {
 public:
  struct Limits {
    std::size_t customers_max = 256;
    std::size_t jobs_max = 1024;      ///< Of all customers together, roughly.
    std::size_t bytes_max = 4 << 20;  ///< As counted by approximate_bytes, roughly.
    /// What a window may hold, roughly, even if the budget of all windows is used up.
    std::size_t jobs_min = 2;
  };

  /// A request to the store; the members are those of FetchRunnable.
  struct Fetch {
    std::string customer;
    bool after = false;
    std::size_t customers_max = 1;
    std::size_t jobs_max = 1;
    std::size_t bytes_max = 0;
    std::vector<std::string> except{};  ///< Customers to pass over; sorted.
  };
  struct Fetched {
    std::string customer;
    std::vector<JobPtr> jobs;
    bool complete = false;
  };

  DispatchQueue() : DispatchQueue(Limits{}) {}
  /// `budget` is shared by all cells; it may be null.
  explicit DispatchQueue(Limits limits, DispatchTerms terms = {},
                         std::shared_ptr<WindowBudget> budget = nullptr)
      : limits_(limits), terms_(std::move(terms)), bytes_(std::move(budget)) {}

  void set_terms(const DispatchTerms& terms);

  /// The customer may start no job: its jobs leave the window and are not fetched.
  void block(const std::string& customer);
  /// The customer may start jobs again.
  void unblock(const std::string& customer);

  /// The store may have runnable jobs that were never offered: begin a sweep.
  void expect_more();

  /// A worker waits for a job of this customer alone: fetches one if the window has none and the
  /// store may have one, even if the window is full of others.
  void seek(const std::string& customer);

  /// The job has become runnable.
  void offer(JobPtr job);

  /// Returns the next job to start, removed from the window and charged to its customer; null when
  /// the window is empty.
  JobPtr take();

  /// The customer whose job `take` would return; null when the window is empty.
  const std::string* next_customer();
  /// The same for `take_of`, among these customers; null if the window has no job of any of them.
  const std::string* next_customer(const std::set<std::string>& among) const;

  /// As `take`, but passes over these jobs while the window has others.
  JobPtr take_other_than(const std::set<JobId>& passed_over);
  /// As `take`, but the first job of this customer; seeks one when the window has none.
  JobPtr take_of(const std::string& customer);
  /// Whether the window has a job of this customer.
  bool has(const std::string& customer) const;
  /// Whether a job of this customer has been sought, and the store has not answered yet.
  bool seeks(const std::string& customer) const;
  /// Whether the window has no job of this customer, but the store may have one that may start.
  bool may_bring(const std::string& customer) const;

  /// The job was taken, and moved to another lane. The answer to a fetch under way may still list
  /// it.
  void left(JobId id);

  /// The job is no longer runnable, although it was not taken.
  void remove(const Job& job);

  /// The same for every job of this customer and product.
  void remove_all(const std::string& customer, const std::string& product);

  /// A job that was taken has ended after `service_time`; zero if it did not start.
  void ended(const std::string& customer, microseconds service_time);

  /// A job of the customer in another lane of the cell has ended after `service_time`.
  void owe(const std::string& customer, microseconds service_time);

  /// The next request to the store; nothing while one is unanswered or nothing is missing. The
  /// caller sends it, and calls `fetched` with the answer, or `fetch_failed`.
  std::optional<Fetch> next_fetch();

  /// `in_hand` is true for jobs whose latest change is not yet in the store; the answer may still
  /// list such jobs. `complete`: no customer after the last one has a runnable job.
  void fetched(std::vector<Fetched> customers, bool complete,
               const std::function<bool(JobId)>& in_hand);
  void fetch_failed();

  /// Whether a fetch is unanswered.
  bool is_fetching() const { return fetch_.has_value(); }

  bool empty() const { return jobs_ == 0; }
  /// Whether the window has no job, and the store certainly has none either.
  bool is_done() const { return customers_.empty() && !sweeping_ && !fetch_; }
  std::size_t size() const { return jobs_; }
  /// Those of whom the window has jobs, or the store may have.
  std::size_t customers() const { return customers_.size(); }

 private:
  /// (priority_rank, place).
  using Rank = std::pair<std::int64_t, JobId>;
  using Jobs = std::map<Rank, JobPtr>;

  /// In the ring of `turns_` while it has jobs in the window.
  struct Customer : FairTurns::Party {
    std::string name;
    Jobs jobs;
    bool complete = true;      ///< `jobs` has every runnable job of this customer.
    bool wants_fetch = false;  ///< Is in `to_fetch_`.
    bool evicted = false;      ///< Out of the window until the sweep brings it back, or `unblock`.
    bool sought = false;       ///< Gets a job into the window, even if the window is full.
  };

  static bool is_sweep(const Fetch& asked);
  void expect_bytes();
  void begin_sweep();
  void doubt_all();
  bool may_hide_jobs(const std::string& name) const;
  void found_out(Customer& customer);
  void swept(const std::vector<Fetched>& customers, bool complete);
  bool full() const;
  bool is_out_of_bytes() const;
  bool holds_too_much() const;
  Rank rank_of(const Job& job) const;
  std::size_t jobs_per_customer(std::uint64_t weight = 1) const;
  std::size_t jobs_for(const Customer& customer) const;
  bool is_blocked(const std::string& name) const { return blocked_.contains(name); }
  void rank_again(Customer& customer);
  Customer* find(const std::string& name);
  const Customer* find(const std::string& name) const;
  Customer& customer(const std::string& name);
  bool add(Customer& customer, JobPtr job);
  void drop_last(Customer& customer);
  void evict(Customer& customer);
  void request_fetch(Customer& customer);
  JobPtr take_at(Customer& customer, Jobs::const_iterator place);
  void after_take(Customer& customer);
  void leave_if_idle(Customer& customer);

  Limits limits_;
  DispatchTerms terms_;
  std::map<std::string, Customer> customers_;
  FairTurns turns_;
  ClockMemory clocks_;  ///< Of customers that are not in `customers_`.
  std::set<std::string> blocked_;
  std::deque<std::string> to_fetch_;  ///< Customers whose next jobs are to be fetched.
  std::size_t jobs_ = 0;
  WindowBytes bytes_;
  std::optional<Fetch> fetch_;    ///< Sent, and not yet answered.
  std::set<JobId> left_;          ///< Jobs that have left; its answer may still list them.
  bool fetch_missed_ = false;     ///< Its answer may lack jobs that the store has by now.
  bool fetch_outdated_ = false;   ///< Its answer has another order of jobs than now.
  bool sweeping_ = false;         ///< There may be customers outside the window.
  bool sweep_missed_ = false;     ///< The current sweep may have skipped some of them.
  std::string sweep_after_;       ///< The sweep continues after this name; empty: at the start.
  std::set<std::string> absent_;  ///< Customers outside the window that are known to have no job.
};

}  // namespace cells
