// What became of the lines of a batch, and where a batch ended.
#include "src/http/api/batch_tally.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::api;
using Outcome = BatchTally::Outcome;

namespace {

std::unique_ptr<Problem> problem(const std::string& detail) {
  return std::make_unique<Problem>(Problem{.kind = ProblemKind::queue_full, .detail = detail});
}

std::vector<std::uint64_t> lines_of(const BatchTally& tally) {
  std::vector<std::uint64_t> lines;
  for (const auto& error : tally.errors()) lines.push_back(error.line);
  return lines;
}

}  // namespace

TEST_CASE("every line is counted once, whatever the order of the outcomes") {
  BatchTally tally;
  const auto first = tally.begin(1);
  const auto second = tally.begin(2);
  tally.reject(3, problem("bad"));
  const auto fourth = tally.begin(4);
  tally.note(fourth, Outcome::rejected, problem("worse"));
  tally.note(second, Outcome::replayed);
  CHECK(tally.size() == 4);
  tally.note(first, Outcome::accepted);
  CHECK(tally.size() == 0);
  CHECK(tally.unanswered() == 0);
  tally.finish(5);
  CHECK(tally.accepted() == 1);
  CHECK(tally.replayed() == 1);
  CHECK(tally.rejected() == 2);
  CHECK(lines_of(tally) == std::vector<std::uint64_t>{3, 4});
  CHECK_FALSE(tally.stopped_at());
  CHECK(tally.why() == nullptr);
}

TEST_CASE("a rejected line stays in memory only while an earlier line is unanswered") {
  BatchTally tally;
  tally.reject(1, problem("bad"));
  CHECK(tally.size() == 0);
  const auto second = tally.begin(2);
  tally.reject(3, problem("bad"));
  CHECK(tally.size() == 2);
  tally.note(second, Outcome::accepted);
  CHECK(tally.size() == 0);
}

TEST_CASE("a batch ends at its first refused line, and no later line counts") {
  BatchTally tally;
  const auto first = tally.begin(1);
  const auto second = tally.begin(2);
  tally.reject(3, problem("bad"));
  const auto fourth = tally.begin(4);
  tally.note(fourth, Outcome::refused);
  tally.note(second, Outcome::refused, problem("full"));
  CHECK(tally.is_stopped());
  tally.note(first, Outcome::accepted);
  tally.finish(5);
  CHECK(tally.accepted() == 1);
  CHECK(tally.rejected() == 0);
  CHECK(tally.stopped_at() == 2);
  REQUIRE(lines_of(tally) == std::vector<std::uint64_t>{2});
  CHECK(tally.errors()[0].problem.detail == "full");
}

TEST_CASE("a refused line before an accepted one is rejected, so that a resend repeats nothing") {
  BatchTally tally;
  const auto first = tally.begin(1);
  const auto second = tally.begin(2);
  const auto third = tally.begin(3);
  tally.note(first, Outcome::refused, problem("full"));
  tally.note(second, Outcome::accepted);
  tally.note(third, Outcome::refused);
  tally.finish(4);
  CHECK(tally.accepted() == 1);
  CHECK(tally.rejected() == 1);
  CHECK(tally.stopped_at() == 3);
  CHECK(lines_of(tally) == std::vector<std::uint64_t>{1, 3});
  CHECK(tally.refused_lines() == std::vector<std::uint64_t>{1});
  CHECK(tally.errors()[0].problem.detail ==
        "full celld has accepted a later line: send this one again by itself.");
  CHECK(tally.errors()[1].problem.detail == "full");
}

