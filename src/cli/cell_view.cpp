#include "src/cli/cell_view.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "src/cli/members.hpp"
#include "src/cli/text.hpp"
#include "src/cli/time_words.hpp"

namespace celld::cli {
namespace {

std::string name_of(const json::Value& cell) {
  return text_at(cell, {"customer"}) + "/" + text_at(cell, {"product"});
}

TableCell state_of(const json::Value& cell) {
  std::string state = text_at(cell, {"state"});
  const Tone tone = state == "active" ? Tone::good : Tone::waiting;
  return {std::move(state), tone};
}

TableCell count(const json::Value& cell, Path path) {
  return {std::to_string(integer_at(cell, path))};
}

/// " (overridden: size, weight)"; empty: no override of the pool is in force.
std::string overrides_text(const json::Value& cell) {
  std::string names;
  for (const std::string name : {"size", "burst", "weight"}) {
    if (!member_at(cell, {"overrides", "pool." + name}).is_number()) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "" : " (overridden: " + names + ")";
}

/// A member of the pool: the override, or else the configured value, or else `otherwise`.
std::int64_t in_force(const json::Value& cell, const std::string& name, std::int64_t otherwise) {
  for (const auto& value :
       {member_at(cell, {"overrides", "pool." + name}), member_at(cell, {"quota", "pool", name})}) {
    if (value.is_number_integer()) return value.get<std::int64_t>();
  }
  return otherwise;
}

std::int64_t burst_of(const json::Value& cell) {
  // A cell that is short of capacity borrows the rest of its size.
  const auto size = integer_at(cell, {"pool", "target"}) + integer_at(cell, {"pool", "short_by"});
  return std::max(in_force(cell, "burst", 0), size);
}

std::int64_t weight_of(const json::Value& cell) {
  return in_force(cell, "weight", 1);
}

/// The target size of the pool, with a star while an override of the pool is in force.
TableCell target_of(const json::Value& cell) {
  return {count(cell, {"pool", "target"}).text + (overrides_text(cell).empty() ? "" : "*")};
}

TableCell rate(const json::Value& cell, std::string_view name) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", number_at(cell, {"rates", name}));
  return {text.data()};
}

TableCell oldest(const json::Value& cell) {
  if (integer_at(cell, {"queue", "queued"}) == 0) return {};
  return {age_text(milliseconds(integer_at(cell, {"queue", "oldest_queued_ms"})))};
}

}  // namespace

CellTable::CellTable()
    : table_({{"CELL", false, true},
              {"STATE"},
              {"POOL", true},
              {"BURST", true},
              {"WEIGHT", true},
              {"BUSY", true},
              {"BORROWED", true},
              {"LENT", true},
              {"QUEUED", true},
              {"SCHEDULED", true},
              {"RETRYING", true},
              {"RUNNING", true},
              {"OLDEST", true},
              {"IN/S", true},
              {"OUT/S", true}}) {}

void CellTable::add(const json::Value& cell) {
  table_.add({{name_of(cell)},
              state_of(cell),
              target_of(cell),
              {std::to_string(burst_of(cell))},
              {std::to_string(weight_of(cell))},
              count(cell, {"pool", "busy"}),
              count(cell, {"pool", "borrowed"}),
              count(cell, {"pool", "lent"}),
              count(cell, {"queue", "queued"}),
              count(cell, {"queue", "scheduled"}),
              count(cell, {"queue", "retrying"}),
              count(cell, {"queue", "running"}),
              oldest(cell),
              rate(cell, "submitted_per_s"),
              rate(cell, "finished_per_s")});
}

std::string cell_sentence(const json::Value& cell) {
  return cleaned("cell " + name_of(cell) + " is " + state_of(cell).text + ", with a pool of " +
                 count(cell, {"pool", "target"}).text + ", burst " +
                 std::to_string(burst_of(cell)) + ", weight " + std::to_string(weight_of(cell)) +
                 overrides_text(cell) + "; jobs: " + count(cell, {"queue", "running"}).text +
                 " running, " + count(cell, {"queue", "queued"}).text + " queued");
}

}  // namespace celld::cli
