#include "cells/model/capacity_book.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "cells/model/slot_account.hpp"
#include "tests/unit/catch.hpp"

using namespace cells;

namespace {

using Order = CapacityBook::Order;

const CellKey a{"a", "*"};
const CellKey b{"b", "*"};
const CellKey c{"c", "*"};

Order granted(const CellKey& cell, std::uint32_t count) {
  return {cell, count, std::nullopt};
}

Order recalled(const CellKey& cell, std::uint32_t to) {
  return {cell, std::nullopt, to};
}

}  // namespace

TEST_CASE("an idle slot is recalled although a slot in use is on its way back") {
  const CellKey owner{"owner", "*"};
  const CellKey former{"former", "*"};
  const CellKey wants{"wants", "*"};
  CapacityBook book;
  book.limit(4);
  book.join(owner, {3, 3, 1}, 0);
  book.join(former, {0, 1, 1}, 0);
  book.join(wants, {0, 2, 1}, 0);
  book.open();
  book.report(owner, {3, 3, 1}, 3, 0);
  book.report(former, {0, 1, 1}, 1, 0);
  book.report(former, {0, 0, 1}, 1, 0);  // A reload has taken its burst away.
  book.take_orders();
  book.report(wants, {0, 2, 1}, 1, 0);
  CHECK(book.take_orders() == std::vector{CapacityBook::Order{former, {}, 0}});
  book.report(former, {0, 0, 1}, 1, 0);  // Its job goes on.
  book.take_orders();
  book.report(owner, {3, 3, 1}, 0, 0);
  CHECK(book.take_orders() == std::vector{CapacityBook::Order{owner, {}, 2}});
  book.report(owner, {3, 3, 1}, 0, 1);
  CHECK(book.take_orders() == std::vector{CapacityBook::Order{wants, 1, {}}});
}

TEST_CASE("a cell that starts first is answered when the book opens") {
  CapacityBook book;
  book.limit(2);
  book.join(a, {1, 1, 1}, 0);
  book.join(b, {0, 1, 1}, 2);
  CHECK(book.take_orders().empty());
  book.open();
  CHECK(book.take_orders() == std::vector{granted(a, 0), granted(b, 0)});
}

TEST_CASE("a cell that starts is granted its guarantee") {
  CapacityBook book;
  book.open();
  book.join(a, {4, 4, 1}, 0);
  CHECK(book.take_orders() == std::vector{granted(a, 4)});
  CHECK(book.total() == 4);
  CHECK(book.held() == 4);
}

TEST_CASE("no slot is granted until all cells have joined that may have jobs") {
  CapacityBook book;
  book.limit(4);
  book.join(a, {2, 4, 1}, 0);
  book.report(a, {2, 4, 1}, 3, 0);
  book.join(b, {2, 4, 1}, 3);
  CHECK(book.take_orders().empty());
  book.open();
  CHECK(book.take_orders() ==
        std::vector{granted(a, 0), granted(b, 0), granted(a, 1), recalled(b, 2)});
}

TEST_CASE("an idle guarantee is lent, and comes back when it is asked for") {
  CapacityBook book;
  book.open();
  book.join(a, {4, 4, 1}, 0);
  book.join(b, {2, 6, 1}, 0);
  book.take_orders();
  book.report(b, {2, 6, 1}, 5, 0);
  CHECK(book.take_orders() == std::vector{recalled(a, 1)});
  book.report(a, {4, 4, 1}, 0, 3);
  CHECK(book.take_orders() == std::vector{granted(b, 3)});
  CHECK(book.loans(a).lent == 3);
  CHECK(book.loans(b).borrowed == 3);
  book.report(a, {4, 4, 1}, 2, 0);
  CHECK(book.take_orders() == std::vector{recalled(b, 4)});
  book.report(b, {2, 6, 1}, 9, 1);
  CHECK(book.take_orders() == std::vector{granted(a, 1)});
}

