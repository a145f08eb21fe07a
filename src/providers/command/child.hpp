// One command in the supervisor: a child process with a process group of its own.
#pragma once

#include <sys/types.h>

#include "src/providers/command/wire.hpp"

namespace celld::providers {

/// The child waits for release() before it executes its program, so that celld learns its process
/// group first. The kernel kills the child when the supervisor dies.
class CommandChild {
 public:
  /// `descriptors` holds the program, then the child's descriptors 0 to 2; the child gets no
  /// others. Returns 0 or an errno.
  int fork(const CommandProgram& program, const CommandDescriptors& descriptors);

  pid_t pid() const { return pid_; }
  void release();
  /// Sends the signal to the whole group. Call only before the child has been reaped.
  void signal_group(int signal) const;
  /// After the child has ended: the errno if its program could not be executed, else 0.
  int failure_to_execute() const;

 private:
  pid_t pid_ = -1;
  /// A socket to the child. One byte lets the child continue; the child sends back an errno when it
  /// cannot execute the program.
  Descriptor gate_;
};

}  // namespace celld::providers
