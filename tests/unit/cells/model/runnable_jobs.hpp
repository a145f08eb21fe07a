// A store's runnable jobs of one cell, and a queue that fetches from them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cells/model/dispatch_queue.hpp"
#include "tests/unit/cells/model/builders.hpp"

namespace model_test {

/// Answers a fetch as FetchRunnable in cells/ports/job_store.hpp requires.
class RunnableJobs {
 public:
  struct Answer {
    std::vector<DispatchQueue::Fetched> customers;
    bool complete = false;
  };

  void insert(const JobPtr& job) { customers_[job->spec->customer].emplace(rank(*job), job); }

  void erase(const Job& job) {
    const auto found = customers_.find(job.spec->customer);
    if (found == customers_.end()) return;
    found->second.erase(rank(job));
    if (found->second.empty()) customers_.erase(found);
  }

  bool empty() const { return customers_.empty(); }

  /// Null when the customer has none.
  JobPtr best_of(const std::string& customer) const {
    const auto found = customers_.find(customer);
    return found == customers_.end() ? nullptr : found->second.begin()->second;
  }

  Answer fetch(const DispatchQueue::Fetch& asked) const {
    Answer answer;
    std::size_t bytes = 0;
    auto at = asked.after ? customers_.upper_bound(asked.customer)
                          : customers_.lower_bound(asked.customer);
    for (; at != customers_.end() && answer.customers.size() < asked.customers_max; ++at) {
      if (std::binary_search(asked.except.begin(), asked.except.end(), at->first)) continue;
      DispatchQueue::Fetched listed{at->first, {}, true};
      for (const auto& [_, job] : at->second) {
        bytes += approximate_bytes(*job);
        const bool first = answer.customers.empty() && listed.jobs.empty();
        if (listed.jobs.size() == asked.jobs_max || (bytes > asked.bytes_max && !first)) {
          listed.complete = false;
          break;
        }
        listed.jobs.push_back(job);
      }
      if (listed.jobs.empty()) break;
      answer.customers.push_back(std::move(listed));
      if (bytes > asked.bytes_max) {
        ++at;
        break;
      }
    }
    answer.complete = at == customers_.end();
    return answer;
  }

 private:
  using Rank = std::pair<int, JobId>;
  static Rank rank(const Job& job) { return {-job.spec->priority, job.place}; }

  std::map<std::string, std::map<Rank, JobPtr>> customers_;
};

/// A queue whose fetches are answered at once.
struct FedQueue {
  DispatchQueue queue;
  RunnableJobs store;
  std::set<JobId> in_hand;

  explicit FedQueue(DispatchQueue::Limits limits = {},
                    std::shared_ptr<WindowBudget> budget = nullptr)
      : queue(limits, {}, std::move(budget)) {}

  /// The job becomes runnable, and is offered to the queue.
  void offer(const JobPtr& job) {
    store.insert(job);
    queue.offer(job);
    feed();
  }

  /// Answers the fetches of the queue; false if there is no end of them.
  bool feed() {
    for (int i = 0; i < 10'000; ++i) {
      const auto asked = queue.next_fetch();
      if (!asked) return true;
      auto answer = store.fetch(*asked);
      queue.fetched(std::move(answer.customers), answer.complete,
                    [this](JobId id) { return in_hand.contains(id); });
    }
    return false;
  }

  JobPtr take() {
    const JobPtr job = take_unfed();
    feed();
    return job;
  }

  /// Takes a job without answering fetches.
  JobPtr take_unfed() {
    const JobPtr job = queue.take();
    if (job) {
      store.erase(*job);
      in_hand.insert(job->id);
    }
    return job;
  }

  void ended(const Job& job, microseconds service_time) {
    in_hand.erase(job.id);
    queue.ended(job.spec->customer, service_time);
  }

  /// Takes the next job and ends it. Returns its customer; empty if there was no job.
  std::string serve(microseconds service_time = 1ms) {
    const JobPtr job = take();
    if (!job) return {};
    ended(*job, service_time);
    return job->spec->customer;
  }
};

inline bool none_in_hand(JobId) {
  return false;
}

}  // namespace model_test
