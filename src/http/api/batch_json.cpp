#include "src/http/api/batch_json.hpp"

#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>

#include "src/http/api/query.hpp"
#include "src/json/json.hpp"
#include "src/json/time_text.hpp"

namespace celld::api {
namespace {

void append_time_or_null(std::string& out, const std::optional<cells::WallTime>& time) {
  out += time ? json::quote(json::format_time(*time)) : "null";
}

void append_batch(std::string& out, const cells::Batch& batch) {
  out += "{\"id\":" + json::quote(cells::format_job_id(batch.id)) + ",\"customer\":";
  out += batch.owner.customer.empty() ? "null" : json::quote(batch.owner.customer);
  out += ",\"total\":" + std::to_string(total_of(batch)) + ",\"states\":{";
  for (std::size_t i = 0; i < cells::job_state_count; ++i) {
    const auto state = static_cast<cells::JobState>(i);
    if (i != 0) out += ',';
    json::append_quoted(out, to_string(state));
    out += ':' + std::to_string(batch.counts[state]);
  }
  out += ",\"forgotten\":" + std::to_string(batch.forgotten);
  // Four digits, rounded down: only a finished batch shows 1.
  char digits[16];
  std::snprintf(digits, sizeof digits, "%.4f", std::floor(progress_of(batch) * 10'000) / 10'000);
  out += std::string{"},\"progress\":"} + digits + ",\"created_at\":";
  append_time_or_null(out, batch.created_at);
  out += ",\"finished_at\":";
  append_time_or_null(out, finished_at(batch));
  out += '}';
}

}  // namespace

std::string batch_json(const cells::Batch& batch) {
  std::string out;
  append_batch(out, batch);
  return out;
}

std::string batch_list_json(const cells::BatchesListed& page) {
  std::string out = "{\"items\":[";
  for (const auto& batch : page.batches) {
    if (out.back() == '}') out += ',';
    append_batch(out, batch);
  }
  out += "],\"next_cursor\":";
  out += page.next == 0 ? "null" : json::quote(job_cursor(page.next));
  return out += '}';
}

std::string batch_report_json(cells::BatchId id, const BatchTally& tally) {
  std::string out = "{\"id\":" + json::quote(cells::format_job_id(id));
  out += ",\"accepted\":" + std::to_string(tally.accepted());
  out += ",\"replayed\":" + std::to_string(tally.replayed());
  out += ",\"rejected\":" + std::to_string(tally.rejected()) + ",\"stopped_at_line\":";
  out += tally.stopped_at() ? std::to_string(*tally.stopped_at()) : "null";
  out += ",\"errors\":[";
  for (const auto& [line, problem] : tally.errors()) {
    if (out.back() == '}') out += ',';
    append_line_error(out, line, problem);
  }
  out += ']';
  if (!tally.refused_lines().empty())
    out += ",\"refused_lines\":" + json::dump(json::Value(tally.refused_lines()));
  return out += '}';
}

}  // namespace celld::api
