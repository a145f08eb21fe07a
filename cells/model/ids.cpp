#include "cells/model/ids.hpp"

#include <algorithm>

namespace cells {
namespace {

constexpr int counter_bits = 20;
constexpr std::size_t text_length = 13;  // 13 × 5 bits hold 64.
constexpr std::string_view alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

}  // namespace

std::string format_job_id(JobId id) {
  std::string text(text_length, '0');
  for (std::size_t digit = text_length; digit > 0; --digit) {
    text[digit - 1] = alphabet[id & 31];
    id >>= 5;
  }
  return text;
}

std::optional<JobId> parse_job_id(std::string_view text) {
  // An id has 63 bits, of which the first digit carries 3: it is at most '7'.
  if (text.size() != text_length || text[0] > '7') return std::nullopt;
  JobId id = 0;
  for (const char c : text) {
    const auto digit = alphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    id = id << 5 | digit;
  }
  return id == 0 ? std::nullopt : std::optional{id};
}

JobId first_job_id_at(WallTime at) {
  constexpr std::int64_t ms_max = (std::int64_t{1} << 43) - 1;
  const auto ms = std::clamp<std::int64_t>(at.time_since_epoch().count(), 0, ms_max);
  return static_cast<JobId>(ms) << counter_bits;
}

WallTime time_of(JobId id) {
  return WallTime{milliseconds{static_cast<std::int64_t>(id >> counter_bits)}};
}

void JobIdSource::start_after(JobId last) {
  JobId seen = last_.load();
  while (seen < last && !last_.compare_exchange_weak(seen, last)) {
  }
}

JobId JobIdSource::next(WallTime now, std::uint64_t count) {
  const JobId earliest = first_job_id_at(now) + offset_;
  JobId seen = last_.load();
  JobId first = 0;
  do {
    first = std::max(earliest, seen + 1);
  } while (!last_.compare_exchange_weak(seen, first + count - 1));
  return first;
}

std::string to_string(const Lease& lease) {
  return std::to_string(lease.epoch) + "-" + std::to_string(lease.counter);
}

}  // namespace cells
