// Reads the file as a whole: syntax, the small sections, and the order of the others.
#include "src/config/config.hpp"

#include <charconv>
#include <utility>

#include "src/config/checks.hpp"
#include "src/config/sections.hpp"

namespace celld::config {
namespace {

constexpr json::ParseLimits file_limits{.depth_max = 64, .nodes_max = 1'000'000};
constexpr std::int64_t shutdown_grace_ms_max = 3'600'000;
constexpr std::string_view loopback_rule =
    "must be a loopback address (127.0.0.0/8, ::1 or localhost), because this version knows no "
    "tokens";

Listen read_listen(const json::Value& value, bool overridden, Faults& faults) {
  Listen listen;
  json::ObjectReader reader(value, "/listen", faults);
  if (auto host = reader.string("host", 1, 255)) {
    if (!overridden && !is_loopback(*host)) reader.fault("host", std::string(loopback_rule));
    listen.host = std::move(*host);
  }
  if (const auto port = reader.integer("port", 0, 65535))
    listen.port = static_cast<std::uint16_t>(*port);
  reader.finish();
  return listen;
}

Listen override_listen(const std::string& text, Faults& faults) {
  const std::string name = "--listen or CELLD_LISTEN: " + json::quote(text) + " ";
  const std::optional<Listen> listen = parse_listen(text);
  if (!listen) {
    faults.push_back({"", name + "must be HOST:PORT, with a port from 0 to 65535"});
    return {};
  }
  if (!is_loopback(listen->host)) faults.push_back({"", name + std::string(loopback_rule)});
  return *listen;
}

Store read_store(const json::Value& value, Faults& faults) {
  Store store;
  json::ObjectReader reader(value, "/store", faults);
  if (const auto type = reader.string("type"); type && *type != "sqlite")
    reader.fault("type", "must be \"sqlite\"");
  if (auto path = reader.string("path", 1, 4095)) store.path = std::move(*path);
  reader.finish();
  return store;
}

Config read_file(const json::Value& value, const Environment& environment,
                 const Overrides& overrides, Faults& faults) {
  Config config;
  json::ObjectReader reader(value, "", faults);
  reader.require({"services", "cells"});
  if (const json::Value* listen = reader.any("listen"))
    config.listen = read_listen(*listen, overrides.listen.has_value(), faults);
  if (overrides.listen) config.listen = override_listen(*overrides.listen, faults);
  if (const json::Value* store = reader.any("store")) config.store = read_store(*store, faults);
  if (const json::Value* services = reader.any("services"))
    config.services = read_services(*services, "/services", environment, faults);
  const json::Value* defaults = reader.any("defaults");
  config.cells = read_cells(defaults, reader.array("cells"), faults);
  if (const auto grace = reader.integer("shutdown_grace_ms", 0, shutdown_grace_ms_max))
    config.shutdown_grace = milliseconds(*grace);
  refuse_unavailable(reader, {"auth", "retention_ms", "limits", "schedules", "mappings"});
  reader.finish();
  return config;
}

}  // namespace

Outcome parse_config(std::string_view text, const Environment& environment,
                     const Overrides& overrides) {
  auto parsed = json::parse(text, file_limits);
  if (auto* error = std::get_if<json::SyntaxError>(&parsed))
    return Faults{{"", std::move(error->detail)}};
  auto& document = std::get<json::Document>(parsed);
  Faults faults = std::move(document.number_faults);
  Config config = read_file(document.value, environment, overrides, faults);
  if (!faults.empty()) return faults;
  return config;
}

std::optional<Listen> parse_listen(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find_first_of("[]") != std::string_view::npos) return std::nullopt;
  if (bracketed != (host.find(':') != std::string_view::npos)) return std::nullopt;

  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return Listen{std::string(host), port};
}

}  // namespace celld::config