TEST_CASE("a cell that needs its guarantee keeps it, and another one is asked") {
  CapacityBook book;
  book.open();
  book.join(a, {1, 1, 1}, 0);
  book.join(b, {1, 1, 1}, 0);
  book.join(c, {1, 3, 1}, 0);
  book.take_orders();
  book.report(c, {1, 3, 1}, 2, 0);
  CHECK(book.take_orders() == std::vector{recalled(a, 0)});
  book.report(a, {1, 1, 1}, 1, 0);
  CHECK(book.take_orders() == std::vector{recalled(b, 0)});
  book.report(b, {1, 1, 1}, 1, 0);
  CHECK(book.take_orders().empty());
  book.report(b, {1, 1, 1}, 0, 0);
  CHECK(book.take_orders() == std::vector{recalled(b, 0)});
}

TEST_CASE("slots that no cell needs return to the guarantees that they came from") {
  CapacityBook book;
  book.open();
  book.join(a, {2, 2, 1}, 0);
  book.join(b, {0, 2, 1}, 0);
  book.report(b, {0, 2, 1}, 2, 0);
  book.report(a, {2, 2, 1}, 0, 2);
  book.take_orders();
  book.report(b, {0, 2, 1}, 0, 2);
  CHECK(book.take_orders() == std::vector{granted(a, 2)});
}

TEST_CASE("a limit beyond the guarantees is lent first") {
  CapacityBook book;
  book.open();
  book.limit(10);
  book.join(a, {4, 4, 1}, 0);
  book.join(b, {4, 8, 1}, 0);
  book.take_orders();
  book.report(b, {4, 8, 1}, 7, 0);
  CHECK(book.take_orders() == std::vector{granted(b, 2), recalled(a, 3)});
}

TEST_CASE("a cell is granted the slots that it lacks and no more, although others are free") {
  CapacityBook book;
  book.open();
  book.limit(10);
  book.join(a, {2, 8, 1}, 0);
  book.take_orders();
  book.report(a, {2, 8, 1}, 4, 0);
  CHECK(book.take_orders() == std::vector{granted(a, 2)});
}

TEST_CASE("a cell that starts again keeps the slots of the jobs that still run") {
  CapacityBook book;
  book.open();
  book.join(a, {2, 6, 1}, 0);
  book.join(b, {4, 4, 1}, 0);
  book.report(a, {2, 6, 1}, 6, 0);
  book.report(b, {4, 4, 1}, 0, 4);
  book.take_orders();
  CHECK(book.loans(a).borrowed == 4);
  book.join(a, {2, 6, 1}, 5);
  CHECK(book.take_orders() == std::vector{granted(a, 0), granted(b, 1)});
  CHECK(book.loans(a).borrowed == 3);
}

TEST_CASE("what a limit no longer covers is recalled, although no cell wants it") {
  CapacityBook book;
  book.open();
  book.limit(8);
  book.join(a, {2, 8, 1}, 0);
  book.report(a, {2, 8, 1}, 8, 0);
  book.take_orders();
  book.limit(5);
  CHECK(book.take_orders() == std::vector{recalled(a, 5)});
  book.limit(7);
  CHECK(book.take_orders() == std::vector{recalled(a, 7)});
  book.limit(8);
  CHECK(book.take_orders() == std::vector{granted(a, 0)});
}

TEST_CASE("without a limit no guarantee waits for jobs that outlive a shrink") {
  CapacityBook book;
  book.open();
  book.join(a, {4, 4, 1}, 4);
  book.take_orders();
  book.report(a, {1, 1, 1}, 4, 0);
  book.join(b, {3, 3, 1}, 0);
  CHECK(book.take_orders().back() == granted(b, 3));
  CHECK(book.loans(a).borrowed == 0);
  book.report(a, {1, 1, 1}, 1, 3);
  CHECK(book.take_orders().empty());
  CHECK(book.held() == book.total());
}

TEST_CASE("a limit counts jobs that outlive a shrink") {
  CapacityBook book;
  book.open();
  book.limit(4);
  book.join(a, {4, 4, 1}, 4);
  book.report(a, {1, 1, 1}, 4, 0);
  book.join(b, {3, 3, 1}, 0);
  book.report(b, {3, 3, 1}, 3, 0);
  book.take_orders();
  book.report(a, {1, 1, 1}, 2, 2);
  CHECK(book.take_orders() == std::vector{granted(b, 2)});
}

