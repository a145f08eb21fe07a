#include "cells/model/lease_matching.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;
using Ask = LeaseMatching::Ask;
using Numbers = std::vector<std::uint64_t>;

namespace {

const CellKey a{"a", "x"};
const CellKey b{"b", "x"};

LeaseMatching::Request request(std::uint64_t number, std::size_t max = 1, bool waits = true) {
  return {number, std::nullopt, max, waits};
}

}  // namespace

TEST_CASE("a request waits for a cell that has work") {
  LeaseMatching matching;
  matching.add(request(1));
  CHECK_FALSE(matching.next_ask());
  matching.filled(a, 1);
  const auto ask = matching.next_ask();
  CHECK(ask == Ask{a, 1, 1});
  CHECK_FALSE(matching.next_ask());
  matching.answered(*ask, 1, LaneState::empty, 0);
  CHECK(matching.take_finished() == Numbers{1});
  CHECK(matching.waiting() == 0);
  CHECK(matching.remembers(a));  // Its lease is out.
  matching.ended(a, 5ms);
  CHECK(matching.cells() == 0);
}

TEST_CASE("a cell that reports its work again is not asked for what an open ask may take") {
  LeaseMatching matching;
  matching.filled(a, 1);
  matching.add(request(1));
  REQUIRE(matching.next_ask());
  matching.add(request(2));
  matching.filled(a, 1);
  CHECK_FALSE(matching.next_ask());
}

TEST_CASE("a request that does not wait ends when no cell can be asked") {
  LeaseMatching matching;
  matching.add(request(1, 1, false));
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished() == Numbers{1});
  CHECK(matching.take_finished().empty());
}

TEST_CASE("a request that does not wait gets what an earlier one leaves") {
  LeaseMatching matching;
  matching.filled(a, 2);
  matching.add(request(1, 5, false));
  const auto first = matching.next_ask();
  REQUIRE(first == Ask{a, 1, 5});
  matching.add(request(2, 1, false));
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished().empty());
  SECTION("of a cell that had more") {
    matching.answered(*first, 5, LaneState::more, 3);
    CHECK(matching.next_ask() == Ask{a, 2, 1});
  }
  SECTION("of a cell whose window is being filled") {
    matching.answered(*first, 5, LaneState::more, 0);
    CHECK(matching.next_ask() == Ask{a, 2, 1});
  }
  SECTION("or nothing, if the cell is empty or busy") {
    matching.answered(*first, 5, GENERATE(LaneState::empty, LaneState::busy), 0);
    CHECK_FALSE(matching.next_ask());
    CHECK(matching.take_finished() == Numbers{1, 2});
  }
  SECTION("or nothing, if the cell is gone") {
    matching.lost(*first);
    CHECK_FALSE(matching.next_ask());
    CHECK(matching.take_finished() == Numbers{2});
  }
}

TEST_CASE("a request that does not wait is held by no later ask for workers that wait") {
  LeaseMatching matching;
  matching.filled(a, 1);
  matching.add(request(1));
  const auto first = matching.next_ask();
  REQUIRE(first == Ask{a, 1, 1});
  matching.add(request(2, 1, false));
  matching.filled(b, 0);
  const auto second = matching.next_ask();
  REQUIRE(second == Ask{b, 2, 1});
  matching.answered(*second, 0, LaneState::busy, 0);
  matching.add({3, "b"});
  CHECK(matching.next_ask() == Ask{b, 3, 1});
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished().empty());  // Cell a may have more.
  matching.answered(*first, 1, LaneState::busy, 0);
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished() == Numbers{1, 2});
}

TEST_CASE("requests that do not wait get, one after the other, what a cell brings from the store") {
  LeaseMatching matching;
  matching.filled(a, 4);
  for (const std::uint64_t number : {1, 2, 3}) matching.add(request(number, 4, false));
  for (const std::uint64_t number : {1, 2, 3}) {
    const auto ask = matching.next_ask();
    REQUIRE(ask == Ask{a, number, 4});
    CHECK_FALSE(matching.next_ask());
    CHECK(matching.take_finished().empty());
    matching.answered(*ask, 4, LaneState::more, 0);
    CHECK(matching.take_finished() == Numbers{number});
  }
}

