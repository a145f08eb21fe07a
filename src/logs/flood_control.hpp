// Decides which lines of a flood are written: enough to notice it, too few to fill a disk.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace celld::logs {

/// Limits lines of one kind about one subject (a cell, a service), and all lines together, to a
/// burst and then a rate: the generic cell rate algorithm, with one timestamp per bucket. Not
/// thread-safe.
class FloodControl {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  using Duration = std::chrono::microseconds;

  struct Rate {
    std::uint32_t burst = 0;       ///< Lines at once.
    std::uint32_t per_second = 1;  ///< Lines after that.
  };
  struct Limits {
    Rate each{50, 10};
    Rate all{500, 50};
    std::size_t subjects_max = 1000;  ///< With a bucket each; all others share one per kind.
    Duration report_interval = std::chrono::minutes{1};  ///< While a flood continues.
  };
  /// Suppressed lines.
  struct Held {
    std::string kind;
    std::string about;  ///< "others" for the subjects that share a bucket.
    std::uint64_t count = 0;
    Duration over{0};  ///< From the first suppressed line until now.

    bool operator==(const Held&) const = default;
  };

  FloodControl() : FloodControl(Limits{}) {}
  explicit FloodControl(Limits limits) : limits_(limits) {}

  /// Whether to write this line; if not, counts it as suppressed.
  bool admit(std::string_view kind, std::string_view about, Time now);

  /// Whether there are suppressed lines that have not been reported.
  bool holds() const { return holding_ > 0; }

  /// The suppressed lines of floods that are over, or that have lasted for the report interval.
  /// Each line is reported once.
  std::vector<Held> due(Time now);
  /// All suppressed lines that have not been reported.
  std::vector<Held> all(Time now);

 private:
  struct Bucket {
    Time next{};  ///< When the bucket will be full again: the theoretical arrival time.
    std::uint64_t held = 0;
    Time held_since{};
  };
  using Key = std::pair<std::string, std::string>;  ///< The kind and the subject.

  Bucket& bucket_of(std::string_view kind, std::string_view about, Time now);
  void forget_quiet(Time now);
  template <class Wanted>
  std::vector<Held> report(Time now, Wanted wanted);

  const Limits limits_;
  std::map<Key, Bucket> buckets_;
  Bucket all_;
  std::size_t holding_ = 0;  ///< Buckets with suppressed lines.
  Time forgot_at_{};
};

}  // namespace celld::logs
