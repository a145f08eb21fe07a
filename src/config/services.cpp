// The member `services`: the providers that jobs call, with their secrets.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "src/config/checks.hpp"
#include "src/config/sections.hpp"

namespace celld::config {
namespace {

constexpr std::size_t services_max = 1000;
constexpr std::size_t headers_max = 32;
constexpr std::size_t arguments_max = 64;
constexpr std::size_t argument_bytes_max = 4096;
constexpr std::size_t variables_max = 64;
constexpr std::size_t variable_name_bytes_max = 128;
constexpr std::size_t variable_bytes_max = 64 << 10;  // Linux allows twice as much.
constexpr std::int64_t settle_ms_max = 86'400'000;
constexpr std::int64_t latency_ms_max = 3'600'000;

/// The value that `source` refers to, and a fault that is empty on success.
std::pair<std::string, std::string> resolve(const std::string& source,
                                            const Environment& environment) {
  std::optional<std::string> value;
  if (source.starts_with("env:")) {
    const std::string name = source.substr(4);
    value = environment.variable(name);
    if (!value) return {"", "the environment variable " + json::quote(name) + " is not set"};
  } else if (source.starts_with("file:")) {
    const std::string path = source.substr(5);
    value = environment.file(path);
    if (!value) return {"", "the file " + json::quote(path) + " cannot be read"};
  } else {
    return {source, ""};
  }
  // Editors and `echo` append a newline that is not part of the secret.
  if (value->ends_with('\n')) value->pop_back();
  if (value->ends_with('\r')) value->pop_back();
  return {std::move(*value), ""};
}

/// Returns a text that continues the value's name, or an empty text when the value is valid.
using ValueFault = std::string (*)(std::string_view value);

std::optional<Secret> read_secret(json::ObjectReader& reader, std::string_view name,
                                  const Environment& environment, ValueFault value_fault) {
  auto source = reader.string(name, 0, 16'384);
  if (!source) return std::nullopt;
  auto [value, fault] = resolve(*source, environment);
  if (fault.empty()) fault = value_fault(value);
  if (!fault.empty()) {
    reader.fault(name, std::move(fault));
    return std::nullopt;
  }
  return Secret{std::move(*source), std::move(value)};
}

std::vector<std::pair<std::string, Secret>> read_headers(const json::Value& value,
                                                         std::string pointer,
                                                         const Environment& environment,
                                                         Faults& faults) {
  std::vector<std::pair<std::string, Secret>> headers;
  if (value.size() > headers_max)
    faults.push_back({pointer, "must have at most " + std::to_string(headers_max) + " members"});
  std::set<std::string> names;
  json::ObjectReader reader(value, std::move(pointer), faults);
  for (const auto& [name, ignored] : value.items()) {
    if (std::string fault = header_name_fault(name); !fault.empty())
      reader.fault(name, std::move(fault));
    if (!names.insert(lower_case(name)).second)
      reader.fault(name, "is the same header as another one, spelled differently");
    if (auto secret = read_secret(reader, name, environment, header_value_fault))
      headers.emplace_back(name, std::move(*secret));
  }
  return headers;
}

void read_settle(json::ObjectReader& reader, Service& service) {
  if (const auto settle = reader.integer("settle_ms", 0, settle_ms_max))
    service.settle = milliseconds(*settle);
}

HttpService read_http(json::ObjectReader& reader, const Environment& environment, Service& service,
                      Faults& faults) {
  HttpService http;
  reader.require({"url"});
  if (auto url = reader.string("url")) {
    if (std::string fault = url_fault(*url); !fault.empty()) reader.fault("url", std::move(fault));
    http.url = std::move(*url);
  }
  if (const json::Value* headers = reader.object("headers"))
    http.headers = read_headers(*headers, reader.pointer_of("headers"), environment, faults);
  read_settle(reader, service);
  return http;
}

// --- Commands ------------------------------------------------------------------------------------

std::string variable_name_fault(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool good =
      !name.empty() && name.size() <= variable_name_bytes_max && is_letter(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
  return good ? "" : "must have a name that matches [A-Za-z_][A-Za-z0-9_]{0,127}";
}

std::string variable_fault(std::string_view value) {
  if (value.size() > variable_bytes_max)
    return "must have at most " + std::to_string(variable_bytes_max) + " bytes";
  if (value.find('\0') != std::string_view::npos) return "must not contain a NUL";
  return "";
}

std::vector<std::string> read_arguments(const json::Value& value, const std::string& pointer,
                                        Faults& faults) {
  std::vector<std::string> arguments;
  if (value.empty() || value.size() > arguments_max)
    faults.push_back({pointer, "must have 1 to " + std::to_string(arguments_max) + " elements"});
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto note = [&](std::string detail) {
      faults.push_back({json::pointer_to(pointer, i), std::move(detail)});
    };
    if (!value[i].is_string()) {
      note("must be a string");
      continue;
    }
    auto argument = value[i].get<std::string>();
    if (argument.size() > argument_bytes_max) {
      note("must have at most " + std::to_string(argument_bytes_max) + " bytes");
    } else if (i == 0 && !argument.starts_with('/')) {
      note("must be the absolute path of a program: PATH is not searched");
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

std::vector<std::pair<std::string, Secret>> read_variables(const json::Value& value,
                                                           std::string pointer,
                                                           const Environment& environment,
                                                           Faults& faults) {
  std::vector<std::pair<std::string, Secret>> variables;
  if (value.size() > variables_max)
    faults.push_back({pointer, "must have at most " + std::to_string(variables_max) + " members"});
  json::ObjectReader reader(value, std::move(pointer), faults);
  for (const auto& [name, ignored] : value.items()) {
    if (std::string fault = variable_name_fault(name); !fault.empty())
      reader.fault(name, std::move(fault));
    if (auto secret = read_secret(reader, name, environment, variable_fault))
      variables.emplace_back(name, std::move(*secret));
  }
  return variables;
}

CommandService read_command(json::ObjectReader& reader, const Environment& environment,
                            Service& service, Faults& faults) {
  CommandService command;
  reader.require({"argv"});
  if (const json::Value* argv = reader.array("argv"))
    command.arguments = read_arguments(*argv, reader.pointer_of("argv"), faults);
  if (const json::Value* env = reader.object("env"))
    command.environment = read_variables(*env, reader.pointer_of("env"), environment, faults);
  read_settle(reader, service);
  return command;
}

// --- Simulated -----------------------------------------------------------------------------------

void read_latency(const json::Value& value, std::string pointer, SimulatedService& simulated,
                  Faults& faults) {
  json::ObjectReader reader(value, std::move(pointer), faults);
  reader.require({"min", "max"});
  const auto min = reader.integer("min", 0, latency_ms_max);
  const auto max = reader.integer("max", 0, latency_ms_max);
  reader.finish();
  if (!min || !max) return;
  if (*min > *max) reader.fault("min", "must not be more than `max`");
  simulated.latency_min = milliseconds(*min);
  simulated.latency_max = milliseconds(*max);
}

SimulatedService read_simulated(json::ObjectReader& reader, Faults& faults) {
  SimulatedService simulated;
  if (const json::Value* latency = reader.any("latency_ms"))
    read_latency(*latency, reader.pointer_of("latency_ms"), simulated, faults);
  if (const auto rate = reader.number("failure_rate", 0, 1)) simulated.failure_rate = *rate;
  if (const auto seed = reader.integer("seed", 0, INT64_MAX))
    simulated.seed = static_cast<std::uint64_t>(*seed);
  return simulated;
}

Service read_service(const std::string& name, const json::Value& value, std::string pointer,
                     const Environment& environment, Faults& faults) {
  Service service{.name = name, .kind = SimulatedService{}};
  json::ObjectReader reader(value, std::move(pointer), faults);
  if (reader.is_object() && !is_name(name))
    faults.push_back(
        {reader.pointer(), "must have a name that matches [A-Za-z0-9][A-Za-z0-9._-]{0,62}"});
  reader.require({"type"});
  const auto type = reader.string("type");
  // The type decides which members are known; without it, none is reported as unknown.
  if (!type) return service;
  if (*type == "http") {
    service.kind = read_http(reader, environment, service, faults);
    refuse_unavailable(reader, {"mapping", "mappings", "limits"});
  } else if (*type == "command") {
    service.kind = read_command(reader, environment, service, faults);
    refuse_unavailable(reader, {"mapping", "mappings", "limits"});
  } else if (*type == "simulated") {
    service.kind = read_simulated(reader, faults);
    refuse_unavailable(reader, {"limits"});
  } else if (*type == "pull") {
    reader.fault("type", json::quote(*type) + " is not available in this version");
    return service;
  } else {
    reader.fault("type", "must be \"http\", \"command\" or \"simulated\"");
    return service;
  }
  reader.finish();
  return service;
}

}  // namespace

std::string_view type_of(const Service& service) {
  constexpr std::array<std::string_view, 3> types = {"http", "command", "simulated"};
  static_assert(std::variant_size_v<decltype(service.kind)> == types.size());
  return types.at(service.kind.index());
}

std::vector<Service> read_services(const json::Value& services, const std::string& pointer,
                                   const Environment& environment, Faults& faults) {
  std::vector<Service> all;
  const json::ObjectReader reader(services, pointer, faults);
  if (!reader.is_object()) return all;
  if (services.size() > services_max)
    faults.push_back({pointer, "must have at most " + std::to_string(services_max) + " members"});
  for (const auto& [name, value] : services.items())
    all.push_back(read_service(name, value, reader.pointer_of(name), environment, faults));
  return all;
}

}  // namespace celld::config
