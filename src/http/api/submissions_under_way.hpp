// The submissions that the store has not answered yet, and when there are enough of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <utility>

namespace celld::api {

/// Bounds what a disk that has become slow makes clients leave with us. Pure: time is an argument.
/// For one thread.
class SubmissionsUnderWay {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// Of all together; but one of any size may always come.
  static constexpr std::size_t bytes_max = 64 << 20;
  /// While one waits for longer, others are better told to come again than made to wait behind it.
  static constexpr std::chrono::seconds wait_max{5};

  /// A submission is under way for as long as its share is kept; it may outlive this object.
  using Share = std::shared_ptr<const void>;

  /// Null: no other one now.
  Share admit(std::size_t bytes, Time now) {
    const auto& begun = all_->begun;
    const bool too_much = all_->bytes + bytes > bytes_max;
    if (!begun.empty() && (too_much || now > begun.front() + wait_max)) return nullptr;
    return std::make_shared<const One>(all_, bytes, now);
  }

 private:
  struct All {
    std::size_t bytes = 0;
    std::list<Time> begun;  ///< The oldest first.
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
};

}  // namespace celld::api
