#include "cells/model/admission.hpp"

#include <cstdint>
#include <limits>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;

namespace {

const CellKey cell{"acme", "dns"};

/// The answer of a cell that has not turned a client away yet.
std::optional<Refusal> refuse(std::uint64_t unfinished, std::uint64_t jobs_max,
                              double finished_per_s) {
  TurnedAway none;
  return refuse_full(cell, unfinished, jobs_max, finished_per_s, none);
}

milliseconds retry_after(std::uint64_t unfinished, std::uint64_t jobs_max, double finished_per_s) {
  const auto refusal = refuse(unfinished, jobs_max, finished_per_s);
  REQUIRE(refusal);
  return refusal->retry_after;
}

}  // namespace

TEST_CASE("a cell accepts jobs until it is full") {
  CHECK_FALSE(refuse(0, 1, 0));
  CHECK_FALSE(refuse(99, 100, 5));
  CHECK(refuse(100, 100, 5));
  CHECK(refuse(0, 0, 5));
}

TEST_CASE("a refusal by a full cell reports its limit and its depth") {
  const auto refusal = refuse(120, 100, 5);
  REQUIRE(refusal);
  CHECK(refusal->kind == Refusal::Kind::queue_full);
  CHECK(refusal->cell == cell);
  CHECK(refusal->limit == 100);
  CHECK(refusal->depth == 120);
}

TEST_CASE("a refused client is asked to return when there will be room for its job") {
  CHECK(retry_after(100, 100, 1) == 1s);
  CHECK(retry_after(109, 100, 1) == 10s);
  CHECK(retry_after(109, 100, 4) == 3s);  // 2.5, rounded up.
  CHECK(retry_after(100, 100, 0.1) == 10s);
}

TEST_CASE("clients that are refused one after another are asked to return one after another") {
  TurnedAway turned_away;
  const auto next = [&] { return refuse_full(cell, 4, 4, 1, turned_away).value().retry_after; };
  CHECK(next() == 1s);
  CHECK(next() == 2s);
  CHECK(next() == 3s);
  turned_away.job_ended();
  CHECK(next() == 3s);
  turned_away.job_ended();
  turned_away.job_ended();
  turned_away.job_ended();
  turned_away.job_ended();
  CHECK(next() == 1s);
}

TEST_CASE("no client waits for more clients than the queue can hold jobs") {
  TurnedAway turned_away;
  const auto next = [&] { return refuse_full(cell, 3, 3, 1, turned_away).value().retry_after; };
  for (int round = 0; round < 3; ++round) {
    for (const auto wait : {1s, 2s, 3s}) CHECK(next() == wait);
  }
}

TEST_CASE("a client whose job is accepted does not count as turned away") {
  TurnedAway turned_away;
  CHECK_FALSE(refuse_full(cell, 3, 4, 1, turned_away));
  CHECK(turned_away.add(4) == 0);
}

TEST_CASE("the time to return is between a second and an hour") {
  CHECK(retry_after(100, 100, 1e9) == 1s);
  CHECK(retry_after(100, 100, std::numeric_limits<double>::infinity()) == 1s);
  CHECK(retry_after(100, 100, 1e-9) == 1h);
  CHECK(retry_after(100, 100, std::numeric_limits<double>::denorm_min()) == 1h);
  CHECK(retry_after(std::numeric_limits<std::uint64_t>::max() - 1, 0, 0.1) == 1h);
}

TEST_CASE("a cell that has finished nothing lately asks clients to return in a minute") {
  CHECK(retry_after(100, 100, 0) == 60s);
}

TEST_CASE("a job for which there can never be room is refused with the limit that it exceeds") {
  CellSettings settings;
  settings.bytes_max = 3000;
  CHECK_FALSE(refuse_too_large(cell, 3000, settings));
  const auto for_cell = refuse_too_large(cell, 3001, settings);
  REQUIRE(for_cell);
  CHECK(for_cell->kind == Refusal::Kind::job_too_large);
  CHECK(for_cell->limit == 3000);
  CHECK(for_cell->bytes_of == Refusal::BytesOf::cell);
  settings.customer.bytes_max = 2000;
  CHECK_FALSE(refuse_too_large(cell, 2000, settings));
  const auto for_customer = refuse_too_large(cell, 2001, settings);
  REQUIRE(for_customer);
  CHECK(for_customer->limit == 2000);
  CHECK(for_customer->bytes_of == Refusal::BytesOf::customer);
}

TEST_CASE("a cell accepts timeouts up to its maximum") {
  CHECK_FALSE(refuse_timeout(cell, 0ms, 10s));
  CHECK_FALSE(refuse_timeout(cell, 10s, 10s));
  const auto refusal = refuse_timeout(cell, 10001ms, 10s);
  REQUIRE(refusal);
  CHECK(refusal->kind == Refusal::Kind::timeout_too_long);
  CHECK(refusal->cell == cell);
  CHECK(refusal->limit == 10000);
  CHECK(refusal->retry_after == 0ms);
}
