// The log takes lines from any thread at any speed, and a slow reader delays no writer.
#include "src/logs/log.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/catch.hpp"

namespace celld::logs {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds patience{10'000};

/// A pipe for a log to write to.
class Pipe {
 public:
  Pipe() {
    REQUIRE(::pipe2(ends_.data(), O_CLOEXEC) == 0);
    file_ = ::fdopen(ends_[1], "w");
    REQUIRE(file_ != nullptr);
  }
  ~Pipe() {
    close_writer();
    ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  std::FILE* writer() { return file_; }
  int reader() const { return ends_[0]; }
  void close_writer() {
    if (file_ != nullptr) std::fclose(file_);
    file_ = nullptr;
  }
  /// All lines until the writer closes.
  std::vector<std::string> lines() {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t got = 0; (got = ::read(ends_[0], piece.data(), piece.size())) > 0;) {
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    std::vector<std::string> found;
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      found.push_back(text.substr(begin, end - begin));
    }
    return found;
  }

 private:
  std::array<int, 2> ends_{};
  std::FILE* file_ = nullptr;
};

bool has(const std::string& line, const std::string& part) {
  return line.find(part) != std::string::npos;
}

TEST_CASE("lines below the level are not written") {
  Pipe pipe;
  {
    Log log{{.level = Level::warning}, pipe.writer()};
    CHECK(log.wants(Level::warning));
    CHECK_FALSE(log.wants(Level::info));
    log.write({Level::info, "unheard"});
    log.write({Level::error, "heard"});
    CHECK(log.finish(patience));
  }
  pipe.close_writer();
  const auto lines = pipe.lines();
  REQUIRE(lines.size() == 1);
  CHECK(has(lines[0], " error heard"));
}

TEST_CASE("the threads of a log leave signals to other threads") {
  const auto tasks = [] {
    std::set<std::string> names;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
      names.insert(task.path());
    }
    return names;
  };
  const auto before = tasks();
  Pipe pipe;
  Log log{{}, pipe.writer()};
  log.write({Level::info, "a line"});
  CHECK(log.finish(patience));  // A thread that has just begun blocks signals anyway.
  int threads = 0;
  for (const auto& task : tasks()) {
    if (before.contains(task)) continue;
    ++threads;
    std::ifstream status{task + "/status"};
    std::string word;
    while (status >> word && word != "SigBlk:") {
    }
    status >> word;
    CHECK((std::stoull(word, nullptr, 16) >> (SIGTERM - 1) & 1) == 1);
  }
  CHECK(threads == 2);
}

TEST_CASE("lines of several threads are whole, each thread's in order") {
  Pipe pipe;
  std::vector<std::string> lines;
  {
    std::jthread reader([&] { lines = pipe.lines(); });
    {
      Log log{{.format = Format::json}, pipe.writer()};
      {
        std::vector<std::jthread> writers;
        for (std::uint64_t thread = 0; thread < 4; ++thread) {
          writers.emplace_back([&log, thread] {
            for (std::uint64_t i = 0; i < 500; ++i) {
              Line line{Level::info, "x"};
              log.write(line.number("thread", thread).number("i", i));
            }
          });
        }
      }
      CHECK(log.finish(patience));
    }
    pipe.close_writer();
  }
  REQUIRE(lines.size() == 2000);
  std::array<int, 4> next{};
  for (const auto& line : lines) {
    const auto thread = static_cast<std::size_t>(line.at(line.find("\"thread\":") + 9) - '0');
    REQUIRE(thread < 4);
    CHECK(has(line, "\"i\":" + std::to_string(next.at(thread)++) + "}"));
  }
}

TEST_CASE("a sleeping reader delays no writer, and lost lines are counted") {
  Pipe pipe;
  constexpr std::uint64_t written = 50'000;
  std::uint64_t seen = 0;
  std::uint64_t lost = 0;
  std::jthread reader;
  {
    Log log{{.queue_lines_max = 2000}, pipe.writer()};  // More than fits into a pipe.
    for (std::uint64_t i = 0; i < written; ++i) log.write({Level::info, "a line like another"});
    CHECK_FALSE(log.finish(milliseconds{10}));
    reader = std::jthread([&] {
      for (const auto& line : pipe.lines()) {
        if (const auto at = line.find("were lost"); at != std::string::npos) {
          lost += std::stoull(line.substr(line.find("count=") + 6));
        } else {
          ++seen;
        }
      }
    });
    CHECK(log.finish(patience));
  }
  pipe.close_writer();
  reader.join();
  CHECK(lost > 0);
  CHECK(seen + lost == written);
}

TEST_CASE("a pipe that another process has made non-blocking loses no line") {
  Pipe pipe;
  ::fcntl(::fileno(pipe.writer()), F_SETFL, O_NONBLOCK);
  constexpr int count = 5000;  // More than the pipe has room for.
  std::vector<std::string> lines;
  std::thread reader;
  {
    Log log{{.level = Level::info, .format = Format::json, .queue_lines_max = count},
            pipe.writer()};
    for (int i = 0; i < count; ++i) log.write({Level::info, "line " + std::to_string(i)});
    reader = std::thread{[&] { lines = pipe.lines(); }};
    CHECK(log.finish(patience));
  }
  pipe.close_writer();
  reader.join();
  CHECK(lines.size() == count);
}

TEST_CASE("lines that a full disk does not take are counted, and cut no other line") {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};
  REQUIRE(file);
  Log log{{.level = Level::info, .format = Format::json}, file.get()};
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  for (int i = 0; i < 3; ++i) log.write({Level::info, "a line of which no two find room"});
  CHECK(log.finish(patience));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  log.write({Level::info, "the next"});
  CHECK(log.finish(patience));
  std::string text(4096, ' ');
  text.resize(static_cast<std::size_t>(::pread(::fileno(file.get()), text.data(), text.size(), 0)));
  CHECK(text.find("could not be written\",\"count\":2}\n") != std::string::npos);
  CHECK(text.find("\n{", 99) == 100);  // Behind the part that found room.
  CHECK(text.find("\"the next\"}\n") != std::string::npos);
}

