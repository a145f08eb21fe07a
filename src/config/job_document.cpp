#include "src/config/job_document.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "src/config/checks.hpp"
#include "src/json/time_text.hpp"

namespace celld::config {
namespace {

constexpr std::size_t entity_bytes_max = 255;
constexpr std::size_t action_bytes_max = 63;
constexpr std::size_t services_max = 16;
constexpr std::size_t labels_max = 16;
constexpr std::size_t label_bytes_max = 256;
constexpr std::int64_t timeout_ms_max = 604'800'000;  // As in the configuration.
constexpr std::int64_t attempts_max = 1000;

using Faults = std::vector<json::Fault>;

std::string read_name(json::ObjectReader& reader, std::string_view name) {
  auto text = reader.string(name);
  if (!text) return "";
  if (!is_name(*text)) reader.fault(name, "must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}");
  return std::move(*text);
}

std::string read_action(json::ObjectReader& reader) {
  auto action = reader.string("action", 1, action_bytes_max);
  if (!action) return "";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(action->begin(), action->end(), is_control))
    reader.fault("action", "must not contain control characters");
  return std::move(*action);
}

cells::Entity read_entity(const json::Value& value, std::string pointer, Faults& faults) {
  cells::Entity entity;
  json::ObjectReader reader(value, std::move(pointer), faults);
  reader.require({"type", "id"});
  entity.type = reader.string("type", 1, entity_bytes_max).value_or("");
  entity.subtype = reader.string("subtype", 1, entity_bytes_max).value_or("");
  entity.id = reader.string("id", 1, entity_bytes_max).value_or("");
  reader.finish();
  return entity;
}

/// Services that are not configured are faults; `unknown` counts them.
std::vector<std::string> read_services(json::ObjectReader& reader, const ServiceNames& configured,
                                       Faults& faults, std::size_t& unknown) {
  std::vector<std::string> services;
  const json::Value* array = reader.array("services");
  if (array == nullptr) return services;
  if (array->empty() || array->size() > services_max)
    reader.fault("services", "must have 1 to " + std::to_string(services_max) + " elements");
  for (std::size_t i = 0; i < std::min(array->size(), services_max); ++i) {
    const auto fault = [&](std::string detail) {
      faults.push_back({json::pointer_to(reader.pointer_of("services"), i), std::move(detail)});
    };
    const auto* name = (*array)[i].get_ptr<const std::string*>();
    if (name == nullptr) {
      fault("must be a string");
    } else if (!configured.contains(*name)) {
      fault("is not a configured service");
      ++unknown;
    } else if (std::find(services.begin(), services.end(), *name) != services.end()) {
      fault("is repeated");
    } else {
      services.push_back(*name);
    }
  }
  return services;
}

std::map<std::string, std::string> read_labels(const json::Value& value, std::string pointer,
                                               Faults& faults) {
  std::map<std::string, std::string> labels;
  if (value.size() > labels_max)
    faults.push_back({pointer, "must have at most " + std::to_string(labels_max) + " members"});
  json::ObjectReader reader(value, std::move(pointer), faults);
  std::size_t seen = 0;
  for (const auto& [name, ignored] : value.items()) {
    if (++seen > labels_max) break;  // Each fault costs a search through the previous ones.
    if (name.empty() || name.size() > label_bytes_max)
      reader.fault(name, "must have a name of 1 to " + std::to_string(label_bytes_max) + " bytes");
    if (auto text = reader.string(name, 0, label_bytes_max)) labels.emplace(name, std::move(*text));
  }
  return labels;
}

std::uint32_t read_max_attempts(const json::Value& retry, std::string pointer, Faults& faults) {
  json::ObjectReader reader(retry, std::move(pointer), faults);
  const auto attempts = reader.integer("max_attempts", 1, attempts_max);
  reader.finish();
  return static_cast<std::uint32_t>(attempts.value_or(0));
}

cells::OnFailure read_on_failure(json::ObjectReader& reader) {
  const auto word = reader.string("on_failure");
  if (!word) return cells::OnFailure::stop;
  const auto on_failure = cells::parse_on_failure(*word);
  if (!on_failure) reader.fault("on_failure", "must be \"stop\" or \"compensate\"");
  return on_failure.value_or(cells::OnFailure::stop);
}

/// Services that cannot undo their part of a job that compensates are faults. Returns their number.
std::size_t check_undos(json::ObjectReader& reader, const cells::JobSpec& spec,
                        const ServiceNames& configured, const CanUndo& can_undo, Faults& faults) {
  if (spec.on_failure != cells::OnFailure::compensate || spec.services.empty()) return 0;
  std::size_t missing = 0;
  const json::Value& named = *reader.array("services");
  for (std::size_t i = 0; i < std::min(named.size(), services_max); ++i) {
    const auto* name = named[i].get_ptr<const std::string*>();
    const bool is_configured = name != nullptr && configured.contains(*name);
    if (!is_configured || (can_undo && can_undo(*name, spec.action))) continue;
    faults.push_back({json::pointer_to(reader.pointer_of("services"), i),
                      *name + " has no `undo` of this action, which \"compensate\" requires"});
    ++missing;
  }
  return missing;
}

}  // namespace

