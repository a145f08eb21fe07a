// The small bodies of requests: the size of a pool, and none. Both are compared with what
// nlohmann's own parser reads.
#include <optional>
#include <string>
#include <variant>

#include "cells/model/cell_settings.hpp"
#include "src/http/api/bodies.hpp"
#include "src/json/json.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using api::ProblemKind;
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

/// Whether the member is absent, or within its bounds.
bool is_good(const Value& value, const char* member, std::uint32_t max) {
  return !value.contains(member) ||
         (value[member].is_number_integer() && value[member] >= 1 && value[member] <= max);
}

bool is_pool_change(const Value& value) {
  if (!value.is_object() || value.empty()) return false;
  const auto known = value.count("size") + value.count("burst") + value.count("weight");
  return known == value.size() && is_good(value, "size", cells::pool_size_max) &&
         is_good(value, "burst", cells::pool_size_max) &&
         is_good(value, "weight", cells::pool_weight_max) &&
         !(value.contains("size") && value.contains("burst") && value["burst"] < value["size"]);
}

void check_pool_change(std::string_view body, const Value& value) {
  const auto parsed = api::parse_pool_change(request_of(body));
  const bool is_change = is_pool_change(value);
  if (const auto* change = std::get_if<api::PoolChange>(&parsed)) {
    must(is_change, "a change that is taken is within its bounds");
    const auto is_member = [&](const char* member, std::optional<std::uint32_t> number) {
      return value.contains(member) == number.has_value() && (!number || value[member] == *number);
    };
    must(is_member("size", change->size) && is_member("burst", change->burst) &&
             is_member("weight", change->weight),
         "a change is what the body says");
  } else {
    const auto& problem = std::get<api::Problem>(parsed);
    check_refused(problem);
    // A number that is not an integer, a repeated key: nlohmann is less strict.
    must(!is_change || problem.kind == ProblemKind::malformed_json,
         "a change within its bounds is taken");
  }
}

void check_no_content(std::string_view body, const Value& value) {
  const auto problem = api::refuse_content(request_of(body));
  must(!problem || !body.empty(), "no body is no content");
  if (problem) check_refused(*problem);
  if (!problem) must(body.empty() || (value.is_object() && value.empty()), "content is refused");
  if (problem && problem->kind == ProblemKind::invalid_request)
    must(!value.is_object() || !value.empty(), "an empty object is no content");
}

void check_media_type(std::string_view body) {
  http::Request request;
  request.body = body;
  const auto problem = api::refuse_content(request);
  must(problem.has_value() == !body.empty(), "a body of an unknown type is refused");
  must(!problem || problem->kind == ProblemKind::unsupported_media_type, "its type is the problem");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::text_of(data, size);
  const Value value = Value::parse(body, nullptr, false);
  check_pool_change(body, value);
  check_no_content(body, value);
  check_media_type(body);
  return 0;
}
