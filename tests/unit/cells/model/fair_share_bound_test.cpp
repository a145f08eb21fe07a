// Promise P7 as a bound: a customer gets at least its share of service time, but for one job of
// each other customer. The share is what the fluid model gives it: generalized processor sharing
// (A. Parekh and R. Gallager, "A Generalized Processor Sharing Approach to Flow Control", 1993),
// which serves all customers at the same time, in proportion to their weights.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"
#include "tests/unit/cells/model/runnable_jobs.hpp"

using namespace model_test;

namespace {

struct Arrival {
  double at_us = 0;
  std::size_t customer = 0;
  std::int64_t service_us = 0;
};

/// The service time that each customer has had by now from a fluid server.
class FluidServer {
 public:
  explicit FluidServer(std::vector<std::uint32_t> weights)
      : weights_(std::move(weights)), waiting_(weights_.size()), served_(weights_.size()) {}

  void add(std::size_t customer, double service_us) { waiting_[customer] += service_us; }

  void advance_to(double until) {
    while (now_ < until) {
      double weight = 0;
      for (std::size_t i = 0; i < weights_.size(); ++i) weight += waiting_[i] > 0 ? weights_[i] : 0;
      double step = until - now_;
      for (std::size_t i = 0; i < weights_.size() && weight > 0; ++i) {
        if (waiting_[i] > 0) step = std::min(step, waiting_[i] * weight / weights_[i]);
      }
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        if (waiting_[i] <= 0) continue;
        const double share = std::min(waiting_[i], step * weights_[i] / weight);
        served_[i] += share;
        waiting_[i] = waiting_[i] - share < 1e-6 ? 0 : waiting_[i] - share;
      }
      now_ += step;
      if (step < 1e-9) now_ = std::nextafter(now_, until);
    }
  }

  double served(std::size_t customer) const { return served_[customer]; }

 private:
  double now_ = 0;
  std::vector<std::uint32_t> weights_;
  std::vector<double> waiting_;
  std::vector<double> served_;
};

std::string name_of(std::size_t customer) {
  return "c" + std::to_string(customer);
}

struct Scenario {
  std::vector<std::uint32_t> weights;
  std::vector<std::int64_t> longest_us;  ///< Job of each customer.
  std::vector<Arrival> arrivals;         ///< In order of time.
};

/// Customers that flood, that come and go, and that have one job at a time, with short jobs and
/// long ones.
Scenario random_scenario(std::mt19937& random) {
  const auto below = [&random](std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>{0, n - 1}(random);
  };
  Scenario scenario;
  const std::size_t customers = 2 + static_cast<std::size_t>(below(6));
  for (std::size_t customer = 0; customer < customers; ++customer) {
    scenario.weights.push_back(below(2) == 0 ? 1 : static_cast<std::uint32_t>(1 + below(20)));
    const std::int64_t longest = 200 << below(10);
    scenario.longest_us.push_back(longest);
    const auto pause_us = static_cast<double>(below(20) * longest);
    double at = static_cast<double>(below(50'000));
    for (auto bursts = 1 + below(20); bursts > 0; --bursts) {
      for (auto jobs = below(3) == 0 ? 1 : 1 + below(40); jobs > 0; --jobs) {
        scenario.arrivals.push_back({at, customer, 1 + below(longest)});
      }
      at += pause_us * static_cast<double>(below(100)) / 50;
    }
  }
  std::stable_sort(scenario.arrivals.begin(), scenario.arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at_us < b.at_us; });
  return scenario;
}

DispatchTerms terms_of(const Scenario& scenario) {
  CustomerWeights::Named named;
  for (std::size_t i = 0; i < scenario.weights.size(); ++i) named[name_of(i)] = scenario.weights[i];
  return {CustomerWeights{named}, milliseconds{0}, 0};
}

/// Serves the arrivals one after the other in the order of the queue, in simulated time, and calls
/// `check(customer, served)` for each customer whenever a service ends. The store answers a fetch
/// after `refill_us`.
template <class Check>
void serve(const Scenario& scenario, DispatchQueue::Limits limits, double refill_us,
           FluidServer& fluid, Check check, std::size_t* refills = nullptr) {
  FedQueue fed{limits};
  fed.queue.set_terms(terms_of(scenario));
  std::map<JobId, std::int64_t> service_us;
  std::vector<double> served(scenario.weights.size());
  double now = 0;
  double lost_us = 0;  // Waiting for the store; the fluid server waits as well.
  auto next = scenario.arrivals.begin();
  std::optional<std::pair<double, DispatchQueue::Fetch>> fetch;
  const auto arrive = [&] {
    for (; next != scenario.arrivals.end() && next->at_us <= now; ++next) {
      fluid.advance_to(next->at_us - lost_us);
      fluid.add(next->customer, static_cast<double>(next->service_us));
      const JobId id = service_us.size() + 1;
      service_us[id] = next->service_us;
      const auto job = job_of(name_of(next->customer), id);
      fed.store.insert(job);
      fed.queue.offer(job);
    }
  };
  const auto refill = [&] {
    for (;;) {
      if (fetch && fetch->first <= now) {
        auto answer = fed.store.fetch(fetch->second);
        fed.queue.fetched(std::move(answer.customers), answer.complete,
                          [&fed](JobId id) { return fed.in_hand.contains(id); });
        fetch.reset();
        if (refills) *refills += 1;
      }
      if (fetch) return;
      const auto asked = fed.queue.next_fetch();
      if (!asked) return;
      fetch.emplace(now + refill_us, *asked);
    }
  };
  for (;;) {
    arrive();
    refill();
    const JobPtr job = fed.take_unfed();
    if (!job) {
      if (next == scenario.arrivals.end() && !fetch) return;
      const double before = now;
      now = next == scenario.arrivals.end() ? fetch->first : next->at_us;
      if (fetch) now = std::min(now, fetch->first);
      if (!fed.store.empty()) lost_us += now - before;
      continue;
    }
    refill();
    const auto took = service_us.at(job->id);
    now += static_cast<double>(took);
    arrive();
    served[std::stoul(job->spec->customer.substr(1))] += static_cast<double>(took);
    fed.ended(*job, microseconds{took});
    fluid.advance_to(now - lost_us);
    for (std::size_t i = 0; i < served.size(); ++i) check(i, served[i]);
  }
}

double one_job_of_each(const Scenario& scenario) {
  return static_cast<double>(
      std::accumulate(scenario.longest_us.begin(), scenario.longest_us.end(), std::int64_t{0}));
}

}  // namespace

