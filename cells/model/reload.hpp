// The course of a reload, as a state machine.
//
//     ┌─ begin, may be refused       begin, cannot be refused ─┐
//     ▼                                                        ▼
//  storing ──all cells answered──▶ counting ──none found───▶ configuring
//                                     │                        │ all cells answered
//                               jobs are found                 ▼
//                                     ▼                      moving ──jobs moved──▶ completed
//                                  refused
//
// storing      Requests wait if they are for jobs that no cell of the new configuration may run:
//              these need a service or an undo that is about to be removed, or would change their
//              durability (durability.hpp). Such jobs may have been admitted before: the reload
//              waits until they are stored.
// counting     The store counts such jobs.
// configuring  From here on, nothing can refuse the reload. Every cell adopts its new settings:
//              then no dispatcher hands out a job that belongs to another cell.
// moving       The backlogs in the store move to the cells that the routing names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cells {

enum class ReloadState : std::uint8_t {
  storing,
  counting,
  configuring,
  moving,
  completed,
  refused,
};

class ReloadCourse {
 public:
  explicit ReloadCourse(bool may_be_refused)
      : state_(may_be_refused ? ReloadState::storing : ReloadState::configuring) {}

  ReloadState state() const { return state_; }

  /// Whether the reload can no longer be refused.
  bool is_decided() const { return state_ > ReloadState::counting; }

  /// All cells have been asked to confirm that their insertions are stored, or to adopt their
  /// settings.
  void cells_asked(std::size_t count);
  /// A cell has answered, or has closed instead.
  void cell_answered();
  void needs_counted(bool any_found);
  void jobs_moved();

 private:
  void leave_cells();

  ReloadState state_;
  std::size_t missing_ = 0;  ///< Answers of cells.
};

}  // namespace cells
