#include "cells/model/slot_shares.hpp"

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
  shares.begin(first);
  shares.end(first, customers.at(first));
  return first;
}

}  // namespace

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
  shares.begin("a");
  CHECK(shares.start_us("a") > before);
  shares.end("a", 0us);
  CHECK(shares.start_us("a") == before);
  shares.end("unknown", 5ms);
}

TEST_CASE("customers whose turn is over are forgotten") {
  SlotShares shares;
  for (int n = 0; n < 100'000; ++n) {
    const auto customer = std::to_string(n);
    shares.begin(customer);
    shares.end(customer, 1ms);
  }
  CHECK(shares.size() <= 1000);
}

TEST_CASE("the customers that are furthest ahead are remembered") {
  SlotShares shares;
  const int customers = 1001;  // One more than are remembered.
  for (int n = 0; n < customers; ++n) {
    const auto customer = std::to_string(n);
    shares.begin(customer);
    shares.end(customer, n == 0 ? 1000ms : 1ms);
  }
  CHECK(shares.size() <= 1000);
  CHECK(shares.start_us("0") > shares.start_us("new"));
}
