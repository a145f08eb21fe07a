// Prints a line for each test case when it ends, in the form that tests/lib/run_tests.py has too.

#define CATCH_CONFIG_EXTERNAL_INTERFACES  // Of Catch2's version 2.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "tests/unit/catch.hpp"

#if __has_include(<catch2/catch_all.hpp>)
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

namespace {

class Report : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    Listener::testCaseStarting(info);
    name_ = info.name;
    begun_ = std::chrono::steady_clock::now();
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun_;
    std::cout << std::flush;  // What the test has printed comes before.
    std::printf("%s %.2f s: %s\n", stats.totals.assertions.allOk() ? "passed" : "FAILED",
                elapsed.count(), name_.c_str());
    std::fflush(stdout);
    Listener::testCaseEnded(stats);
  }

 private:
  std::string name_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace

CATCH_REGISTER_LISTENER(Report)
