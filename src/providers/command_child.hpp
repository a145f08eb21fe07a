// One command as the supervisor has it: a child process in a group of its own.
#pragma once

#include <sys/types.h>

#include "src/providers/command_wire.hpp"

namespace celld::providers {

/// The child waits before it executes its program, until release(): whoever has to know its group
/// is told of it first. It dies with the supervisor, whatever that dies of.
class CommandChild {
 public:
  /// Its descriptors 0 to 2 are those after the program in `descriptors`; it gets no others.
  /// Returns 0, or errno.
  int fork(const CommandProgram& program, const CommandDescriptors& descriptors);

  pid_t pid() const { return pid_; }
  void release();
  /// SIGKILL to the whole group. Only while the child has not been waited for.
  void kill_group() const;
  /// Once the child has ended: the errno for which the program was not executed, or 0.
  int failure_to_execute() const;

 private:
  pid_t pid_ = -1;
  /// Its other end is the child's: one byte lets it go on, and an errno comes back when the program
  /// cannot be executed.
  Descriptor gate_;
};

}  // namespace celld::providers
