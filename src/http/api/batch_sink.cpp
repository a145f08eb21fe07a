#include "src/http/api/batch_sink.hpp"

#include <utility>

#include "src/http/api/batch_answers.hpp"

namespace celld::api {
namespace {

constexpr std::size_t faults_listed_max = 100;  // Of one line.

std::unique_ptr<BatchSplitter> make_splitter(BatchFormat format) {
  return format == BatchFormat::lines ? make_line_splitter(batch_text_bytes_max)
                                      : make_array_splitter(batch_text_bytes_max);
}

/// The line that a syntax error names is the first one of the job, not that of the body.
void leave_out_line(Problem& problem) {
  constexpr std::string_view line = "line 1, ";
  const auto at = problem.detail.find(line);
  if (problem.kind == ProblemKind::malformed_json && at != std::string::npos) {
    problem.detail.erase(at, line.size());
  }
}

Problem too_long() {
  return {.kind = ProblemKind::content_too_large,
          .detail = "The job is longer than " + std::to_string(batch_text_bytes_max) + " bytes."};
}

/// Why the client may not go on, if it may not.
std::optional<Problem> refused_by(const AccessControl& access, const http::Request& request,
                                  const BoundCustomer& only_customer) {
  auto admitted = access.admit(request, Scope::submit);
  if (auto* problem = std::get_if<Problem>(&admitted)) return std::move(*problem);
  if (std::get<BoundCustomer>(admitted) == only_customer) return std::nullopt;
  return Problem{.kind = ProblemKind::missing_scope,
                 .detail = "The token is now bound to another customer."};
}

Problem broken_array(std::string detail) {
  return {.kind = ProblemKind::malformed_json, .detail = std::move(detail)};
}

}  // namespace

BatchSink::BatchSink(BatchDesk desk, std::shared_ptr<const LiveSettings> settings,
                     BatchPostPtr post, BatchFormat format, http::Request request,
                     const BoundCustomer& only_customer)
    : desk_(std::move(desk)),
      settings_(std::move(settings)),
      post_(std::move(post)),
      format_(format),
      only_customer_(only_customer),
      traceparent_(request.header("traceparent").value_or("")),
      splitter_(make_splitter(format)) {
  if (!is_traceparent(traceparent_)) traceparent_.clear();
  post_->refusal = [settings = settings_, request = std::move(request), only_customer] {
    return refused_by(settings->get()->access, request, only_customer);
  };
  post_->flow->pause();
  caf::anon_send(desk_, BeginBatch{post_});
}

bool BatchSink::on_data(std::string_view piece) {
  has_begun_ = true;
  if (is_broken_ || post_->drops_lines) return true;
  SubmitLines lines{post_, {}, {}};
  if (auto problem = post_->refusal()) {
    stop_at(splitter_->line(), std::move(*problem), lines);
  } else {
    const auto settings = settings_->get();
    const auto fault =
        splitter_->split(piece, [&](const BatchItem& item) { take(item, settings->rules, lines); });
    if (!lines.fault) lines.next = splitter_->line();
    if (!fault.empty() && !is_broken_) stop_at(lines.next, broken_array(fault), lines);
  }
  if (lines.good.empty() && lines.bad.empty() && !lines.fault) return true;
  post_->flow->pause();
  caf::anon_send(desk_, std::move(lines));
  return true;
}

void BatchSink::on_end() {
  SubmitLines lines{post_, {}, {}};
  lines.is_last = true;
  if (!is_broken_ && !post_->drops_lines) {
    const auto settings = settings_->get();
    const auto fault =
        splitter_->end([&](const BatchItem& item) { take(item, settings->rules, lines); });
    if (!fault.empty()) stop_at(splitter_->line(), broken_array(fault), lines);
  }
  if (!lines.fault) lines.next = splitter_->line();
  caf::anon_send(desk_, std::move(lines));
}

/// A body that never began has nothing to report. A text that is not complete is dropped.
bool BatchSink::on_timeout() {
  if (!has_begun_) return false;
  SubmitLines lines{post_, {}, {}};
  lines.is_last = true;
  lines.next = splitter_->line();
  if (!is_broken_ && !post_->drops_lines)
    lines.fault = std::make_shared<const Problem>(sender_paused());
  caf::anon_send(desk_, std::move(lines));
  return true;
}

void BatchSink::on_abort() {
  caf::anon_send(desk_, AbandonBatch{post_});
}

/// Nothing from this line on is read.
void BatchSink::stop_at(std::uint64_t line, Problem why, SubmitLines& lines) {
  is_broken_ = true;
  lines.next = line;
  lines.fault = std::make_shared<const Problem>(std::move(why));
}

/// In an array, an element that does not follow the grammar may hide where the next one begins:
/// nothing after it is read.
void BatchSink::take(const BatchItem& item, const SubmissionRules& rules, SubmitLines& lines) {
  if (is_broken_) return;
  if (item.too_long) return reject(item.line, too_long(), lines);
  auto parsed = parse_submission(item.text, rules, {{}, only_customer_, {}});
  if (auto* problem = std::get_if<Problem>(&parsed)) {
    if (format_ == BatchFormat::array && problem->kind == ProblemKind::malformed_json &&
        !json::follows_grammar(item.text)) {
      return stop_at(item.line, problem_of_line(std::move(*problem)), lines);
    }
    if (format_ == BatchFormat::lines) leave_out_line(*problem);
    return reject(item.line, problem_of_line(std::move(*problem)), lines);
  }
  auto& submission = std::get<Submission>(parsed);
  submission.request.spec.traceparent = traceparent_;
  submission.request.gate = post_->gate;
  lines.good.push_back({item.line, std::move(submission)});
}

void BatchSink::reject(std::uint64_t line, Problem problem, SubmitLines& lines) {
  BadLine bad{line, nullptr};
  if (listed_ < BatchTally::errors_max) {
    ++listed_;
    if (problem.errors.size() > faults_listed_max) problem.errors.resize(faults_listed_max);
    bad.problem = std::make_shared<const Problem>(std::move(problem));
  }
  lines.bad.push_back(std::move(bad));
}

}  // namespace celld::api
