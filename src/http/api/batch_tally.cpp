#include "src/http/api/batch_tally.hpp"

#include <utility>

namespace celld::api {
namespace {

bool ends_batch(BatchTally::Outcome outcome) {
  return outcome == BatchTally::Outcome::refused || outcome == BatchTally::Outcome::uncertain;
}

}  // namespace

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
  if (ends_batch(outcome) && line.problem) {
    if (!first_refusal_ && outcome == Outcome::refused)
      first_refusal_ = std::make_unique<Problem>(*line.problem);
    stop(*line.problem);
  }
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
         !ends_batch(lines_.front().outcome)) {
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
    if (line.outcome == Outcome::refused) return list_refused(line);
    if (line.problem) list(line.line, *line.problem);
  }
}

void BatchTally::list_refused(const Line& line) {
  refused_lines_.push_back(line.line);
  const Problem* known = line.problem ? line.problem.get() : first_refusal_.get();
  if (!known) known = why_.get();
  if (!known) return;  // Its client has gone.
  Problem problem = *known;
  problem.detail += " celld has accepted a later line: send this one again by itself.";
  list(line.line, problem);
}

/// A refused line with an accepted one behind it counts as rejected: the batch continues after the
/// accepted one.
void BatchTally::finish(std::uint64_t next) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const auto outcome = lines_[i].outcome;
    if (outcome == Outcome::accepted || outcome == Outcome::replayed) taken = i + 1;
  }
  for (auto& line : lines_) {
    if (taken == 0 && ends_batch(line.outcome)) {
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
