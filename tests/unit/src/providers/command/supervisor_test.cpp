// Commands whose supervisor, or celld itself, dies.
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include "src/providers/command/lock.hpp"
#include "src/providers/command/wire.hpp"
#include "tests/unit/src/providers/command/fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::command;
using test::Commands;
using test::script;
using End = CommandResult::End;

/// Two processes in the group of a command that runs until it is killed.
std::string hang_and_report_pids(const std::string& pids) {
  return "sleep 1000 & echo $! >> " + pids + "; echo $$ >> " + pids + "; wait";
}

/// How many of the next messages fail because the kernel has no memory, or for another reason.
std::atomic<int> sends_to_fail = 0;
std::atomic<int> send_failure = ENOBUFS;

/// While it exists, so many messages fail because the socket has no room.
class FullSocket {
 public:
  explicit FullSocket(int messages) {
    send_failure = EAGAIN;
    sends_to_fail = messages;
  }
  ~FullSocket() {
    sends_to_fail = 0;
    send_failure = ENOBUFS;
  }
  FullSocket(const FullSocket&) = delete;
  FullSocket& operator=(const FullSocket&) = delete;
};

bool is_locked(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
  return ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;
}

}  // namespace

/// Replaces libc's sendmsg() in the whole program.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  if (sends_to_fail > 0) {
    --sends_to_fail;
    errno = send_failure;
    return -1;
  }
  return ::syscall(SYS_sendmsg, socket, message, flags);
}

TEST_CASE("a kill that the kernel has no memory for is sent again") {
  const test::Directory directory;
  Commands commands;
  const auto pids = directory / "pids";
  const auto lease = commands.next_lease();
  auto result = commands.start(lease, script(hang_and_report_pids(pids)));
  const auto running = test::wait_for_numbers(pids, 2);
  sends_to_fail = 3;
  auto gone = commands.abort(lease);
  REQUIRE(gone.wait_for(test::command_patience) == std::future_status::ready);
  CHECK(sends_to_fail == 0);
  CHECK(result.get().end == End::aborted);
  for (const auto pid : running) CHECK_FALSE(test::exists(pid));
}

TEST_CASE("a command is not started if the kernel has no memory for the order to start it") {
  Commands commands;
  const auto supervisor = test::supervisor_of(commands);
  sends_to_fail = 1;
  const auto refused = commands.run(script("echo"));
  CHECK(sends_to_fail == 0);
  CHECK(refused.end == End::not_started);
  CHECK(refused.value == ENOBUFS);
  CHECK(test::supervisor_of(commands) == supervisor);
}

TEST_CASE("an order that the socket has no room for is sent once it has") {
  Commands commands;
  test::supervisor_of(commands);
  const FullSocket socket(1);
  CHECK(commands.run(script("echo")).end == End::exited);
  CHECK(sends_to_fail == 0);
}

TEST_CASE("a command that is lost before it begins does not run later") {
  constexpr int endless = 2'000'000'000;
  const test::Directory directory;
  const auto file = directory / "ran";
  Commands commands;
  const auto supervisor = test::supervisor_of(commands);
  {
    const FullSocket socket(endless);
    auto lost = commands.start(commands.next_lease(), script("touch " + file));
    REQUIRE(test::comes_true([] { return sends_to_fail < endless; }));
    ::kill(supervisor, SIGKILL);
    REQUIRE(lost.wait_for(test::command_patience) == std::future_status::ready);
    CHECK(lost.get().end == End::lost);
  }
  // An order from before would reach the new supervisor before this one.
  CHECK(commands.run(script("sleep 1")).end == End::exited);
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a command whose supervisor is killed is lost with its group, and a new one starts") {
  const test::Directory directory;
  Commands commands;
  const auto supervisor = test::supervisor_of(commands);
  const auto pids = directory / "pids";
  auto result = commands.start(commands.next_lease(), script(hang_and_report_pids(pids)));
  const auto running = test::wait_for_numbers(pids, 2);
  ::kill(supervisor, SIGKILL);
  REQUIRE(result.wait_for(test::command_patience) == std::future_status::ready);
  CHECK(result.get().end == End::lost);
  for (const auto pid : running) CHECK_FALSE(test::exists(pid));
  CHECK_FALSE(test::exists(supervisor));
  CHECK(test::supervisor_of(commands) != supervisor);
}

TEST_CASE("whenever a supervisor is killed, each command ends once and leaves nothing") {
  const test::Directory directory;
  const auto pids = directory / "pids";
  Commands commands;
  std::size_t started = 0;
  for (int round = 0; round < 12; ++round) {
    const auto supervisor = test::supervisor_of(commands);
    std::vector<std::future<CommandResult>> results;
    for (int i = 0; i < 8; ++i) {
      results.push_back(commands.start(commands.next_lease(), script(hang_and_report_pids(pids))));
    }
    // At first when all commands run; later when some run, some are starting, and some orders are
    // pending.
    started = test::wait_for_numbers(pids, started + (round < 6 ? 8 : 0)).size();
    ::kill(supervisor, SIGKILL);
    for (auto& result : results) {
      REQUIRE(result.wait_for(test::command_patience) == std::future_status::ready);
      const auto end = result.get().end;
      CHECK((end == End::lost || end == End::not_started));
    }
    const auto running = test::wait_for_numbers(pids, started);
    started = running.size();
    for (const auto pid : running) CHECK_FALSE(test::exists(pid));
  }
}

