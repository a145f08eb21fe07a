// The order in which the lines of a batch are submitted.
#include "src/http/api/batch_lines.hpp"

#include <string>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace celld::api;

namespace {

BatchLines lines_of(const std::vector<std::uint64_t>& good, const std::vector<std::uint64_t>& bad,
                    std::uint64_t next) {
  SubmitLines piece;
  for (const auto line : good) piece.good.push_back({line, {}});
  for (const auto line : bad) piece.bad.push_back({line, nullptr});
  piece.next = next;
  return BatchLines(std::move(piece));
}

/// Takes the next line: "+" with the number of a good one, "-" with that of a bad one.
std::string take(BatchLines& lines) {
  if (const auto* bad = lines.take_bad()) return "-" + std::to_string(bad->line);
  if (const auto* good = lines.take_good()) return "+" + std::to_string(good->line);
  return "";
}

}  // namespace

TEST_CASE("good and bad lines are taken in the order of the body, each once") {
  auto lines = lines_of({2, 3, 6}, {1, 4, 5, 7}, 8);
  std::string order;
  std::uint64_t line = 1;
  for (auto taken = take(lines); !taken.empty(); taken = take(lines)) {
    order += taken;
    CHECK(lines.first_left() == ++line);
  }
  CHECK(order == "-1+2+3-4-5+6-7");
  CHECK(lines.first_left() == 8);
}

TEST_CASE("no line is taken before its turn") {
  auto lines = lines_of({2}, {1}, 3);
  CHECK(lines.take_good() == nullptr);
  CHECK(take(lines) == "-1");
  CHECK(lines.take_bad() == nullptr);
  CHECK(take(lines) == "+2");
  CHECK(lines.take_good() == nullptr);
}

TEST_CASE("lines that were left out of a piece do not count as left") {
  // Blank lines have numbers, too.
  auto lines = lines_of({5}, {}, 9);
  CHECK(lines.first_left() == 5);
  CHECK(take(lines) == "+5");
  CHECK(lines.first_left() == 9);
  CHECK(lines_of({}, {}, 4).first_left() == 4);
}
