// Decides at run time which faults of celld_faulty are on: see faults.py.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

namespace celld::fault {

/// Whether CELLD_FAULT, names separated by commas, contains `name`.
inline bool is_on(std::string_view name) {
  static const std::string names = [] {
    const char* value = std::getenv("CELLD_FAULT");
    return "," + std::string(value == nullptr ? "" : value) + ",";
  }();
  return names.find("," + std::string(name) + ",") != std::string::npos;
}

/// True for every `period`-th call while the fault is on. `calls` counts them.
inline bool strikes(std::string_view name, std::atomic<unsigned>& calls, unsigned period) {
  return is_on(name) && ++calls % period == 0;
}

inline void leak(std::size_t bytes) {
  // Written to, so that it takes physical memory.
  static_cast<void>(*static_cast<volatile char*>(std::memset(new char[bytes], 1, bytes)));
}

inline void stall() {
  std::this_thread::sleep_for(std::chrono::milliseconds{500});
}

/// Stalls the calling thread once a second.
inline void stall_now_and_then(std::string_view name) {
  using Clock = std::chrono::steady_clock;
  thread_local auto next = Clock::now() + std::chrono::seconds{1};
  if (!is_on(name) || Clock::now() < next) return;
  stall();
  next = Clock::now() + std::chrono::milliseconds{500};
}

}  // namespace celld::fault
