// The bodies of workers outside: a request for leases, a heartbeat, and reports. Each is what it
// says within its bounds, or a problem that says why not; nlohmann's own parser is the reference.
#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "cells/model/job_machine.hpp"
#include "src/http/api/lease_bodies.hpp"
#include "src/json/json.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using api::ProblemKind;
using cells::CallOutcome;
using fuzz::must;
using json::Value;

namespace {

http::Request request_of(std::string_view body) {
  http::Request request;
  request.headers.emplace_back("content-type", "application/json");
  request.body = body;
  return request;
}

void check_refused(const api::Problem& problem) {
  must(problem.kind == ProblemKind::malformed_json || problem.kind == ProblemKind::invalid_request,
       "a body is refused because of its content");
  must(!problem.detail.empty() && fuzz::is_clean_text(problem.detail), "a problem has a detail");
  must(problem.errors.empty() == (problem.kind == ProblemKind::malformed_json),
       "an invalid request has faults");
}

/// The body if it was taken; null: it was refused, with a proper problem.
template <class Body>
const Body* taken(const std::variant<Body, api::Problem>& parsed) {
  if (const auto* problem = std::get_if<api::Problem>(&parsed)) check_refused(*problem);
  return std::get_if<Body>(&parsed);
}

/// No members but these.
bool has_only(const Value& value, const std::set<std::string>& names) {
  return value.is_object() &&
         std::all_of(value.items().begin(), value.items().end(),
                     [&](const auto& item) { return names.contains(item.key()); });
}

/// A body that may be missing has no members then.
Value or_empty(std::string_view body, const Value& value) {
  return body.empty() ? Value::object() : value;
}

void check_order(std::string_view body, const Value& value) {
  const auto parsed = api::parse_lease_order(request_of(body));
  const auto* order = taken(parsed);
  if (!order) return;
  must(has_only(value, {"worker", "max", "wait_ms"}), "an order has known members");
  must(!order->worker.empty() && order->worker.size() <= 255 && order->worker == value["worker"],
       "a worker has a name of 1 to 255 bytes");
  must(std::none_of(order->worker.begin(), order->worker.end(),
                    [](unsigned char c) { return c < 0x20 || c == 0x7f; }),
       "the name of a worker has no control characters");
  must(order->max >= 1 && order->max <= 1000 && order->max == value.value("max", std::size_t{1}),
       "a worker asks for 1 to 1000 leases");
  must(order->wait.count() >= 0 && order->wait.count() <= 60'000 &&
           order->wait.count() == value.value("wait_ms", 0),
       "a worker waits for at most a minute");
}

void check_heartbeat(std::string_view body, const Value& value) {
  const auto parsed = api::parse_heartbeat(request_of(body));
  const auto* heartbeat = taken(parsed);
  if (!heartbeat) return;
  must(has_only(value, {"progress", "message"}), "a heartbeat has known members");
  must(heartbeat->progress.has_value() == value.contains("progress"), "a progress is kept");
  must(!heartbeat->progress || (*heartbeat->progress >= 0 && *heartbeat->progress <= 1),
       "a progress is 0 to 1");
  must(heartbeat->message.size() <= cells::message_bytes_max &&
           heartbeat->message == value.value("message", ""),
       "a message has at most 4 KiB");
}

void check_messages(const std::vector<cells::Message>& messages, const Value& value) {
  const Value& array = value.contains("messages") ? value["messages"] : Value::array();
  must(messages.size() == array.size() && messages.size() <= cells::messages_max,
       "a report has at most 100 messages, and keeps each");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    must(has_only(array[i], {"text", "severity"}), "a message has known members");
    must(!messages[i].text.empty() && messages[i].text.size() <= cells::message_bytes_max &&
             messages[i].text == array[i]["text"],
         "a message of a report has 1 byte to 4 KiB");
    must(to_string(messages[i].severity) == array[i].value("severity", "info"),
         "a message keeps its severity");
  }
}

void check_success(const CallOutcome& outcome, const Value& value) {
  must(outcome.kind == CallOutcome::Kind::succeeded && outcome.code.empty(), "a completion is one");
  const Value& object = value.contains("properties") ? value["properties"] : Value::object();
  std::size_t bytes = 0;
  for (const auto& [name, text] : outcome.properties) {
    bytes += name.size() + text.size();
    must(object.contains(name) && Value::parse(text, nullptr, false) == object[name],
         "a property is what the body says");
  }
  must(outcome.properties.size() == object.size(), "every property is kept");
  must(bytes <= cells::properties_bytes_max, "properties have at most 256 KiB");
  check_messages(outcome.messages, value);
}

void check_failure(const CallOutcome& outcome, const Value& value) {
  static constexpr std::string_view code =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  must(!outcome.code.empty() && outcome.code.size() <= 64 && outcome.code == value["code"] &&
           outcome.code.find_first_not_of(code) == std::string::npos,
       "a failure has a code");
  must(!outcome.message.empty() && outcome.message.size() <= cells::message_bytes_max,
       "a failure has a message");
  const bool retryable = value.value("retryable", true);
  must(outcome.kind == (retryable ? CallOutcome::Kind::retryable : CallOutcome::Kind::rejected),
       "a failure is final if the body says so");
  const auto wait = value.value("retry_after_ms", std::int64_t{0});
  must(outcome.retry_after.has_value() == (wait > 0) &&
           (!outcome.retry_after || (outcome.retry_after->count() == wait && wait <= 86'400'000)),
       "a retry waits for at most a day");
}

void check_ends(std::string_view body, const Value& value) {
  const auto completion = api::parse_completion(request_of(body));
  if (const auto* outcome = taken(completion)) {
    const Value said = or_empty(body, value);
    must(has_only(said, {"properties", "messages"}), "a completion has known members");
    check_success(*outcome, said);
  }
  const auto failure = api::parse_failure(request_of(body));
  if (const auto* outcome = taken(failure)) {
    must(has_only(value, {"code", "message", "retryable", "retry_after_ms"}),
         "a failure has known members");
    check_failure(*outcome, value);
  }
}

void check_reports(std::string_view body, const Value& value) {
  const auto parsed = api::parse_reports(request_of(body));
  const auto* reports = taken(parsed);
  if (!reports) return;
  must(value.is_array() && reports->size() == value.size() && reports->size() <= 1000,
       "there are up to 1000 reports, and each is kept");
  for (std::size_t i = 0; i < reports->size(); ++i) {
    const api::Report& report = (*reports)[i];
    must(report.lease == value[i]["lease"], "a report names its lease");
    if (!report.outcome) continue;
    const bool complete = value[i]["outcome"] == "complete";
    must(complete || value[i]["outcome"] == "fail", "a report says how the lease ended");
    complete ? check_success(*report.outcome, value[i]) : check_failure(*report.outcome, value[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::text_of(data, size);
  const Value value = Value::parse(body, nullptr, false);
  check_order(body, value);
  check_heartbeat(body, or_empty(body, value));
  check_ends(body, value);
  check_reports(body, value);
  return 0;
}
