#include "cells/model/status.hpp"

namespace cells {

std::string_view to_string(CellState state) {
  switch (state) {
    case CellState::active:
      return "active";
    case CellState::paused:
      return "paused";
    case CellState::draining:
      return "draining";
  }
  return "";
}

}  // namespace cells
