// What handlers read while a reload may replace it.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace celld::api {

/// An immutable value that is replaced as a whole. Safe from any thread: whoever has taken a
/// version goes on with that.
template <class Value>
class Live {
 public:
  explicit Live(std::shared_ptr<const Value> value) : value_(std::move(value)) {}

  std::shared_ptr<const Value> get() const {
    const std::lock_guard lock{mutex_};
    return value_;
  }

  void set(std::shared_ptr<const Value> value) {
    const std::lock_guard lock{mutex_};
    value_.swap(value);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Value> value_;  ///< Never null.
};

}  // namespace celld::api
