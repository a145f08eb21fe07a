#include "src/http/api/query.hpp"

#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "src/config/checks.hpp"
#include "src/json/time_text.hpp"

namespace celld::api {
namespace {

constexpr std::size_t limit_max = 1000;
constexpr std::size_t labels_max = 16;
constexpr std::size_t text_bytes_max = 256;
constexpr std::size_t worker_bytes_max = 255;
/// An id that no batch has: the greatest one, which lies in the distant future.
constexpr cells::BatchId no_batch = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view label_prefix = "label.";
constexpr std::string_view name_rule = "must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}";

/// Reads one parameter's value. Returns its fault, or an empty text.
using Taker = std::function<std::string(const std::string& value)>;
using Takers = std::map<std::string_view, Taker>;

Taker name_into(std::optional<std::string>& target) {
  return [&target](const std::string& value) -> std::string {
    if (!config::is_name(value)) return std::string(name_rule);
    target = value;
    return "";
  };
}

Taker text_into(std::optional<std::string>& target, std::size_t bytes_max = text_bytes_max) {
  return [&target, bytes_max](const std::string& value) -> std::string {
    if (value.empty() || value.size() > bytes_max)
      return "must have 1 to " + std::to_string(bytes_max) + " bytes";
    target = value;
    return "";
  };
}

Taker time_into(std::optional<cells::WallTime>& target) {
  return [&target](const std::string& value) -> std::string {
    target = json::parse_time(value);
    if (target) return "";
    const bool plus_lost = value.find(' ') != std::string::npos;
    return plus_lost ? "must be a time in UTC such as 2026-11-20T22:42:56.123Z; a `+` in a query "
                       "means a space"
                     : "must be a time in UTC such as 2026-11-20T22:42:56.123Z";
  };
}

Taker state_into(std::optional<cells::JobState>& target) {
  return [&target](const std::string& value) -> std::string {
    target = cells::parse_job_state(value);
    return target ? ""
                  : "must be `scheduled`, `queued`, `running`, `retrying`, `compensating`, "
                    "`succeeded`, `failed` or `cancelled`";
  };
}

Taker limit_into(std::size_t& target) {
  return [&target](const std::string& value) -> std::string {
    std::size_t limit = 0;
    const char* end = value.data() + value.size();
    const auto result = std::from_chars(value.data(), end, limit);
    if (result.ec != std::errc() || result.ptr != end || limit < 1 || limit > limit_max)
      return "must be an integer from 1 to " + std::to_string(limit_max);
    target = limit;
    return "";
  };
}

std::optional<cells::CellKey> parse_cell_cursor(std::string_view cursor) {
  if (cursor.size() % 2 != 0) return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < cursor.size(); i += 2) {
    unsigned byte = 0;
    const auto result = std::from_chars(&cursor[i], &cursor[i] + 2, byte, 16);
    if (result.ec != std::errc() || result.ptr != &cursor[i] + 2) return std::nullopt;
    text += static_cast<char>(byte);
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  cells::CellKey key{text.substr(0, slash), text.substr(slash + 1)};
  for (const std::string& part : {key.customer, key.product})
    if (part != "*" && !config::is_name(part)) return std::nullopt;
  return key;
}

/// As to_string(Lease) writes it.
std::optional<cells::Lease> parse_lease_cursor(std::string_view cursor) {
  cells::Lease lease;
  const char* const end = cursor.data() + cursor.size();
  const auto epoch = std::from_chars(cursor.data(), end, lease.epoch);
  if (epoch.ec != std::errc() || epoch.ptr == end || *epoch.ptr != '-') return std::nullopt;
  const auto counter = std::from_chars(epoch.ptr + 1, end, lease.counter);
  if (counter.ec != std::errc() || counter.ptr != end) return std::nullopt;
  return lease;
}

json::Fault fault_of(const std::string& name, const std::string& detail) {
  return {"", "query parameter " + json::quote(name) + " " + detail};
}

/// Passes each parameter to its taker, and each `label.K` to `label` if that is set.
Faults take_all(const Query& query, const Takers& takers,
                const std::function<std::string(std::string key, const std::string&)>& label) {
  Faults faults;
  std::set<std::string_view> seen;
  for (const auto& [name, value] : query) {
    const auto taker = takers.find(name);
    const bool is_label = label && std::string_view(name).starts_with(label_prefix);
    if (taker == takers.end() && !is_label) {
      faults.push_back(fault_of(name, "is unknown"));
    } else if (!seen.insert(name).second) {
      faults.push_back(fault_of(name, "is repeated"));
    } else {
      const std::string detail =
          is_label ? label(name.substr(label_prefix.size()), value) : taker->second(value);
      if (!detail.empty()) faults.push_back(fault_of(name, detail));
    }
  }
  return faults;
}

/// `what` is in the list, in order of their names.
template <class List>
std::variant<List, Faults> parse_list_by_name(const Query& query, const char* what) {
  List list;
  const Takers takers = {
      {"limit", limit_into(list.limit)},
      {"cursor",
       [&](const std::string& value) -> std::string {
         if (!config::is_name(value)) return std::string("is not a cursor from a list of ") + what;
         list.after = value;
         return "";
       }},
  };
  Faults faults = take_all(query, takers, nullptr);
  if (!faults.empty()) return faults;
  return list;
}

}  // namespace

std::variant<cells::ListJobs, Faults> parse_job_query(const Query& query) {
  cells::ListJobs list;
  cells::JobFilter& filter = list.filter;
  const Takers takers = {
      {"customer", name_into(filter.customer)},
      {"product", name_into(filter.product)},
      {"state", state_into(filter.state)},
      {"service", name_into(filter.service)},
      {"entity_type", text_into(filter.entity_type)},
      {"entity_id", text_into(filter.entity_id)},
      {"batch",
       [&](const std::string& value) -> std::string {
         // As in a path, a text that is not an id names no batch.
         filter.batch = cells::parse_job_id(value).value_or(no_batch);
         return "";
       }},
      {"created_after", time_into(filter.created_after)},
      {"created_before", time_into(filter.created_before)},
      {"limit", limit_into(list.limit)},
      {"cursor",
       [&](const std::string& value) -> std::string {
         const auto before = cells::parse_job_id(value);
         if (!before) return "is not a cursor from a list of jobs";
         list.before = *before;
         return "";
       }},
  };
  const auto label = [&](std::string key, const std::string& value) -> std::string {
    if (key.empty() || key.size() > text_bytes_max)
      return "must name a label of 1 to " + std::to_string(text_bytes_max) + " bytes";
    if (value.size() > text_bytes_max)
      return "must have at most " + std::to_string(text_bytes_max) + " bytes";
    if (filter.labels.size() >= labels_max)
      return "exceeds the limit of " + std::to_string(labels_max) + " labels";
    filter.labels.emplace(std::move(key), value);
    return "";
  };
  Faults faults = take_all(query, takers, label);
  if (!faults.empty()) return faults;
  return list;
}

std::variant<cells::ListBatches, Faults> parse_batch_query(const Query& query) {
  cells::ListBatches list;
  const Takers takers = {
      {"limit", limit_into(list.limit)},
      {"cursor",
       [&](const std::string& value) -> std::string {
         const auto before = cells::parse_job_id(value);
         if (!before) return "is not a cursor from a list of batches";
         list.before = *before;
         return "";
       }},
  };
  Faults faults = take_all(query, takers, nullptr);
  if (!faults.empty()) return faults;
  return list;
}

std::variant<cells::ListSchedules, Faults> parse_schedule_query(const Query& query) {
  return parse_list_by_name<cells::ListSchedules>(query, "schedules");
}

std::variant<ListServicesByName, Faults> parse_service_query(const Query& query) {
  return parse_list_by_name<ListServicesByName>(query, "services");
}

std::variant<cells::ListCells, Faults> parse_cell_query(const Query& query) {
  cells::ListCells list;
  const Takers takers = {
      {"limit", limit_into(list.limit)},
      {"cursor",
       [&](const std::string& value) -> std::string {
         list.after = parse_cell_cursor(value);
         return list.after ? "" : "is not a cursor from a list of cells";
       }},
  };
  Faults faults = take_all(query, takers, nullptr);
  if (!faults.empty()) return faults;
  return list;
}

std::variant<cells::ListLeases, Faults> parse_lease_query(const Query& query) {
  cells::ListLeases list;
  const Takers takers = {
      {"worker", text_into(list.worker, worker_bytes_max)},
      {"service", name_into(list.service)},
      {"limit", limit_into(list.limit)},
      {"cursor",
       [&](const std::string& value) -> std::string {
         const auto after = parse_lease_cursor(value);
         if (!after) return "is not a cursor from a list of leases";
         list.after = *after;
         return "";
       }},
  };
  Faults faults = take_all(query, takers, nullptr);
  if (!faults.empty()) return faults;
  return list;
}

std::variant<EventFilter, Faults> parse_event_query(const Query& query) {
  EventFilter filter;
  Faults faults = take_all(
      query, {{"customer", name_into(filter.customer)}, {"product", name_into(filter.product)}},
      nullptr);
  if (!faults.empty()) return faults;
  return filter;
}

Faults refuse_query(const Query& query) {
  return take_all(query, {}, nullptr);
}

std::string job_cursor(cells::JobId before) {
  return cells::format_job_id(before);
}

std::string lease_cursor(const cells::Lease& after) {
  return to_string(after);
}

std::string name_cursor(const std::string& after) {
  return after;
}

std::string cell_cursor(const cells::CellKey& after) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string cursor;
  for (const char c : to_string(after)) {
    cursor += digits[static_cast<unsigned char>(c) >> 4];
    cursor += digits[static_cast<unsigned char>(c) & 15];
  }
  return cursor;
}

}  // namespace celld::api
