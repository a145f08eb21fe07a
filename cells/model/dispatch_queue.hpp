// Which job of a cell runs next: a window onto the cell's runnable jobs, shared fairly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// Holds a bounded part of the runnable jobs, the rest stays in the store.
///
/// Customers take turns by deficit round robin (M. Shreedhar and G. Varghese, "Efficient Fair
/// Queueing using Deficit Round Robin", 1995), charged by service time: an estimate when a step
/// starts, corrected when it ends. Within a customer the higher priority goes first, then the
/// lower place.
///
/// Of each customer in the window it holds the best jobs; when they run low it asks for the next.
/// When there are more customers than fit, a customer leaves the window after its turn and a sweep
/// over the names brings in the others. Not thread-safe.
class DispatchQueue {
 public:
  struct Limits {
    std::size_t customers_max = 256;
    std::size_t jobs_max = 1024;      ///< Over all customers, roughly.
    std::size_t bytes_max = 4 << 20;  ///< Of approximate_bytes, roughly.
  };

  /// What to ask the store for; the members are those of FetchRunnable.
  struct Fetch {
    std::string customer;
    bool after = false;
    std::size_t customers_max = 1;
    std::size_t jobs_max = 1;
    std::size_t bytes_max = 0;
  };
  struct Fetched {
    std::string customer;
    std::vector<JobPtr> jobs;
    bool complete = false;
  };

  DispatchQueue() : DispatchQueue(Limits{}) {}
  explicit DispatchQueue(Limits limits) : limits_(limits) {}

  /// The store may have runnable jobs that were never offered: begins a sweep.
  void expect_more();

  /// A job became runnable.
  void offer(JobPtr job);

  /// The next job to start, out of the window and charged to its customer; null when there is none.
  JobPtr take();

  /// The job is not runnable any more, without having been taken.
  void remove(const Job& job);

  /// The same for every job of this customer and product.
  void remove_all(const std::string& customer, const std::string& product);

  /// A job that `take` gave ended after `service_time`, or did not start (zero).
  void ended(const std::string& customer, microseconds service_time);

  /// The next thing to ask the store; nothing while an answer is awaited or nothing is missing.
  /// The caller sends it and calls `fetched` with the answer, or `fetch_failed`.
  std::optional<Fetch> next_fetch();

  /// `in_hand` tells the jobs that were taken and whose end is not yet in the store: the answer may
  /// still list them. `complete`: no customer after the last one has a runnable job.
  void fetched(std::vector<Fetched> customers, bool complete,
               const std::function<bool(JobId)>& in_hand);
  void fetch_failed();

  /// No job is in the window.
  bool empty() const { return jobs_ == 0; }
  std::size_t size() const { return jobs_; }

 private:
  /// (−priority, place): the order within a customer.
  using Rank = std::pair<int, JobId>;

  struct Customer {
    std::map<Rank, JobPtr> jobs;
    bool complete = true;      ///< Every runnable job of this customer in the store is in `jobs`.
    bool wants_fetch = false;  ///< Stands in `hungry_`.
    bool in_ring = false;
    bool in_turn = false;
    bool left_out = false;  ///< Was put out of the window; the sweep brings it back.
    std::int64_t deficit_us = 0;
    std::deque<std::int64_t> charged_us;  ///< Estimates of its jobs in service, oldest first.
  };

  static bool is_sweep(const Fetch& asked);
  bool full() const;
  std::size_t jobs_per_customer() const;
  bool add(Customer& customer, JobPtr job);
  void drop_last(Customer& customer);
  void put_out(const std::string& name, Customer& customer);
  void feed(const std::string& name, Customer& customer);
  void after_take(const std::string& name, Customer& customer);
  void leave_if_idle(const std::string& name);
  void grant_rounds();

  Limits limits_;
  std::map<std::string, Customer> customers_;
  std::deque<std::string> ring_;    ///< Customers with jobs in the window, in order of turns.
  std::deque<std::string> hungry_;  ///< Customers whose next jobs are to be asked for.
  std::size_t jobs_ = 0;
  std::size_t bytes_ = 0;
  std::optional<Fetch> fetch_;       ///< Asked for, not yet answered.
  bool sweeping_ = false;            ///< Customers may exist that are not in the window.
  bool sweep_missed_ = false;        ///< Some customer was left out since the sweep began.
  std::string sweep_after_;          ///< The sweep goes on after this name; empty: from the start.
  std::int64_t estimate_us_ = 1000;  ///< Moving average of service times; also the quantum.
};

}  // namespace cells
