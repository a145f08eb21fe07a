#include "cells/model/admission.hpp"

#include <cstdint>
#include <limits>

#include "tests/catch.hpp"
#include "tests/cells/model/builders.hpp"

using namespace model_test;

namespace {

const CellKey cell{"acme", "dns"};

milliseconds retry_after(std::uint64_t unfinished, std::uint64_t jobs_max, double finished_per_s) {
  const auto refusal = refuse_full(cell, unfinished, jobs_max, finished_per_s);
  REQUIRE(refusal);
  return refusal->retry_after;
}

}  // namespace

TEST_CASE("a cell takes jobs until it has as many as it may") {
  CHECK_FALSE(refuse_full(cell, 0, 1, 0));
  CHECK_FALSE(refuse_full(cell, 99, 100, 5));
  CHECK(refuse_full(cell, 100, 100, 5));
  CHECK(refuse_full(cell, 0, 0, 5));
}

TEST_CASE("a refusal by a full cell tells its limit and its depth") {
  const auto refusal = refuse_full(cell, 120, 100, 5);
  REQUIRE(refusal);
  CHECK(refusal->kind == Refusal::Kind::queue_full);
  CHECK(refusal->cell == cell);
  CHECK(refusal->limit == 100);
  CHECK(refusal->depth == 120);
}

TEST_CASE("a refused client is told when one place will have come free") {
  CHECK(retry_after(100, 100, 1) == 1s);
  CHECK(retry_after(109, 100, 1) == 10s);
  CHECK(retry_after(109, 100, 4) == 3s);  // 2.5, rounded up.
  CHECK(retry_after(100, 100, 0.1) == 10s);
}

TEST_CASE("the time to come again is between a second and an hour") {
  CHECK(retry_after(100, 100, 1e9) == 1s);
  CHECK(retry_after(100, 100, std::numeric_limits<double>::infinity()) == 1s);
  CHECK(retry_after(100, 100, 1e-9) == 1h);
  CHECK(retry_after(100, 100, std::numeric_limits<double>::denorm_min()) == 1h);
  CHECK(retry_after(std::numeric_limits<std::uint64_t>::max() - 1, 0, 0.1) == 1h);
}

TEST_CASE("a cell that finished nothing lately asks to come again in a minute") {
  CHECK(retry_after(100, 100, 0) == 60s);
}

TEST_CASE("a cell grants timeouts up to its maximum") {
  CHECK_FALSE(refuse_timeout(cell, 0ms, 10s));
  CHECK_FALSE(refuse_timeout(cell, 10s, 10s));
  const auto refusal = refuse_timeout(cell, 10001ms, 10s);
  REQUIRE(refusal);
  CHECK(refusal->kind == Refusal::Kind::timeout_too_long);
  CHECK(refusal->cell == cell);
  CHECK(refusal->limit == 10000);
  CHECK(refusal->retry_after == 0ms);
}
