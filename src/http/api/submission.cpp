#include "src/http/api/submission.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/config/checks.hpp"
#include "src/config/job_document.hpp"
#include "src/http/api/digest.hpp"

namespace celld::api {
namespace {

constexpr std::int64_t delay_ms_max = 315'360'000'000;  // Ten years.

using Faults = std::vector<json::Fault>;

void read_times(json::ObjectReader& reader, cells::JobRequest& request) {
  request.run_at = config::read_time(reader, "run_at");
  if (const auto delay = reader.integer("delay_ms", 0, delay_ms_max))
    request.delay = cells::milliseconds(*delay);
  if (reader.has("run_at") && reader.has("delay_ms"))
    reader.fault("run_at", "must not be combined with `delay_ms`");
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
  json::ObjectReader reader(value, "", faults);
  auto document = config::read_job_document(reader, rules.services, rules.can_undo, faults);
  request.spec = std::move(document.spec);
  request.expires_at = document.expires_at;
  read_times(reader, request);
  std::string key = read_idempotency_key(reader, context, faults);
  // A client that sends a reserved member relies on its effect.
  reader.refuse_reserved({"batch"});
  reader.finish();
  if (!key.empty() && faults.size() == document.unfit_services)
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
  if (!faults.empty()) problem = invalid_request(std::move(faults));
  if (problem && !request.idempotency) return std::move(*problem);
  // With a key, the store looks on disk for an earlier job.
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