TEST_CASE("the supervisor ignores every signal that can be blocked") {
  Commands commands;
  const auto supervisor = test::supervisor_of(commands);
  CHECK(::getsid(supervisor) == supervisor);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    // The C library does not block the signals between these, nor the thread sanitizer SIGSYS.
    const bool is_reserved = signal >= SIGSYS && signal < SIGRTMIN;
    if (signal != SIGKILL && signal != SIGSTOP && !is_reserved) ::kill(supervisor, signal);
  }
  CHECK(test::supervisor_of(commands) == supervisor);
}

TEST_CASE("the end of the transport ends its commands and supervisor, and frees the lock") {
  const test::Directory directory;
  const auto path = directory / "supervisor.lock";
  std::string error;
  Commands commands(lock_commands(path, 0ms, [] {}, error));
  const auto supervisor = test::supervisor_of(commands);
  const auto pids = directory / "pids";
  auto result = commands.start(commands.next_lease(), script(hang_and_report_pids(pids)));
  const auto running = test::wait_for_numbers(pids, 2);
  CHECK(is_locked(path));
  commands.end();
  REQUIRE(result.wait_for(0s) == std::future_status::ready);
  CHECK(result.get().end == End::aborted);
  for (const auto pid : running) CHECK_FALSE(test::exists(pid));
  CHECK_FALSE(test::exists(supervisor));
  CHECK_FALSE(is_locked(path));
}

TEST_CASE("when the daemon is killed, its commands end, and then the lock is released") {
  const test::Directory directory;
  const auto path = directory / "supervisor.lock";
  const auto pids = directory / "pids";
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    std::string error;
    Commands commands(lock_commands(path, 0ms, [] {}, error));
    commands.start(commands.next_lease(), script(hang_and_report_pids(pids), "{}", 600s)).wait();
    ::_exit(1);
  }
  const auto running = test::wait_for_numbers(pids, 2);
  ::kill(daemon, SIGKILL);
  int status = 0;
  ::waitpid(daemon, &status, 0);
  bool waited = false;
  std::string error;
  const auto lock = lock_commands(path, 60s, [&] { waited = true; }, error);
  CHECK(lock);
  CHECK(error.empty());
  // The next holder of the lock may start the same job again.
  for (const auto pid : running) CHECK_FALSE(test::exists(pid));
}

TEST_CASE("lock_commands waits for a held lock, reports that once, and gives up") {
  const test::Directory directory;
  const auto path = directory / "supervisor.lock";
  std::string error;
  const auto first = lock_commands(path, 0ms, [] {}, error);
  REQUIRE(first);
  int notifications = 0;
  CHECK_FALSE(lock_commands(path, 50ms, [&] { ++notifications; }, error));
  CHECK(notifications == 1);
  CHECK(error.find(path) != std::string::npos);
  CHECK_FALSE(lock_commands(directory / "no/such/place", 0ms, [] {}, error));
}

TEST_CASE("the last frames of a peer are read even if it closed without reading ours") {
  std::array<int, 2> sockets{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  const Descriptor ours{sockets[0]};
  Descriptor theirs{sockets[1]};
  REQUIRE(send_frame(ours.get(), {CommandFrame::Kind::signal, SIGKILL, 1}) == 0);
  REQUIRE(send_frame(theirs.get(), {CommandFrame::Kind::started, 42, 7}) == 0);
  theirs = Descriptor{};
  const auto last = receive_frame(ours.get(), false);
  CHECK(last.end == ReceivedFrame::End::frame);
  CHECK(last.frame.kind == CommandFrame::Kind::started);
  CHECK(last.frame.value == 42);
  CHECK(last.frame.id == 7);
  CHECK(receive_frame(ours.get(), false).end == ReceivedFrame::End::closed);
}

TEST_CASE("a program survives encoding and decoding unchanged") {
  const CommandProgram program{{"/bin/x", "", "=", "a\nb"}, {"A=", "B=c=d"}};
  const auto file = encode_program(program);
  const auto decoded = decode_program(file.get());
  REQUIRE(decoded);
  CHECK(decoded->arguments == program.arguments);
  CHECK(decoded->environment == program.environment);
  const auto none = encode_program({});
  CHECK_FALSE(decode_program(none.get()));
  CHECK_FALSE(decode_program(-1));
}

TEST_CASE("only a file that holds one whole program is decoded") {
  const auto is_decoded = [](const std::string& bytes) {
    const Descriptor file{::memfd_create("test", MFD_CLOEXEC)};
    REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    return decode_program(file.get()).has_value();
  };
  const auto whole = "=/bin/x\0\0\0=/\0\0"s;
  CHECK(is_decoded(whole));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    INFO(i);
    CHECK_FALSE(is_decoded(whole.substr(0, i)));
  }
  CHECK_FALSE(is_decoded(whole + '\0'));
  CHECK_FALSE(is_decoded("=/bin/x\0x\0=/\0\0"s));  // The first list does not end.
}

}  // namespace celld::providers
