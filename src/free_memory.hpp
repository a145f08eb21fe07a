// Returns memory that celld has freed to the system. malloc keeps freed memory for later; after a
// peak (cells that closed, customers that left, a batch) the later may never come.
#pragma once

#include <chrono>
#include <cstddef>

namespace celld {

/// Decides when it is worth while: malloc_trim visits every free block. Not thread-safe.
class TrimPlan {
 public:
  /// Less than this is not worth while.
  static constexpr std::size_t worth_bytes = std::size_t{16} << 20;

  /// `free_bytes` of memory are resident and not in use.
  bool is_due(std::size_t free_bytes);
  /// So many were left when a trim had ended. They stay: the blocks are smaller than pages.
  void trimmed(std::size_t free_bytes) { left_ = free_bytes; }

 private:
  std::size_t left_ = 0;
};

class FreeMemory {
 public:
  /// How often give_back is to be called.
  static constexpr std::chrono::seconds interval{10};

  /// Returns what is free, if that is worth while. Other threads may wait some ten milliseconds for
  /// memory meanwhile.
  void give_back();

 private:
  TrimPlan plan_;
};

}  // namespace celld
