#include "src/config/cell_setting.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

namespace celld::config {
namespace {

using cells::CellSettings;

constexpr std::int64_t timeout_ms_max = 604'800'000;  // A week.
constexpr std::int64_t backoff_ms_max = 86'400'000;   // A day.
constexpr std::int64_t memory_bytes_max = std::int64_t{1} << 40;

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
                        "how many jobs the cell can run at once in any case; can be changed while "
                        "celld runs",
                        [](auto& cell) -> auto& { return cell.pool_size; })),
      burst("how many jobs the cell may run at once while other cells leave their pools idle; as "
            "`pool.size` unless set. See [Guarantee and burst](#guarantee-and-burst)"),
      number("pool.weight", 1, cells::pool_weight_max,
             "the share of the cell in what others leave idle, relative to the weights of other "
             "cells",
             [](auto& cell) -> auto& { return cell.pool_weight; }),
      bounded_by("timeout_max_ms",
                 number("timeout_ms", 1, timeout_ms_max,
                        "the limit for one attempt at one service, unless the job sets its own",
                        [](auto& cell) -> auto& { return cell.timeout; })),
      number("timeout_max_ms", 1, timeout_ms_max, "the highest limit that a job may set",
             [](auto& cell) -> auto& { return cell.timeout_max; }),
      number("queue.max_jobs", 1, 100'000'000,
             "the limit on unfinished jobs of the cell; beyond it, submissions get 429",
             [](auto& cell) -> auto& { return cell.jobs_max; }),
      number(
          "queue.max_bytes", 1 << 16, memory_bytes_max,
          "with `\"durability\": \"memory\"`, the limit on the memory that jobs of the cell take, "
          "ended ones included; beyond it, the oldest ended jobs are removed, then submissions "
          "get 429",
          [](auto& cell) -> auto& { return cell.memory_bytes_max; }),
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
  static const std::vector<std::string_view> names = {"limits", "quotas", "weights"};
  return names;
}

std::string show_cell_settings(const cells::CellSettings& settings) {
  std::string text = "{";
  std::string_view open;  // The object that is being written.
  for (const auto& setting : cell_settings()) {
    const auto value = setting.show(settings);
    if (value.is_null()) continue;
    if (const auto object = object_of(setting.name); object != open) {
      if (!open.empty()) text += '}';
      open = object;
      if (!open.empty()) text += (text.size() > 1 ? "," : "") + json::quote(open) + ":{";
    }
    if (text.back() != '{') text += ',';
    text += json::quote(member_of(setting.name)) + ":" + json::dump(value);
  }
  return text + (open.empty() ? "}" : "}}");
}

}  // namespace celld::config
