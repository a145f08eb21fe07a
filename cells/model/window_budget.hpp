// A bound for the windows of all cells together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace cells {

/// How many bytes of jobs the windows of all cells hold. A window may grow while it holds less than
/// what is free, so n large windows leave 1/(n + 1) of the budget to the next one. (Choudhury and
/// Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998, with a factor
/// of one.) Thread-safe.
class WindowBudget {
 public:
  explicit WindowBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::size_t free() const { return bytes_max_ - std::min(bytes_max_, bytes()); }

 private:
  friend class WindowBytes;

  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_{0};
};

/// The bytes of one window. Its destruction returns them to the budget. Not thread-safe.
class WindowBytes {
 public:
  /// Null: no bound for all cells together.
  explicit WindowBytes(std::shared_ptr<WindowBudget> budget) : budget_(std::move(budget)) {}
  ~WindowBytes() {
    arrived();
    remove(bytes_);
  }
  WindowBytes(WindowBytes&& other) noexcept
      : budget_(std::move(other.budget_)),
        bytes_(std::exchange(other.bytes_, 0)),
        expected_(std::exchange(other.expected_, 0)) {}
  WindowBytes(const WindowBytes&) = delete;
  WindowBytes& operator=(const WindowBytes&) = delete;
  WindowBytes& operator=(WindowBytes&&) = delete;

  void add(std::size_t bytes) {
    bytes_ += bytes;
    if (budget_) budget_->bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void remove(std::size_t bytes) {
    bytes_ -= bytes;
    if (budget_) budget_->bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  /// Roughly this many bytes have been asked for; they count until `arrived`.
  void expect(std::size_t bytes) {
    expected_ = bytes;
    if (budget_) budget_->bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void arrived() {
    const std::size_t bytes = std::exchange(expected_, 0);
    if (budget_) budget_->bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  std::size_t own() const { return bytes_; }
  /// Whether the window has its share of the budget, and should not grow.
  bool has_its_share() const { return budget_ && bytes_ >= budget_->free(); }

 private:
  std::shared_ptr<WindowBudget> budget_;
  std::size_t bytes_ = 0;
  std::size_t expected_ = 0;
};

}  // namespace cells
