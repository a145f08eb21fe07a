// Runs commands through a transport and waits for them to end.
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/providers/command/transport.hpp"
#include "tests/unit/catch.hpp"

namespace celld::test {

inline constexpr std::chrono::seconds command_patience{60};

/// A temporary directory, removed on destruction.
class Directory {
 public:
  Directory() {
    std::string name = std::filesystem::temp_directory_path() / "celld-commands-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Polls until `condition` holds; false after `command_patience`.
template <typename Condition>
bool comes_true(Condition condition) {
  const auto give_up_at = std::chrono::steady_clock::now() + command_patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up_at) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Waits until a script has written `count` numbers to a file, one per line, and returns them.
inline std::vector<pid_t> wait_for_numbers(const std::string& path, std::size_t count) {
  std::vector<pid_t> numbers;
  const bool there = comes_true([&] {
    numbers.clear();
    std::ifstream file(path);
    for (std::string line; std::getline(file, line) && !file.eof();) {
      numbers.push_back(static_cast<pid_t>(std::stol(line)));
    }
    return numbers.size() >= count;
  });
  REQUIRE(there);
  return numbers;
}

/// Whether the process exists. A zombie does.
inline bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

inline providers::CommandRequest command(
    std::vector<std::string> arguments, std::string document = "{}",
    std::chrono::milliseconds timeout = std::chrono::milliseconds{30'000},
    std::vector<std::string> environment = {}) {
  auto program = std::make_shared<providers::CommandProgram>();
  program->arguments = std::move(arguments);
  program->environment = std::move(environment);
  providers::CommandRequest request;
  request.program = std::move(program);
  request.document = std::move(document);
  request.timeout = timeout;
  return request;
}

inline providers::CommandRequest script(
    std::string text, std::string document = "{}",
    std::chrono::milliseconds timeout = std::chrono::milliseconds{30'000}) {
  return command({"/bin/sh", "-c", std::move(text)}, std::move(document), timeout);
}

class Commands {
 public:
  explicit Commands(providers::Descriptor lock = providers::Descriptor{})
      : transport_(std::make_unique<providers::CommandTransport>(std::move(lock))) {}

  std::future<providers::CommandResult> start(const cells::Lease& lease,
                                              providers::CommandRequest request) {
    auto promise = std::make_shared<std::promise<providers::CommandResult>>();
    transport_->calls()->start(
        lease, std::move(request),
        [promise](providers::CommandResult result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  }
  std::future<void> abort(const cells::Lease& lease) {
    auto promise = std::make_shared<std::promise<void>>();
    transport_->calls()->abort(lease, [promise] { promise->set_value(); });
    return promise->get_future();
  }
  void signal(const cells::Lease& lease, int number) { transport_->calls()->signal(lease, number); }
  /// Runs one command to its end.
  providers::CommandResult run(providers::CommandRequest request) {
    auto result = start(next_lease(), std::move(request));
    REQUIRE(result.wait_for(command_patience) == std::future_status::ready);
    return result.get();
  }
  cells::Lease next_lease() { return leases_.next(); }
  void end() { transport_.reset(); }

 private:
  std::unique_ptr<providers::CommandTransport> transport_;
  cells::LeaseSource leases_{1};
};

/// The supervisor is the parent of every command.
inline pid_t supervisor_of(Commands& commands) {
  const auto result = commands.run(script("echo $PPID"));
  REQUIRE(result.end == providers::CommandResult::End::exited);
  return static_cast<pid_t>(std::stol(result.output));
}

}  // namespace celld::test
