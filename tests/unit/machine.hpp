// Bounds on real time that a busy machine cannot break: the same rule as tests/lib/machine.py.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

namespace test {

using std::chrono::milliseconds;

/// The time since the machine started in which at least one runnable thread waited for a processor
/// (/proc/pressure/cpu, "some"), plus the time for which the hypervisor took processors away
/// ("steal" in /proc/stat). If the kernel lacks the former, all time counts while the load average
/// is above half of the processors.
inline milliseconds waited_for_processor() {
  std::string word;
  std::ifstream pressure("/proc/pressure/cpu");
  while (pressure >> word && !word.starts_with("total=")) {
  }
  if (!pressure) {
    double load = 0;
    std::ifstream("/proc/loadavg") >> load;
    const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
    return load > std::thread::hardware_concurrency() / 2.0
               ? std::chrono::duration_cast<milliseconds>(since_start)
               : milliseconds{0};
  }
  const std::chrono::microseconds behind_others{std::stoll(word.substr(word.find('=') + 1))};
  std::ifstream stat("/proc/stat");
  stat >> word;
  long long steal_ticks = 0;
  for (int column = 1; column <= 8; ++column) stat >> steal_ticks;
  return std::chrono::duration_cast<milliseconds>(behind_others) +
         milliseconds{1000 * steal_ticks / sysconf(_SC_CLK_TCK)};
}

/// By how much tests may be slower than usual, with sanitizers for example: as in
/// tests/lib/daemon.py.
inline double slowdown() {
  const char* const text = std::getenv("CELLD_TEST_SLOWDOWN");
  return text == nullptr ? 1.0 : std::stod(text);
}

/// Measures from its construction.
class Stopwatch {
 public:
  milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began_);
  }

  /// Whether less than `usual_most`, times the slowdown, has passed. Also true if other processes
  /// can explain the delay; prints in that case that `what` was not judged.
  bool is_within(milliseconds usual_most, std::string_view what) const {
    const auto most = std::chrono::duration_cast<milliseconds>(usual_most * slowdown());
    const auto took = elapsed();
    const auto waited = waited_for_processor() - waited_before_;
    if (took < most) return true;
    if (took - most > waited) return false;
    std::cerr << "not judged: " << what << ": took " << took.count() << " ms, not " << most.count()
              << ", while threads waited " << waited.count() << " ms for a processor\n";
    return true;
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  milliseconds waited_before_ = waited_for_processor();
};

}  // namespace test
