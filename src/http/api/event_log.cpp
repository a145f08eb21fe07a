#include "src/http/api/event_log.hpp"

#include <charconv>
#include <utility>

namespace celld::api {

const EventLog::Event& EventLog::add(cells::JobPtr job) {
  bytes_ += approximate_bytes(*job);
  events_.push_back({++last_, std::move(job)});
  while (events_.size() > 1 &&
         (events_.size() > limits_.events_max || bytes_ > limits_.bytes_max)) {
    bytes_ -= approximate_bytes(*events_.front().job);
    events_.pop_front();
  }
  return events_.back();
}

void EventLog::forget() {
  events_.clear();
  bytes_ = 0;
  ++last_;
}

std::string EventLog::id_of(std::uint64_t number) const {
  return run_ + "-" + std::to_string(number);
}

std::optional<std::uint64_t> EventLog::position(std::string_view id) const {
  if (is_of_end(id)) id.remove_suffix(1);
  const std::size_t dash = id.rfind('-');
  if (dash == std::string_view::npos || id.substr(0, dash) != run_) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = id.data() + id.size();
  const auto parsed = std::from_chars(id.data() + dash + 1, end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number > last_) return std::nullopt;
  return has_all_after(number) ? std::optional{number} : std::nullopt;
}

bool EventLog::has_all_after(std::uint64_t number) const {
  const std::uint64_t first_kept = events_.empty() ? last_ + 1 : events_.front().number;
  return number + 1 >= first_kept;
}

}  // namespace celld::api