TEST_CASE("a cell that left is forgotten, and its reports are ignored") {
  CapacityBook book;
  book.open();
  book.join(a, {2, 2, 1}, 0);
  book.leave(a);
  book.leave(a);
  CHECK_FALSE(book.report(a, {2, 2, 1}, 1, 1));
  CHECK(book.held() == 0);
  CHECK(book.total() == 0);
  CHECK(book.loans(a).lent == 0);
}

TEST_CASE("a cell is silent until something is recalled") {
  SlotAccount account({4, 4, 1});
  account.begin(0);
  account.grant(4);
  CHECK(account.is_at_rest());
  for (const std::uint32_t used : {0U, 4U, 1U, 3U}) CHECK_FALSE(account.adjust(used, 10));
  account.recall(2);
  CHECK_FALSE(account.is_at_rest());
  CHECK(account.adjust(1, 0) == SlotAccount::Report{1, 2});
  CHECK(account.limit() == 2);
  CHECK_FALSE(account.adjust(1, 1));
  CHECK(account.adjust(2, 1) == SlotAccount::Report{3, 0});
}

TEST_CASE("a recall never takes a part of the guarantee that the cell needs") {
  SlotAccount account({4, 4, 1});
  account.begin(0);
  account.grant(4);
  account.recall(0);
  CHECK(account.adjust(2, 1) == SlotAccount::Report{3, 1});
  CHECK(account.limit() == 3);
}

TEST_CASE("borrowed slots are given back as jobs end, and no job starts in them meanwhile") {
  SlotAccount account({2, 6, 1});
  account.begin(0);
  account.grant(6);
  account.recall(3);
  CHECK(account.limit() == 3);
  CHECK(account.adjust(6, 9) == SlotAccount::Report{6, 0});
  CHECK(account.adjust(5, 9) == SlotAccount::Report{6, 1});
  CHECK(account.adjust(3, 9) == SlotAccount::Report{6, 2});
  CHECK(account.held() == 3);
  CHECK_FALSE(account.adjust(3, 9));
}

TEST_CASE("a grant ends a recall") {
  SlotAccount account({2, 6, 1});
  account.begin(0);
  account.grant(6);
  account.recall(3);
  account.adjust(6, 0);
  account.grant(0);
  CHECK(account.limit() == 6);
}

TEST_CASE("idle slots beyond the guarantee are given back at once") {
  SlotAccount account({2, 6, 1});
  account.begin(0);
  account.grant(5);
  CHECK(account.adjust(3, 1) == SlotAccount::Report{4, 1});
  CHECK(account.adjust(0, 0) == SlotAccount::Report{0, 2});
  CHECK(account.held() == 2);
}

TEST_CASE("a cell that starts asks for more only when its start was answered") {
  SlotAccount account({2, 6, 1});
  account.begin(1);
  CHECK_FALSE(account.adjust(1, 3));
  account.grant(1);
  CHECK(account.adjust(2, 2) == SlotAccount::Report{4, 0});
}

TEST_CASE("a slot of an interrupted job goes back when the job ends before the start is answered") {
  SlotAccount account({2, 6, 1});
  account.begin(2);
  CHECK(account.adjust(1, 3) == SlotAccount::Report{4, 1});
  CHECK(account.held() == 1);
  account.grant(0);
  CHECK_FALSE(account.adjust(1, 3));
  CHECK(account.limit() == 1);
}

TEST_CASE("a lower burst holds at once") {
  SlotAccount account({4, 6, 1});
  account.begin(0);
  account.grant(6);
  account.change({2, 3, 1});
  CHECK(account.limit() == 3);
  CHECK(account.adjust(5, 9) == SlotAccount::Report{5, 1});
  CHECK(account.adjust(4, 9) == SlotAccount::Report{4, 1});
}

// --- Book and accounts together ------------------------------------------------------------------

namespace {

/// Cells and a book that exchange messages, which arrive in the order of each sender.
class Daemon {
 public:
  struct Cell {
    explicit Cell(const SlotTerms& terms) : account(terms) {}