TEST_CASE("a flood is suppressed, and its end reports how many lines") {
  Pipe pipe;
  {
    Settings settings;
    settings.floods.each = {5, 1};
    Log log{settings, pipe.writer()};
    for (int i = 0; i < 100; ++i) log.write_limited({Level::info, "a job failed"}, "acme/dns");
    log.write({Level::info, "not limited"});
    CHECK(log.finish(patience));
  }
  pipe.close_writer();
  const auto lines = pipe.lines();
  REQUIRE(lines.size() == 7);
  CHECK(has(lines[5], "not limited"));
  CHECK(has(lines[6], "like=\"a job failed\" count=95 about=acme/dns"));
}

TEST_CASE("a flood of lines below the level is neither written nor reported") {
  Pipe pipe;
  {
    Settings settings;
    settings.floods.each = {5, 1};
    Log log{settings, pipe.writer()};
    for (int i = 0; i < 100; ++i) log.write_limited({Level::debug, "a job began"}, "acme/dns");
    CHECK(log.finish(patience));
  }
  pipe.close_writer();
  CHECK(pipe.lines().empty());
}

TEST_CASE("a flood of errors is reported even where warnings are not written") {
  Pipe pipe;
  {
    Settings settings;
    settings.level = Level::error;
    settings.floods.each = {5, 1};
    Log log{settings, pipe.writer()};
    for (int i = 0; i < 100; ++i) log.write_limited({Level::error, "a disk failed"}, "acme/dns");
    CHECK(log.finish(patience));
  }
  pipe.close_writer();
  const auto lines = pipe.lines();
  REQUIRE(lines.size() == 6);
  CHECK(has(lines[5], "like=\"a disk failed\" count=95 about=acme/dns"));
}

TEST_CASE("the end of a flood is reported with its duration, without waiting for another line") {
  Pipe pipe;
  Settings settings;
  settings.floods.each = {1, 2};
  Log log{settings, pipe.writer()};
  for (int i = 0; i < 3; ++i) log.write_limited({Level::info, "a job failed"}, "");
  std::string text;
  std::array<char, 1> byte{};
  const auto is_reported = [&] { return has(text, "suppressed") && text.ends_with('\n'); };
  while (!is_reported() && ::read(pipe.reader(), byte.data(), 1) == 1) text += byte[0];
  CHECK(has(text, " info a job failed\n"));
  // The flood is over after 500 ms, and its end is usually noticed after a second.
  CHECK(std::stoull(text.substr(text.find("over_ms=") + 8)) >= 10);
}

}  // namespace
}  // namespace celld::logs
