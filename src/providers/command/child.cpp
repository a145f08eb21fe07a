#include "src/providers/command/child.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <string>
#include <vector>

#include <linux/close_range.h>

namespace celld::providers {
namespace {

constexpr int not_executed = 127;
/// celld raises its own limit to the maximum. With such a limit, programs that close every possible
/// descriptor would take minutes.
constexpr rlim_t open_files_max = 1024;

/// A null-terminated array for execve().
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  // execve() takes char* but does not write to the texts.
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// --- In the child, until it executes its program. Nothing here allocates. ----------------------

void limit_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, open_files_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool take_stdio(const CommandDescriptors& descriptors) {
  for (int to = 0; to <= 2; ++to) {
    if (::dup2(descriptors[static_cast<std::size_t>(to) + 1].get(), to) < 0) return false;
  }
  return true;
}

void prepare(pid_t supervisor) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(not_executed);  // The supervisor died before the prctl().
  limit_open_files();
  ::close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(int gate, const CommandDescriptors& descriptors, const char* directory,
                         char* const* arguments, char* const* environment) {
  char go = 0;
  if (::recv(gate, &go, sizeof go, 0) != sizeof go) ::_exit(not_executed);
  if (take_stdio(descriptors) && ::chdir(directory) == 0) {
    ::execve(arguments[0], arguments, environment);
  }
  const int failure = errno;
  ::send(gate, &failure, sizeof failure, MSG_NOSIGNAL);
  ::_exit(not_executed);
}

}  // namespace

int CommandChild::fork(const CommandProgram& program, const CommandDescriptors& descriptors) {
  const auto arguments = pointers_to(program.arguments);
  const auto environment = pointers_to(program.environment);
  std::array<int, 2> gate{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate.data()) != 0) return errno;
  gate_ = Descriptor{gate[0]};
  const Descriptor gate_of_child{gate[1]};
  const pid_t supervisor = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) return errno;
  if (pid_ == 0) {
    ::close(gate[0]);
    prepare(supervisor);
    become(gate[1], descriptors, program.directory.c_str(), arguments.data(), environment.data());
  }
  // The parent and the child both set the group, so that it exists when either continues.
  ::setpgid(pid_, pid_);
  return 0;
}

void CommandChild::release() {
  const char go = 1;
  ::send(gate_.get(), &go, sizeof go, MSG_NOSIGNAL);
}

void CommandChild::signal_group(int signal) const {
  ::kill(-pid_, signal);
}

int CommandChild::failure_to_execute() const {
  int failure = 0;
  const auto bytes = ::recv(gate_.get(), &failure, sizeof failure, MSG_DONTWAIT);
  return bytes == sizeof failure ? failure : 0;
}

}  // namespace celld::providers
