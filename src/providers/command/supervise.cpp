#include "src/providers/command/supervise.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>

#include "src/providers/command/child.hpp"
#include "src/providers/command/wire.hpp"

namespace celld::providers {
namespace {

using Kind = CommandFrame::Kind;

/// Owns the commands. Blocks only when sending to celld, where it could do nothing else anyway.
class Supervisor {
 public:
  explicit Supervisor(int signals) : signals_(signals) {}

  void run() {
    while (!closed_ || !commands_.empty()) {
      std::array<pollfd, 2> ready{pollfd{signals_, POLLIN, 0},
                                  pollfd{closed_ ? -1 : supervisor_socket, POLLIN, 0}};
      if (::poll(ready.data(), ready.size(), -1) < 0) continue;
      // Once celld is gone, its pending orders are dropped.
      if ((ready[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
        close();
      } else if (ready[1].revents != 0) {
        take_order();
      }
      if (ready[0].revents != 0) reap_ended();
    }
  }

 private:
  struct Command {
    std::uint64_t id = 0;
    CommandChild child;
    /// Set once the process has ended. Other processes of its group may remain.
    std::optional<CommandFrame> end;
  };

  void take_order() {
    auto received = receive_frame(supervisor_socket, false);
    if (received.end == ReceivedFrame::End::closed) return close();
    if (received.end == ReceivedFrame::End::nothing_yet) return;
    if (received.frame.kind == Kind::start) start(received);
    if (received.frame.kind == Kind::signal) signal(received.frame.id, received.frame.value);
  }

  void start(const ReceivedFrame& order) {
    const auto id = order.frame.id;
    // The last descriptor is missing when this process had no room for all of them.
    if (!order.descriptors.back()) return report({Kind::not_started, EMFILE, id});
    const auto program = decode_program(order.descriptors.front().get());
    if (!program) return report({Kind::not_started, EINVAL, id});
    Command command;
    command.id = id;
    if (const int failure = command.child.fork(*program, order.descriptors); failure != 0) {
      return report({Kind::not_started, failure, id});
    }
    const pid_t pid = command.child.pid();
    auto& kept = commands_.emplace(pid, std::move(command)).first->second;
    groups_.emplace(id, pid);
    report({Kind::started, pid, id});
    if (!closed_) kept.child.release();
  }

  void signal(std::uint64_t id, int signal) {
    const auto group = groups_.find(id);
    if (group == groups_.end()) return;
    const auto& command = commands_.at(group->second);
    if (!command.end) command.child.signal_group(signal);
  }

  void reap_ended() {
    signalfd_siginfo ignored{};
    while (::read(signals_, &ignored, sizeof ignored) > 0) {
    }
    // Looks before it reaps: until a process is reaped, no other process can get its number or its
    // group's.
    for (siginfo_t info{}; ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0; info = {}) {
      if (info.si_pid == 0) break;
      if (const auto found = commands_.find(info.si_pid); found != commands_.end()) {
        note_end(found->second, info);
      }
      ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
    }
    for (auto command = commands_.begin(); command != commands_.end();) {
      command = is_over(*command) ? forget(command) : std::next(command);
    }
  }

  static void note_end(Command& command, const siginfo_t& info) {
    command.child.signal_group(SIGKILL);
    const int failure = command.child.failure_to_execute();
    const auto kind = info.si_code == CLD_EXITED ? Kind::exited : Kind::killed;
    command.end = failure != 0 ? CommandFrame{Kind::not_started, failure, command.id}
                               : CommandFrame{kind, info.si_status, command.id};
  }

  using Commands = std::map<pid_t, Command>;

  /// Whether the process, and everything that it left in its group, has been reaped.
  static bool is_over(const Commands::value_type& command) {
    if (!command.second.end) return false;
    siginfo_t info{};
    const auto group = static_cast<id_t>(command.first);
    return ::waitid(P_PGID, group, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
  }

  Commands::iterator forget(Commands::iterator command) {
    const auto end = *command->second.end;
    groups_.erase(end.id);
    const auto next = commands_.erase(command);
    report(end);
    return next;
  }

  void close() {
    closed_ = true;
    for (const auto& [pid, command] : commands_) {
      if (!command.end) command.child.signal_group(SIGKILL);
    }
  }

  void report(const CommandFrame& frame) {
    if (!closed_ && send_frame(supervisor_socket, frame) != 0) close();
  }

  int signals_;
  bool closed_ = false;
  Commands commands_;
  std::map<std::uint64_t, pid_t> groups_;
};

bool is_started_by_celld() {
  int type = 0;
  socklen_t bytes = sizeof type;
  return ::getsockopt(supervisor_socket, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
         type == SOCK_SEQPACKET;
}

}  // namespace

int supervise_commands() {
  if (!is_started_by_celld()) {
    std::fprintf(stderr, "celld: only celld and cellctl may run their command supervisor\n");
    return 2;
  }
  // Descriptors that celld's libraries left open would otherwise stay open here.
  ::close_range(supervisor_lock + 1, UINT_MAX, 0);
  ::fcntl(supervisor_lock, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_NAME, "celld-commands");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // To reap what a command leaves in its group.
  if (::chdir("/") != 0) return 1;
  sigset_t all;
  sigset_t ends;
  sigfillset(&all);
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const int signals = ::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) return 1;
  Supervisor{signals}.run();
  return 0;
}

}  // namespace celld::providers
