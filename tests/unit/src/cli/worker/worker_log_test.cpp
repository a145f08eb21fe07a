#include "src/cli/worker/worker_log.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"

using celld::cli::WorkerLog;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds patience = 10min;

/// Takes no line until it is opened.
struct Reader {
  void write(const std::string& line) {
    opened.wait();
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  }

  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  std::mutex mutex;
  std::vector<std::string> lines;
};

}  // namespace

TEST_CASE("a worker's log is written in order, and to its end") {
  Reader reader;
  reader.gate.set_value();
  {
    const WorkerLog log{false, [&](const std::string& line) { reader.write(line); }, patience};
    for (int i = 0; i < 500; ++i) log.note(std::to_string(i));
    log.problem("the last");
  }
  REQUIRE(reader.lines.size() == 501);
  for (int i = 0; i < 500; ++i)
    CHECK(reader.lines[static_cast<std::size_t>(i)] == std::to_string(i));
  CHECK(reader.lines.back() == "the last");
}

TEST_CASE("a quiet worker's log has problems only") {
  Reader reader;
  reader.gate.set_value();
  {
    const WorkerLog log{true, [&](const std::string& line) { reader.write(line); }, patience};
    log.note("all is well");
    log.problem("nothing is well");
  }
  CHECK(reader.lines == std::vector<std::string>{"nothing is well"});
}

TEST_CASE("a worker does not wait for the reader of its log, which learns how much it missed") {
  Reader reader;
  {
    const WorkerLog log{false, [&](const std::string& line) { reader.write(line); }, patience};
    // The writing thread may have taken the first line.
    for (std::size_t i = 0; i < WorkerLog::lines_max + 11; ++i) log.problem("line");
    reader.gate.set_value();
  }
  REQUIRE(reader.lines.size() >= WorkerLog::lines_max + 1);
  const auto written = reader.lines.size() - 1;
  CHECK(reader.lines.back() == std::to_string(WorkerLog::lines_max + 11 - written) +
                                   " lines of this log were lost: nothing read them in time");
}

TEST_CASE("a worker ends although nothing reads its log") {
  auto reader = std::make_shared<Reader>();
  {
    const WorkerLog log{false, [reader](const std::string& line) { reader->write(line); }, 100ms};
    log.problem("line");
  }
  CHECK(reader->lines.empty());
  reader->gate.set_value();
}
