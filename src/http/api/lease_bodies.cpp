#include "src/http/api/lease_bodies.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "cells/model/job_machine.hpp"
#include "src/http/api/bodies.hpp"
#include "src/http/api/query.hpp"
#include "src/http/api/request_headers.hpp"
#include "src/json/json.hpp"
#include "src/json/number_faults.hpp"

namespace celld::api {
namespace {

using cells::CallOutcome;
using cells::Message;

constexpr std::int64_t leases_max = 1000;
constexpr std::int64_t wait_ms_max = 60'000;
constexpr std::size_t worker_bytes_max = 255;
constexpr std::size_t code_bytes_max = 64;
constexpr std::int64_t retry_after_ms_max = 86'400'000;
constexpr std::size_t report_faults_max = 10;
constexpr std::size_t reports_max = 1000;
/// More values than 256 KiB of properties and the messages can have.
constexpr std::size_t values_max = 150'000;
constexpr json::ParseLimits limits{.nodes_max = values_max};
/// A report may have what a completion may have, one level deeper.
constexpr json::ParseLimits reports_limits{.depth_max = json::ParseLimits{}.depth_max + 1,
                                           .nodes_max = values_max};

bool is_plain(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// Parses the body, which may be missing unless it is `required`, and passes it and the faults to
/// `read`.
template <class Result, class Read>
std::variant<Result, Problem> parse_body(const http::Request& request, bool required, Read read,
                                         const json::ParseLimits& parse_limits = limits) {
  Faults faults = refuse_query(request.query);
  json::Document document{json::Value::object(), {}};
  if (required || !request.body.empty()) {
    if (!is_json(request)) return not_json();
    auto parsed = json::parse(request.body, parse_limits);
    if (auto* error = std::get_if<json::SyntaxError>(&parsed)) {
      return unreadable_body(std::move(*error));
    }
    document = std::get<json::Document>(std::move(parsed));
  }
  for (json::Fault& fault : document.number_faults) faults.push_back(std::move(fault));
  Result result = read(document.value, faults);
  if (!faults.empty()) return invalid_request(std::move(faults));
  return result;
}

void read_properties(json::ObjectReader& reader, cells::Properties& properties) {
  const json::Value* object = reader.object("properties");
  if (object == nullptr) return;
  std::size_t bytes = 0;
  for (const auto& [name, value] : object->items()) {
    auto text = json::dump(value);
    bytes += name.size() + text.size();
    properties.emplace(name, std::move(text));
  }
  if (bytes > cells::properties_bytes_max) reader.fault("properties", "must not exceed 256 KiB");
}

Message read_message(const json::Value& value, std::string pointer, Faults& faults) {
  Message message;
  json::ObjectReader reader(value, std::move(pointer), faults);
  reader.require({"text"});
  message.text = reader.string("text", 1, cells::message_bytes_max).value_or("");
  if (const auto name = reader.string("severity")) {
    const auto severity = cells::parse_severity(*name);
    if (!severity) reader.fault("severity", "must be `info`, `warning` or `error`");
    message.severity = severity.value_or(cells::Severity::info);
  }
  reader.finish();
  return message;
}

void read_messages(json::ObjectReader& reader, Faults& faults, std::vector<Message>& messages) {
  const json::Value* array = reader.array("messages");
  if (array == nullptr) return;
  if (array->size() > cells::messages_max) {
    return reader.fault("messages", "must have at most 100 elements");
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto pointer = json::pointer_to(reader.pointer_of("messages"), i);
    messages.push_back(read_message((*array)[i], pointer, faults));
  }
}

CallOutcome read_completion(json::ObjectReader& reader, Faults& faults) {
  CallOutcome outcome;
  outcome.kind = CallOutcome::Kind::succeeded;
  read_properties(reader, outcome.properties);
  read_messages(reader, faults, outcome.messages);
  return outcome;
}

bool is_code(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

CallOutcome read_failure(json::ObjectReader& reader, Faults& faults) {
  CallOutcome outcome;
  reader.require({"code"});
  outcome.code = reader.string("code", 1, code_bytes_max).value_or("");
  if (!is_code(outcome.code)) reader.fault("code", "must match [A-Za-z0-9._-]{1,64}");
  outcome.message = reader.string("message", 0, cells::message_bytes_max).value_or("");
  if (outcome.message.empty()) outcome.message = "the worker reported " + outcome.code;
  const bool retryable = reader.boolean("retryable").value_or(true);
  outcome.kind = retryable ? CallOutcome::Kind::retryable : CallOutcome::Kind::rejected;
  if (const auto wait = reader.integer("retry_after_ms", 0, retry_after_ms_max)) {
    if (*wait > 0) outcome.retry_after = cells::milliseconds{*wait};
  }
  read_messages(reader, faults, outcome.messages);
  return outcome;
}

/// Removes and returns some of the faults.
template <class IsTaken>
Faults take(Faults& faults, IsTaken is_taken) {
  const auto first = std::stable_partition(faults.begin(), faults.end(), std::not_fn(is_taken));
  Faults taken(std::make_move_iterator(first), std::make_move_iterator(faults.end()));
  faults.erase(first, faults.end());
  return taken;
}

/// `of_lease` has the faults that the report's numbers have.
Report read_report(const json::Value& value, const std::string& pointer, Faults of_lease,
                   Faults& faults) {
  Report report;
  if (!value.is_object()) {
    faults.push_back({pointer, "must be an object"});
    return report;
  }
  json::ObjectReader reader(value, pointer, of_lease);
  reader.require({"lease", "outcome"});
  const auto name = reader.string("lease", 0, std::string::npos);
  // Without a name, no result could be assigned to the report.
  if (!name) {
    faults.push_back({json::pointer_to(pointer, "lease"), "must be the name of a lease"});
    return report;
  }
  report.lease = *name;
  const auto outcome = reader.string("outcome");  // If there is none, its fault is listed already.
  if (outcome == "complete") {
    report.outcome = read_completion(reader, of_lease);
  } else if (outcome == "fail") {
    report.outcome = read_failure(reader, of_lease);
  } else if (outcome) {
    reader.fault("outcome", "must be `complete` or `fail`");
  }
  reader.finish();
  if (of_lease.empty()) return report;
  report.outcome.reset();
  report.faults = std::move(of_lease);
  report.faults.resize(std::min(report.faults.size(), report_faults_max));
  return report;
}

}  // namespace

std::variant<LeaseOrder, Problem> parse_lease_order(const http::Request& request) {
  return parse_body<LeaseOrder>(request, true, [](const json::Value& body, Faults& faults) {
    LeaseOrder order;
    json::ObjectReader reader(body, "", faults);
    reader.require({"worker"});
    order.worker = reader.string("worker", 1, worker_bytes_max).value_or("");
    if (!is_plain(order.worker)) reader.fault("worker", "must have no control characters");
    order.max = static_cast<std::size_t>(reader.integer("max", 1, leases_max).value_or(1));
    order.wait = cells::milliseconds{reader.integer("wait_ms", 0, wait_ms_max).value_or(0)};
    reader.finish();
    return order;
  });
}

std::variant<Heartbeat, Problem> parse_heartbeat(const http::Request& request) {
  return parse_body<Heartbeat>(request, false, [](const json::Value& body, Faults& faults) {
    Heartbeat heartbeat;
    json::ObjectReader reader(body, "", faults);
    heartbeat.progress = reader.number("progress", 0, 1);
    heartbeat.message = reader.string("message", 1, cells::message_bytes_max).value_or("");
    reader.finish();
    return heartbeat;
  });
}

std::variant<CallOutcome, Problem> parse_completion(const http::Request& request) {
  return parse_body<CallOutcome>(request, false, [](const json::Value& body, Faults& faults) {
    json::ObjectReader reader(body, "", faults);
    auto outcome = read_completion(reader, faults);
    reader.finish();
    return outcome;
  });
}

std::variant<CallOutcome, Problem> parse_failure(const http::Request& request) {
  return parse_body<CallOutcome>(request, true, [](const json::Value& body, Faults& faults) {
    json::ObjectReader reader(body, "", faults);
    auto outcome = read_failure(reader, faults);
    reader.finish();
    return outcome;
  });
}

std::variant<std::vector<Report>, Problem> parse_reports(const http::Request& request) {
  using Reports = std::vector<Report>;
  const auto read = [](const json::Value& body, Faults& faults) {
    Reports reports;
    if (!body.is_array() || body.size() > reports_max) {
      faults.push_back({"", "must be an array of up to 1000 reports"});
      return reports;
    }
    const auto unlisted = take(
        faults, [](const json::Fault& fault) { return fault.detail == json::more_number_faults; });
    for (std::size_t i = 0; i < body.size(); ++i) {
      const auto pointer = json::pointer_to("", i);
      auto of_report = take(faults, [below = pointer + "/"](const json::Fault& fault) {
        return fault.pointer.starts_with(below);
      });
      if (!unlisted.empty() && json::has_null(body[i])) {
        of_report.push_back({pointer, json::more_number_faults});
      }
      reports.push_back(read_report(body[i], pointer, std::move(of_report), faults));
    }
    return reports;
  };
  return parse_body<Reports>(request, true, read, reports_limits);
}

}  // namespace celld::api