    SlotAccount account;
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;
    std::uint64_t number = 0;  ///< Unique: a successor with the same key has another.
    std::deque<Order> inbox;
  };
  struct Join {
    std::uint32_t running = 0;
    std::uint64_t number = 0;
  };
  struct Leave {};
  struct Told {
    CellKey cell;
    std::variant<Join, SlotAccount::Report, Leave> what;
    SlotTerms terms;
  };

  explicit Daemon(unsigned seed) : random_(seed) { book.open(); }

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  void start(const CellKey& key, const SlotTerms& terms, std::uint32_t running = 0) {
    Cell& cell = cells.insert_or_assign(key, Cell{terms}).first->second;
    cell.running = running;
    cell.number = ++last_number_;
    cell.account.begin(running);
    to_book.push_back({key, Join{running, cell.number}, terms});
  }

  void stop(const CellKey& key) {
    cells.erase(key);
    to_book.push_back({key, Leave{}, {}});
  }

  void dispatch(const CellKey& key) {
    Cell& cell = cells.at(key);
    while (cell.waiting > 0 && cell.running < cell.account.limit()) {
      cell.waiting -= 1;
      cell.running += 1;
      REQUIRE(cell.running <= cell.account.terms().burst);
    }
    if (cell.account.is_at_rest()) return;
    const auto report = cell.account.adjust(cell.running, cell.waiting);
    if (report) to_book.push_back({key, *report, cell.account.terms()});
  }

  void deliver_to_book() {
    const Told told = to_book.front();
    to_book.pop_front();
    if (const auto* join = std::get_if<Join>(&told.what)) {
      book.join(told.cell, told.terms, join->running);
      joined_[told.cell] = join->number;
    } else if (const auto* report = std::get_if<SlotAccount::Report>(&told.what)) {
      book.report(told.cell, told.terms, report->need, report->returned);
    } else {
      book.leave(told.cell);
    }
    for (const auto& order : book.take_orders()) {  // Those to a dead dispatcher are lost.
      const auto found = cells.find(order.cell);
      if (found == cells.end() || found->second.number != joined_[order.cell]) continue;
      found->second.inbox.push_back(order);
    }
  }

  void deliver_to_cell(const CellKey& key) {
    Cell& cell = cells.at(key);
    const Order order = cell.inbox.front();
    cell.inbox.pop_front();
    if (order.grant) cell.account.grant(*order.grant);
    if (order.recall_to) cell.account.recall(*order.recall_to);
    dispatch(key);
  }

