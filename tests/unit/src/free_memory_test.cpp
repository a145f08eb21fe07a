// When freed memory is returned to the system.
#include "src/free_memory.hpp"

#include "tests/unit/catch.hpp"

using celld::TrimPlan;

namespace {

constexpr std::size_t worth = TrimPlan::worth_bytes;

}  // namespace

TEST_CASE("memory is returned once enough of it is free") {
  TrimPlan plan;
  CHECK_FALSE(plan.is_due(0));
  CHECK_FALSE(plan.is_due(worth - 1));
  CHECK(plan.is_due(worth));
}

TEST_CASE("what a trim could not return is not tried again until more is free") {
  TrimPlan plan;
  CHECK(plan.is_due(5 * worth));
  plan.trimmed(3 * worth);
  CHECK_FALSE(plan.is_due(3 * worth));
  CHECK_FALSE(plan.is_due(4 * worth - 1));
  CHECK(plan.is_due(4 * worth));
}

TEST_CASE("what a trim could not return counts again after it was in use") {
  TrimPlan plan;
  plan.trimmed(3 * worth);
  CHECK_FALSE(plan.is_due(worth / 2));
  CHECK(plan.is_due(worth + worth / 2));
}