TEST_CASE("a request with some leases ends before one that has none and came earlier") {
  LeaseMatching matching;
  matching.filled(a, 2);
  matching.add(request(1, 2));
  const auto first = matching.next_ask();
  REQUIRE(first == Ask{a, 1, 2});
  matching.add(request(2, 1, false));
  CHECK_FALSE(matching.next_ask());
  matching.filled(b, 1);
  matching.add({3, "b", 5});
  auto ask = matching.next_ask();
  REQUIRE(ask == Ask{b, 2, 1});
  matching.answered(*ask, 0, LaneState::busy, 0);
  ask = matching.next_ask();
  REQUIRE(ask == Ask{b, 3, 5});
  matching.answered(*ask, 2, LaneState::busy, 0);
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished() == Numbers{3});
}

TEST_CASE("a cell with more is asked again, although an ask for one customer is open") {
  LeaseMatching matching;
  matching.filled(a, 1);
  matching.add(request(1, 5, false));
  const auto first = matching.next_ask();
  REQUIRE(first == Ask{a, 1, 5});
  matching.add(request(2, 1, false));
  matching.add({3, "a", 5});
  REQUIRE(matching.next_ask() == Ask{a, 3, 5});
  matching.answered(*first, 5, LaneState::more, GENERATE(0, 3));
  CHECK(matching.next_ask() == Ask{a, 2, 1});
  CHECK_FALSE(matching.next_ask());
}

TEST_CASE("a request that does not wait is held by an earlier one that has some leases") {
  LeaseMatching matching;
  matching.filled(a, 2);
  matching.add(request(1, 5));
  auto ask = matching.next_ask();
  REQUIRE(ask == Ask{a, 1, 5});
  matching.add(request(2, 1, false));
  matching.filled(b, 1);
  ask = matching.next_ask();
  REQUIRE(ask == Ask{b, 2, 1});
  matching.answered(*ask, 0, LaneState::empty, 0);
  matching.answered({a, 1, 5}, 2, LaneState::busy, 0);
  matching.filled(b, 1);
  ask = matching.next_ask();
  REQUIRE(ask == Ask{b, 1, 3});
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished().empty());
  matching.answered(*ask, 3, LaneState::more, 1);
  CHECK(matching.next_ask() == Ask{b, 2, 1});
}

TEST_CASE("a request that does not wait gets a job of its customer that an earlier one leaves") {
  LeaseMatching matching;
  matching.filled(a, 0);
  matching.add({1, "a", 1, false});
  const auto first = matching.next_ask();
  REQUIRE(first == Ask{a, 1, 1});
  matching.add({2, "a", 1, false});
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished().empty());
  matching.answered(*first, 1, LaneState::more, 0);
  CHECK(matching.next_ask() == Ask{a, 2, 1});
}

TEST_CASE("a cell that was emptied while it was asked, and has more, is asked for every customer") {
  LeaseMatching matching;
  matching.filled(a, 1);
  matching.add(request(1));
  const auto first = matching.next_ask();
  REQUIRE(first == Ask{a, 1, 1});
  matching.emptied(a);
  matching.add({2, "a"});
  CHECK_FALSE(matching.next_ask());
  matching.answered(*first, 1, LaneState::more, 0);
  CHECK(matching.next_ask() == Ask{a, 2, 1});
}

TEST_CASE("one job makes one request ask") {
  LeaseMatching matching;
  for (std::uint64_t number = 1; number <= 1000; ++number) matching.add(request(number));
  matching.filled(a, 1);
  const auto ask = matching.next_ask();
  REQUIRE(ask);
  CHECK_FALSE(matching.next_ask());
  matching.answered(*ask, 1, LaneState::empty, 0);
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.waiting() == 999);
}

