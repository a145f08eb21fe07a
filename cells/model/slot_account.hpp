// The slots that one cell holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "cells/model/capacity_book.hpp"

namespace cells {

/// The cell's side of CapacityBook: what the dispatcher may run, and what it has to report. Silent
/// as long as the cell has all it could use and nothing is recalled. Not thread-safe.
class SlotAccount {
 public:
  struct Report {
    std::uint32_t need = 0;
    std::uint32_t returned = 0;

    bool operator==(const Report&) const = default;
  };

  explicit SlotAccount(const SlotTerms& terms) : terms_(terms) {}

  /// The cell starts with `running` jobs that already run. Until the book answers, the cell gives
  /// each of their slots back when the job ends, because they may exceed the total.
  void begin(std::uint32_t running) {
    held_ = running;
    reported_ = running;
  }
  void change(const SlotTerms& terms) {
    must_report_ = must_report_ || terms != terms_;
    terms_ = terms;
  }
  void grant(std::uint32_t count) {
    is_answered_ = true;
    held_ += count;
    recall_to_.reset();
  }
  void recall(std::uint32_t to) {
    recall_to_ = to;
    must_report_ = true;
  }

  const SlotTerms& terms() const { return terms_; }
  std::uint32_t held() const { return held_; }
  /// Leaves out slots that the cell holds only until the jobs in them end.
  SlotLoans loans() const {
    const std::uint32_t most = std::min(held_, terms_.burst);
    if (most > terms_.guarantee) return {most - terms_.guarantee, 0};
    return {0, is_answered_ ? terms_.guarantee - most : 0};
  }
  /// The most jobs that may run; no job starts while this many do.
  std::uint32_t limit() const {
    const std::uint32_t most = std::min(held_, terms_.burst);
    return recall_to_ ? std::min(most, std::max(*recall_to_, terms_.guarantee)) : most;
  }
  /// The cell holds all that it may ever have, and has reported nothing: there is nothing to
  /// adjust.
  bool is_at_rest() const {
    return reported_ == 0 && !must_report_ && held_ == terms_.guarantee && held_ == terms_.burst;
  }

  /// `used` slots are in use, and the cell has jobs that could use `more` further slots. Returns
  /// what is to be reported. The cell gives back idle slots beyond the guarantee at once, except
  /// for `spare` of them; spare slots and idle slots of the guarantee stay until they are recalled.
  std::optional<Report> adjust(std::uint32_t used, std::uint64_t more, std::uint32_t spare = 0);

 private:
  std::uint32_t kept(std::uint32_t used, std::uint32_t need, std::uint32_t spare) const;

  SlotTerms terms_;
  std::uint32_t held_ = 0;
  std::optional<std::uint32_t> recall_to_;
  std::uint32_t reported_ = 0;  ///< What the book takes the cell to need.
  bool is_answered_ = false;    ///< The book has answered the start of the cell.
  bool must_report_ = false;
};

}  // namespace cells
