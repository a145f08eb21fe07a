// The course of a reload, as a state machine.
//
//     ┌─ begin, removes services          begin, removes none ─┐
//     ▼                                                        ▼
//  storing ──all cells answered──▶ counting ──none needed──▶ configuring
//                                     │                        │ all cells answered
//                              a service is needed             ▼
//                                     ▼                      moving ──jobs moved──▶ completed
//                                  refused
//
// storing      Jobs that need a service about to be removed are no longer accepted; those already
//              accepted are on their way to the store.
// counting     The store counts the unfinished jobs that need such a service.
// configuring  From here on, nothing can refuse the reload. Every cell takes on its new settings:
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
  explicit ReloadCourse(bool removes_services)
      : state_(removes_services ? ReloadState::storing : ReloadState::configuring) {}

  ReloadState state() const { return state_; }

  /// Whether the reload can no longer be refused.
  bool is_decided() const { return state_ > ReloadState::counting; }

  /// All cells have been asked, to confirm what they have stored or to take on their settings.
  void cells_asked(std::size_t count);
  /// A cell has answered, or has closed instead.
  void cell_answered();
  void needs_counted(bool any_needed);
  void jobs_moved();

 private:
  void leave_cells();

  ReloadState state_;
  std::size_t missing_ = 0;  ///< Answers of cells.
};

}  // namespace cells
