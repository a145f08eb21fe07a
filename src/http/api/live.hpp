// A shared value that a reload can replace while handlers read it.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace celld::api {

/// An immutable value that is replaced as a whole. Safe from any thread: a version that a reader
/// holds stays valid.
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
