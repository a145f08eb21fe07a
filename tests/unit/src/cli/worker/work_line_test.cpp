#include "src/cli/worker/work_line.hpp"

#include <string>

#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

bool is_progress(const std::string& line, double share) {
  return parse_work_line(line) == WorkLine(ProgressLine{share});
}

bool is_message(const std::string& line, const std::string& text) {
  return parse_work_line(line) == WorkLine(MessageLine{text});
}

bool is_other(const std::string& line) {
  return parse_work_line(line) == WorkLine(OtherLine{});
}

}  // namespace

TEST_CASE("progress is a fraction or a percentage") {
  CHECK(is_progress("progress 0.4", 0.4));
  CHECK(is_progress("progress 40%", 0.4));
  CHECK(is_progress("progress 0", 0));
  CHECK(is_progress("progress 1", 1));
  CHECK(is_progress("  progress\t100%\r", 1));
}

TEST_CASE("a message is the rest of its line") {
  CHECK(is_message("message the disk is formatted", "the disk is formatted"));
  CHECK(is_message("message   progress 40% \r", "progress 40%"));
}

TEST_CASE("a line that only resembles the protocol is an ordinary line") {
  for (const char* line :
       {"", " ", "progress", "progress ", "progress 1.5", "progress -0.1", "progress 101%",
        "progress nan", "progress inf", "progress 40 %", "progress 40%%", "progress 0.4 of it",
        "progress: 0.4", "progressive 1", "Progress 0.4", "message", "message ", "messages wait",
        "a message here"})
    CHECK(is_other(line));
}
