#include "src/http/api/submission.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/config/checks.hpp"
#include "src/http/api/digest.hpp"
#include "src/http/api/time_text.hpp"

namespace celld::api {
namespace {

constexpr std::size_t entity_bytes_max = 255;
constexpr std::size_t action_bytes_max = 63;
constexpr std::size_t services_max = 16;
constexpr std::size_t labels_max = 16;
constexpr std::size_t label_bytes_max = 256;
constexpr std::int64_t delay_ms_max = 315'360'000'000;  // Ten years.
constexpr std::int64_t timeout_ms_max = 604'800'000;    // As in the configuration.
constexpr std::int64_t attempts_max = 1000;

using Faults = std::vector<json::Fault>;

std::string read_name(json::ObjectReader& reader, std::string_view name) {
  auto text = reader.string(name);
  if (!text) return "";
  if (!config::is_name(*text)) reader.fault(name, "must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}");
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
std::vector<std::string> read_services(json::ObjectReader& reader, const SubmissionRules& rules,
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
    } else if (rules.services.find(*name) == rules.services.end()) {
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

std::optional<cells::WallTime> read_time(json::ObjectReader& reader, std::string_view name) {
  const auto text = reader.string(name);
  if (!text) return std::nullopt;
  const auto time = parse_time(*text);
  if (!time) reader.fault(name, "must be a time in UTC such as 2026-11-20T22:42:56.123Z");
  return time;
}

void read_times(json::ObjectReader& reader, cells::JobRequest& request) {
  request.run_at = read_time(reader, "run_at");
  if (const auto delay = reader.integer("delay_ms", 0, delay_ms_max))
    request.delay = cells::milliseconds(*delay);
  if (reader.has("run_at") && reader.has("delay_ms"))
    reader.fault("run_at", "must not be combined with `delay_ms`");
  request.expires_at = read_time(reader, "expires_at");
  if (const auto timeout = reader.integer("timeout_ms", 1, timeout_ms_max))
    request.spec.timeout = cells::milliseconds(*timeout);
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
std::size_t check_undos(const json::Value& job, const cells::JobSpec& spec,
                        const SubmissionRules& rules, Faults& faults) {
  if (spec.on_failure != cells::OnFailure::compensate) return 0;
  std::size_t missing = 0;
  const auto& named = job.at("services");
  for (std::size_t i = 0; i < std::min(named.size(), services_max); ++i) {
    const auto* name = named[i].get_ptr<const std::string*>();
    const bool is_configured = name != nullptr && rules.services.contains(*name);
    if (!is_configured || (rules.can_undo && rules.can_undo(*name, spec.action))) continue;
    faults.push_back({json::pointer_to("/services", i),
                      *name + " has no `undo` of this action, which \"compensate\" requires"});
    ++missing;
  }
  return missing;
}

constexpr std::string_view key_rule =
    "must be 1 to 255 characters of A-Z, a-z, 0-9, `.`, `_`, `:`, `-`";

bool is_idempotency_key(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("._:-").find(c) != std::string_view::npos;
  });
}

/// The key from the header or the body; empty if there is none.
std::string read_idempotency_key(json::ObjectReader& reader, const SubmissionContext& context,
                                 Faults& faults) {
  const auto& header = context.idempotency_key;
  const auto field = reader.string("idempotency_key");
  if (header && !is_idempotency_key(*header)) {
    faults.push_back({"", "header Idempotency-Key " + std::string(key_rule)});
  }
  if (field && !is_idempotency_key(*field)) {
    reader.fault("idempotency_key", std::string(key_rule));
  } else if (field && header && *field != *header) {
    reader.fault("idempotency_key", "must equal the header Idempotency-Key");
  }
  return field.value_or(header.value_or(""));
}

/// The digest of the request's meaning, independent of its spelling.
std::string digest_of_request(json::Value& value) {
  value.erase("idempotency_key");
  return sha256_hex(json::dump(value));
}

/// Sets the idempotency key only if the request has no faults, except those that depend on the
/// configuration.
cells::JobRequest read_job(json::Value& value, const SubmissionRules& rules,
                           const SubmissionContext& context, Faults& faults) {
  cells::JobRequest request;
  cells::JobSpec& spec = request.spec;
  spec.max_attempts = 0;
  json::ObjectReader reader(value, "", faults);
  reader.require({"customer", "product", "action", "entity", "services"});
  spec.customer = read_name(reader, "customer");
  spec.product = read_name(reader, "product");
  spec.action = read_action(reader);
  if (const json::Value* entity = reader.any("entity"))
    spec.entity = read_entity(*entity, reader.pointer_of("entity"), faults);
  std::size_t unfit_services = 0;
  spec.services = read_services(reader, rules, faults, unfit_services);
  if (const json::Value* parameters = reader.object("parameters"))
    spec.parameters = json::dump(*parameters);
  if (const auto priority = reader.integer("priority", 1, 9))
    spec.priority = static_cast<int>(*priority);
  read_times(reader, request);
  if (const json::Value* retry = reader.any("retry"))
    spec.max_attempts = read_max_attempts(*retry, reader.pointer_of("retry"), faults);
  if (const json::Value* labels = reader.object("labels"))
    spec.labels = read_labels(*labels, reader.pointer_of("labels"), faults);
  spec.on_failure = read_on_failure(reader);
  if (!spec.services.empty()) unfit_services += check_undos(value, spec, rules, faults);
  std::string key = read_idempotency_key(reader, context, faults);
  // A client that sends a reserved member relies on its effect.
  reader.refuse_reserved({"batch"});
  reader.finish();
  if (!key.empty() && faults.size() == unfit_services)
    request.idempotency = cells::Idempotency{std::move(key), digest_of_request(value)};
  return request;
}

bool is_name_pair(const cells::JobSpec& spec) {
  return config::is_name(spec.customer) && config::is_name(spec.product);
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::variant<Submission, Problem> parse_submission(std::string_view body,
                                                   const SubmissionRules& rules,
                                                   SubmissionContext context) {
  auto parsed = json::parse(body);
  if (auto* error = std::get_if<json::SyntaxError>(&parsed))
    return unreadable_body(std::move(*error));
  auto& document = std::get<json::Document>(parsed);
  Faults faults = std::move(context.faults);
  std::move(document.number_faults.begin(), document.number_faults.end(),
            std::back_inserter(faults));
  cells::JobRequest request = read_job(document.value, rules, context, faults);
  // Checked before anything that would reveal which cells another customer has.
  const std::string& customer = request.spec.customer;
  const auto& only = context.only_customer;
  if (only && config::is_name(customer) && customer != *only)
    return not_found("There is no such customer.");

  std::optional<cells::Route> route;
  if (is_name_pair(request.spec)) {
    route = rules.routing->find(request.spec.customer, request.spec.product);
    if (route && request.spec.timeout > route->rule->settings.timeout_max)
      faults.push_back(
          {"/timeout_ms", "must be at most " +
                              std::to_string(route->rule->settings.timeout_max.count()) +
                              ", the `timeout_max_ms` of the cell " + to_string(route->cell)});
    if (!route && !faults.empty())
      faults.push_back({"", "names a customer and product that no cell serves"});
  }
  std::optional<Problem> problem;
  if (!faults.empty()) {
    problem = invalid_request(std::move(faults));
  } else if (!route) {
    problem = problem_of(cells::Refusal{});
  }
  if (problem && !request.idempotency) return std::move(*problem);
  // With a key, the database is asked for an earlier job.
  const bool spares_disk = route && !request.idempotency &&
                           route->rule->settings.durability == cells::Durability::memory;
  return Submission{std::move(request), std::move(problem), spares_disk};
}

bool is_traceparent(std::string_view text) {
  // version-trace_id-parent_id-flags; https://www.w3.org/TR/trace-context/
  constexpr std::size_t length = 55;
  if (text.size() < length || text.size() > 255) return false;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(3, 32);
  const std::string_view parent = text.substr(36, 16);
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  if (!is_hex(version) || version == "ff" || !is_hex(trace) || !is_hex(parent)) return false;
  if (!is_hex(text.substr(53, 2))) return false;
  if (trace.find_first_not_of('0') == std::string_view::npos) return false;
  if (parent.find_first_not_of('0') == std::string_view::npos) return false;
  if (text.size() == length) return true;
  // Only later versions may have more fields, after a dash.
  return version != "00" && text[length] == '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace celld::api
