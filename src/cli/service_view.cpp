#include "src/cli/service_view.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "src/cli/members.hpp"

namespace celld::cli {
namespace {

TableCell count(const json::Value& service, Path path) {
  return {std::to_string(integer_at(service, path))};
}

TableCell rate(const json::Value& service) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", number_at(service, {"rates", "ended_per_s"}));
  return {text.data()};
}

TableCell circuit(const json::Value& service) {
  std::string state = text_at(service, {"circuit", "state"});
  const Tone tone = state == "closed" ? Tone::good : Tone::bad;
  return {std::move(state), tone};
}

/// "8 at a time, 20 a second, 40 at once after a pause"
std::string limits_text(const json::Value& service) {
  std::string text;
  const auto add = [&](const char* member, const char* unit) {
    const json::Value& limit = member_at(service, {"limits", member});
    if (!limit.is_number()) return;
    text += (text.empty() ? "" : ", ") + json::dump(limit) + unit;
  };
  add("concurrency", " at a time");
  add("rate_per_s", " a second");
  add("burst", " at once after a pause");
  return text.empty() ? "none" : text;
}

}  // namespace

std::string service_details(const json::Value& service, const TableLook& look) {
  return list_text({{"service", {text_at(service, {"service"})}},
                    {"type", {text_at(service, {"type"})}},
                    {"limits", {limits_text(service)}},
                    {"in flight", count(service, {"in_flight"})},
                    {"waiting", count(service, {"waiting"})},
                    {"ended/s", rate(service)},
                    {"circuit", circuit(service)},
                    {"since", {text_at(service, {"circuit", "since"})}},
                    {"why", {text_at(service, {"circuit", "why"})}},
                    {"held until", {text_at(service, {"held_until"})}}},
                   look);
}

ServiceTable::ServiceTable()
    : table_({{"SERVICE", false, true},
              {"TYPE"},
              {"IN FLIGHT", true},
              {"WAITING", true},
              {"OUT/S", true},
              {"CIRCUIT"}}) {}

void ServiceTable::add(const json::Value& service) {
  table_.add({{text_at(service, {"service"})},
              {text_at(service, {"type"})},
              count(service, {"in_flight"}),
              count(service, {"waiting"}),
              rate(service),
              circuit(service)});
}

}  // namespace celld::cli
