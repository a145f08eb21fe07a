// Cells as the API shows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cells/model/status.hpp"
#include "cells/model/time.hpp"

namespace celld::api {

/// A cell's status, and the age of its oldest queued job, which only the store knows.
struct CellView {
  cells::CellStatus status;
  cells::milliseconds oldest_queued{0};  ///< 0 when nothing is queued.
};

void append_cell(std::string& out, const CellView& cell);
std::string cell_json(const CellView& cell);

/// A page of cells; more cells follow after `more_after`, if set. The page ends early at 8 MiB.
std::string cell_list_json(const std::vector<CellView>& cells,
                           const std::optional<cells::CellKey>& more_after);

}  // namespace celld::api
