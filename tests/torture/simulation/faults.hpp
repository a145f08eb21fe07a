// What can go wrong in a run, and how a run is cut down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace simulation {

/// Everything that a seed can do to the engine beyond plain work. Each seed leaves some out, so
/// that the others meet each other more often.
enum class Fault : std::uint8_t {
  crash,             ///< A power cut: what was not committed is lost.
  store_error,       ///< A commit fails, whether it reached the disk or not; the daemon ends.
  store_delay,       ///< Commits take their time.
  kill_dispatcher,   ///< As an exception in one of its handlers; the same below.
  kill_pool,         ///<
  kill_worker,       ///<
  kill_provider,     ///<
  kill_cell,         ///< Or a service client: the daemon ends.
  clock_jump,        ///< Of the wall clock, in either direction.
  shut_down,         ///< SIGTERM, and a restart.
  cell_state,        ///< A cell is paused, drained or activated.
  resize,            ///<
  reload,            ///< Cells and services come, change and go.
  cancel,            ///<
  retry,             ///< Of an ended job.
  provider_failure,  ///< It says no, or not now, or breaks off.
  provider_garbage,  ///< Its answer is nonsense.
  provider_hang,     ///< It never answers.
  slow_abort,        ///< A call that is aborted takes a while to go.
  starvation,        ///< An actor does not get to run for a while.
};
inline constexpr std::size_t fault_count = 20;

/// For example "kill-worker".
std::string_view to_string(Fault fault);
/// The inverse; nothing for an unknown name.
std::optional<Fault> parse_fault(std::string_view name);

/// Bounds on top of what a seed draws; those of a failing seed are made as small as they can be.
struct Caps {
  std::uint64_t jobs_max = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t fault_events_max = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t cells_max = std::numeric_limits<std::uint64_t>::max();  ///< As configured.
  std::set<Fault> without;
};

/// The command line's arguments that give these bounds; each begins with a space.
std::string to_arguments(const Caps& caps);

}  // namespace simulation
