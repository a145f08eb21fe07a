// The members `defaults` and `cells`: the cells and their settings.
#include <map>
#include <utility>

#include "src/config/checks.hpp"
#include "src/config/sections.hpp"

namespace celld::config {
namespace {

constexpr std::size_t cells_max = 100'000;
constexpr std::int64_t timeout_ms_max = 604'800'000;
constexpr std::int64_t backoff_ms_max = 86'400'000;
constexpr std::int64_t jobs_max = 100'000'000;
constexpr std::int64_t attempts_max = 1000;

/// One number of the cell settings while they are read. A conflict between two settings is reported
/// at the one that the current entry sets itself. A bad value takes part in no comparison, so that
/// one fault does not cause another.
struct Setting {
  std::int64_t value = 0;
  bool good = true;
  bool own = false;  ///< Set in the current entry, not inherited.
};

struct ReadSettings {
  Setting pool_size, timeout, timeout_max, jobs, max_attempts, backoff, backoff_max;
};

/// The documented defaults, for settings that neither the cell nor `defaults` has.
ReadSettings built_in_settings() {
  const cells::CellSettings settings;
  ReadSettings built_in;
  built_in.pool_size.value = settings.pool_size;
  built_in.timeout.value = settings.timeout.count();
  built_in.timeout_max.value = settings.timeout_max.count();
  built_in.jobs.value = static_cast<std::int64_t>(settings.jobs_max);
  built_in.max_attempts.value = settings.retry.max_attempts;
  built_in.backoff.value = settings.retry.backoff.count();
  built_in.backoff_max.value = settings.retry.backoff_max.count();
  return built_in;
}

cells::CellSettings finished(const ReadSettings& settings) {
  cells::CellSettings result;
  result.pool_size = static_cast<std::uint32_t>(settings.pool_size.value);
  result.timeout = milliseconds(settings.timeout.value);
  result.timeout_max = milliseconds(settings.timeout_max.value);
  result.jobs_max = static_cast<std::uint64_t>(settings.jobs.value);
  result.retry.max_attempts = static_cast<std::uint32_t>(settings.max_attempts.value);
  result.retry.backoff = milliseconds(settings.backoff.value);
  result.retry.backoff_max = milliseconds(settings.backoff_max.value);
  return result;
}

void read_setting(json::ObjectReader& reader, std::string_view name, std::int64_t min,
                  std::int64_t max, Setting& setting) {
  setting.own = reader.has(name);
  if (!setting.own) return;
  const auto value = reader.integer(name, min, max);
  setting.good = value.has_value();
  if (value) setting.value = *value;
}

/// Reports a fault when `lesser` exceeds `greater`, at the one that the current entry sets.
void check_order(json::ObjectReader& reader, std::string_view lesser_name, const Setting& lesser,
                 std::string_view greater_name, const Setting& greater) {
  if (!lesser.good || !greater.good || lesser.value <= greater.value) return;
  if (lesser.own) {
    reader.fault(lesser_name, "must not be more than `" + std::string(greater_name) +
                                  "`, which is " + std::to_string(greater.value));
  } else if (greater.own) {
    reader.fault(greater_name, "must not be less than `" + std::string(lesser_name) +
                                   "`, which is " + std::to_string(lesser.value));
  }
}

void read_retry(const json::Value& value, std::string pointer, ReadSettings& settings,
                Faults& faults) {
  json::ObjectReader reader(value, std::move(pointer), faults);
  read_setting(reader, "max_attempts", 1, attempts_max, settings.max_attempts);
  read_setting(reader, "backoff_ms", 0, backoff_ms_max, settings.backoff);
  read_setting(reader, "backoff_max_ms", 0, backoff_ms_max, settings.backoff_max);
  check_order(reader, "backoff_ms", settings.backoff, "backoff_max_ms", settings.backoff_max);
  reader.finish();
}

/// The members that a cell shares with `defaults`.
ReadSettings read_settings(json::ObjectReader& reader, ReadSettings settings, Faults& faults) {
  for (Setting* setting :
       {&settings.pool_size, &settings.timeout, &settings.timeout_max, &settings.jobs,
        &settings.max_attempts, &settings.backoff, &settings.backoff_max})
    setting->own = false;
  if (const json::Value* pool = reader.any("pool")) {
    json::ObjectReader inner(*pool, reader.pointer_of("pool"), faults);
    read_setting(inner, "size", 1, cells::pool_size_max, settings.pool_size);
    refuse_unavailable(inner, {"burst"});
    inner.finish();
  }
  read_setting(reader, "timeout_ms", 1, timeout_ms_max, settings.timeout);
  read_setting(reader, "timeout_max_ms", 1, timeout_ms_max, settings.timeout_max);
  check_order(reader, "timeout_ms", settings.timeout, "timeout_max_ms", settings.timeout_max);
  if (const json::Value* queue = reader.any("queue")) {
    json::ObjectReader inner(*queue, reader.pointer_of("queue"), faults);
    read_setting(inner, "max_jobs", 1, jobs_max, settings.jobs);
    inner.finish();
  }
  if (const json::Value* retry = reader.any("retry"))
    read_retry(*retry, reader.pointer_of("retry"), settings, faults);
  refuse_unavailable(reader, {"durability", "limits", "quotas", "weights"});
  return settings;
}

std::string read_key(json::ObjectReader& reader, std::string_view name) {
  auto key = reader.string(name);
  if (!key) return "*";
  if (*key != "*" && !is_name(*key))
    reader.fault(name, "must be \"*\" or match [A-Za-z0-9][A-Za-z0-9._-]{0,62}");
  return std::move(*key);
}

void read_per(json::ObjectReader& reader, cells::CellRule& rule, Faults& faults) {
  const json::Value* per = reader.array("per");
  if (per == nullptr) return;
  if (per->empty()) reader.fault("per", "must not be empty");
  for (std::size_t i = 0; i < per->size(); ++i) {
    const auto fault = [&](std::string detail) {
      faults.push_back({json::pointer_to(reader.pointer_of("per"), i), std::move(detail)});
    };
    const json::Value& part = (*per)[i];
    if (part != "customer" && part != "product") {
      fault("must be \"customer\" or \"product\"");
      continue;
    }
    const bool customer = part == "customer";
    bool& chosen = customer ? rule.per_customer : rule.per_product;
    if (chosen) fault("is repeated");
    if ((customer ? rule.customer : rule.product) != "*")
      fault("must be a key that the cell leaves at \"*\"");
    chosen = true;
  }
}

struct ReadCell {
  cells::CellRule rule;
  bool keys_good = true;
};

ReadCell read_cell(const json::Value& value, std::string pointer, const ReadSettings& defaults,
                   Faults& faults) {
  ReadCell cell;
  json::ObjectReader reader(value, std::move(pointer), faults);
  const std::size_t before = faults.size();
  cell.rule.customer = read_key(reader, "customer");
  cell.rule.product = read_key(reader, "product");
  cell.keys_good = reader.is_object() && faults.size() == before;
  read_per(reader, cell.rule, faults);
  cell.rule.settings = finished(read_settings(reader, defaults, faults));
  reader.finish();
  return cell;
}

}  // namespace

std::vector<cells::CellRule> read_cells(const json::Value* defaults, const json::Value* cells,
                                        Faults& faults) {
  ReadSettings settings = built_in_settings();
  if (defaults != nullptr) {
    json::ObjectReader reader(*defaults, "/defaults", faults);
    settings = read_settings(reader, settings, faults);
    reader.finish();
  }
  std::vector<cells::CellRule> rules;
  if (cells == nullptr) return rules;
  if (cells->size() > cells_max)
    faults.push_back({"/cells", "must have at most " + std::to_string(cells_max) + " elements"});
  std::map<std::pair<std::string, std::string>, std::string> pointers;
  for (std::size_t i = 0; i < cells->size(); ++i) {
    std::string pointer = json::pointer_to("/cells", i);
    ReadCell cell = read_cell((*cells)[i], pointer, settings, faults);
    if (cell.keys_good) {
      const auto [first, fresh] =
          pointers.emplace(std::pair(cell.rule.customer, cell.rule.product), pointer);
      if (!fresh)
        faults.push_back({pointer, "has the same customer and product as " + first->second});
    }
    rules.push_back(std::move(cell.rule));
  }
  return rules;
}

}  // namespace celld::config
