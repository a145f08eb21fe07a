// celld's side of the command supervisor: starts that process, and uses it to start and kill
// commands.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "src/providers/command/uv.hpp"
#include "src/providers/command/wire.hpp"

namespace celld::providers {

/// How a command ended. Nothing of its group is left.
struct CommandEnd {
  enum class Kind : std::uint8_t { exited, killed, not_started, lost };
  Kind kind = Kind::lost;
  int value = 0;  ///< The exit status, the signal, or an errno.
};

/// Used by the loop's thread only, in a process without other children. Starts the supervisor on
/// demand. When the supervisor dies, kills what it left behind, reports each command as `lost` once
/// nothing of it is left, and starts a new supervisor for the next command.
class CommandSupervisor {
 public:
  using Ended = std::function<void(std::uint64_t id, CommandEnd end)>;
  using Quiet = std::function<void()>;

  /// `lock` is a descriptor that the supervisor keeps open while commands may run, or -1. `ended`
  /// is called once for each start(), never from within start().
  CommandSupervisor(uv_loop_t& loop, int lock, Ended ended);
  CommandSupervisor(const CommandSupervisor&) = delete;
  CommandSupervisor& operator=(const CommandSupervisor&) = delete;

  /// Starts the supervisor unless it is running. Returns 0 or an errno.
  int prepare();
  /// `id` must never be used twice. A command that cannot be started is reported to `ended`, too.
  void start(std::uint64_t id, CommandDescriptors descriptors);
  /// Sends the signal to the whole process group, if the command still runs.
  void signal(std::uint64_t id, int signal);

  /// No start() may follow. `quiet` is called once the supervisor and everything it left are gone,
  /// never from within stop().
  void stop(Quiet quiet);

 private:
  struct Outgoing {
    CommandFrame frame;
    std::vector<Descriptor> descriptors;
  };

  int spawn(int socket);
  void send_later(Outgoing outgoing);
  void flush();
  void watch();
  void send_again_soon();
  void on_socket(int status, int events);
  void on_frame(const CommandFrame& frame);
  void end(std::uint64_t id, CommandEnd end);
  void on_supervisor_gone();
  void kill_orphans();
  void wait_for_strays();
  void report_ends();
  void report_when_quiet();

  uv_loop_t& loop_;
  int lock_;
  Ended ended_;
  Quiet quiet_;
  Descriptor socket_;
  Uv<uv_poll_t> poll_;
  Uv<uv_process_t> process_;
  std::deque<Outgoing> outgoing_;
  std::map<std::uint64_t, pid_t> groups_;   ///< By id; 0 until the supervisor reports it.
  std::map<std::uint64_t, pid_t> orphans_;  ///< By id; left by a supervisor that died.
  Uv<uv_timer_t> orphans_timer_;
  bool has_adopted_ = false;
  std::vector<std::pair<std::uint64_t, CommandEnd>> ends_;  ///< Not reported yet.
  Uv<uv_timer_t> ends_timer_;
  Uv<uv_timer_t> again_timer_;  ///< To send the first of `outgoing_` again.
};

}  // namespace celld::providers
