// celld's side of the supervisor of commands: starts that process, and starts and kills through it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "src/providers/command_uv.hpp"
#include "src/providers/command_wire.hpp"

namespace celld::providers {

/// How a command ended. Nothing of its group is left.
struct CommandEnd {
  enum class Kind : std::uint8_t { exited, killed, not_begun, lost };
  Kind kind = Kind::lost;
  int value = 0;  ///< Its status, the signal, or errno.
};

/// On one loop, in a process that has no children but these. The supervisor is started when it is
/// needed. When it dies, this kills what it has left, tells that the commands are `lost` once
/// nothing of them is left, and starts another one for the next command.
class CommandSupervisor {
 public:
  using Ended = std::function<void(std::uint64_t id, CommandEnd end)>;
  using Quiet = std::function<void()>;

  /// `lock` is a descriptor that the supervisor keeps open while commands may run, or -1. `ended`
  /// is called once for each start(), never from within it.
  CommandSupervisor(uv_loop_t& loop, int lock, Ended ended);
  CommandSupervisor(const CommandSupervisor&) = delete;
  CommandSupervisor& operator=(const CommandSupervisor&) = delete;

  /// Returns 0, or errno.
  int prepare();
  /// `id` is never used twice. What cannot be started ends like everything else.
  void start(std::uint64_t id, CommandDescriptors descriptors);
  void kill(std::uint64_t id);

  /// No start() comes any more; `quiet` is called when the supervisor and what it left are gone.
  /// Never from within.
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
  void look_after_orphans();
  void wait_for_strays();
  void tell_ends();
  void tell_when_quiet();

  uv_loop_t& loop_;
  int lock_;
  Ended ended_;
  Quiet quiet_;
  Descriptor socket_;
  Uv<uv_poll_t> poll_;
  Uv<uv_process_t> process_;
  std::deque<Outgoing> outgoing_;
  std::map<std::uint64_t, pid_t> groups_;   ///< Of the supervisor; 0 until it has told.
  std::map<std::uint64_t, pid_t> orphans_;  ///< Of one that died.
  Uv<uv_timer_t> orphans_timer_;
  bool has_adopted_ = false;
  std::vector<std::pair<std::uint64_t, CommandEnd>> ends_;  ///< To be told.
  Uv<uv_timer_t> ends_timer_;
  Uv<uv_timer_t> again_timer_;  ///< For the first of `outgoing_`.
};

}  // namespace celld::providers
