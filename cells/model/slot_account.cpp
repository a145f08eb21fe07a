#include "cells/model/slot_account.hpp"

namespace cells {

std::optional<SlotAccount::Report> SlotAccount::adjust(std::uint32_t used, std::uint64_t more,
                                                       std::uint32_t spare) {
  const auto could_use =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(terms_.burst, used + more));
  const std::uint32_t need = std::max(used, could_use);
  const std::uint32_t keep = kept(used, need, spare);
  const std::uint32_t returned = held_ - keep;
  held_ = keep;
  // A recall of the guarantee takes what is idle now, and nothing later.
  if (recall_to_ && (*recall_to_ < terms_.guarantee || held_ <= *recall_to_)) recall_to_.reset();
  const bool lacks = is_answered_ && need > held_ && need > reported_;
  if (!must_report_ && returned == 0 && !lacks && need >= reported_) return std::nullopt;
  must_report_ = false;
  reported_ = need;
  return Report{need, returned};
}

/// How many of its slots the cell keeps: at least those that are in use.
std::uint32_t SlotAccount::kept(std::uint32_t used, std::uint32_t need, std::uint32_t spare) const {
  if (!is_answered_) return std::min(held_, used);
  std::uint32_t keep = std::min(held_, std::max({need, terms_.guarantee, used + spare}));
  if (recall_to_) keep = std::min(keep, std::max(*recall_to_, std::min(need, terms_.guarantee)));
  return std::min(held_, std::max(used, std::min(keep, terms_.burst)));
}

}  // namespace cells