TEST_CASE("a customer gets its share of service time, but for one job of each customer") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random{seed};
    const Scenario scenario = random_scenario(random);
    FluidServer fluid{scenario.weights};
    serve(scenario, {}, 0, fluid, [&](std::size_t customer, double served) {
      const double behind_us = fluid.served(customer) - served;
      if (behind_us > one_job_of_each(scenario) + 1) FAIL("seed " << seed << ": " << behind_us);
    });
  }
}

TEST_CASE("a customer whose jobs have left the window may be behind by one refill more") {
  std::size_t refills = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random{seed};
    const Scenario scenario = random_scenario(random);
    const double refill_us = 100 << (seed % 4);  // Sooner than the rest of the window is served.
    FluidServer fluid{scenario.weights};
    serve(
        scenario, {8, 128, 1 << 20}, refill_us, fluid,
        [&](std::size_t customer, double served) {
          const double behind_us = fluid.served(customer) - served;
          const double bound_us = one_job_of_each(scenario) + refill_us;
          if (behind_us > bound_us)
            FAIL("seed " << seed << ": " << behind_us << " of " << bound_us);
        },
        &refills);
  }
  CHECK(refills > 1000);
}

TEST_CASE("with several workers a customer may be behind by one more job of each of them") {
  const std::size_t workers = GENERATE(2, 8, 32);
  CAPTURE(workers);
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random{seed};
    Scenario scenario = random_scenario(random);
    FedQueue fed;
    fed.queue.set_terms(terms_of(scenario));
    const std::size_t customers = scenario.weights.size();
    std::vector<double> served(customers);
    JobId last_id = 0;
    for (std::size_t customer = 0; customer < customers; ++customer) {
      for (int n = 0; n < 3000; ++n) fed.store.insert(job_of(name_of(customer), ++last_id));
    }
    fed.queue.expect_more();
    REQUIRE(fed.feed());
    const double weight =
        std::accumulate(scenario.weights.begin(), scenario.weights.end(), std::uint32_t{0});
    const double longest = static_cast<double>(
        *std::max_element(scenario.longest_us.begin(), scenario.longest_us.end()));
    std::multimap<std::int64_t, std::pair<JobPtr, std::int64_t>> running;
    std::int64_t now = 0;
    for (int n = 0; n < 2000; ++n) {
      while (running.size() < workers) {
        const JobPtr job = fed.take();
        REQUIRE(job);
        const auto customer = std::stoul(job->spec->customer.substr(1));
        const auto took =
            std::uniform_int_distribution<std::int64_t>{1, scenario.longest_us[customer]}(random);
        running.emplace(now + took, std::pair{job, took});
      }
      const auto [ended_at, ended] = *running.begin();
      running.erase(running.begin());
      now = ended_at;
      fed.ended(*ended.first, microseconds{ended.second});
      served[std::stoul(ended.first->spec->customer.substr(1))] +=
          static_cast<double>(ended.second);
      const double all = std::accumulate(served.begin(), served.end(), 0.0);
      for (std::size_t customer = 0; customer < customers; ++customer) {
        const double behind_us = all * scenario.weights[customer] / weight - served[customer];
        const double bound_us = one_job_of_each(scenario) + static_cast<double>(workers) * longest;
        if (behind_us > bound_us) FAIL("seed " << seed << ": " << behind_us << " of " << bound_us);
      }
    }
  }
}