TEST_CASE("a request takes leases of several cells, and ends with what it has") {
  LeaseMatching matching;
  matching.filled(a, 2);
  matching.filled(b, 2);
  matching.add(request(1, 5));
  auto ask = matching.next_ask();
  CHECK(ask == Ask{a, 1, 5});
  matching.answered(*ask, 2, LaneState::busy, 0);
  ask = matching.next_ask();
  CHECK(ask == Ask{b, 1, 3});
  matching.answered(*ask, 2, LaneState::empty, 0);
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished() == Numbers{1});
}

TEST_CASE("a limit bounds what a cell is asked for") {
  LeaseMatching matching;
  matching.filled(a, 5);
  matching.add(request(1, 5));
  CHECK_FALSE(matching.next_ask(0));
  CHECK(matching.waiting() == 1);
  const auto ask = matching.next_ask(2);
  CHECK(ask == Ask{a, 1, 2});
  matching.answered(*ask, 2, LaneState::more, 3);
  CHECK_FALSE(matching.next_ask(0));
  CHECK(matching.take_finished() == Numbers{1});  // It ends with what it has.
}

TEST_CASE("a slot that is offered while a limit is reached is declined, and asked for later") {
  LeaseMatching matching;
  matching.add(request(1));
  CHECK_FALSE(matching.offered(a, std::nullopt, 0));
  CHECK_FALSE(matching.next_ask(0));
  CHECK(matching.next_ask(1) == Ask{a, 1, 1});
}

TEST_CASE("a worker of one customer gets the last lease that a limit allows") {
  LeaseMatching matching;
  matching.add({1, "a"});
  CHECK(matching.offered(a, "a", 1) == Ask{a, 1, 1});
}

TEST_CASE("a request that does not wait ends when a limit is reached") {
  LeaseMatching matching;
  matching.filled(a, 1);
  matching.add(request(1, 1, false));
  CHECK_FALSE(matching.next_ask(0));
  CHECK(matching.take_finished() == Numbers{1});
}

TEST_CASE("a request that is filled asks for no more") {
  LeaseMatching matching;
  matching.filled(a, 9);
  matching.add(request(1, 5));
  const auto ask = matching.next_ask();
  matching.fill(1);
  matching.fill(7);
  matching.answered(*ask, 2, LaneState::more, 7);
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished() == Numbers{1});
}

TEST_CASE("a busy cell is asked once, and then offers") {
  LeaseMatching matching;
  matching.filled(a, 0);
  matching.add(request(1));
  matching.add(request(2));
  const auto ask = matching.next_ask();
  REQUIRE(ask == Ask{a, 1, 1});
  CHECK_FALSE(matching.next_ask());
  matching.answered(*ask, 0, LaneState::busy, 0);
  CHECK_FALSE(matching.next_ask());
  const auto offered = matching.offered(a, std::nullopt);
  REQUIRE(offered == Ask{a, 1, 1});
  matching.answered(*offered, 1, LaneState::busy, 0);
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished() == Numbers{1});
}

TEST_CASE("an offer that no request takes is declined, and its cell is asked again") {
  LeaseMatching matching;
  matching.filled(a, 0);
  matching.add(request(1, 1, false));
  auto ask = matching.next_ask();
  matching.answered(*ask, 0, LaneState::busy, 0);
  CHECK_FALSE(matching.next_ask());
  CHECK_FALSE(matching.offered(a, std::nullopt));
  matching.add(request(2));
  CHECK(matching.next_ask() == Ask{a, 2, 1});
}

TEST_CASE("a cell that was busy before it heard of a declined slot is asked again") {
  LeaseMatching matching;
  const bool is_bound = GENERATE(false, true);
  auto first = request(1, 2);
  auto second = request(2);
  if (is_bound) first.customer = second.customer = "a";
  matching.filled(a, 0);
  matching.add(first);
  const auto unasked = matching.next_ask();
  REQUIRE(unasked);
  matching.answered(*unasked, 0, LaneState::busy, 0);
  const auto ask = matching.offered(a, first.customer);
  REQUIRE(ask);
  CHECK_FALSE(matching.offered(a, first.customer));  // The only request is asking.
  matching.answered(*ask, 1, LaneState::busy, 0);
  CHECK(matching.take_finished().empty());
  const auto more = matching.next_ask();
  REQUIRE(more == Ask{a, 1, 1});
  matching.answered(*more, 0, LaneState::busy, 0);
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished() == Numbers{1});
  matching.add(second);
  CHECK_FALSE(matching.next_ask());  // Now the cell offers.
}

