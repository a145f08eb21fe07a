#include "src/http/api/batch_pacer.hpp"

#include <algorithm>
#include <utility>

namespace celld::api {

using std::chrono::milliseconds;

namespace {

std::size_t bytes_of(const DelayedLine& line) {
  return line.job->spec.parameters.size();
}

}  // namespace

void BatchPacer::answered(bool is_refused) {
  --in_flight_;
  if (!is_refused) pace_ = std::min(2 * pace_, in_flight_max_);
}

void BatchPacer::delay(DelayedLine line, const std::optional<cells::Refusal>& why, Time now) {
  --in_flight_;
  pace_ = 1;
  if (why) {
    resumes_at_ = now + std::min<milliseconds>(why->retry_after, delay_max);
    last_refusal_ = why;
  }
  delayed_bytes_ += bytes_of(line);
  const auto behind =
      std::find_if(delayed_.begin(), delayed_.end(),
                   [&line](const DelayedLine& each) { return each.number > line.number; });
  delayed_.insert(behind, std::move(line));
}

bool BatchPacer::resume(cells::BatchGate& gate, Time now) {
  if (delayed_.empty()) return false;
  if (!gate.is_paused()) return true;
  if (in_flight_ > 0 || now < resumes_at_) return false;
  gate.go_on();
  return true;
}

std::optional<DelayedLine> BatchPacer::take_next() {
  if (delayed_.empty() || in_flight_ >= pace_) return std::nullopt;
  auto line = std::move(delayed_.front());
  delayed_.pop_front();
  delayed_bytes_ -= bytes_of(line);
  return line;
}

std::optional<BatchPacer::Time> BatchPacer::resumes_at() const {
  if (delayed_.empty() || in_flight_ > 0) return std::nullopt;
  return resumes_at_;
}

std::deque<DelayedLine> BatchPacer::take_all() {
  delayed_bytes_ = 0;
  return std::exchange(delayed_, {});
}

}  // namespace celld::api
