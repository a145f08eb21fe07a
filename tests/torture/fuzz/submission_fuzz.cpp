// The body of POST /v1/jobs: a job within every documented bound, or a problem that says why not.
#include <algorithm>
#include <memory>
#include <set>
#include <variant>

#include "src/http/api/submission.hpp"
#include "src/json/time_text.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;

namespace {

constexpr cells::milliseconds ten_years{315'360'000'000};

cells::CellRule rule(std::string customer, std::string product, std::int64_t timeout_max_ms) {
  cells::CellRule rule;
  rule.customer = std::move(customer);
  rule.product = std::move(product);
  rule.settings.timeout_max = cells::milliseconds(timeout_max_ms);
  return rule;
}

const api::SubmissionRules& rules() {
  static const api::SubmissionRules rules{
      {"dns", "billing", "mail", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",
       "s12", "s13", "s14", "s15"},
      std::make_shared<cells::Routing>(std::vector<cells::CellRule>{
          rule("acme", "*", 5000), rule("*", "mail", 604'800'000), rule("acme", "web", 1)})};
  return rules;
}

bool is_name(std::string_view text) {
  static constexpr std::string_view alphanumeric =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  static const std::string rest = std::string(alphanumeric) + "._-";
  return !text.empty() && text.size() <= 63 &&
         alphanumeric.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(rest) == std::string_view::npos;
}

bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [](char c) {
    return is_name(std::string(1, 'a') + c) || c == ':';
  });
}

/// Clean text of `min` to `max` bytes.
bool is_text(const std::string& text, std::size_t min, std::size_t max) {
  return text.size() >= min && text.size() <= max && fuzz::is_clean_text(text);
}

bool is_object(const std::string& text) {
  const auto parsed = json::parse(text);
  const auto* document = std::get_if<json::Document>(&parsed);
  return document != nullptr && document->value.is_object();
}

void check_words(const cells::JobSpec& spec) {
  must(is_name(spec.customer) && is_name(spec.product), "customer and product are names");
  must(is_text(spec.action, 1, 63), "an action has 1 to 63 bytes");
  must(std::none_of(spec.action.begin(), spec.action.end(),
                    [](unsigned char c) { return c < 0x20 || c == 0x7f; }),
       "an action has no control characters");
  must(is_text(spec.entity.type, 1, 255) && is_text(spec.entity.id, 1, 255) &&
           is_text(spec.entity.subtype, 0, 255),
       "an entity's parts have at most 255 bytes");
  must(!spec.services.empty() && spec.services.size() <= 16, "a job has 1 to 16 services");
  for (const std::string& service : spec.services)
    must(rules().services.contains(service), "a service is configured");
  must(std::set(spec.services.begin(), spec.services.end()).size() == spec.services.size(),
       "a job names no service twice");
  must(spec.labels.size() <= 16, "a job has at most 16 labels");
  for (const auto& [name, text] : spec.labels)
    must(is_text(name, 1, 256) && is_text(text, 0, 256), "a label has at most 256 bytes");
  must(is_object(spec.parameters), "parameters are an object");
}

void check_time(const std::optional<cells::WallTime>& time) {
  if (time)
    must(json::parse_time(json::format_time(*time)) == time,
         "a time survives formatting and parsing");
}

void check_accepted(const cells::JobRequest& request) {
  const cells::JobSpec& spec = request.spec;
  check_words(spec);
  must(spec.priority >= 1 && spec.priority <= 9, "a priority is 1 to 9");
  must(spec.max_attempts <= 1000, "there are at most 1000 attempts");
  const auto route = rules().routing->find(spec.customer, spec.product);
  must(spec.timeout.count() >= 0 && (!route || spec.timeout <= route->rule->settings.timeout_max),
       "a timeout is at most the cell's maximum");
  must(!request.delay || !request.run_at, "a job has a delay or a time, not both");
  must(!request.delay || (request.delay->count() >= 0 && *request.delay <= ten_years),
       "a delay is at most ten years");
  check_time(request.run_at);
  check_time(request.expires_at);
}