TEST_CASE("a withdrawn request ends, at once or with the answer") {
  LeaseMatching matching;
  matching.add(request(1));
  matching.add(request(2));
  matching.stop_waiting(2);
  matching.stop_waiting(7);
  CHECK(matching.take_finished() == Numbers{2});
  matching.filled(a, 1);
  const auto ask = matching.next_ask();
  REQUIRE(ask);
  matching.stop_waiting(1);
  CHECK(matching.take_finished().empty());
  matching.answered(*ask, 0, LaneState::empty, 0);
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished() == Numbers{1});
}

TEST_CASE("a cell that is lost is forgotten, and its request goes on") {
  LeaseMatching matching;
  matching.add(request(1));
  matching.filled(a, 1);
  const auto ask = matching.next_ask();
  matching.lost(*ask);
  CHECK_FALSE(matching.next_ask());
  matching.go_on(ask->request);
  CHECK(matching.cells() == 0);
  matching.filled(b, 1);
  CHECK(matching.next_ask() == Ask{b, 1, 1});
}

TEST_CASE("a cell that has no more work is not asked") {
  LeaseMatching matching;
  matching.filled(a, 3);
  matching.emptied(a);
  matching.emptied(b);
  CHECK(matching.cells() == 0);
  matching.add(request(1));
  CHECK_FALSE(matching.next_ask());
}

TEST_CASE("a request for one customer asks the cells that may serve it") {
  LeaseMatching matching;
  const CellKey any{"*", "x"};
  matching.filled(a, 3);
  matching.filled(any, 3);
  matching.add({1, "b", 1, true});
  const auto ask = matching.next_ask();
  REQUIRE(ask == Ask{any, 1, 1});
  matching.answered(*ask, 0, LaneState::busy, 0);
  CHECK_FALSE(matching.next_ask());
  matching.filled(b, 0);
  const auto of_b = matching.next_ask();
  REQUIRE(of_b == Ask{b, 1, 1});
  matching.answered(*of_b, 0, LaneState::empty, 0);
  CHECK_FALSE(matching.next_ask());
  const auto offered = matching.offered(any, "b");
  REQUIRE(offered == Ask{any, 1, 1});
  matching.answered(*offered, 1, LaneState::empty, 0);
  CHECK(matching.take_finished() == Numbers{1});
}

TEST_CASE("a cell that has more jobs of a customer is asked for each worker that waits for them") {
  LeaseMatching matching;
  for (const std::uint64_t number : {1, 2, 3}) matching.add({number, "a"});
  matching.filled(a, 3);
  for (const std::uint64_t number : {1, 2, 3}) {
    const auto ask = matching.next_ask();
    CHECK(ask == Ask{a, number, 1});
    CHECK_FALSE(matching.next_ask());  // Not before it has answered.
    matching.answered(*ask, 1, LaneState::more, 3 - number);
  }
  CHECK(matching.take_finished() == Numbers{1, 2, 3});
}

TEST_CASE("a request that is withdrawn while its cell is asked asks no other") {
  LeaseMatching matching;
  matching.filled(a, 1);
  matching.filled(b, 1);
  matching.add(request(1, 2));
  const auto ask = matching.next_ask();
  REQUIRE(ask);
  matching.stop_waiting(1);
  SECTION("the cell answers") {
    matching.answered(*ask, 1, LaneState::empty, 0);
  }
  SECTION("the cell is gone") {
    matching.lost(*ask);
    matching.go_on(1);
  }
  CHECK_FALSE(matching.next_ask());
  CHECK(matching.take_finished() == Numbers{1});
}

