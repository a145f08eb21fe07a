#include "cells/model/fair_turns.hpp"

#include <map>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;
using Party = FairTurns::Party;

TEST_CASE("an empty ring gives no party a turn") {
  FairTurns turns;
  CHECK(turns.next() == nullptr);
  CHECK(turns.size() == 0);
}

TEST_CASE("parties take turns by service time") {
  FairTurns turns;
  Party slow, quick;
  turns.join(slow);
  turns.join(quick);
  turns.join(quick);
  CHECK(turns.size() == 2);
  std::map<Party*, int> served;
  for (int n = 0; n < 1100; ++n) {
    Party* party = turns.next();
    REQUIRE(party == turns.next());
    turns.charge(*party);
    turns.ended(*party, party == &slow ? 10ms : 1ms);
    ++served[party];
  }
  CHECK(served[&quick] > 9 * served[&slow]);
  CHECK(served[&quick] < 11 * served[&slow]);
}

TEST_CASE("service beyond its share counts against a party that leaves and comes back") {
  FairTurns turns;
  Party a, b;
  turns.join(a);
  turns.join(b);
  turns.charge(*turns.next());
  turns.ended(a, 50ms);
  turns.leave(a);
  turns.leave(a);
  CHECK_FALSE(a.in_ring());
  CHECK(turns.next() == &b);
  turns.join(a);
  for (int n = 0; n < 5; ++n) {
    REQUIRE(turns.next() == &b);
    turns.charge(b);
    turns.ended(b, 1ms);
  }
  turns.leave(b);
  CHECK(turns.next() == &a);
}

TEST_CASE("service elsewhere counts") {
  FairTurns turns;
  Party a, b;
  turns.join(a);
  turns.join(b);
  turns.owe(a, 20ms);
  for (int n = 0; n < 10; ++n) {
    REQUIRE(turns.next() == &b);
    turns.charge(b);
    turns.ended(b, 1ms);
  }
}

TEST_CASE("a service out of turn is charged and ends no other turn") {
  FairTurns turns;
  Party a, b;
  turns.join(a);
  turns.join(b);
  REQUIRE(turns.next() == &a);
  turns.charge(b);
  CHECK(b.is_served());
  CHECK(turns.next() == &a);
  turns.ended(b, 0us);
  CHECK_FALSE(b.is_served());
  turns.ended(b, 5ms);  // Not served: changes nothing.
  turns.charge(a);
  CHECK(turns.next() == &b);
}

TEST_CASE("of many parties that have left, those that are furthest ahead are remembered") {
  ClockMemory memory;
  for (int n = 0; n < 1000; ++n) memory.note(std::to_string(n), 1 + n, 0);
  CHECK(memory.size() == 1000);
  memory.note("1000", 1001, 0);
  CHECK(memory.size() <= 1000);
  CHECK(memory.take("1000") == 1001);
  CHECK(memory.take("0") == 0);
}
