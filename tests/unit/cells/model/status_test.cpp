#include "cells/model/status.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;

TEST_CASE("the states of a cell have names") {
  CHECK(to_string(CellState::active) == "active");
  CHECK(to_string(CellState::paused) == "paused");
  CHECK(to_string(CellState::draining) == "draining");
}

TEST_CASE("only an override without size and state overrides nothing") {
  CHECK(CellOverride{}.is_none());
  CHECK_FALSE(CellOverride{3, CellState::active}.is_none());
  CHECK_FALSE(CellOverride{std::nullopt, CellState::paused}.is_none());
  CHECK_FALSE(CellOverride{3, CellState::draining}.is_none());
}