TEST_CASE("cells take turns for a customer that requests are bound to") {
  LeaseMatching matching;
  const CellKey other{"a", "y"};
  const CellKey any{"*", "*"};
  for (const auto& key : {a, other, any}) matching.filled(key, 100);
  std::map<CellKey, int> granted;
  for (std::uint64_t number = 1; number <= 600; ++number) {
    matching.add({number, "a"});
    const auto ask = matching.next_ask();
    REQUIRE(ask);
    matching.answered(*ask, 1, LaneState::more, 100);
    matching.ended(ask->cell, ask->cell == other ? 2ms : 1ms);
    ++granted[ask->cell];
  }
  CHECK(granted[a] > 230);
  CHECK(granted[any] > 230);
  CHECK(granted[other] > 110);
}

TEST_CASE("customers that requests are bound to take turns by service time") {
  LeaseMatching matching;
  const CellKey any{"*", "*"};
  matching.filled(any, 100);
  std::map<std::uint64_t, std::string> open;
  std::uint64_t last = 0;
  const auto add = [&](const std::string& customer) {
    matching.add({++last, customer});
    open[last] = customer;
  };
  for (const auto* customer : {"a", "a", "b", "b"}) add(customer);
  std::map<std::string, int> granted;
  for (int n = 0; n < 1100; ++n) {
    const auto ask = matching.next_ask(1);
    REQUIRE(ask);
    const auto customer = open.at(ask->request);
    matching.answered(*ask, 1, LaneState::more, 100);
    matching.ended(any, customer == "a" ? 10ms : 1ms);
    matching.served(customer, customer == "a" ? 10ms : 1ms, true);
    ++granted[customer];
    add(customer);
  }
  CHECK(granted["b"] > 9 * granted["a"]);
  CHECK(granted["b"] < 11 * granted["a"]);
}

TEST_CASE("a customer's leases count for its turns, whichever workers have them") {
  LeaseMatching matching;
  const CellKey any{"*", "*"};
  matching.filled(any, 100);
  matching.add({1, "a", 1});
  const auto long_one = matching.next_ask();
  REQUIRE(long_one);
  matching.answered(*long_one, 1, LaneState::more, 100);
  matching.served("a", 1ms, false);
  matching.served("a", 1s, true);
  matching.add({2, "a"});
  matching.add({3, "b"});
  CHECK(matching.next_ask(1) == Ask{any, 3, 1});
}

TEST_CASE("a customer is charged for leases while none of its own workers is there") {
  LeaseMatching matching;
  const CellKey any{"*", "*"};
  matching.filled(any, 100);
  const auto serve = [&](std::uint64_t number, const std::string& customer, microseconds time) {
    matching.add({number, customer});
    const auto ask = matching.next_ask();
    REQUIRE(ask);
    matching.answered(*ask, 1, LaneState::more, 100);
    matching.served(customer, time, true);
  };
  serve(1, "a", 1s);
  matching.served("a", 1s, false);
  serve(2, "b", 1500ms);
  matching.add({3, "a"});
  matching.add({4, "b"});
  CHECK(matching.next_ask(1) == Ask{any, 4, 1});
}

TEST_CASE("a customer that leaves without a debt is not charged for leases until it comes back") {
  LeaseMatching matching;
  const CellKey any{"*", "*"};
  matching.filled(any, 100);
  const auto begin = [&](std::uint64_t number, const std::string& customer) {
    matching.add({number, customer});
    const auto ask = matching.next_ask();
    REQUIRE(ask);
    matching.answered(*ask, 1, LaneState::more, 100);
  };
  begin(1, "a");
  for (const std::uint64_t number : {2, 3}) {
    begin(number, "b");
    matching.served("b", 1s, true);
  }
  matching.served("a", 1ms, true);  // It has had less than its share, and leaves.
  matching.served("a", 5s, false);
  matching.add({4, "a"});
  matching.add({5, "b"});
  CHECK(matching.next_ask(1) == Ask{any, 4, 1});
}

