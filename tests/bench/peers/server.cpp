#include "tests/bench/peers/server.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"

namespace celld::bench {
namespace {

constexpr std::chrono::seconds start_timeout{60};
constexpr int stop_timeout_ms = 20'000;
constexpr std::int64_t poll_interval_ms = 20;
constexpr std::size_t log_lines_shown = 15;

[[noreturn]] void fail_with_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// The user of an unprivileged server; null unless this process is root.
const passwd* unprivileged_user() {
  if (::geteuid() != 0) return nullptr;
  const auto* user = ::getpwnam("nobody");
  if (user == nullptr) throw std::runtime_error("there is no user nobody");
  return user;
}

std::string end_of(const std::filesystem::path& log) {
  std::ifstream file{log};
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::string end;
  const auto skipped = lines.size() - std::min(lines.size(), log_lines_shown);
  for (std::size_t i = skipped; i < lines.size(); ++i) end += "\n  " + lines[i];
  return end.empty() ? "\n  (its log is empty)" : end;
}

/// Only calls that are safe after fork in a process with threads.
[[noreturn]] void become(char* const* arguments, char* const* environment, const char* directory,
                         int log, const passwd* user) {
  ::setpgid(0, 0);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 ||
                          ::setuid(user->pw_uid) != 0)) {
    ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // A change of the user would reset it.
  if (::chdir(directory) == 0) ::execve(arguments[0], arguments, environment);
  const auto reason = std::string_view(::strerrordesc_np(errno));
  if (::write(STDERR_FILENO, reason.data(), reason.size()) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace

DataDirectory::DataDirectory(const std::filesystem::path& parent, bool unprivileged) {
  auto pattern = (std::filesystem::absolute(parent) / "celld-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail_with_errno(pattern);
  path_ = pattern;
  const auto* user = unprivileged ? unprivileged_user() : nullptr;
  if (user != nullptr && ::chown(pattern.c_str(), user->pw_uid, user->pw_gid) != 0) {
    fail_with_errno(pattern);
  }
}

DataDirectory::~DataDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Server::Server(const ServerCommand& command)
    : name_(command.name), log_(command.directory / "log"), stop_signal_(command.stop_signal) {
  const Descriptor log{::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
  if (log.get() < 0) fail_with_errno(log_.string());
  auto texts = command.arguments;
  std::vector<char*> arguments;
  for (auto& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  auto variables = command.variables;
  std::vector<char*> environment;
  for (auto& variable : variables) environment.push_back(variable.data());
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    const auto name =
        std::string_view(*inherited).substr(0, std::string_view(*inherited).find('='));
    const bool replaced = std::any_of(
        variables.begin(), variables.end(),
        [&](const std::string& variable) { return variable.starts_with(std::string(name) + "="); });
    if (!replaced) environment.push_back(*inherited);
  }
  environment.push_back(nullptr);
  const auto* user = command.unprivileged ? unprivileged_user() : nullptr;
  pid_ = ::fork();
  if (pid_ < 0) fail_with_errno("fork");
  if (pid_ == 0) {
    become(arguments.data(), environment.data(), command.directory.c_str(), log.get(), user);
  }
}

Server::~Server() {
  if (pid_ < 0) return;
  const Descriptor process{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
  ::kill(pid_, stop_signal_);
  pollfd end{process.get(), POLLIN, 0};
  if (::poll(&end, 1, stop_timeout_ms) != 1) ::kill(pid_, SIGKILL);
  ::kill(-pid_, SIGKILL);  // Helpers that it started and left.
  ::waitpid(pid_, nullptr, 0);
}

bool Server::ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

void Server::fail(const std::string& what) const {
  throw std::runtime_error(name_ + " " + what + "; the end of its log:" + end_of(log_));
}

void Server::await_port(std::uint16_t port) const {
  Ticker ticker{poll_interval_ms};
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    try {
      connect_to(port);
      return;
    } catch (const std::system_error&) {
      if (ended()) fail("did not start");
      if (std::chrono::steady_clock::now() - begin > start_timeout) fail("does not listen");
    }
    ticker.await_tick();
  }
}

void Server::await_success() {
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("failed");
}

std::uint16_t free_port() {
  const Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (socket.get() < 0 || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail_with_errno("no port is free");
  }
  return ntohs(address.sin_port);
}

std::filesystem::path root_of(const std::filesystem::path& unpacked, const std::string& package) {
  const auto root = std::filesystem::absolute(unpacked / package);
  return std::filesystem::exists(root) ? root : "/";
}

std::vector<std::string> variables_of(const std::filesystem::path& root) {
  if (root == "/") return {};
  std::string libraries;
  for (const char* directory : {"usr/lib", "lib"}) {
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(root / directory, absent)) {
      if (entry.path().filename().string().find("-linux-gnu") == std::string::npos) continue;
      libraries.append(libraries.empty() ? "" : ":").append(entry.path().string());
    }
  }
  return {"LD_LIBRARY_PATH=" + libraries};
}

}  // namespace celld::bench
