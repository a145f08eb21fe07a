// Without the threads that it needs, a process ends; later, a thread that cannot be had is an
// error.
#include "src/exhaustion.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tests/unit/catch.hpp"

namespace celld {
namespace {

/// More than any address space has.
constexpr std::size_t impossible_stack = std::size_t{1} << 50;

int create_impossible_thread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, impossible_stack);
  pthread_t thread{};
  const int error =
      pthread_create(&thread, &attributes, [](void*) -> void* { return nullptr; }, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

/// The exit code of a process that does this; 0 if it comes to its end.
template <class Function>
int exit_code_of(Function function) {
  const pid_t child = ::fork();
  if (child == 0) {
    function();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("while threads are required, one that cannot be had ends the process") {
  CHECK(exit_code_of([] {
          end_without_memory(3);
          const ThreadsRequired required;
          create_impossible_thread();
        }) == 3);
}

TEST_CASE("a process that ends for lack of threads waits for no reader of standard error") {
  CHECK(exit_code_of([] {
          int pipe[2];
          if (::pipe2(pipe, O_NONBLOCK) != 0) return;
          while (::write(pipe[1], "full", 4) > 0) {
          }
          ::fcntl(pipe[1], F_SETFL, 0);
          ::dup2(pipe[1], STDERR_FILENO);
          ::alarm(20);  // Ends a process that waits.
          end_without_memory(3);
          const ThreadsRequired required;
          create_impossible_thread();
        }) == 3);
}

TEST_CASE("before and after, a thread that cannot be had is an error") {
  CHECK(create_impossible_thread() == EAGAIN);
  {
    const ThreadsRequired required;
  }
  CHECK(create_impossible_thread() == EAGAIN);
}

}  // namespace
}  // namespace celld
