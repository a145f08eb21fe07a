#include "src/exhaustion.hpp"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

namespace celld {
namespace {

std::atomic<int> exit_code_at_end = EXIT_FAILURE;
std::atomic<bool> threads_required = false;

/// Allocates nothing, and does not wait for a reader of standard error.
[[noreturn]] void end_without(std::string_view message) {
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&room, 1, 0) > 0) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  }
  std::_Exit(exit_code_at_end);
}

}  // namespace

void end_without_memory(int exit_code) {
  exit_code_at_end = exit_code;
  std::set_new_handler([] { end_without("celld: out of memory\n"); });
}

ThreadsRequired::ThreadsRequired() {
  threads_required = true;
}

ThreadsRequired::~ThreadsRequired() {
  threads_required = false;
}

}  // namespace celld

/// Replaces the C library's function for all of celld's libraries, which offer no other way to
/// handle its failure.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  using Create = decltype(&pthread_create);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  const int error = create(thread, attributes, run, argument);
  if (error != 0 && celld::threads_required) {
    celld::end_without("celld: the system allows no more threads or memory\n");
  }
  return error;
}
