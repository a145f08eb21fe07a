// The command transport against programs that behave and programs that do not.
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "tests/unit/machine.hpp"
#include "tests/unit/src/providers/command/fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using test::command;
using test::Commands;
using test::script;
using End = CommandResult::End;

constexpr std::size_t output_bytes_max = 1 << 20;

/// The words of a command's output.
std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::size_t open_descriptors(pid_t pid) {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

/// As celld does when it starts.
void raise_descriptor_limit() {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/// Every process whose parent is `parent`, zombies included.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const auto behind_name = stat.rfind(')');
    if (behind_name == std::string::npos) continue;
    std::istringstream rest(stat.substr(behind_name + 1));
    std::string state;
    pid_t its_parent = 0;
    if (rest >> state >> its_parent && its_parent == parent) {
      children.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  return children;
}

}  // namespace

TEST_CASE("a command reads the document and answers on standard output") {
  Commands commands;
  const auto result = commands.run(command({"/bin/cat"}, R"({"a":1})"));
  CHECK(result.end == End::exited);
  CHECK(result.value == 0);
  CHECK(result.output == R"({"a":1})");
  CHECK(result.errors.empty());
}

TEST_CASE("a command's exit status and signal are distinguished") {
  Commands commands;
  auto result = commands.run(script("exit 75"));
  CHECK(result.end == End::exited);
  CHECK(result.value == 75);
  result = commands.run(script("kill -SEGV $$"));
  CHECK(result.end == End::killed);
  CHECK(result.value == SIGSEGV);
}

TEST_CASE("a command gets its arguments unchanged: no shell interprets them") {
  Commands commands;
  const auto result = commands.run(command({"/usr/bin/printf", "%s|", "$HOME", "a b", "*", ""}));
  CHECK(result.output == "$HOME|a b|*||");
}

TEST_CASE("a command has the configured environment and no other") {
  Commands commands;
  CHECK(commands.run(command({"/usr/bin/env"})).output.empty());
  CHECK(commands.run(command({"/usr/bin/env"}, "{}", 30s, {"A=1", "B=two words", "C="})).output ==
        "A=1\nB=two words\nC=\n");
}

TEST_CASE("a command has three descriptors, the root directory, and no signal blocked") {
  Commands commands;
  // The fourth is the directory that ls reads.
  CHECK(words_of(commands.run(command({"/bin/ls", "/proc/self/fd"})).output) ==
        std::set<std::string>{"0", "1", "2", "3"});
  CHECK(commands.run(command({"/bin/pwd"})).output == "/\n");
  const auto signals =
      commands.run(command({"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}));
  CHECK(words_of(signals.output) ==
        std::set<std::string>{"SigBlk:", "SigIgn:", "0000000000000000"});
}

TEST_CASE("a command runs in the directory that its program names") {
  Commands commands;
  const auto in = [](const std::string& directory) {
    auto request = command({"/bin/pwd"});
    auto program = std::make_shared<CommandProgram>(*request.program);
    program->directory = directory;
    request.program = std::move(program);
    return request;
  };
  CHECK(commands.run(in("/usr")).output == "/usr\n");
  const auto nowhere = commands.run(in("/nowhere"));
  CHECK(nowhere.end == End::not_started);
  CHECK(nowhere.value == ENOENT);
}

TEST_CASE("lines of standard error are passed on while the command runs, and may be taken") {
  Commands commands;
  const test::Directory directory;
  auto request = script("echo take me >&2; echo keep me >&2; until [ -e '" + directory / "go" +
                        "' ]; do sleep 0.01; done; printf 'take the end' >&2");
  std::vector<std::string> seen;
  request.take_error_line = [&](const std::string& line) {
    seen.push_back(line);
    if (line == "keep me") std::ofstream(directory / "go");
    return line.starts_with("take");
  };
  const auto result = commands.run(std::move(request));
  CHECK(result.end == End::exited);
  CHECK(seen == std::vector<std::string>{"take me", "keep me", "take the end"});
  REQUIRE(result.errors.size() == 1);
  CHECK(result.errors.front().text == "keep me");
}

TEST_CASE("a signal reaches the whole group of a command, which says how it ends") {
  Commands commands;
  const test::Directory directory;
  const auto pids = directory / "pids";
  const auto lease = commands.next_lease();
  auto ended =
      commands.start(lease, script("trap 'echo bye; exit 3' TERM; sleep 1000 & echo $! >>" + pids +
                                   "; echo $$ >>" + pids + "; wait"));
  const auto running = test::wait_for_numbers(pids, 2);
  commands.signal(lease, SIGTERM);
  REQUIRE(ended.wait_for(test::command_patience) == std::future_status::ready);
  const auto result = ended.get();
  CHECK(result.end == End::exited);
  CHECK(result.value == 3);
  CHECK(result.output == "bye\n");
  for (const auto pid : running) CHECK_FALSE(test::exists(pid));
  commands.signal(lease, SIGTERM);  // Of a command that has ended: nothing.
  CHECK(commands.run(script("true")).end == End::exited);
}

TEST_CASE("a command has the usual limit on open files, whatever celld's limit") {
  raise_descriptor_limit();
  Commands commands;
  CHECK(std::stol(commands.run(script("ulimit -n")).output) <= 1024);
}

TEST_CASE("a command is the leader of a group of its own") {
  Commands commands;
  const auto result = commands.run(script("cut -d' ' -f5 /proc/$$/stat; echo $$"));
  std::istringstream numbers(result.output);
  pid_t group = 0;
  pid_t leader = 1;
  numbers >> group >> leader;
  CHECK(group == leader);
  CHECK(group != ::getpgrp());
}

TEST_CASE("a document of a megabyte passes through a command") {
  Commands commands;
  const std::string document(output_bytes_max, 'x');
  const auto result = commands.run(command({"/bin/cat"}, document));
  CHECK(result.end == End::exited);
  CHECK(result.output == document);
}

TEST_CASE("a command may leave a document of a megabyte unread") {
  Commands commands;
  const std::string document(output_bytes_max, 'x');
  for (const auto* text :
       {"echo '{}'", "exec <&-; echo '{}'", "head -c 10 >/dev/null; echo '{}'"}) {
    const auto result = commands.run(script(text, document));
    CHECK(result.end == End::exited);
    CHECK(result.value == 0);
    CHECK(result.output == "{}\n");
  }
}

TEST_CASE("an output of more than a megabyte ends the command") {
  Commands commands;
  CHECK(commands.run(script("head -c 1048576 /dev/zero")).end == End::exited);
  const auto result = commands.run(script("head -c 1048577 /dev/zero"));
  CHECK(result.end == End::too_large);
  CHECK(result.output.size() == output_bytes_max);
  CHECK(commands.run(command({"/usr/bin/yes"})).end == End::too_large);
}

TEST_CASE("endless standard error costs little and is not a failure") {
  Commands commands;
  const auto result = commands.run(script("yes 0123456789 | head -c 20000000 >&2; echo '{}'"));
  CHECK(result.end == End::exited);
  CHECK(result.errors.size() == 100);
  CHECK(result.output == "{}\n");
  const auto line = commands.run(script("head -c 5000000 /dev/zero | tr '\\0' x >&2"));
  REQUIRE(line.errors.size() == 1);
  CHECK(line.errors[0].text.size() == 4096);
  CHECK(line.errors[0].cut);
}

TEST_CASE("a command that hangs is gone with all of its group within 100 ms of its deadline") {
  const test::Directory directory;
  Commands commands;
  test::supervisor_of(commands);  // Starts the supervisor in advance.
  const auto pids = directory / "pids";
  const ::test::Stopwatch watch;
  const auto result = commands.run(script("trap '' TERM INT HUP; echo $$ >> " + pids +
                                              "; (echo $(exec sh -c 'echo $PPID') >> " + pids +
                                              "; sleep 1000) & sleep 1000",
                                          "{}", 500ms));
  CHECK(result.end == End::timed_out);
  CHECK(watch.elapsed() >= 500ms);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(watch.is_within(600ms, "the end of a command that hangs"));
#endif
  for (const auto pid : test::wait_for_numbers(pids, 2)) CHECK_FALSE(test::exists(pid));
}

TEST_CASE("the end of a command is reported while another one runs") {
  const test::Directory directory;
  Commands commands;
  const auto pids = directory / "pids";
  const auto lease = commands.next_lease();
  auto other = commands.start(
      lease,
      script("echo $$ >> " + pids + "; while [ -e " + pids + " ]; do sleep 0.1; done", "{}", 600s));
  test::wait_for_numbers(pids, 1);
  CHECK(commands.run(script("true")).end == End::exited);
  auto gone = commands.abort(lease);
  REQUIRE(gone.wait_for(test::command_patience) == std::future_status::ready);
  CHECK(other.get().end == End::aborted);
}

TEST_CASE("a command whose deadline has passed before its start is not started") {
  const auto children = children_of(::getpid());
  Commands commands;
  CHECK(commands.run(script("true", "{}", 0ms)).end == End::timed_out);
  CHECK(children_of(::getpid()) == children);  // There is no supervisor, either.
}

TEST_CASE("a stopped command is killed at its deadline") {
  Commands commands;
  CHECK(commands.run(script("kill -STOP $$", "{}", 200ms)).end == End::timed_out);
}

TEST_CASE("an aborted command and its children have ended when the abort is confirmed") {
  const test::Directory directory;
  Commands commands;
  const auto pids = directory / "pids";
  const auto lease = commands.next_lease();
  auto result = commands.start(
      lease, script("sleep 1000 & echo $! >> " + pids + "; echo $$ >> " + pids + "; wait"));
  const auto running = test::wait_for_numbers(pids, 2);
  auto gone = commands.abort(lease);
  REQUIRE(gone.wait_for(test::command_patience) == std::future_status::ready);
  REQUIRE(result.wait_for(0s) == std::future_status::ready);
  CHECK(result.get().end == End::aborted);
  for (const auto pid : running) CHECK_FALSE(test::exists(pid));
}

TEST_CASE("an abort without a command is confirmed, and a lease has one command at a time") {
  Commands commands;
  CHECK(commands.abort({7, 7}).wait_for(test::command_patience) == std::future_status::ready);
  auto first = commands.start({7, 8}, command({"/bin/sleep", "1000"}));
  auto second = commands.start({7, 8}, command({"/bin/true"}));
  REQUIRE(second.wait_for(test::command_patience) == std::future_status::ready);
  CHECK(second.get().end == End::aborted);
  CHECK(first.wait_for(0s) == std::future_status::timeout);
  CHECK(commands.abort({7, 8}).wait_for(test::command_patience) == std::future_status::ready);
}

TEST_CASE("processes that a command leaves in its group end with it") {
  Commands commands;
  const auto result = commands.run(script("sleep 1000 & echo $!"));
  CHECK(result.end == End::exited);
  CHECK_FALSE(test::exists(static_cast<pid_t>(std::stol(result.output))));
}

TEST_CASE("a command's end does not wait for a process that left its group with its output open") {
  Commands commands;
  const auto result = commands.run(script("setsid sleep 1000 & echo $!"));
  CHECK(result.end == End::exited);
  const auto escaped = static_cast<pid_t>(std::stol(result.output));
  ::kill(escaped, SIGKILL);
  CHECK(test::comes_true([&] { return !test::exists(escaped); }));
}

TEST_CASE("a program that cannot be executed is reported with the reason") {
  const test::Directory directory;
  Commands commands;
  auto result = commands.run(command({"/no/such/program"}));
  CHECK(result.end == End::not_started);
  CHECK(result.value == ENOENT);
  const auto text = directory / "text";
  std::ofstream(text) << "echo '{}'\n";
  result = commands.run(command({text}));
  CHECK(result.end == End::not_started);
  CHECK(result.value == EACCES);
  ::chmod(text.c_str(), 0700);
  result = commands.run(command({text}));
  CHECK(result.end == End::not_started);
  CHECK(result.value == ENOEXEC);
  result = commands.run(command({"/bin/true", std::string(std::size_t{4} << 20, 'x')}));
  CHECK(result.end == End::not_started);
  CHECK(result.value == E2BIG);
}

TEST_CASE("many commands run side by side") {
  raise_descriptor_limit();
  Commands commands;
  constexpr int count = 150;
  std::vector<std::future<CommandResult>> results;
  for (int i = 0; i < count; ++i) {
    results.push_back(
        commands.start(commands.next_lease(), command({"/bin/cat"}, std::to_string(i))));
  }
  for (int i = 0; i < count; ++i) {
    auto& result = results[static_cast<std::size_t>(i)];
    REQUIRE(result.wait_for(test::command_patience) == std::future_status::ready);
    CHECK(result.get().output == std::to_string(i));
  }
}

constexpr int commands_in_a_row = 100;

TEST_CASE("a hundred commands in a row leave no process and no descriptor") {
  const auto children = children_of(::getpid());
  Commands commands;
  const auto supervisor = test::supervisor_of(commands);
  const auto ours = open_descriptors(::getpid());
  const auto its = open_descriptors(supervisor);
  int good = 0;
  for (int i = 0; i < commands_in_a_row; ++i) {
    const auto result = commands.run(command({"/bin/true"}));
    good += result.end == End::exited && result.value == 0;
  }
  CHECK(good == commands_in_a_row);
  CHECK(open_descriptors(::getpid()) == ours);
  CHECK(open_descriptors(supervisor) == its);
  CHECK(children_of(supervisor).empty());
  CHECK(children_of(::getpid()).size() == children.size() + 1);
  commands.end();
  CHECK(children_of(::getpid()) == children);
}

}  // namespace celld::providers
