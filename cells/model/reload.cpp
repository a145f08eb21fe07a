#include "cells/model/reload.hpp"

#include <cassert>

namespace cells {

void ReloadCourse::cells_asked(std::size_t count) {
  assert(state_ == ReloadState::storing || state_ == ReloadState::configuring);
  missing_ = count;
  if (missing_ == 0) leave_cells();
}

void ReloadCourse::cell_answered() {
  assert(missing_ > 0);
  if (--missing_ == 0) leave_cells();
}

void ReloadCourse::needs_counted(bool any_found) {
  assert(state_ == ReloadState::counting);
  state_ = any_found ? ReloadState::refused : ReloadState::configuring;
}

void ReloadCourse::jobs_moved() {
  assert(state_ == ReloadState::moving);
  state_ = ReloadState::completed;
}

void ReloadCourse::leave_cells() {
  state_ = state_ == ReloadState::storing ? ReloadState::counting : ReloadState::moving;
}

}  // namespace cells
