#include "src/http/api/problem.hpp"

#include <set>
#include <string>

#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::api;
using cells::Refusal;
using std::chrono::milliseconds;

namespace {

json::Value body_of(const http::Response& response) {
  return std::get<json::Document>(json::parse(response.body)).value;
}

std::string header_of(const http::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return "";
}

}  // namespace

TEST_CASE("every problem has a unique slug and an error status") {
  std::set<std::string_view> slugs;
  for (std::size_t i = 0; i < problem_kind_count; ++i) {
    const auto kind = static_cast<ProblemKind>(i);
    CHECK(slugs.insert(slug_of(kind)).second);
    CHECK(status_of(kind) >= 400);
    CHECK(status_of(kind) < 600);
  }
}

TEST_CASE("a problem is rendered as RFC 9457 defines") {
  const http::Response response =
      to_response(invalid_request({{"/entity/id", "is required"}, {"", "a \"quoted\" \xff"}}));
  CHECK(response.status == 422);
  CHECK(response.content_type == "application/problem+json");
  CHECK(body_of(response) == json::Value::parse(R"({
    "type": "/problems/invalid-request", "title": "The request has faults", "status": 422,
    "detail": "The request has 2 faults: see `errors`.",
    "errors": [{"pointer": "/entity/id", "detail": "is required"},
               {"pointer": "", "detail": "a \"quoted\" \ufffd"}]})"));
  CHECK(header_of(response, "Retry-After").empty());
}

TEST_CASE("a full queue answers 429 with the cell, its limit, its depth and a Retry-After") {
  const Refusal refusal{Refusal::Kind::queue_full, {"acme", "*"}, 100, 100, milliseconds(2001)};
  const http::Response response = to_response(problem_of(refusal));
  CHECK(response.status == 429);
  CHECK(header_of(response, "Retry-After") == "3");
  const json::Value body = body_of(response);
  CHECK(body["type"] == "/problems/queue-full");
  CHECK(body["cell"] == json::Value::parse(R"({"customer":"acme","product":"*"})"));
  CHECK(body["limit"] == 100);
  CHECK(body["depth"] == 100);
  CHECK(body["quota"] == "queue.max_jobs");
}

TEST_CASE("the detail of a problem counts in the singular and in the plural") {
  const auto detail = [](Refusal::Kind kind, std::uint64_t depth, double per_s = 0) {
    Refusal refusal{kind, {"acme", "dns"}, 9, depth, milliseconds(1000)};
    refusal.per_s = per_s;
    return problem_of(refusal).detail;
  };
  CHECK(detail(Refusal::Kind::queue_full, 1) ==
        "The cell acme/dns has 1 unfinished job; its limit is 9.");
  CHECK(detail(Refusal::Kind::queue_full, 2) ==
        "The cell acme/dns has 2 unfinished jobs; its limit is 9.");
  CHECK(detail(Refusal::Kind::customer_jobs_full, 1) ==
        "The customer has 1 unfinished job in the cell acme/dns; its limit is 9.");
  CHECK(detail(Refusal::Kind::queue_rate, 0, 1) ==
        "The cell acme/dns accepts at most 1.0 job a second.");
  CHECK(detail(Refusal::Kind::customer_rate, 0, 0.5) ==
        "The cell acme/dns accepts at most 0.5 jobs a second from each customer.");
  CHECK(invalid_request({{"/a", "is required"}}).detail ==
        "The request has a fault: see `errors`.");
}

TEST_CASE("a job for which a quota leaves no room is answered 429 with the limit's name") {
  const auto quota_of = [](Refusal::Kind kind) {
    const http::Response response =
        to_response(problem_of({kind, {"acme", "*"}, 70000, 69000, milliseconds(1000)}));
    CHECK(response.status == 429);
    const json::Value body = body_of(response);
    CHECK(body["limit"] == 70000);
    CHECK(body["depth"] == 69000);
    return body["quota"].get<std::string>();
  };
  CHECK(quota_of(Refusal::Kind::cell_bytes_full) == "queue.max_bytes");
  CHECK(quota_of(Refusal::Kind::memory_full) == "capacity.memory_max_bytes");
  CHECK(quota_of(Refusal::Kind::queue_rate) == "queue.submissions_per_s");
  CHECK(quota_of(Refusal::Kind::customer_jobs_full) == "customer.max_jobs");
  CHECK(quota_of(Refusal::Kind::customer_bytes_full) == "customer.max_bytes");
  CHECK(quota_of(Refusal::Kind::customer_rate) == "customer.submissions_per_s");
  const auto template_full = to_response(
      problem_of({Refusal::Kind::too_many_cells, {"*", "*"}, 10, 10, milliseconds(1000)}));
  CHECK_FALSE(body_of(template_full).contains("quota"));
}