void check_refused(const api::Problem& problem, std::size_t body_bytes) {
  using Kind = api::ProblemKind;
  must(problem.kind == Kind::malformed_json || problem.kind == Kind::invalid_request,
       "a body is refused because of its content");
  must(!problem.detail.empty(), "a problem has a detail");
  must(problem.errors.empty() == (problem.kind != Kind::invalid_request),
       "an invalid request has faults, and nothing else does");
  for (const json::Fault& fault : problem.errors) {
    must(!fault.detail.empty(), "a fault has a detail");
    must(fault.pointer.empty() || fault.pointer.front() == '/', "a fault has a pointer");
  }

  const http::Response response = api::to_response(problem);
  must(response.status == api::status_of(problem.kind), "a problem has the status of its kind");
  must(response.body.size() <= 6 * body_bytes * 10 + 400'000, "an answer is bounded");
  const auto parsed = json::parse(response.body);
  const auto* document = std::get_if<json::Document>(&parsed);
  must(document != nullptr && document->value.is_object(), "a problem is a JSON object");
  must(document->value.at("status") == response.status, "a problem names its status");
  must(document->value.contains("errors") == !problem.errors.empty(), "a problem shows its faults");
}

/// A job stays the same however its body is formatted, and wherever its key is given.
void check_idempotency(std::string_view body, const cells::JobRequest& request) {
  must(!request.idempotency || is_key(request.idempotency->key), "a key is valid");
  auto parsed = json::parse(body);
  json::Value job = std::get<json::Document>(std::move(parsed)).value;
  must(job.contains("idempotency_key") == request.idempotency.has_value(), "a key is kept");

  const std::string key = request.idempotency ? request.idempotency->key : "from-the-header";
  job.erase("idempotency_key");
  const auto result = api::parse_submission(json::dump(job), rules(), {.idempotency_key = key});
  const auto* submission = std::get_if<api::Submission>(&result);
  must(submission != nullptr && !submission->refusal_if_new, "a key causes no refusal");
  const cells::JobRequest* moved = &submission->request;
  must(moved->spec == request.spec, "a key changes nothing else");
  must(moved->idempotency && moved->idempotency->key == key, "a header's key is kept");
  must(!request.idempotency || moved->idempotency == request.idempotency,
       "white space, order and the place of the key do not matter");
}

void check_customer(std::string_view body, const cells::JobRequest& request) {
  const auto result = api::parse_submission(body, rules(), {.only_customer = "acme"});
  const auto* problem = std::get_if<api::Problem>(&result);
  must((problem == nullptr) == (request.spec.customer == "acme"),
       "a caller bound to a customer submits for that customer only");
  must(problem == nullptr || problem->kind == api::ProblemKind::not_found,
       "a job for another customer is not found");
}

/// Beside a fault, the want of a cell is another.
void check_earlier_fault(std::string_view body, const cells::JobRequest& request) {
  const json::Fault fault{"", "is refused already"};
  const auto result = api::parse_submission(body, rules(), {.faults = {fault}});
  const auto& errors = std::get<api::Problem>(result).errors;
  const bool has_cell =
      rules().routing->find(request.spec.customer, request.spec.product).has_value();
  must(errors.size() == (has_cell ? 1 : 2) && errors.front() == fault,
       "a fault found earlier is kept");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::text_of(data, size);
  const auto result = api::parse_submission(body, rules());
  const auto* submission = std::get_if<api::Submission>(&result);
  if (submission == nullptr) {
    check_refused(std::get<api::Problem>(result), size);
  } else if (submission->refusal_if_new) {
    must(submission->request.idempotency.has_value(),
         "only a job with a key has its refusal deferred");
    check_refused(*submission->refusal_if_new, size);
  } else {
    check_accepted(submission->request);
    check_idempotency(body, submission->request);
    check_customer(body, submission->request);
    check_earlier_fault(body, submission->request);
  }
  if (api::is_traceparent(body))
    must(size >= 55 && size <= 255 && body.find_first_of("\r\n \t") == std::string_view::npos,
         "a traceparent can be passed on");
  return 0;
}
