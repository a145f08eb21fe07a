// Deadlines of many connections, at constant cost for all but heartbeats.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

namespace celld::http {

using SteadyTime = std::chrono::steady_clock::time_point;

enum class DeadlineKind { idle, head, body, write, linger, heartbeat };
constexpr std::size_t fixed_deadline_kinds = 5;  // All but the heartbeat.

/// Base class of objects with at most one deadline at a time.
class DeadlineEntry {
 public:
  std::optional<DeadlineKind> armed() const { return armed_; }

 protected:
  DeadlineEntry() = default;
  ~DeadlineEntry() = default;

 private:
  friend class Deadlines;
  DeadlineEntry* previous_ = nullptr;
  DeadlineEntry* next_ = nullptr;
  SteadyTime due_{};
  std::optional<DeadlineKind> armed_;
};

/// One queue for each kind. All deadlines of a kind have the same length, so each queue is in order
/// of time without sorting. Only heartbeats have intervals of their own; they are kept sorted.
class Deadlines {
 public:
  explicit Deadlines(std::array<std::chrono::milliseconds, fixed_deadline_kinds> lengths)
      : lengths_(lengths) {}

  /// For any kind but the heartbeat.
  void arm(DeadlineEntry& entry, DeadlineKind kind, SteadyTime now) {
    disarm(entry);
    auto& queue = queue_of(kind);
    entry.armed_ = kind;
    entry.due_ = now + lengths_[static_cast<std::size_t>(kind)];
    entry.previous_ = queue.last;
    (queue.last != nullptr ? queue.last->next_ : queue.first) = &entry;
    queue.last = &entry;
  }

  void arm_heartbeat(DeadlineEntry& entry, SteadyTime due) {
    disarm(entry);
    heartbeats_.emplace(due, &entry);
    entry.armed_ = DeadlineKind::heartbeat;
    entry.due_ = due;
  }

  void disarm(DeadlineEntry& entry) {
    if (!entry.armed_) return;
    if (entry.armed_ == DeadlineKind::heartbeat) {
      heartbeats_.erase({entry.due_, &entry});
      entry.armed_.reset();
      return;
    }
    auto& queue = queue_of(*entry.armed_);
    (entry.previous_ != nullptr ? entry.previous_->next_ : queue.first) = entry.next_;
    (entry.next_ != nullptr ? entry.next_->previous_ : queue.last) = entry.previous_;
    entry.previous_ = entry.next_ = nullptr;
    entry.armed_.reset();
  }

  std::optional<SteadyTime> earliest() const {
    const auto* entry = first();
    return entry == nullptr ? std::nullopt : std::optional{entry->due_};
  }

  /// The next entry that is due, or null. It stays armed: the caller disarms or re-arms it.
  DeadlineEntry* due(SteadyTime now) const {
    auto* entry = first();
    return entry != nullptr && entry->due_ <= now ? entry : nullptr;
  }

 private:
  struct Queue {
    DeadlineEntry* first = nullptr;
    DeadlineEntry* last = nullptr;
  };

  Queue& queue_of(DeadlineKind kind) { return queues_[static_cast<std::size_t>(kind)]; }

  DeadlineEntry* first() const {
    DeadlineEntry* earliest = heartbeats_.empty() ? nullptr : heartbeats_.begin()->second;
    for (const auto& queue : queues_) {
      const bool sooner =
          queue.first != nullptr && (earliest == nullptr || queue.first->due_ < earliest->due_);
      if (sooner) earliest = queue.first;
    }
    return earliest;
  }

  std::array<std::chrono::milliseconds, fixed_deadline_kinds> lengths_;
  std::array<Queue, fixed_deadline_kinds> queues_{};
  std::set<std::pair<SteadyTime, DeadlineEntry*>> heartbeats_;
};

}  // namespace celld::http
