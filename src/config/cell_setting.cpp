#include "src/config/cell_setting.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "cells/model/priority.hpp"
#include "src/config/checks.hpp"

namespace celld::config {
namespace {

using cells::CellSettings;

constexpr std::int64_t timeout_ms_max = 604'800'000;  // A week.
constexpr std::int64_t backoff_ms_max = 86'400'000;   // A day.
constexpr std::int64_t bytes_max = std::int64_t{1} << 40;
constexpr double rate_per_s_min = 0.001;
constexpr double rate_per_s_max = 1'000'000;
constexpr std::int64_t burst_max = 1'000'000;
constexpr std::size_t customers_named_max = 10'000;

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

/// A limit that an administrator may override: a whole number, or a rate. With `may_be_none`, null
/// means no limit, which CellSettings stores as 0.
CellSetting quota(cells::QuotaLimit limit, json::Value min, json::Value max,
                  std::string_view description, bool may_be_none = true) {
  const bool is_whole = min.is_number_integer();
  const std::string_view type = is_whole ? "integer" : "number";
  CellSetting setting;
  setting.name = to_string(limit);
  setting.description = description;
  setting.quota = limit;
  setting.schema = {{"type", type}, {"minimum", min}, {"maximum", max}};
  if (may_be_none) setting.schema["type"] = {type, "null"};
  setting.read = [=](json::ObjectReader& reader, std::string_view member, CellSettings& settings) {
    if (!reader.has(member)) return true;
    if (const auto* value = reader.any(member); may_be_none && value->is_null()) {
      set_quota(settings, limit, 0);
      return true;
    }
    std::optional<double> value;
    if (is_whole) {
      const auto whole = reader.integer(member, min.get<std::int64_t>(), max.get<std::int64_t>());
      if (whole) value = static_cast<double>(*whole);
    } else {
      value = reader.number(member, min.get<double>(), max.get<double>());
    }
    if (value) set_quota(settings, limit, *value);
    return value.has_value();
  };
  setting.show = [=](const CellSettings& settings) {
    return show_quota(limit, quota_of(settings, limit));
  };
  return setting;
}

/// {"gold": 4, "*": 1}: "*" stands for all other customers.
CellSetting customer_weights(std::string_view description) {
  constexpr std::int64_t max = cells::customer_weight_max;
  CellSetting setting;
  setting.name = "customers.weights";
  setting.description = description;
  setting.schema = {
      {"type", "object"},
      {"maxProperties", customers_named_max},
      {"additionalProperties", {{"type", "integer"}, {"minimum", 1}, {"maximum", max}}}};
  setting.read = [](json::ObjectReader& reader, std::string_view member, CellSettings& settings) {
    const auto* weights = reader.object(member);
    if (!weights) return !reader.has(member);
    if (weights->size() > customers_named_max) {
      reader.fault(member, "must have at most " + std::to_string(customers_named_max) + " members");
      return false;
    }
    cells::CustomerWeights::Named named;
    bool good = true;
    for (const auto& [customer, weight] : weights->items()) {
      const auto number = weight.is_number_integer() ? weight.get<std::int64_t>() : 0;
      const bool is_good = number >= 1 && number <= max;
      if (is_good) named[customer] = weight.get<std::uint32_t>();
      if (!is_good) {
        reader.fault_at(json::pointer_to(reader.pointer_of(member), customer),
                        "must be an integer from 1 to " + std::to_string(max));
      }
      if (customer != "*" && !is_name(customer)) {
        reader.fault_at(json::pointer_to(reader.pointer_of(member), customer),
                        "must be \"*\" or match [A-Za-z0-9][A-Za-z0-9._-]{0,62}");
        good = false;
      }
      good = good && is_good;
    }
    if (!good) return false;
    const auto others = named.extract("*");
    settings.weights = cells::CustomerWeights{named, others ? others.mapped() : 1};
    return true;
  };
  setting.show = [](const CellSettings& settings) {
    json::Value shown{{"*", settings.weights.others()}};
    for (const auto& [customer, weight] : settings.weights.named()) shown[customer] = weight;
    return shown;
  };
  return setting;
}

/// One of a few words. `put` takes a word; `word_of` returns that of the settings.
template <class Put, class WordOf>
CellSetting choice(std::string_view name, std::vector<std::string_view> words,
                   std::string_view description, Put put, WordOf word_of) {
  CellSetting setting;
  setting.name = name;
  setting.description = description;
  setting.schema = {{"type", "string"}, {"enum", words}};
  setting.read = [=](json::ObjectReader& reader, std::string_view member, CellSettings& settings) {
    if (!reader.has(member)) return true;
    const auto word = reader.string(member);
    if (!word) return false;
    if (std::find(words.begin(), words.end(), *word) == words.end()) {
      std::string all;
      for (const auto& each : words) all += (all.empty() ? "" : " or ") + json::quote(each);
      reader.fault(member, "must be " + all);
      return false;
    }
    put(settings, *word);
    return true;
  };
  setting.show = [=](const CellSettings& settings) -> json::Value { return word_of(settings); };
  return setting;
}

CellSetting bounded_by(std::string_view greater, CellSetting setting) {
  setting.at_most = greater;
  return setting;
}

CellSetting burst(std::string_view description) {
  CellSetting setting;
  setting.name = "pool.burst";
  setting.follows = "pool.size";
  setting.description = description;
  setting.schema = {{"type", "integer"}, {"minimum", 1}, {"maximum", cells::pool_size_max}};
  setting.read = [](json::ObjectReader& reader, std::string_view member, CellSettings& settings) {
    if (!reader.has(member)) return true;
    const auto value = reader.integer(member, 1, cells::pool_size_max);
    if (value) settings.pool_burst = static_cast<std::uint32_t>(*value);
    return value.has_value();
  };
  setting.show = [](const CellSettings& settings) -> json::Value {
    return settings.pool_burst ? json::Value(*settings.pool_burst) : json::Value();
  };
  return setting;
}

std::vector<CellSetting> make_table() {
  return {
      bounded_by("pool.burst",
                 number("pool.size", 1, cells::pool_size_max,
                        "how many jobs the cell can always run at once; can be changed while "
                        "celld runs",
                        [](auto& cell) -> auto& { return cell.pool_size; })),
      burst("how many jobs the cell may run at once while other cells leave their pools idle; as "
            "`pool.size` unless set. See [Guarantee and burst](#guarantee-and-burst)"),
      number("pool.weight", 1, cells::pool_weight_max,
             "the cell's share of what others leave idle, relative to the weights of other "
             "cells",
             [](auto& cell) -> auto& { return cell.pool_weight; }),
      bounded_by("timeout_max_ms",
                 number("timeout_ms", 1, timeout_ms_max,
                        "the limit for one attempt at one service, unless the job sets its own",
                        [](auto& cell) -> auto& { return cell.timeout; })),
      number("timeout_max_ms", 1, timeout_ms_max, "the highest limit that a job may set",
             [](auto& cell) -> auto& { return cell.timeout_max; }),
      quota(cells::QuotaLimit::queue_jobs, 1, 100'000'000,
            "the limit on unfinished jobs of the cell; beyond it, submissions get 429", false),
      quota(
          cells::QuotaLimit::queue_bytes, 1 << 16, bytes_max,
          "the limit on the bytes of unfinished jobs; beyond it, submissions get 429. With "
          "`\"durability\": \"memory\"`, the limit on the memory that jobs of the cell take, ended "
          "ones included (64 MiB unless set); beyond it, the oldest ended jobs are removed first"),
      quota(cells::QuotaLimit::queue_rate, rate_per_s_min, rate_per_s_max,
            "how many jobs a second may be submitted in the long run"),
      quota(cells::QuotaLimit::queue_burst, 1, burst_max,
            "how many jobs may be submitted at once after a pause; if not set, as many as "
            "`submissions_per_s` allows in a second; without `submissions_per_s`, it has no "
            "effect"),
      choice(
          "durability", {"disk", "memory"},
          "where the jobs of the cell are kept; see [Jobs in memory](#jobs-in-memory)",
          [](auto& cell, std::string_view word) {
            cell.durability = *cells::parse_durability(word);
          },
          [](const auto& cell) { return to_string(cell.durability); }),
      choice(
          "on_stop", {"forget", "keep"},
          "with `\"durability\": \"memory\"`, what a graceful shutdown does with unfinished jobs",
          [](auto& cell, std::string_view word) { cell.keep_on_stop = word == "keep"; },
          [](const auto& cell) { return cell.keep_on_stop ? "keep" : "forget"; }),
      choice(
          "on_predecessor_failed", {"continue", "cancel"},
          "what becomes of the jobs behind a failed one in its entity's line; see [Followers of a "
          "failed job](#followers-of-a-failed-job)",
          [](auto& cell, std::string_view word) {
            cell.on_predecessor_failed = word == "cancel" ? cells::OnPredecessorFailed::cancel
                                                          : cells::OnPredecessorFailed::go_on;
          },
          [](const auto& cell) {
            return cell.on_predecessor_failed == cells::OnPredecessorFailed::cancel ? "cancel"
                                                                                    : "continue";
          }),
      number("priority_step_ms", 0, cells::priority_step_max.count(),
             "how many milliseconds older each step of priority makes a job; with 0, a higher "
             "priority always goes first",
             [](auto& cell) -> auto& { return cell.priority_step; }),
      customer_weights(
          "the shares of customers in the cell's time, by name; `*` stands for all others"),
      quota(cells::QuotaLimit::customer_jobs, 1, 100'000'000,
            "the limit on unfinished jobs of each customer"),
      quota(cells::QuotaLimit::customer_bytes, 1 << 16, bytes_max,
            "the limit on the bytes of each customer's unfinished jobs"),
      quota(cells::QuotaLimit::customer_running, 1, cells::pool_size_max,
            "how many jobs of each customer run at once; others wait"),
      quota(cells::QuotaLimit::customer_rate, rate_per_s_min, rate_per_s_max,
            "how many jobs a second each customer may submit in the long run"),
      quota(cells::QuotaLimit::customer_burst, 1, burst_max,
            "how many jobs each customer may submit at once after a pause"),
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
  const auto dot = setting.rfind('.');
  return dot == std::string_view::npos ? "" : setting.substr(0, dot);
}

std::string_view member_of(std::string_view setting) {
  return setting.substr(setting.rfind('.') + 1);  // All of it without a dot: npos + 1 is 0.
}

const std::vector<CellSetting>& cell_settings() {
  static const std::vector<CellSetting> table = make_table();
  return table;
}

const std::vector<std::string_view>& reserved_cell_settings() {
  static const std::vector<std::string_view> names = {"limits", "quotas", "weights"};
  return names;
}

namespace {

/// The number of leading names that the two paths share.
std::size_t common_levels(std::string_view object, std::string_view other) {
  std::size_t levels = 0;
  for (std::size_t end = 0; end < object.size(); ++levels) {
    const auto dot = std::min(object.find('.', end), object.size());
    if (other.substr(0, dot) != object.substr(0, dot)) break;
    if (other.size() > dot && other[dot] != '.') break;
    end = dot + 1;
  }
  return levels;
}

std::size_t levels_of(std::string_view object) {
  if (object.empty()) return 0;
  return 1 + static_cast<std::size_t>(std::count(object.begin(), object.end(), '.'));
}

}  // namespace

std::vector<std::string_view> objects_in(std::string_view object) {
  std::vector<std::string_view> inner;
  for (const auto& setting : cell_settings()) {
    auto path = object_of(setting.name);
    while (!path.empty() && object_of(path) != object) path = object_of(path);
    if (path.empty() || path == object) continue;
    if (std::find(inner.begin(), inner.end(), path) == inner.end()) inner.push_back(path);
  }
  return inner;
}

json::Value show_quota(cells::QuotaLimit limit, double value) {
  using cells::QuotaLimit;
  if (value == 0) return nullptr;
  const bool is_rate = limit == QuotaLimit::queue_rate || limit == QuotaLimit::customer_rate;
  if (is_rate && value != std::floor(value)) return value;
  return static_cast<std::int64_t>(value);
}

std::string show_cell_settings(const cells::CellSettings& settings) {
  std::string text = "{";
  std::string_view open;  // The object that is being written.
  const auto comma = [&text] {
    if (text.back() != '{') text += ',';
  };
  for (const auto& setting : cell_settings()) {
    const auto value = setting.show(settings);
    if (value.is_null() && !setting.follows.empty()) continue;
    if (const auto object = object_of(setting.name); object != open) {
      const auto common = common_levels(object, open);
      text.append(levels_of(open) - common, '}');
      std::vector<std::string_view> to_open;
      for (auto path = object; levels_of(path) > common; path = object_of(path)) {
        to_open.push_back(member_of(path));
      }
      std::ranges::reverse(to_open);
      for (const auto name : to_open) {
        comma();
        text += json::quote(name) + ":{";
      }
      open = object;
    }
    comma();
    text += json::quote(member_of(setting.name)) + ":" + json::dump(value);
  }
  return text.append(levels_of(open) + 1, '}');
}

}  // namespace celld::config
