// The faults of a run, and the bounds by which a run is shrunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tests/torture/simulation/checks.hpp"

namespace simulation {

/// Everything that a seed can do to the engine besides plain work. Most seeds leave some faults
/// out, so that the others coincide more often.
enum class Fault : std::uint8_t {
  crash,             ///< A power cut: what was not committed is lost.
  store_error,       ///< An operation or a commit fails, and the daemon ends.
  store_delay,       ///< Commits are slow.
  kill_dispatcher,   ///< An exception in one of its handlers; the same below.
  kill_pool,         ///<
  kill_worker,       ///<
  kill_provider,     ///<
  kill_cell,         ///< A cell or a service client dies; the daemon ends.
  clock_jump,        ///< Of the wall clock, in either direction.
  shut_down,         ///< SIGTERM, and a restart.
  cell_state,        ///< A cell is paused, drained or activated.
  resize,            ///<
  reload,            ///< Cells and services are added, changed and removed.
  cancel,            ///<
  reopen,            ///< Of an ended job.
  provider_failure,  ///< It rejects, asks to retry, throttles, or breaks off.
  provider_garbage,  ///< Its answer is garbage.
  provider_hang,     ///< It never answers.
  slow_abort,        ///< An aborted call takes a while to end.
  starvation,        ///< An actor does not run for a while.
  outside,           ///< Workers outside the daemon lease the jobs of some services.
  silent_worker,     ///< A worker outside stalls, vanishes, or hangs up before its answer.
  stale_report,      ///< A worker outside repeats reports, changes them, or makes up leases.
  batches,           ///< Clients send batches.
  broken_batch,      ///< The connection of a batch breaks, or its answer is lost.
  protection,        ///< Services have limits and circuit breakers.
  compensation,      ///< Jobs compensate, and cells cancel the followers of failed ones.
  schedules,         ///< Schedules submit jobs.
  sharing,           ///< Cells borrow from each other; in some runs the daemon has a capacity.
  quotas,            ///< Cells have quotas, which administrators change, and weights.
};
inline constexpr std::size_t fault_count = 30;

/// For example "kill-worker".
std::string_view to_string(Fault fault);
/// The inverse; none for an unknown name.
std::optional<Fault> parse_fault(std::string_view name);

/// Bounds on what a seed draws. Shrinking makes those of a failing seed as small as possible.
struct Caps {
  std::uint64_t jobs_max = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t fault_events_max = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t cells_max = std::numeric_limits<std::uint64_t>::max();  ///< Configured cells.
  std::set<Fault> without;
  std::optional<Check> only;  ///< No other check is made.
};

/// The command line arguments for these bounds, each preceded by a space.
std::string to_arguments(const Caps& caps);

}  // namespace simulation
