#include "src/http/api/cell_json.hpp"

#include <cmath>
#include <utility>

#include "src/config/cell_setting.hpp"
#include "src/http/api/query.hpp"
#include "src/json/json.hpp"

namespace celld::api {
namespace {

/// A page with more than this has no further cell.
constexpr std::size_t list_bytes_max = 8 << 20;

using cells::CellStatus;
using cells::JobState;

void append_member(std::string& out, const char* key, std::uint64_t value) {
  out += key;
  out += std::to_string(value);
}

void append_pool(std::string& out, const cells::PoolStatus& pool) {
  append_member(out, ",\"pool\":{\"target\":", pool.target);
  append_member(out, ",\"ready\":", pool.ready);
  append_member(out, ",\"busy\":", pool.busy);
  append_member(out, ",\"retiring\":", pool.retiring);
  append_member(out, ",\"borrowed\":", pool.borrowed);
  append_member(out, ",\"lent\":", pool.lent);
  if (pool.short_by > 0) append_member(out, ",\"short_by\":", pool.short_by);
  out += '}';
}

void append_queue(std::string& out, const CellView& cell) {
  const cells::JobCounts& counts = cell.status.queue.counts;
  const auto in_force = overridden(cell.status.settings, cell.status.changed.quota);
  append_member(out, ",\"queue\":{\"queued\":", counts[JobState::queued]);
  append_member(out, ",\"scheduled\":", counts[JobState::scheduled]);
  append_member(out, ",\"retrying\":", counts[JobState::retrying]);
  append_member(out, ",\"compensating\":", counts[JobState::compensating]);
  append_member(out, ",\"running\":", counts[JobState::running]);
  append_member(out, ",\"max_jobs\":", in_force.jobs_max);
  append_member(out, ",\"bytes\":", counts.bytes);
  const auto bytes_max = in_force.bytes_max_in_force();
  out += ",\"max_bytes\":" + (bytes_max == 0 ? "null" : std::to_string(bytes_max));
  append_member(out,
                ",\"oldest_queued_ms\":", static_cast<std::uint64_t>(cell.oldest_queued.count()));
  out += '}';
}

void append_rate(std::string& out, const char* key, double per_s) {
  out += key;
  out += json::dump(json::Value(std::round(per_s * 1000) / 1000));
}

void append_overrides(std::string& out, const cells::CellOverride& changed) {
  const char* separator = "";
  const auto append = [&](const char* key, std::optional<std::uint32_t> value) {
    if (!value) return;
    out += std::exchange(separator, ",");
    append_member(out, key, *value);
  };
  append("\"pool.size\":", changed.pool_size);
  append("\"pool.burst\":", changed.pool_burst);
  append("\"pool.weight\":", changed.pool_weight);
  for (const auto& [limit, value] : changed.quota) {
    out += std::exchange(separator, ",");
    out += json::quote(to_string(limit)) + ":" + json::dump(config::show_quota(limit, value));
  }
}

}  // namespace

void append_cell(std::string& out, const CellView& cell) {
  const CellStatus& status = cell.status;
  out += "{\"customer\":";
  json::append_quoted(out, status.key.customer);
  out += ",\"product\":";
  json::append_quoted(out, status.key.product);
  append_pool(out, status.pool);
  append_queue(out, cell);
  append_rate(out, ",\"rates\":{\"submitted_per_s\":", status.queue.submitted_per_s);
  append_rate(out, ",\"finished_per_s\":", status.queue.finished_per_s);
  out += "},\"state\":";
  json::append_quoted(out, to_string(status.changed.state));
  out += ",\"quota\":";
  out += config::show_cell_settings(status.settings);
  out += ",\"overrides\":{";
  append_overrides(out, status.changed);
  out += "}}";
}

std::string cell_json(const CellView& cell) {
  std::string out;
  append_cell(out, cell);
  return out;
}

std::string cell_list_json(const std::vector<CellView>& cells,
                           const std::optional<cells::CellKey>& more_after) {
  std::string out = "{\"items\":[";
  std::optional<cells::CellKey> next_after = more_after;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0 && out.size() >= list_bytes_max) {
      next_after = cells[i - 1].status.key;
      break;
    }
    if (i > 0) out += ',';
    append_cell(out, cells[i]);
  }
  out += "],\"next_cursor\":";
  out += next_after ? json::quote(cell_cursor(*next_after)) : "null";
  out += '}';
  return out;
}

}  // namespace celld::api