  /// Delivers everything, in any order. Returns how many messages that took.
  std::size_t deliver_all() {
    for (std::size_t count = 0;; ++count) {
      REQUIRE(count < 10'000);
      std::vector<CellKey> ready;
      for (const auto& [key, cell] : cells) {
        if (!cell.inbox.empty()) ready.push_back(key);
      }
      if (!to_book.empty()) ready.push_back(between_cells);
      if (ready.empty()) return count;
      const CellKey chosen = ready[below(static_cast<std::uint32_t>(ready.size()))];
      chosen == between_cells ? deliver_to_book() : deliver_to_cell(chosen);
    }
  }

  CapacityBook book;
  std::map<CellKey, Cell> cells;
  std::deque<Told> to_book;

 private:
  std::mt19937 random_;
  std::map<CellKey, std::uint64_t> joined_;
  std::uint64_t last_number_ = 0;
};

CellKey nth(std::uint32_t n) {
  return {std::string(1, static_cast<char>('a' + n)), "*"};
}

/// What holds whenever no message is under way, unless a cell has left whose guarantee others use.
void check_at_rest(const Daemon& daemon) {
  std::uint64_t running = 0;
  std::uint64_t guarantees = 0;
  std::uint64_t borrowed = 0;
  std::uint64_t lent = 0;
  for (const auto& [key, cell] : daemon.cells) {
    running += cell.running;
    guarantees += cell.account.terms().guarantee;
    borrowed += daemon.book.loans(key).borrowed;
    lent += daemon.book.loans(key).lent;
    REQUIRE(cell.running <= cell.account.held());
  }
  REQUIRE(guarantees <= daemon.book.total());
  REQUIRE(running <= daemon.book.held());
  if (daemon.book.held() > daemon.book.total()) return;
  if (guarantees == daemon.book.total()) REQUIRE(borrowed == lent);
  for (const auto& [key, cell] : daemon.cells) {
    // Work conservation: a job waits only if the cell may run no more, or no slot is free.
    if (cell.waiting > 0 && cell.running < cell.account.terms().burst) {
      REQUIRE(running == daemon.book.total());
    }
  }
}

/// As the jobs in lent slots end and others follow them, the running jobs approach the fair shares.
void check_fair(Daemon& daemon) {
  for (int round = 0; round < 40; ++round) {
    for (auto& [key, cell] : daemon.cells) {
      if (cell.running == 0) continue;
      cell.running -= 1;  // A job ends, and another one like it is submitted.
      cell.waiting += 1;
      daemon.dispatch(key);
      daemon.deliver_all();
    }
  }
  MaxMinShares ideal;
  ideal.limit(daemon.book.total());
  MaxMinShares::Id id = 0;
  for (const auto& [key, cell] : daemon.cells) {
    const auto& terms = cell.account.terms();
    ideal.set(++id, {terms.guarantee, terms.burst, terms.weight, cell.running + cell.waiting});
  }
  id = 0;
  std::uint64_t running = 0;
  std::uint64_t due = 0;
  for (const auto& [key, cell] : daemon.cells) {
    const auto& terms = cell.account.terms();
    ++id;
    running += cell.running;
    due += ideal.share(id);
    REQUIRE(cell.running >= std::min(terms.guarantee, cell.running + cell.waiting));
    // Equally good shares differ by one slot.
    REQUIRE(cell.running + 1 >= ideal.share(id));
    REQUIRE(cell.running <= ideal.share(id) + 1);
  }
  REQUIRE(running == due);
}

}  // namespace

TEST_CASE("cells and book agree on fair shares, whatever happens in whatever order") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Daemon daemon(seed);
    const auto below = [&](std::uint32_t n) { return daemon.below(n); };
    const bool limited = below(2) == 0;
    if (limited) daemon.book.limit(20 + below(6));
    const auto some_terms = [&]() -> SlotTerms {
      const auto guarantee = below(5);
      return {guarantee, guarantee + below(8), 1 + below(3)};
    };
    for (std::uint32_t n = 0; n < 4; ++n) daemon.start(nth(n), some_terms());
    for (int step = 0; step < 120; ++step) {
      const CellKey key = nth(below(4));
      const auto found = daemon.cells.find(key);
      if (found == daemon.cells.end()) {
        daemon.deliver_all();
        daemon.start(key, some_terms());
      } else if (Daemon::Cell& cell = found->second; below(3) == 0) {
        cell.waiting += below(6);
        daemon.dispatch(key);
      } else if (below(3) > 0 && cell.running > 0) {
        cell.running -= 1 + below(cell.running);
        daemon.dispatch(key);
      } else if (below(12) == 0) {
        cell.waiting = 0;
        daemon.dispatch(key);
      } else if (below(12) == 0) {  // The dispatcher dies; some of its jobs go on outside.
        const auto terms = cell.account.terms();
        const auto waiting = cell.waiting;
        daemon.start(key, terms, cell.running == 0 ? 0 : below(cell.running));
        daemon.cells.at(key).waiting = waiting;
        daemon.dispatch(key);
      } else if (below(20) == 0 && cell.running == 0 && cell.waiting == 0) {
        daemon.stop(key);
      } else if (!daemon.to_book.empty()) {
        daemon.deliver_to_book();
      } else if (!cell.inbox.empty()) {
        daemon.deliver_to_cell(key);
      }
      if (below(4) > 0) continue;
      daemon.deliver_all();
      check_at_rest(daemon);
    }
    daemon.deliver_all();
    check_at_rest(daemon);
    check_fair(daemon);
  }
}

