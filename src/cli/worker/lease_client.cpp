#include "src/cli/worker/lease_client.hpp"

#include <algorithm>
#include <system_error>

#include "src/cli/members.hpp"
#include "src/cli/problem.hpp"

namespace celld::cli {
namespace {

constexpr int status_bad_request = 400;
constexpr int status_not_found = 404;
constexpr int status_timeout = 408;
constexpr int status_conflict = 409;
constexpr int status_too_large = 413;
constexpr int status_invalid = 422;
constexpr int status_too_many = 429;
constexpr int status_server_error = 500;

Setback setback_of(const Answer& answer) {
  const Failure failure = failure_of(answer);
  Setback setback{Setback::Kind::refused, failure.what(), answer.retry_after, failure.code()};
  if (answer.status == status_not_found || answer.status == status_conflict) {
    // Without celld behind it, a proxy may answer 404 to everything.
    setback.kind = is_problem(answer) ? Setback::Kind::lost : Setback::Kind::away;
  } else if (answer.status == status_bad_request || answer.status == status_too_large ||
             answer.status == status_invalid) {
    setback.kind = Setback::Kind::invalid;
  } else if (answer.status == status_timeout || answer.status == status_too_many ||
             answer.status >= status_server_error) {
    setback.kind = Setback::Kind::away;
  }
  return setback;
}

std::string faults_text(const json::Value& result) {
  std::string text;
  for (const auto& fault : elements_at(result, {"errors"})) {
    text +=
        (text.empty() ? "" : "; ") + text_at(fault, {"pointer"}) + " " + text_at(fault, {"detail"});
  }
  return text;
}

}  // namespace

LeaseClient::LeaseClient(const Connection& connection, std::string service, std::string worker)
    : client_(connection), service_(std::move(service)), worker_(std::move(worker)) {}

std::variant<json::Value, Setback> LeaseClient::ask(const Request& request) {
  try {
    const Answer answer = client_.send(request);
    if (!answer.succeeded()) return setback_of(answer);
    auto document = parse_answer(answer.body);
    if (!document) return Setback{Setback::Kind::away, failure_of(answer).what(), {}};
    return std::move(*document);
  } catch (const NoAnswer& failure) {
    const auto kind = failure.may_pass() ? Setback::Kind::away : Setback::Kind::refused;
    return Setback{kind, failure.what(), {}};
  } catch (const std::system_error& failure) {  // The system has no thread left.
    return Setback{Setback::Kind::away, failure.what(), {}};
  }
}

LeaseClient::Leases LeaseClient::lease(std::size_t max, milliseconds wait,
                                       const std::stop_token& stop) {
  Request request{.method = "POST", .path = "/v1/services/" + url_encoded(service_) + "/leases"};
  request.body = R"({"worker":)" + json::quote(worker_) + R"(,"max":)" + std::to_string(max) +
                 R"(,"wait_ms":)" + std::to_string(wait.count()) + "}";
  request.extra_time = wait;
  request.stop = stop;
  auto answer = ask(request);
  if (auto* setback = std::get_if<Setback>(&answer)) return std::move(*setback);
  return read_leases(elements_at(std::get<json::Value>(answer), {"leases"}));
}

LeaseClient::Leases LeaseClient::held(const std::stop_token& stop) {
  std::vector<GrantedLease> leases;
  for (std::string cursor;;) {
    std::vector<std::pair<std::string, std::string>> query = {{"worker", worker_},
                                                              {"service", service_}};
    if (!cursor.empty()) query.emplace_back("cursor", cursor);
    auto answer = ask({.path = "/v1/leases" + query_of(query), .stop = stop});
    if (auto* setback = std::get_if<Setback>(&answer)) return std::move(*setback);
    const auto& page = std::get<json::Value>(answer);
    for (auto& lease : read_leases(elements_at(page, {"items"})))
      leases.push_back(std::move(lease));
    cursor = text_at(page, {"next_cursor"});
    if (cursor.empty()) return leases;
  }
}

std::variant<LeaseTerm, Setback> LeaseClient::heartbeat(const std::string& lease,
                                                        const std::string& body) {
  auto answer = ask(
      {.method = "POST", .path = "/v1/leases/" + url_encoded(lease) + "/heartbeat", .body = body});
  if (auto* setback = std::get_if<Setback>(&answer)) return std::move(*setback);
  const auto& term = std::get<json::Value>(answer);
  if (!member_at(term, {"expires_in_ms"}).is_number_integer()) {
    return Setback{Setback::Kind::away, "the answer does not say when the lease ends", {}};
  }
  return read_term(term);
}

std::variant<std::vector<LeaseClient::ReportResult>, Setback> LeaseClient::report(
    const std::vector<std::string>& reports) {
  std::string body = "[";
  for (const auto& report : reports) body += (body.size() == 1 ? "" : ",") + report;
  auto answer = ask({.method = "POST", .path = "/v1/leases/report", .body = body + "]"});
  if (auto* setback = std::get_if<Setback>(&answer)) return std::move(*setback);
  std::vector<ReportResult> results;
  for (const auto& result : elements_at(std::get<json::Value>(answer), {"results"})) {
    results.push_back({static_cast<int>(integer_at(result, {"status"})), faults_text(result)});
  }
  const bool has_all = std::all_of(results.begin(), results.end(),
                                   [](const auto& result) { return result.status != 0; });
  if (results.size() != reports.size() || !has_all) {
    return Setback{Setback::Kind::away, "the answer has no status for each report", {}};
  }
  return results;
}

}  // namespace celld::cli