TEST_CASE("a retry that would keep a job otherwise is a conflict") {
  const auto differs = to_response(problem_of({Refusal::Kind::durability_differs, {}, 0, 0, {}}));
  CHECK(differs.status == 409);
  CHECK(body_of(differs)["type"] == "/problems/not-retryable");
}

TEST_CASE("a submission that is not accepted in time learns whether the disk is to blame") {
  CHECK(submissions_behind(false).detail.starts_with("The disk is behind"));
  CHECK(submissions_behind(true).detail.starts_with("celld is behind"));
}

TEST_CASE("Retry-After is from one second to an hour") {
  const auto wait = [](milliseconds after) {
    return header_of(to_response(problem_of({Refusal::Kind::shutting_down, {}, 0, 0, after})),
                     "Retry-After");
  };
  CHECK(wait(milliseconds(0)) == "1");
  CHECK(wait(milliseconds(-5)) == "1");
  CHECK(wait(milliseconds(1000)) == "1");
  CHECK(wait(std::chrono::hours(5)) == "3600");
  CHECK(header_of(to_response(store_unavailable()), "Retry-After") == "5");
}

TEST_CASE("every refusal by the engine has its problem") {
  const auto status = [](Refusal::Kind kind) {
    return to_response(problem_of({kind, {"a", "b"}, 7, 9, milliseconds(1)})).status;
  };
  CHECK(status(Refusal::Kind::no_cell) == 422);
  CHECK(status(Refusal::Kind::timeout_too_long) == 422);
  CHECK(status(Refusal::Kind::queue_full) == 429);
  CHECK(status(Refusal::Kind::too_many_cells) == 429);
  CHECK(status(Refusal::Kind::shutting_down) == 503);
  CHECK(problem_of({Refusal::Kind::timeout_too_long, {"a", "b"}, 7, 0, {}}).errors ==
        std::vector<json::Fault>{
            {"/timeout_ms", "must be at most 7, the `timeout_max_ms` of the cell a/b"}});
}

TEST_CASE("a job that is too large learns which limit it exceeds") {
  const auto fault = [](Refusal::BytesOf bytes_of) {
    Refusal refusal{Refusal::Kind::job_too_large, {"a", "b"}, 7, 9};
    refusal.bytes_of = bytes_of;
    return problem_of(refusal).errors.at(0).detail;
  };
  CHECK(
      fault(Refusal::BytesOf::cell) ==
      "counts for 9 bytes, but `queue.max_bytes` of the cell a/b allows only 7 bytes for all jobs "
      "together");
  CHECK(fault(Refusal::BytesOf::customer).find("`customers.quota.max_bytes` of the cell a/b") !=
        std::string::npos);
  CHECK(fault(Refusal::BytesOf::memory).find("but `capacity.memory_max_bytes` allows") !=
        std::string::npos);
}

TEST_CASE("a reopening that needs a removed service points to no member of its request") {
  const Refusal removed{Refusal::Kind::service_removed, {"a", "b"}};
  const auto submission = problem_of(removed);
  CHECK(submission.errors.at(0).pointer == "/services");
  const auto reopening = problem_of_reopening(removed);
  CHECK(reopening.kind == submission.kind);
  CHECK(reopening.errors.at(0).pointer.empty());
  CHECK(reopening.errors.at(0).detail == submission.errors.at(0).detail);
  CHECK(problem_of_reopening({Refusal::Kind::no_cell, {"a", "b"}}).kind == ProblemKind::no_cell);
}

TEST_CASE("a refusal by the server is a problem") {
  for (const int status : {400, 404, 405, 408, 411, 413, 414, 415, 417, 431, 500, 501, 503, 505}) {
    const http::Response response = refuse(status, "why", status == 405 ? "GET, HEAD" : "");
    CHECK(response.status == status);
    CHECK(response.content_type == "application/problem+json");
    CHECK(body_of(response)["status"] == status);
    CHECK(body_of(response)["detail"] == "why");
    CHECK(header_of(response, "Allow") == (status == 405 ? "GET, HEAD" : ""));
    CHECK(header_of(response, "Retry-After") == (status == 503 ? "1" : ""));
  }
}

TEST_CASE("the answer to a request with many faults is bounded") {
  const std::vector<json::Fault> faults(5000, {"/x", "is unknown"});
  CHECK(body_of(to_response(invalid_request(faults)))["errors"].size() == 1000);
}
