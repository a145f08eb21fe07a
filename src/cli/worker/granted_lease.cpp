#include "src/cli/worker/granted_lease.hpp"

#include <algorithm>
#include <utility>

#include "src/cli/members.hpp"

namespace celld::cli {
namespace {

std::string member(const char* name, const std::string& value) {
  return ",\"" + std::string(name) + "\":" + value;
}

/// A timeout is at most a week. The bound keeps sums with times from overflowing.
constexpr milliseconds term_max = std::chrono::days(365);

milliseconds term_in(const json::Value& answer) {
  const milliseconds term{integer_at(answer, {"expires_in_ms"})};
  return std::clamp(term, milliseconds(0), term_max);
}

/// The members have the order in which a `command` provider receives them.
std::string document_for(const json::Value& lease) {
  const json::Value& job = member_at(lease, {"job"});
  const auto copied = [&](const char* name) {
    return member(name, json::dump(member_at(job, {name})));
  };
  return "{\"job\":" + json::dump(member_at(job, {"id"})) +
         member("attempt", std::to_string(integer_at(lease, {"attempt"}))) +
         (member_at(lease, {"undo"}) == true ? member("undo", "true") : "") + copied("customer") +
         copied("product") + copied("action") + copied("entity") +
         member("service", json::dump(member_at(lease, {"service"}))) + copied("parameters") +
         copied("properties") + "}";
}

}  // namespace

std::vector<GrantedLease> read_leases(const json::Value& elements) {
  std::vector<GrantedLease> leases;
  for (const json::Value& element : elements) {
    GrantedLease lease;
    lease.name = text_at(element, {"lease"});
    lease.job = text_at(element, {"job", "id"});
    if (lease.name.empty() || lease.job.empty()) continue;
    lease.service = text_at(element, {"service"});
    lease.attempt = integer_at(element, {"attempt"});
    lease.idempotency_key = text_at(element, {"idempotency_key"});
    lease.traceparent = text_at(element, {"traceparent"});
    lease.expires_in = term_in(element);
    lease.document = document_for(element);
    leases.push_back(std::move(lease));
  }
  return leases;
}

LeaseTerm read_term(const json::Value& answer) {
  return {term_in(answer), truth_at(answer, {"cancel"})};
}

}  // namespace celld::cli
