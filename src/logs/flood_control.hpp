// Which lines of a flood are written: enough to see it, too few to fill a disk.
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

/// Lines of one kind about one thing (a cell, a service) come in a burst, and then at a rate; all
/// of them together likewise (the generic cell rate algorithm: one time for each bucket). Not
/// thread-safe.
class FloodControl {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  using Duration = std::chrono::microseconds;

  struct Rate {
    std::uint32_t burst = 0;       ///< Lines at once, after a pause.
    std::uint32_t per_second = 1;  ///< Lines from then on.
  };
  struct Terms {
    Rate each{50, 10};
    Rate all{500, 50};
    std::size_t things_max = 1000;  ///< Kinds and things told apart; the others of a kind are one.
    Duration report_interval = std::chrono::minutes{1};  ///< While a flood goes on.
  };
  /// Lines that were not written.
  struct Held {
    std::string kind;
    std::string about;  ///< "others": of all that could not be told apart.
    std::uint64_t count = 0;
    Duration over{0};  ///< From the first of them until now.

    bool operator==(const Held&) const = default;
  };

  FloodControl() : FloodControl(Terms{}) {}
  explicit FloodControl(Terms terms) : terms_(terms) {}

  /// Whether this line is written; it counts as held back if not.
  bool admit(std::string_view kind, std::string_view about, Time now);

  /// Whether anything is held back that no report has told of.
  bool holds() const { return holding_ > 0; }

  /// What was held back of floods that are over, or that go on since the report interval. Each is
  /// told once.
  std::vector<Held> due(Time now);
  /// Everything held back.
  std::vector<Held> all(Time now);

 private:
  struct Bucket {
    Time next{};  ///< When it would be full again: the theoretical arrival time.
    std::uint64_t held = 0;
    Time held_since{};
  };
  using Key = std::pair<std::string, std::string>;  ///< The kind, and what it is about.

  Bucket& bucket_of(std::string_view kind, std::string_view about, Time now);
  void forget_quiet(Time now);
  template <class Wanted>
  std::vector<Held> report(Time now, Wanted wanted);

  const Terms terms_;
  std::map<Key, Bucket> buckets_;
  Bucket all_;
  std::size_t holding_ = 0;  ///< Buckets with lines held back.
  Time forgot_at_{};
};

}  // namespace celld::logs
