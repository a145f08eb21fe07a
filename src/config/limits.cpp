// The member `limits`: the limits on what one client can use.
#include "src/config/sections.hpp"

namespace celld::config {
namespace {

void read_size(json::ObjectReader& reader, std::string_view name, std::int64_t min,
               std::int64_t max, std::size_t& size) {
  if (const auto value = reader.integer(name, min, max)) size = static_cast<std::size_t>(*value);
}

void read_time(json::ObjectReader& reader, std::string_view name, std::int64_t max_ms,
               milliseconds& time) {
  constexpr std::int64_t min_ms = 100;
  if (const auto value = reader.integer(name, min_ms, max_ms)) time = milliseconds(*value);
}

}  // namespace

Limits read_limits(const json::Value& value, Faults& faults) {
  Limits limits;
  json::ObjectReader reader(value, "/limits", faults);
  read_size(reader, "max_head_bytes", 1 << 10, 1 << 20, limits.head_bytes_max);
  read_size(reader, "max_headers", 8, 1000, limits.headers_max);
  read_size(reader, "max_uri_bytes", 256, 64 << 10, limits.uri_bytes_max);
  read_size(reader, "max_body_bytes", 1 << 10, 16 << 20, limits.body_bytes_max);
  read_time(reader, "head_timeout_ms", 600'000, limits.head_timeout);
  read_time(reader, "body_timeout_ms", 3'600'000, limits.body_timeout);
  read_time(reader, "idle_timeout_ms", 3'600'000, limits.idle_timeout);
  read_time(reader, "write_timeout_ms", 600'000, limits.write_timeout);
  read_size(reader, "max_connections", 1, 1'000'000, limits.connections_max);
  read_size(reader, "max_stream_backlog_bytes", 4 << 10, 64 << 20, limits.stream_backlog_bytes_max);
  read_size(reader, "max_unsent_bytes", 64 << 10, 1 << 30, limits.unsent_bytes_max);
  reader.finish();
  return limits;
}

}  // namespace celld::config
