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

}  // namespace

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
