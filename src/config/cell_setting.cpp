#include "src/config/cell_setting.hpp"

#include <type_traits>
#include <utility>

namespace celld::config {
namespace {

using cells::CellSettings;

constexpr std::int64_t timeout_ms_max = 604'800'000;  // A week.
constexpr std::int64_t backoff_ms_max = 86'400'000;   // A day.

/// A whole number or a duration in milliseconds; `access` returns a reference to it.
template <class Access>
CellSetting number(std::string_view name, std::int64_t min, std::int64_t max,
                   std::string_view description, Access access) {
  using Target = std::remove_reference_t<decltype(access(std::declval<CellSettings&>()))>;
  CellSetting setting;
  setting.name = name;
  setting.description = description;
  setting.schema = {{"type", "integer"}, {"minimum", min}, {"maximum", max}};
  setting.read = [=](json::ObjectReader& reader, std::string_view member, CellSettings& settings) {
    if (!reader.has(member)) return true;
    const auto value = reader.integer(member, min, max);
    if (value) access(settings) = static_cast<Target>(*value);
    return value.has_value();
  };
  setting.show = [=](const CellSettings& settings) -> json::Value {
    if constexpr (std::is_integral_v<Target>) {
      return access(settings);
    } else {
      return access(settings).count();
    }
  };
  return setting;
}

CellSetting bounded_by(std::string_view greater, CellSetting setting) {
  setting.at_most = greater;
  return setting;
}

std::vector<CellSetting> make_table() {
  return {
      number("pool.size", 1, cells::pool_size_max,
             "how many jobs of the cell run at once; can be changed while celld runs",
             [](auto& cell) -> auto& { return cell.pool_size; }),
      bounded_by("timeout_max_ms",
                 number("timeout_ms", 1, timeout_ms_max,
                        "the limit for one attempt at one service, unless the job sets its own",
                        [](auto& cell) -> auto& { return cell.timeout; })),
      number("timeout_max_ms", 1, timeout_ms_max, "the highest limit that a job may set",
             [](auto& cell) -> auto& { return cell.timeout_max; }),
      number("queue.max_jobs", 1, 100'000'000,
             "the limit on unfinished jobs of the cell; beyond it, submissions get 429",
             [](auto& cell) -> auto& { return cell.jobs_max; }),
      number("retry.max_attempts", 1, 1000,
             "attempts at each step, unless the job sets its own limit",
             [](auto& cell) -> auto& { return cell.retry.max_attempts; }),
      bounded_by("retry.backoff_max_ms",
                 number("retry.backoff_ms", 0, backoff_ms_max,
                        "the cap of the random wait before the second attempt; doubles with each "
                        "attempt",
                        [](auto& cell) -> auto& { return cell.retry.backoff; })),
      number("retry.backoff_max_ms", 0, backoff_ms_max,
             "the highest cap. celld honours a provider's `Retry-After` up to ten times this",
             [](auto& cell) -> auto& { return cell.retry.backoff_max; }),
  };
}

}  // namespace

std::string_view object_of(std::string_view setting) {
  const auto dot = setting.find('.');
  return dot == std::string_view::npos ? "" : setting.substr(0, dot);
}

std::string_view member_of(std::string_view setting) {
  return setting.substr(setting.find('.') + 1);  // All of it without a dot: npos + 1 is 0.
}

const std::vector<CellSetting>& cell_settings() {
  static const std::vector<CellSetting> table = make_table();
  return table;
}

const std::vector<std::string_view>& reserved_cell_settings() {
  static const std::vector<std::string_view> names = {"pool.burst", "durability", "limits",
                                                      "quotas", "weights"};
  return names;
}

std::string show_cell_settings(const cells::CellSettings& settings) {
  std::string text = "{";
  std::string_view open;  // The object that is being written.
  for (const auto& setting : cell_settings()) {
    if (const auto object = object_of(setting.name); object != open) {
      if (!open.empty()) text += '}';
      open = object;
      if (!open.empty()) text += (text.size() > 1 ? "," : "") + json::quote(open) + ":{";
    }
    if (text.back() != '{') text += ',';
    text += json::quote(member_of(setting.name)) + ":" + json::dump(setting.show(settings));
  }
  return text + (open.empty() ? "}" : "}}");
}

}  // namespace celld::config
