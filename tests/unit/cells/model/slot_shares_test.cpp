#include "cells/model/slot_shares.hpp"

#include <array>
#include <map>
#include <string>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;

namespace {

/// Starts a job of whichever customer comes first; ties go to the first named.
std::string serve(SlotShares& shares, const std::map<std::string, milliseconds>& customers) {
  std::string first;
  for (const auto& [customer, time] : customers) {
    if (first.empty() || shares.start_us(customer) < shares.start_us(first)) first = customer;
  }
  const auto charged = shares.begin(first);
  shares.end(first, customers.at(first), charged);
  return first;
}

/// The share of the slots' time that the first of two customers gets, both of whom always have
/// jobs, in jobs of one length each.
double share_of_first(std::size_t slots, const std::array<milliseconds, 2>& times,
                      const std::array<std::uint32_t, 2>& weights = {1, 1}) {
  const std::array<std::string, 2> names{"first", "second"};
  SlotShares shares;
  struct Job {
    std::size_t customer;
    std::int64_t charged_us;
  };
  std::multimap<milliseconds, Job> running;  // By when they end.
  std::array<milliseconds, 2> used{};
  milliseconds now{0};
  for (int n = 0; n < 50'000; ++n) {
    while (running.size() < slots) {
      const std::size_t next = shares.start_us(names[0]) <= shares.start_us(names[1]) ? 0 : 1;
      running.emplace(now + times[next], Job{next, shares.begin(names[next], weights[next])});
    }
    const auto [end, job] = *running.begin();
    running.erase(running.begin());
    now = end;
    const auto customer = job.customer;
    used[customer] += times[customer];
    shares.end(names[customer], times[customer], job.charged_us, weights[customer]);
  }
  return static_cast<double>(used[0].count()) / static_cast<double>((used[0] + used[1]).count());
}

}  // namespace

TEST_CASE("jobs that run at the same time are shared by service time, however long they are") {
  using Catch::Matchers::WithinAbs;
  CHECK_THAT(share_of_first(8, {1s, 100s}), WithinAbs(0.5, 0.02));
  CHECK_THAT(share_of_first(32, {1s, 60s}), WithinAbs(0.5, 0.02));
  CHECK_THAT(share_of_first(32, {1200ms, 20ms}), WithinAbs(0.5, 0.02));
  CHECK_THAT(share_of_first(32, {1s, 60s}, {2, 1}), WithinAbs(2.0 / 3, 0.02));
}

TEST_CASE("the end of a job whose start was not counted changes nothing") {
  SlotShares shares;
  const auto charged = shares.begin("a");
  const auto before = shares.start_us("a");
  shares.end("a", 5000ms, 0);
  CHECK(shares.start_us("a") == before);
  shares.end("a", 1ms, charged);
  CHECK(shares.start_us("a") == 1000);
}

TEST_CASE("jobs that are about to start count as started") {
  SlotShares shares;
  const auto next = shares.start_us("a", 3, 2);
  for (int n = 0; n < 3; ++n) shares.begin("a", 2);
  CHECK(shares.start_us("a") == next);
}

TEST_CASE("slots are shared by service time") {
  SlotShares shares;
  const std::map<std::string, milliseconds> customers{{"slow", 10ms}, {"quick", 1ms}};
  std::map<std::string, int> served;
  for (int n = 0; n < 1100; ++n) ++served[serve(shares, customers)];
  CHECK(served["quick"] > 9 * served["slow"]);
  CHECK(served["quick"] < 11 * served["slow"]);
}

TEST_CASE("a customer that comes late is level with the others") {
  SlotShares shares;
  for (int n = 0; n < 100; ++n) serve(shares, {{"early", 10ms}});
  CHECK(shares.start_us("late") <= shares.start_us("early"));
  std::map<std::string, int> served;
  for (int n = 0; n < 20; ++n) ++served[serve(shares, {{"early", 10ms}, {"late", 10ms}})];
  CHECK(served["late"] >= 9);
  CHECK(served["late"] <= 11);
}

TEST_CASE("a job that did not start costs nothing") {
  SlotShares shares;
  const auto before = shares.start_us("a");
  const auto charged = shares.begin("a");
  CHECK(shares.start_us("a") > before);
  shares.end("a", 0us, charged);
  CHECK(shares.start_us("a") == before);
  shares.end("unknown", 5ms, charged);
}

TEST_CASE("customers whose turn is over are forgotten") {
  SlotShares shares;
  for (int n = 0; n < 100'000; ++n) {
    const auto customer = std::to_string(n);
    shares.end(customer, 1ms, shares.begin(customer));
  }
  CHECK(shares.size() <= 1000);
}

TEST_CASE("the customers that are furthest ahead are remembered") {
  SlotShares shares;
  const int customers = 1001;  // One more than are remembered.
  for (int n = 0; n < customers; ++n) {
    const auto customer = std::to_string(n);
    const auto charged = shares.begin(customer);
    shares.end(customer, n == 0 ? 1000ms : 1ms, charged);
  }
  CHECK(shares.size() <= 1000);
  CHECK(shares.start_us("0") > shares.start_us("new"));
}
