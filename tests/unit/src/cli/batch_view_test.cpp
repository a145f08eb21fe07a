#include "src/cli/batch_view.hpp"

#include <cstdint>
#include <string>

#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;

namespace {

json::Value a_batch() {
  return json::Value::parse(R"({"id":"06f3k9v2m8qzr","customer":null,"total":7,
      "states":{"scheduled":1,"queued":2,"running":1,"retrying":0,"compensating":0,"succeeded":2,
                "failed":1,"cancelled":0,"forgotten":0},
      "progress":0.4285,"created_at":"2026-11-20T22:42:56.123Z","finished_at":null})");
}

}  // namespace

TEST_CASE("a batch is one line with its jobs by state") {
  BatchTable table;
  table.add(a_batch());
  CHECK(table.text({}) ==
        "BATCH          DONE  TOTAL  WAITING  RUNNING  RETRYING  SUCCEEDED  FAILED  CANCELLED  "
        "FORGOTTEN\n"
        "06f3k9v2m8qzr   42%      7        3        1         0          2       1          0"
        "          0\n");
}

TEST_CASE("on a narrow terminal, a batch keeps its id and its progress") {
  BatchTable table;
  table.add(a_batch());
  const auto text = table.text({.width = 40});
  CHECK(text.find("06f3k9v2m8qzr   42%      7") != std::string::npos);
}

TEST_CASE("numbers of a batch that cannot be are shown without harm") {
  auto batch = a_batch();
  batch["states"]["queued"] = INT64_MAX;
  batch["progress"] = 1e300;
  BatchTable table;
  table.add(batch);
  CHECK(table.text({}).find("9223372036854775808") != std::string::npos);
  CHECK(table.text({}).find(" 100% ") != std::string::npos);
}

TEST_CASE("jobs that compensate are among the waiting ones of a batch") {
  auto batch = a_batch();
  batch["states"]["compensating"] = 4;
  BatchTable table;
  table.add(batch);
  CHECK(table.text({}).find("\n06f3k9v2m8qzr   42%      7        7        1 ") !=
        std::string::npos);
}

TEST_CASE("the outcome of a batch is that of its worst job") {
  auto batch = a_batch();
  CHECK(outcome_of_batch(batch) == ExitCode::not_ended);
  batch["finished_at"] = "2026-11-20T22:42:56.123Z";
  CHECK(outcome_of_batch(batch) == ExitCode::job_not_succeeded);
  batch["states"]["succeeded"] = 7;
  CHECK(outcome_of_batch(batch) == ExitCode::ok);
}

TEST_CASE("a report says how many rejected lines it does not list") {
  const auto report = json::Value::parse(R"({"id":"06f3k9v2m8qzr","accepted":4,"replayed":1,
      "rejected":3,"stopped_at_line":7,"errors":[
        {"line":3,"status":422,"detail":"A fault.","errors":[{"pointer":"","detail":"must be x"}]},
        {"line":7,"status":429,"detail":"Full."}]})");
  const auto text = batch_report(report, {{}, 1});
  CHECK(text.find("\n    must be x\n") != std::string::npos);
  CHECK(text.find("\n  and 2 more rejected lines, not listed\n") != std::string::npos);
}

TEST_CASE("a refused line in the list is none of the rejected lines that a report does not list") {
  const auto report = json::Value::parse(R"({"id":"06f3k9v2m8qzr","accepted":9,"replayed":0,
      "rejected":5,"refused_lines":[2,4],"stopped_at_line":15,"errors":[
        {"line":1,"status":422,"detail":"A fault."},{"line":2,"status":429,"detail":"Full."},
        {"line":4,"status":429,"detail":"Full."},{"line":15,"status":429,"detail":"Full."}]})");
  CHECK(batch_report(report, {{}, 1}).find("\n  and 2 more rejected lines, not listed\n") !=
        std::string::npos);
}

TEST_CASE("a report names the lines of the file, and says where a batch ended") {
  const auto report = json::Value::parse(R"({"id":"06f3k9v2m8qzr","accepted":4,"replayed":1,
      "rejected":1,"stopped_at_line":7,"errors":[
        {"line":3,"status":422,"type":"/problems/invalid-job","detail":"The job has a fault.",
         "errors":[{"pointer":"/entity/id","detail":"is \u001b[31mrequired"}]},
        {"line":7,"status":429,"type":"/problems/queue-full","detail":"Full."}]})");
  const auto text = batch_report(report, {{}, 101});
  CHECK(text.find("4 accepted, 1 submitted before, 1 rejected\n") != std::string::npos);
  CHECK(text.find("  line 103: 422 The job has a fault.\n    /entity/id is ") != std::string::npos);
  CHECK(text.find("  line 107: 429 Full.\n") != std::string::npos);
  CHECK(text.find("not listed") == std::string::npos);
  CHECK(text.find("lines before line 107 were processed") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(batch_report(json::Value{}, {}) == "batch : 0 accepted, 0 submitted before, 0 rejected\n");
}

TEST_CASE("progress shows the rate, and the remaining time if the length is known") {
  const UploadProgress half{5000, 50, 100, milliseconds{2000}};
  CHECK(progress_line(half, true) ==
        "[###############---------------] 50%  5000 lines, 2500/s, 2.0s left");
  CHECK(progress_line(half, false) == "50%, 5000 lines, 2500/s, 2.0s left");
  CHECK(progress_line({5000, 50, std::nullopt, milliseconds{2000}}, true) == "5000 lines, 2500/s");
  CHECK(progress_line({0, 0, 100, milliseconds{0}}, false) == "0%, 0 lines, 0/s");
}

TEST_CASE("after a resume, the rate and the remaining time are those of the present request") {
  const UploadProgress resumed{9000, 60, 100, milliseconds{2000}, 8000, 50};
  CHECK(progress_line(resumed, false) == "60%, 9000 lines, 500/s, 8.0s left");
  const UploadProgress begun{8000, 50, 100, milliseconds{100}, 8000, 50};
  CHECK(progress_line(begun, false) == "50%, 8000 lines, 0/s");
}

TEST_CASE("what is left of a batch that ended early") {
  const SentLines sent{{3, 7, 8}, 101};
  CHECK(sent.in_file(1) == 3);
  CHECK(sent.in_file(3) == 8);
  CHECK(sent.in_file(4) == 101);
  SECTION("a line of the file that was sent for the first time") {
    const auto rest =
        sent.after(json::Value::parse(R"({"stopped_at_line":10,"refused_lines":[2,5]})"));
    CHECK(rest.again == std::vector<std::uint64_t>{7, 102});
    CHECK(rest.first == 107);
    CHECK(rest.lowest() == 7);
  }
  SECTION("a line that was sent again") {
    const auto rest =
        sent.after(json::Value::parse(R"({"stopped_at_line":3,"refused_lines":[1]})"));
    CHECK(rest.again == std::vector<std::uint64_t>{3, 8});
    CHECK(rest.first == 101);
  }
  SECTION("none was accepted") {
    const auto rest = sent.after(json::Value::parse(R"({"stopped_at_line":1})"));
    CHECK(rest.again == sent.again);
    CHECK(rest.first == 101);
  }
}
