// What happens when the system gives celld no more memory, or no more threads.
#pragma once

namespace celld {

/// From now on, the first allocation that fails ends celld with this exit code. If only a part of
/// celld failed, the others would wait for it. Everything that celld has acknowledged is on disk.
void end_without_memory(int exit_code);

/// While an instance exists, the first thread that cannot be created ends celld in the same way: an
/// actor system that lacks some of its threads hangs or crashes.
class ThreadsRequired {
 public:
  ThreadsRequired();
  ~ThreadsRequired();
  ThreadsRequired(const ThreadsRequired&) = delete;
  ThreadsRequired& operator=(const ThreadsRequired&) = delete;
};

}  // namespace celld
