#include "src/http/api/batch_tally.hpp"

#include <utility>

namespace celld::api {

std::uint64_t BatchTally::begin(std::uint64_t line) {
  lines_.push_back({line, Outcome::waiting, nullptr});
  ++unanswered_;
  return first_number_ + lines_.size() - 1;
}

void BatchTally::note(std::uint64_t number, Outcome outcome, std::unique_ptr<Problem> problem) {
  auto& line = lines_[static_cast<std::size_t>(number - first_number_)];
  line.outcome = outcome;
  line.problem = std::move(problem);
  --unanswered_;
  if (outcome == Outcome::refused && line.problem) stop(*line.problem);
  count_answered();
}

void BatchTally::reject(std::uint64_t line, std::unique_ptr<Problem> problem) {
  lines_.push_back({line, Outcome::rejected, std::move(problem)});
  count_answered();
}

void BatchTally::stop(Problem why) {
  if (!why_) why_ = std::make_unique<Problem>(std::move(why));
}

/// Counts lines at the front. A refused line stays: whether the batch ended there depends on the
/// lines after it.
void BatchTally::count_answered() {
  while (!lines_.empty() && lines_.front().outcome != Outcome::waiting &&
         lines_.front().outcome != Outcome::refused) {
    count(lines_.front());
    lines_.pop_front();
    ++first_number_;
  }
}

void BatchTally::count(Line& line) {
  if (line.outcome == Outcome::accepted) {
    ++accepted_;
  } else if (line.outcome == Outcome::replayed) {
    ++replayed_;
  } else {
    ++rejected_;
    const Problem* problem =
        line.outcome == Outcome::refused && !line.problem ? why_.get() : line.problem.get();
    if (problem != nullptr) list(line.line, *problem);
  }
}

/// A refused line with an accepted one behind it, in another cell, counts as rejected: the batch
/// continues after the accepted one.
void BatchTally::finish(std::uint64_t next) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const auto outcome = lines_[i].outcome;
    if (outcome == Outcome::accepted || outcome == Outcome::replayed) taken = i + 1;
  }
  for (auto& line : lines_) {
    if (taken == 0 && line.outcome == Outcome::refused) {
      next = line.line;
      break;
    }
    count(line);
    if (taken > 0) --taken;
  }
  lines_.clear();
  if (!why_) return;
  stopped_at_ = next;
  if (errors_.size() == errors_max) errors_.pop_back();
  errors_.push_back({next, *why_});
}

void BatchTally::list(std::uint64_t line, const Problem& problem) {
  if (errors_.size() < errors_max) errors_.push_back({line, problem});
}

}  // namespace celld::api