TEST_CASE("asks that bring no lease do not change how long a lease is expected to take") {
  LeaseMatching matching;
  const CellKey any{"*", "*"};
  for (std::uint64_t number = 1; number <= 30; ++number) {
    matching.filled(any, 1);
    matching.add({number, "a"});
    const auto ask = matching.next_ask();
    REQUIRE(ask);
    matching.answered(*ask, 0, LaneState::empty, 0);
    matching.stop_waiting(number);
  }
  matching.filled(any, 100);
  matching.add({100, "a"});
  matching.served("a", 1500us, false);
  for (const std::uint64_t number : {101, 102, 103}) matching.add({number, "b"});
  for (const std::uint64_t number : {101, 102}) {
    const auto ask = matching.next_ask();
    REQUIRE(ask == Ask{any, number, 1});
    matching.answered(*ask, 1, LaneState::more, 100);
  }
  CHECK(matching.next_ask() == Ask{any, 100, 1});  // Each lease counts as 1 ms until it ends.
}

TEST_CASE("a customer whose only worker comes back after each lease keeps its turn") {
  LeaseMatching matching;
  const CellKey any{"*", "*"};
  matching.filled(any, 100);
  std::map<std::string, int> granted;
  std::uint64_t last = 0;
  matching.add({++last, "b"});
  std::uint64_t of_b = last;
  for (int n = 0; n < 110; ++n) {
    matching.add({++last, "a"});  // Its former request has ended, and its lease too.
    for (;;) {
      const auto ask = matching.next_ask(1);
      REQUIRE(ask);
      const bool is_b = ask->request == of_b;
      const std::string customer = is_b ? "b" : "a";
      matching.answered(*ask, 1, LaneState::more, 100);
      matching.ended(any, is_b ? 1ms : 10ms);
      matching.served(customer, is_b ? 1ms : 10ms, true);
      ++granted[customer];
      if (!is_b) break;
      matching.add({++last, "b"});
      of_b = last;
    }
  }
  CHECK(granted["b"] > 9 * granted["a"]);
  CHECK(granted["b"] < 11 * granted["a"]);
}

