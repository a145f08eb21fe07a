#include "src/free_memory.hpp"

#include <algorithm>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

namespace celld {
namespace {

/// Resident memory that no file backs: proc(5), statm.
std::size_t anonymous_bytes() {
  std::ifstream file{"/proc/self/statm"};
  std::size_t size = 0;
  std::size_t resident = 0;
  std::size_t shared = 0;
  if (!(file >> size >> resident >> shared) || resident < shared) return 0;
  return (resident - shared) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t free_bytes() {
  const struct mallinfo2 heap = ::mallinfo2();
  const std::size_t in_use = heap.uordblks + heap.hblkhd;
  const std::size_t resident = anonymous_bytes();
  return resident - std::min(resident, in_use);
}

}  // namespace

bool TrimPlan::is_due(std::size_t free_bytes) {
  left_ = std::min(left_, free_bytes);
  return free_bytes - left_ >= worth_bytes;
}

void FreeMemory::give_back() {
  if (!plan_.is_due(free_bytes())) return;
  ::malloc_trim(0);
  plan_.trimmed(free_bytes());
}

}  // namespace celld