CanUndo undos_of(const std::vector<Service>& services) {
  std::map<std::string, cells::ActionSet> by_name;
  for (const auto& service : services) {
    if (!service.settings) continue;  // The service has faults.
    by_name.emplace(service.name, service.settings->undoes());
  }
  return [by_name = std::move(by_name)](const std::string& service, const std::string& action) {
    const auto found = by_name.find(service);
    return found != by_name.end() && found->second.contains(action);
  };
}

std::optional<cells::WallTime> read_time(json::ObjectReader& reader, std::string_view name) {
  const auto text = reader.string(name);
  if (!text) return std::nullopt;
  const auto time = json::parse_time(*text);
  if (!time) reader.fault(name, "must be a time in UTC such as 2026-11-20T22:42:56.123Z");
  return time;
}

JobDocument read_job_document(json::ObjectReader& reader, const ServiceNames& services,
                              const CanUndo& can_undo, Faults& faults) {
  JobDocument document;
  cells::JobSpec& spec = document.spec;
  spec.max_attempts = 0;
  reader.require({"customer", "product", "action", "entity", "services"});
  spec.customer = read_name(reader, "customer");
  spec.product = read_name(reader, "product");
  spec.action = read_action(reader);
  if (const json::Value* entity = reader.any("entity"))
    spec.entity = read_entity(*entity, reader.pointer_of("entity"), faults);
  spec.services = read_services(reader, services, faults, document.unfit_services);
  if (const json::Value* parameters = reader.object("parameters"))
    spec.parameters = json::dump(*parameters);
  if (const auto priority = reader.integer("priority", 1, 9))
    spec.priority = static_cast<int>(*priority);
  document.expires_at = read_time(reader, "expires_at");
  if (const auto timeout = reader.integer("timeout_ms", 1, timeout_ms_max))
    spec.timeout = cells::milliseconds(*timeout);
  if (const json::Value* retry = reader.any("retry"))
    spec.max_attempts = read_max_attempts(*retry, reader.pointer_of("retry"), faults);
  if (const json::Value* labels = reader.object("labels"))
    spec.labels = read_labels(*labels, reader.pointer_of("labels"), faults);
  spec.on_failure = read_on_failure(reader);
  document.unfit_services += check_undos(reader, spec, services, can_undo, faults);
  return document;
}

json::Value show(const JobDocument& document) {
  const cells::JobSpec& spec = document.spec;
  json::Value entity{{"type", spec.entity.type}, {"id", spec.entity.id}};
  if (!spec.entity.subtype.empty()) entity["subtype"] = spec.entity.subtype;
  json::Value shown{{"customer", spec.customer},
                    {"product", spec.product},
                    {"action", spec.action},
                    {"entity", std::move(entity)},
                    {"services", spec.services},
                    {"parameters", json::Value::object()},
                    {"priority", spec.priority},
                    {"labels", spec.labels},
                    {"on_failure", to_string(spec.on_failure)}};
  auto parameters = json::parse(spec.parameters);
  if (auto* parsed = std::get_if<json::Document>(&parameters))
    shown["parameters"] = std::move(parsed->value);
  if (spec.timeout > cells::milliseconds{0}) shown["timeout_ms"] = spec.timeout.count();
  if (spec.max_attempts > 0) shown["retry"] = {{"max_attempts", spec.max_attempts}};
  if (document.expires_at) shown["expires_at"] = json::format_time(*document.expires_at);
  return shown;
}

}  // namespace celld::config
