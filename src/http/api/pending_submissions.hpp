// Admission of submissions, based on those that the store has not answered yet.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <utility>

namespace celld::api {

/// Bounds the memory that submissions take and the time that they wait when the disk is slow. Pure:
/// time is an argument. For one thread.
class PendingSubmissions {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The sum over all submissions. A submission of any size is admitted if it is the only one.
  static constexpr std::size_t bytes_max = 64 << 20;
  /// If a submission has waited longer, new ones are refused rather than made to wait behind it.
  static constexpr std::chrono::seconds wait_max{5};

  /// Held while the submission is under way. May outlive this object.
  using Share = std::shared_ptr<const void>;

  /// Null: the submission is refused. `ignores_waits`: others may wait for more than the disk.
  Share admit(std::size_t bytes, Time now, bool ignores_waits = false) {
    const auto& begun = all_->begun;
    const bool too_much = all_->bytes + bytes > bytes_max;
    const bool behind =
        !ignores_waits && !begun.empty() && now > std::max(begun.front(), counts_from_) + wait_max;
    if (behind || (too_much && !begun.empty())) return nullptr;
    return std::make_shared<const One>(all_, bytes, now);
  }

  /// Waits before this time do not count any more.
  void forgive(Time now) { counts_from_ = now; }

 private:
  struct All {
    std::size_t bytes = 0;
    std::list<Time> begun;  ///< Oldest first.
  };

  class One {
   public:
    One(std::shared_ptr<All> all, std::size_t bytes, Time now)
        : all_(std::move(all)), bytes_(bytes), place_(all_->begun.insert(all_->begun.end(), now)) {
      all_->bytes += bytes_;
    }
    ~One() {
      all_->bytes -= bytes_;
      all_->begun.erase(place_);
    }
    One(const One&) = delete;
    One& operator=(const One&) = delete;

   private:
    const std::shared_ptr<All> all_;
    const std::size_t bytes_;
    const std::list<Time>::iterator place_;
  };

  const std::shared_ptr<All> all_ = std::make_shared<All>();
  Time counts_from_{};  ///< Waits before this time do not count.
};

}  // namespace celld::api
