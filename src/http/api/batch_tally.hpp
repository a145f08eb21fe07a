// What became of the lines of one batch. Pure; for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "src/http/api/problem.hpp"

namespace celld::api {

/// A listed line.
struct LineError {
  std::uint64_t line = 0;
  Problem problem{};
};

/// Lines are answered in any order and counted in the order of the body, so that the place at which
/// a batch ended is exact: each line before `stopped_at` was accepted, replayed or rejected, or is
/// one of the `refused_lines`, which count as rejected; no line from there on was accepted.
class BatchTally {
 public:
  static constexpr std::size_t errors_max = 100;

  /// What became of a line. A *rejected* line can never be accepted as it is; a *refused* one ends
  /// the batch, and may be accepted later; an *uncertain* one ends the batch too, but may have been
  /// accepted.
  enum class Outcome : std::uint8_t { waiting, accepted, replayed, rejected, refused, uncertain };

  /// A line whose outcome follows. Returns its number for `note`.
  std::uint64_t begin(std::uint64_t line);
  /// `problem` may be null for a refused line, and for a rejected one that need not be listed. A
  /// refused or uncertain line with a problem ends the batch for that reason, unless there is
  /// another already.
  void note(std::uint64_t number, Outcome outcome, std::unique_ptr<Problem> problem = nullptr);
  /// A line that was rejected before it was submitted.
  void reject(std::uint64_t line, std::unique_ptr<Problem> problem);
  /// Ends the batch for a reason outside its lines. The first reason counts.
  void stop(Problem why);

  /// Lines that began and are not answered.
  std::size_t unanswered() const { return unanswered_; }
  /// Lines in memory: those since the oldest unanswered or refused one.
  std::size_t size() const { return lines_.size(); }
  /// No further line may begin.
  bool is_stopped() const { return why_ != nullptr; }

  /// Counts the rest. Nothing may be unanswered; `next` is the first line that did not begin.
  void finish(std::uint64_t next);

  // After finish.
  std::uint64_t accepted() const { return accepted_; }
  std::uint64_t replayed() const { return replayed_; }
  std::uint64_t rejected() const { return rejected_; }
  /// None: the batch was read to its end.
  std::optional<std::uint64_t> stopped_at() const { return stopped_at_; }
  /// The lines before `stopped_at` that were refused although a later one was accepted. They may be
  /// sent again.
  const std::vector<std::uint64_t>& refused_lines() const { return refused_lines_; }
  /// The first errors in the order of the lines; the last one is why the batch ended early.
  const std::vector<LineError>& errors() const { return errors_; }
  /// Why the batch ended early; null: it did not.
  const Problem* why() const { return why_.get(); }

 private:
  struct Line {
    std::uint64_t line = 0;
    Outcome outcome = Outcome::waiting;
    std::unique_ptr<Problem> problem;
  };

  void count(Line& line);
  void count_answered();
  void list(std::uint64_t line, const Problem& problem);
  void list_refused(const Line& line);

  std::deque<Line> lines_;
  std::uint64_t first_number_ = 0;  ///< Of the line at the front.
  std::size_t unanswered_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint64_t replayed_ = 0;
  std::uint64_t rejected_ = 0;
  std::optional<std::uint64_t> stopped_at_;
  std::vector<std::uint64_t> refused_lines_;
  std::vector<LineError> errors_;
  std::unique_ptr<Problem> why_;
  std::unique_ptr<Problem> first_refusal_;  ///< For refused lines without a problem of their own.
};

}  // namespace celld::api
