// Which cells have labels, and that no count is lost, doubled or taken back.
#include "src/metrics/cell_tallies.hpp"

#include <map>
#include <random>
#include <set>

#include "tests/unit/catch.hpp"

using namespace celld::metrics;
using cells::CellKey;
using cells::Refusal;

namespace {

CellKey cell(std::size_t number) {
  return {"customer" + std::to_string(number), "*"};
}

std::set<std::string> labelled(const CellTallies& tallies) {
  std::set<std::string> customers;
  for (const auto& [key, tally] : tallies.snapshot().labelled) customers.insert(key.customer);
  return customers;
}

void submit(CellTallies& tallies, std::size_t number, int times) {
  for (int i = 0; i < times; ++i) tallies.submitted(cell(number));
}

}  // namespace

TEST_CASE("cells get labels while any are left, and the others are summed") {
  CellTallies tallies{{2, 100}};
  submit(tallies, 1, 1);
  submit(tallies, 2, 2);
  submit(tallies, 3, 3);
  submit(tallies, 4, 4);
  const auto taken = tallies.snapshot();
  REQUIRE(taken.labelled.size() == 2);
  CHECK(taken.labelled[0].first == cell(1));
  CHECK(taken.labelled[0].second.submissions == 1);
  CHECK(taken.labelled[1].second.submissions == 2);
  CHECK(taken.others.submissions == 7);
}

TEST_CASE("each event has its own counter") {
  CellTallies tallies;
  tallies.submitted(cell(1));
  tallies.refused(cell(1), Refusal::Kind::queue_full);
  tallies.attempt_ended(cell(1), false);
  tallies.attempt_ended(cell(1), true);
  tallies.job_ended(cell(1), cells::JobState::failed);
  const auto taken = tallies.snapshot();
  REQUIRE(taken.labelled.size() == 1);
  const Tally& tally = taken.labelled[0].second;
  CHECK(tally.submissions == 1);
  CHECK(tally.refusals[static_cast<std::size_t>(Refusal::Kind::queue_full)] == 1);
  CHECK(tally.lease_expiries == 1);
  CHECK(tally.finished[static_cast<std::size_t>(cells::JobState::failed)] == 1);
  CHECK(taken.others.submissions == 0);
}

TEST_CASE("names that a client made up never become labels") {
  CellTallies tallies;
  tallies.refused({"made", "up"}, Refusal::Kind::no_cell);
  tallies.refused({"made", "up"}, Refusal::Kind::too_many_cells);
  tallies.refused({}, Refusal::Kind::shutting_down);
  const auto taken = tallies.snapshot();
  CHECK(taken.labelled.empty());
  for (const auto kind :
       {Refusal::Kind::no_cell, Refusal::Kind::too_many_cells, Refusal::Kind::shutting_down}) {
    CHECK(taken.others.refusals[static_cast<std::size_t>(kind)] == 1);
  }
}

TEST_CASE("a cell that is more than twice as busy takes the label of another") {
  CellTallies tallies{{2, 100}};
  submit(tallies, 1, 10);
  submit(tallies, 2, 10);
  submit(tallies, 3, 20);
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer1", "customer2"});
  submit(tallies, 1, 5);  // Earlier activity is halved: 10, 5, and 10 + 30.
  submit(tallies, 3, 30);
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer1", "customer3"});
}

TEST_CASE("a submission makes a cell as busy as an attempt") {
  CellTallies tallies{{1, 100}};
  submit(tallies, 1, 10);
  for (int i = 0; i < 22; ++i) tallies.attempt_ended(cell(2), false);
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer2"});
}

TEST_CASE("a backlog makes a cell busy, even when nothing happens in it") {
  CellTallies tallies{{1, 100}};
  submit(tallies, 1, 10);
  CHECK(tallies.saw(cell(1), 0));
  CHECK_FALSE(tallies.saw(cell(2), 500));
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer2"});
}