TEST_CASE("cells take turns by service time") {
  LeaseMatching matching;
  matching.filled(a, 100'000);
  matching.filled(b, 100'000);
  std::map<CellKey, int> granted;
  for (std::uint64_t number = 1; number <= 1100; ++number) {
    matching.add(request(number));
    const auto ask = matching.next_ask();
    REQUIRE(ask);
    matching.answered(*ask, 1, LaneState::more, 100'000);
    matching.ended(ask->cell, ask->cell == a ? 10ms : 1ms);
    ++granted[ask->cell];
  }
  CHECK(granted[b] > 9 * granted[a]);
  CHECK(granted[b] < 11 * granted[a]);
}

TEST_CASE("requests that arrive together are spread over cells") {
  LeaseMatching matching;
  matching.filled(a, 100);
  matching.filled(b, 100);
  for (std::uint64_t number = 1; number <= 10; ++number) matching.add(request(number));
  std::map<CellKey, int> asked;
  while (const auto ask = matching.next_ask()) ++asked[ask->cell];
  CHECK(asked[a] == 5);
  CHECK(asked[b] == 5);
}

namespace {

/// Cells with jobs and slots, as dispatchers play them, against a matching: no job may stay while
/// a worker waits and a slot is free.
class Market {
 public:
  /// `customer`: of all jobs; most of the workers ask for those of this customer.
  explicit Market(unsigned seed, std::optional<std::string> customer = {})
      : random_(seed), customer_(std::move(customer)) {
    for (int n = 0; n < 4; ++n) {
      const auto of_customer = customer_.value_or("c" + std::to_string(n));
      cells_[{n % 2 == 0 ? "*" : of_customer, std::to_string(n)}] = {};
    }
  }

  void run() {
    for (int step = 0; step < 400; ++step) {
      act();
      while (const auto ask = matching_.next_ask()) asks_.push_back(*ask);
      for (const auto number : matching_.take_finished()) REQUIRE(open_.erase(number) == 1);
    }
    for (const auto number : std::set<std::uint64_t>{open_}) matching_.stop_waiting(number);
    answer_all();
    for (const auto number : matching_.take_finished()) open_.erase(number);
    CHECK(open_.empty());
  }

 private:
  static constexpr std::size_t window_max = 2;
  struct Cell {
    std::size_t jobs = 0;  ///< In the window are `window_max` of them; more come with each answer.
    std::size_t slots = 3;
    std::size_t running = 0;
    bool reported = false;
    bool wanted = false;
    std::size_t reserved = 0;
  };

  std::size_t below(std::size_t limit) { return random_() % limit; }

  void act() {
    auto it = cells_.begin();
    std::advance(it, below(cells_.size()));
    auto& [key, cell] = *it;
    switch (below(6)) {
      case 0:
        cell.jobs += 1 + below(3);
        break;
      case 1:
        ask_for_leases(below(4) != 0);
        break;
      case 2:
        if (cell.running > 0) {
          cell.running -= 1;
          matching_.ended(key, milliseconds{below(20)});
        }
        break;
      case 3:
        if (!open_.empty()) matching_.stop_waiting(*open_.begin());
        break;
      default:
        answer_all();
        check_idle();
        return;
    }
    if (below(2) == 0) dispatch(key, cell);
    if (!asks_.empty() && below(2) == 0) answer_one();
  }

  void ask_for_leases(bool waits) {
    open_.insert(++last_);
    if (!waits) impatient_.insert(last_);
    matching_.add({last_, below(3) == 0 ? std::nullopt : customer_, 1 + below(3), waits});
  }

  void dispatch(const CellKey& key, Cell& cell) {
    if (!cell.reported && cell.jobs > 0) {
      cell.reported = true;
      matching_.filled(key, std::min({cell.jobs, window_max, free(cell)}));
    }
    while (cell.wanted && free(cell) > 0 && cell.jobs > cell.reserved) {
      cell.reserved += 1;
      if (const auto ask = matching_.offered(key, customer_)) {
        asks_.push_back(*ask);
      } else {
        cell.reserved -= 1;
        cell.wanted = false;
      }
    }
  }

  static std::size_t free(const Cell& cell) {
    const auto taken = cell.running + cell.reserved;
    return cell.slots - std::min(cell.slots, taken);
  }

  void answer_one() {
    const Ask ask = asks_.front();
    asks_.pop_front();
    Cell& cell = cells_.at(ask.cell);
    if (cell.reserved > 0) cell.reserved -= 1;
    const auto window = std::min(cell.jobs, window_max);
    const auto granted = std::min({ask.count, window, free(cell)});
    cell.jobs -= granted;
    cell.running += granted;
    REQUIRE(cell.running <= cell.slots);
    auto state = LaneState::more;
    if (cell.jobs == 0) {
      state = LaneState::empty;
    } else if (free(cell) == 0) {
      state = LaneState::busy;
      cell.wanted = true;
    }
    cell.reported = cell.jobs > 0;
    matching_.answered(ask, granted, state, std::min(window - granted, free(cell)));
  }

  void answer_all() {
    for (bool again = true; again;) {
      again = false;
      for (auto& [key, cell] : cells_) dispatch(key, cell);
      while (const auto ask = matching_.next_ask()) asks_.push_back(*ask);
      while (!asks_.empty()) {
        answer_one();
        again = true;
      }
    }
    for (const auto number : matching_.take_finished()) REQUIRE(open_.erase(number) == 1);
    for (const auto number : open_) REQUIRE_FALSE(impatient_.contains(number));
  }

  /// A worker waits only if no cell has both a job and a slot.
  void check_idle() {
    if (matching_.waiting() == 0) return;
    for (const auto& [key, cell] : cells_) REQUIRE((cell.jobs == 0 || free(cell) == 0));
  }

  std::mt19937 random_;
  const std::optional<std::string> customer_;
  LeaseMatching matching_;
  std::map<CellKey, Cell> cells_;
  std::deque<Ask> asks_;
  std::set<std::uint64_t> open_;
  std::set<std::uint64_t> impatient_;
  std::uint64_t last_ = 0;
};

}  // namespace

TEST_CASE("no worker waits while a cell has a job and a slot, in random orders") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    Market{seed}.run();
    Market{seed, "c"}.run();
  }
}
