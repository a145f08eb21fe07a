// What one run has to work on, drawn from its seed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cells/model/dispatch_queue.hpp"
#include "cells/model/routing.hpp"
#include "cells/model/submission.hpp"
#include "tests/torture/simulation/dice.hpp"
#include "tests/torture/simulation/faults.hpp"

namespace simulation {

using namespace cells;

/// What a start or a reload says.
struct Configuration {
  std::vector<CellRule> rules;
  std::set<std::string> services;
};

struct Plan {
  std::set<Fault> without;  ///< What does not happen in this run.
  std::uint64_t jobs = 0;
  std::uint64_t submit_rarity = 1;  ///< A job is submitted at one in so many events.
  std::uint64_t customers = 1;
  std::uint64_t entities = 1;         ///< Of each customer and product.
  std::uint64_t fault_events = 0;     ///< How many events see faults.
  std::uint64_t fault_rarity = 1;     ///< As submit_rarity.
  std::uint64_t commit_delay_us = 0;  ///< At most.
  std::vector<CellRule> rules;        ///< The catch-all first: it is the last to be cut off.
  std::uint64_t cells_max = 0;
  DispatchQueue::Limits window;
  milliseconds go_ahead{};
  milliseconds settle{0};
  milliseconds keep{};  ///< How long ended jobs are kept.
};

Plan draw_plan(Dice& dice, const Caps& caps);

/// The configuration that a run starts and ends with.
Configuration full_configuration(const Plan& plan);
/// Cells that go and come, templates among them, and now and then a service.
Configuration draw_configuration(const Plan& plan, Dice& dice);

/// Cells that administrators resize, pause and drain; they come and go with reloads.
const CellKey& draw_cell(Dice& dice);
const std::vector<CellKey>& overridable_cells();

JobRequest draw_request(const Plan& plan, Dice& dice, WallTime now);

}  // namespace simulation