TEST_CASE("half of what a cell without a label did counts in the next ranking") {
  CellTallies tallies{{1, 100}};
  submit(tallies, 1, 10);
  submit(tallies, 2, 16);
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer1"});
  submit(tallies, 2, 4);  // Halves of 10 and 16 are left: 5, and 8 + 4.
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer2"});
}

TEST_CASE("a backlog counts only for as long as it is seen") {
  CellTallies tallies{{1, 100}};
  CHECK(tallies.saw(cell(1), 500));
  tallies.rank();
  submit(tallies, 2, 10);
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer2"});
}

TEST_CASE("idle cells get labels only while any are left") {
  CellTallies tallies{{2, 100}};
  CHECK(tallies.saw(cell(1), 0));
  CHECK(tallies.saw(cell(2), 0));
  CHECK_FALSE(tallies.saw(cell(3), 0));
  submit(tallies, 3, 2);
  tallies.rank();
  CHECK(labelled(tallies).contains("customer3"));
  CHECK(labelled(tallies).size() == 2);
}

TEST_CASE("cells beyond the limit on candidates are counted among the others") {
  CellTallies tallies{{1, 2}};
  for (std::size_t i = 1; i <= 10; ++i) submit(tallies, i, 1);
  CHECK(tallies.snapshot().others.submissions == 9);
  tallies.rank();
  tallies.rank();  // Cells that were idle since have made room.
  submit(tallies, 10, 50);
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer10"});
}

TEST_CASE("a busy cell that comes late displaces candidates that were busy once") {
  CellTallies tallies{{1, 16}};
  for (std::size_t i = 1; i <= 1000; ++i) submit(tallies, i, 1);
  submit(tallies, 1001, 50);
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer1001"});
}

TEST_CASE("cells that come once each do not displace the candidates that are busy") {
  CellTallies tallies{{1, 16}};
  submit(tallies, 1, 1);  // Takes the label.
  for (std::size_t i = 2; i <= 2000; ++i) {
    submit(tallies, i, 1);
    submit(tallies, 3000, 3);
  }
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer3000"});
}

TEST_CASE("cells that only a survey finds do not displace candidates") {
  CellTallies tallies{{1, 16}};
  for (std::size_t i = 1; i <= 16; ++i) submit(tallies, i, 1);
  for (std::size_t i = 17; i <= 100; ++i) CHECK_FALSE(tallies.saw(cell(i), 50));
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer1"});
}

TEST_CASE("a candidate that a ranking finds idle leaves its place to a cell with a backlog") {
  CellTallies tallies{{1, 2}};
  submit(tallies, 1, 1);
  submit(tallies, 2, 1);
  tallies.rank();  // Halves what each has done to nothing.
  tallies.rank();
  CHECK_FALSE(tallies.saw(cell(3), 50));
  tallies.rank();
  CHECK(labelled(tallies) == std::set<std::string>{"customer3"});
}

TEST_CASE("no series decreases while it exists, and every event is in exactly one") {
  CellTallies tallies{{5, 50}};
  std::mt19937 random{42};
  std::map<std::string, std::uint64_t> before;
  std::uint64_t counted = 0;  // From the increases of the series, as Prometheus adds them up.
  std::uint64_t happened = 0;
  for (int round = 0; round < 200; ++round) {
    const auto favourite = random() % 40;
    for (int i = 0; i < 50; ++i, ++happened) {
      tallies.submitted(cell(random() % 2 == 0 ? favourite : random() % 40));
    }
    std::map<std::string, std::uint64_t> now;
    const auto taken = tallies.snapshot();
    CHECK(taken.labelled.size() <= 5);
    for (const auto& [key, tally] : taken.labelled) now[key.customer] = tally.submissions;
    now["(others)"] = taken.others.submissions;
    for (const auto& [name, value] : now) {
      REQUIRE(value >= before[name]);
      counted += value - before[name];
    }
    REQUIRE(counted == happened);
    tallies.rank();
    // A series that ended starts at 0 when it returns.
    const auto left = labelled(tallies);
    before = now;
    for (auto& [name, value] : before) {
      if (name != "(others)" && !left.contains(name)) value = 0;
    }
  }
}