TEST_CASE("every refused line before the last accepted one is rejected") {
  BatchTally tally;
  for (std::uint64_t line = 1; line <= 4; ++line) tally.begin(line);
  tally.note(0, Outcome::refused, problem("full"));
  tally.note(1, Outcome::refused);
  tally.note(2, Outcome::accepted);
  tally.note(3, Outcome::refused);
  tally.finish(5);
  CHECK(tally.accepted() == 1);
  CHECK(tally.rejected() == 2);
  CHECK(tally.stopped_at() == 4);
  CHECK(lines_of(tally) == std::vector<std::uint64_t>{1, 2, 4});
  CHECK(tally.refused_lines() == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("every refused line is named, also those that are no longer listed") {
  BatchTally tally;
  for (std::uint64_t line = 1; line <= 201; ++line) {
    const auto number = tally.begin(line);
    line % 2 == 1 ? tally.note(number, Outcome::accepted)
                  : tally.note(number, Outcome::refused, problem("full"));
  }
  tally.finish(202);
  CHECK(tally.errors().size() == BatchTally::errors_max);
  CHECK(tally.stopped_at() == 202);
  REQUIRE(tally.refused_lines().size() == 100);
  CHECK(tally.refused_lines().front() == 2);
  CHECK(tally.refused_lines().back() == 200);
}

TEST_CASE("a line that may have been accepted ends the batch, but is not to be sent again") {
  BatchTally tally;
  for (std::uint64_t line = 1; line <= 4; ++line) tally.begin(line);
  tally.note(0, Outcome::uncertain, problem("the store has failed"));
  CHECK(tally.is_stopped());
  tally.note(1, Outcome::refused);
  tally.note(2, Outcome::accepted);
  tally.note(3, Outcome::uncertain, problem("the store has failed"));
  tally.finish(5);
  CHECK(tally.accepted() == 1);
  CHECK(tally.rejected() == 2);
  CHECK(tally.stopped_at() == 4);
  CHECK(tally.refused_lines() == std::vector<std::uint64_t>{2});
  CHECK(lines_of(tally) == std::vector<std::uint64_t>{1, 2, 4});
  CHECK(tally.errors()[0].problem.detail == "the store has failed");
}

TEST_CASE("a refused line is explained by a refusal, not by a line whose fate is unknown") {
  BatchTally tally;
  for (std::uint64_t line = 1; line <= 4; ++line) tally.begin(line);
  tally.note(0, Outcome::uncertain, problem("the store has failed"));
  tally.note(1, Outcome::refused, problem("full"));
  tally.note(2, Outcome::refused);
  tally.note(3, Outcome::accepted);
  tally.finish(5);
  REQUIRE(lines_of(tally) == std::vector<std::uint64_t>{1, 2, 3, 5});
  CHECK(tally.errors()[2].problem.detail ==
        "full celld has accepted a later line: send this one again by itself.");
}

TEST_CASE("a batch whose client has gone has no reason for its refused lines") {
  BatchTally tally;
  const auto first = tally.begin(1);
  const auto second = tally.begin(2);
  tally.note(first, Outcome::refused);
  tally.note(second, Outcome::accepted);
  tally.finish(3);
  CHECK(tally.accepted() == 1);
  CHECK(tally.rejected() == 1);
  CHECK(tally.errors().empty());
  CHECK(!tally.stopped_at());
}

TEST_CASE("a batch that is stopped from outside ends at the line that follows") {
  BatchTally tally;
  tally.note(tally.begin(1), Outcome::accepted);
  tally.stop(*problem("stopping"));
  tally.stop(*problem("again"));
  tally.finish(2);
  CHECK(tally.stopped_at() == 2);
  CHECK(tally.why()->detail == "stopping");
}

TEST_CASE("at most 100 errors are listed, and the last of them says why the batch ended") {
  BatchTally tally;
  for (std::uint64_t line = 1; line <= 300; ++line) tally.reject(line, problem("bad"));
  tally.stop(*problem("full"));
  tally.finish(301);
  CHECK(tally.rejected() == 300);
  REQUIRE(tally.errors().size() == BatchTally::errors_max);
  CHECK(tally.errors()[98].line == 99);
  CHECK(tally.errors().back().line == 301);
  CHECK(tally.errors().back().problem.detail == "full");
}