TEST_CASE("a guarantee that is asked for is back as soon as other jobs end") {
  Daemon daemon(1);
  daemon.start(a, {4, 4, 1});
  daemon.start(b, {2, 6, 1});
  daemon.cells.at(b).waiting = 100;
  daemon.deliver_all();
  daemon.dispatch(b);
  daemon.deliver_all();
  REQUIRE(daemon.cells.at(b).running == 6);
  daemon.cells.at(a).waiting = 3;
  daemon.dispatch(a);
  daemon.deliver_all();
  CHECK(daemon.cells.at(a).running == 0);
  for (std::uint32_t ended = 1; ended <= 3; ++ended) {
    daemon.cells.at(b).running -= 1;
    daemon.dispatch(b);
    daemon.deliver_all();
    CHECK(daemon.cells.at(a).running == ended);
  }
  CHECK(daemon.cells.at(b).running == 3);
}

TEST_CASE("cells that stay within their guarantees exchange no messages") {
  Daemon daemon(2);
  for (std::uint32_t n = 0; n < 4; ++n) daemon.start(nth(n), {3, 3, 1});
  daemon.deliver_all();
  for (int job = 0; job < 50; ++job) {
    for (std::uint32_t n = 0; n < 4; ++n) {
      Daemon::Cell& cell = daemon.cells.at(nth(n));
      cell.waiting += 2;
      daemon.dispatch(nth(n));
      cell.running -= 1;
      daemon.dispatch(nth(n));
    }
  }
  CHECK(daemon.to_book.empty());
}

TEST_CASE("resized cells give back what they no longer may run") {
  Daemon daemon(3);
  daemon.start(a, {4, 4, 1});
  daemon.deliver_all();
  daemon.cells.at(a).waiting = 10;
  daemon.dispatch(a);
  REQUIRE(daemon.cells.at(a).running == 4);
  daemon.cells.at(a).account.change({1, 1, 1});
  daemon.dispatch(a);
  daemon.deliver_all();
  CHECK(daemon.book.total() == 1);
  for (int ended = 0; ended < 3; ++ended) {
    daemon.cells.at(a).running -= 1;
    daemon.dispatch(a);
    daemon.deliver_all();
  }
  CHECK(daemon.cells.at(a).running == 1);
  CHECK(daemon.book.held() == 1);
  check_at_rest(daemon);
}

TEST_CASE("a cell that has jobs lacks a part of its guarantee for at most one attempt of another") {
  constexpr std::uint64_t longest = 100;  // Of all attempts.
  for (unsigned seed = 0; seed < 100; ++seed) {
    Daemon daemon(seed);
    const auto below = [&](std::uint32_t n) { return daemon.below(n); };
    for (std::uint32_t n = 0; n < 4; ++n) {
      const auto guarantee = 1 + below(4);
      daemon.start(nth(n), {guarantee, guarantee + below(10), 1 + below(3)});
    }
    daemon.deliver_all();
    std::multimap<std::uint64_t, CellKey> ends;  // Of the jobs that run.
    std::map<CellKey, std::uint64_t> lacking_since;
    std::uint64_t now = 0;
    /// Starts what may start, and notes which cells lack a part of their guarantee.
    const auto carry_on = [&] {
      daemon.deliver_all();
      for (const auto& [key, cell] : daemon.cells) {
        const auto is_of_cell = [&cell_key = key](const auto& end) {
          return end.second == cell_key;
        };
        const auto known =
            static_cast<std::uint32_t>(std::count_if(ends.begin(), ends.end(), is_of_cell));
        for (auto n = known; n < cell.running; ++n) ends.emplace(now + 1 + below(longest), key);
        if (cell.waiting == 0 || cell.running >= cell.account.terms().guarantee) {
          lacking_since.erase(key);
        } else {
          REQUIRE(now - lacking_since.try_emplace(key, now).first->second <= longest);
        }
      }
    };
    for (int event = 0; event < 400; ++event) {
      const bool submits = ends.empty() || below(6) == 0;
      const CellKey key = submits ? nth(below(4)) : ends.begin()->second;
      Daemon::Cell& cell = daemon.cells.at(key);
      if (submits) {
        cell.waiting += 1 + below(12);
      } else {
        now = ends.begin()->first;
        ends.erase(ends.begin());
        cell.running -= 1;
      }
      daemon.dispatch(key);
      carry_on();
    }
  }
}
