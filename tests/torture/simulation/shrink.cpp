#include "tests/torture/simulation/shrink.hpp"

#include "tests/torture/simulation/run.hpp"

namespace simulation {
namespace {

constexpr int rounds_max = 3;

class Shrinker {
 public:
  Shrinker(std::uint64_t seed, Caps caps, std::string promise)
      : seed_(seed), caps_(std::move(caps)), promise_(std::move(promise)) {}

  Caps shrink() {
    for (int round = 0; round < rounds_max; ++round) {
      changed_ = false;
      leave_out_faults();
      lower(&Caps::jobs_max);
      lower(&Caps::cells_max);
      lower(&Caps::fault_events_max);
      if (!changed_) break;
    }
    return caps_;
  }

 private:
  /// A run takes a different course as soon as anything is removed from it. One that keeps the
  /// promise by chance may hide a smaller one that breaks it, so the result need not be minimal.
  bool take(const Caps& caps) {
    if (run_seed(seed_, caps, false).broken_promise() != promise_) return false;
    caps_ = caps;
    changed_ = true;
    return true;
  }

  void leave_out_faults() {
    for (std::size_t i = 0; i < fault_count; ++i) {
      Caps fewer = caps_;
      if (fewer.without.insert(static_cast<Fault>(i)).second) take(fewer);
    }
  }

  /// Tries bounds that grow by half at a time, and takes the first one that works.
  void lower(std::uint64_t Caps::* bound) {
    constexpr std::uint64_t bound_max = 10'000;
    for (std::uint64_t least = 1; least < std::min(caps_.*bound, bound_max);
         least += least / 2 + 1) {
      Caps fewer = caps_;
      fewer.*bound = least;
      if (take(fewer)) return;
    }
  }

  std::uint64_t seed_;
  Caps caps_;
  std::string promise_;
  bool changed_ = false;
};

}  // namespace

Caps shrink(std::uint64_t seed, const Caps& caps, const std::string& promise) {
  return Shrinker{seed, caps, promise}.shrink();
}

}  // namespace simulation
