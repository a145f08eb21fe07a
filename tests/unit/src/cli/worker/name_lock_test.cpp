#include "src/cli/worker/name_lock.hpp"

#include <unistd.h>

#include <optional>
#include <string>

#include "src/cli/failure.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;
using namespace std::chrono_literals;

namespace {

/// No other process has it.
const std::string name = "name_lock_test " + std::to_string(::getpid());

void no_wait() {
  FAIL("the name is free");
}

}  // namespace

TEST_CASE("a worker waits until another with its name is gone") {
  std::optional<providers::Descriptor> other = lock_name(name, 0ms, no_wait);
  const auto elsewhere = lock_name(name + "!", 0ms, no_wait);
  int waits = 0;
  const auto own = lock_name(name, 10min, [&] {
    ++waits;
    other.reset();
  });
  CHECK(own.get() >= 0);
  CHECK(waits == 1);
}

TEST_CASE("a name that stays taken is refused in the end, and the wait is noted once") {
  const auto other = lock_name(name, 0ms, no_wait);
  int waits = 0;
  CHECK_THROWS_AS(lock_name(name, 200ms, [&] { ++waits; }), Failure);
  CHECK(waits <= 1);  // None, if the machine is too busy for a second look.
}
