// The member `capacity`: what all jobs together may use.
#include "src/config/sections.hpp"

namespace celld::config {

Capacity read_capacity(const json::Value& value, Faults& faults) {
  constexpr std::int64_t bytes_min = 1 << 16;
  constexpr std::int64_t bytes_max = std::int64_t{1} << 40;
  Capacity capacity;
  json::ObjectReader reader(value, "/capacity", faults);
  if (const auto bytes = reader.integer("memory_max_bytes", bytes_min, bytes_max)) {
    capacity.memory_bytes_max = static_cast<std::uint64_t>(*bytes);
  }
  reader.finish();
  return capacity;
}

}  // namespace celld::config
