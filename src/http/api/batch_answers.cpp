#include "src/http/api/batch_answers.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "src/http/api/batch_json.hpp"

namespace celld::api {
namespace {

using http::Response;
using std::chrono::milliseconds;

Response json_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

void add_location(Response& response, cells::BatchId id) {
  response.headers.emplace_back("Location", "/v1/batches/" + cells::format_job_id(id));
}

/// What a client can do about a refusal that ends its batch.
std::string advice(const cells::Refusal& refusal) {
  if (refusal.kind == cells::Refusal::Kind::queue_full) {
    return " Send the rest, from this line on, when jobs of the cell have ended; or raise "
           "`queue.max_jobs` of the cell, for example with `cellctl quota set`.";
  }
  return " Send the rest later, from this line on.";
}

Problem shutdown(std::string_view advice) {
  cells::Refusal refusal;
  refusal.kind = cells::Refusal::Kind::shutting_down;
  Problem problem = problem_of(refusal);
  problem.detail += " ";
  problem.detail += advice;
  problem.retry_after = milliseconds(1000);
  return problem;
}

}  // namespace

Problem no_such_batch() {
  return not_found("There is no such batch.");
}

Problem too_many_batches(std::size_t limit) {
  Problem problem{.kind = ProblemKind::unavailable,
                  .detail = "celld is reading " + std::to_string(limit) +
                            " batches already, which is its limit. Try again later."};
  problem.retry_after = milliseconds(5000);
  return problem;
}

Problem sender_too_slow() {
  return {.kind = ProblemKind::request_timeout,
          .detail =
              "The sender paused while other batches waited. Send the rest, from this line on, "
              "as another batch."};
}

Problem sender_paused() {
  return {
      .kind = ProblemKind::request_timeout,
      .detail =
          "The sender paused for longer than `limits.body_timeout_ms`. Send the rest, from this "
          "line on, as another batch."};
}

Problem batch_is_cancelled() {
  return {.kind = ProblemKind::batch_cancelled,
          .detail = "The batch was cancelled. Nothing from this line on was accepted."};
}

Problem shutdown_refuses_batch() {
  return shutdown("Send the batch again once celld is back.");
}

Problem shutdown_ends_batch() {
  return shutdown("Send the rest, from this line on, once celld is back.");
}

Problem refusal_ends_batch(const cells::Refusal& refusal) {
  Problem problem = problem_of(refusal);
  problem.detail += advice(refusal);
  return problem;
}

Response batch_response(const cells::Batch& batch) {
  return json_response(200, batch_json(batch));
}

Response batch_list_response(const cells::BatchesListed& page) {
  return json_response(200, batch_list_json(page));
}

Response cancelling_response(const cells::Batch& batch) {
  auto response = json_response(202, batch_json(batch));
  add_location(response, batch.id);
  return response;
}

Response report_response(cells::BatchId id, std::string report, bool end_seen) {
  auto response = json_response(end_seen ? 200 : 202, std::move(report));
  add_location(response, id);
  return response;
}

void add_preference(Response& response, std::chrono::seconds wait) {
  response.headers.emplace_back("Preference-Applied", "wait=" + std::to_string(wait.count()));
}

void add_retry_after(Response& response, std::chrono::milliseconds after) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(after);
  response.headers.emplace_back("Retry-After",
                                std::to_string(std::max<std::int64_t>(seconds.count(), 1)));
}

}  // namespace celld::api
