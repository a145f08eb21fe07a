#include "src/providers/http/mapped_call.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "cells/model/job_machine.hpp"
#include "src/providers/call_document.hpp"
#include "src/providers/http/document.hpp"
#include "src/providers/http/mapping/answer.hpp"
#include "src/providers/http/mapping/request.hpp"
#include "src/providers/http/operation.hpp"
#include "src/providers/http/operation_url.hpp"
#include "src/providers/http/outcome.hpp"
#include "src/providers/steady_now.hpp"

namespace celld::providers {
namespace {

using cells::CallOutcome;
using Requests = std::vector<mappings::Request>;

/// The document has passed these limits before, in parts: the job as submitted, and the properties
/// of each answer.
constexpr json::ParseLimits document_limits{.depth_max = 80, .nodes_max = 5'000'000};

std::string quoted_actions(const mappings::Mapping& mapping) {
  std::string list;
  for (const auto& [name, requests] : mapping.actions) {
    if (!list.empty()) list += ", ";
    list += '"' + name + '"';
  }
  return list;
}

std::string unknown_action(const std::string& service, const mappings::Mapping& mapping,
                           const cells::Job& job) {
  const std::string quoted = '"' + job.spec->action + '"';
  if (cells::is_compensating(job))
    return "The mapping of " + service + " has no undo of the action " + quoted + ".";
  return "The mapping of " + service + " has no action " + quoted + "; it has " +
         quoted_actions(mapping) + ".";
}

/// This much of the step's timeout is kept for the last poll of an operation, but no more than the
/// interval of its polls.
constexpr milliseconds last_poll_reserve{1000};

std::string capitalized(std::string text) {
  text.front() = static_cast<char>(text.front() - ('a' - 'A'));
  return text;
}

/// Request 2 of the action "create".
std::string name_of_request(const cells::Job& job, const Requests& requests, std::size_t index,
                            bool is_poll) {
  const std::string which =
      requests.size() == 1 ? "the request" : "request " + std::to_string(index + 1);
  const std::string subject = is_poll ? "The poll of " + which : capitalized(which);
  const char* const of = cells::is_compensating(job) ? " of the undo of" : " of";
  return subject + of + " the action \"" + job.spec->action + '"';
}

/// Request 2 of the action "create" at dns cannot be made: `properties.id` is missing.
std::string unmade_request(const std::string& service, const cells::Job& job,
                           const Requests& requests, std::size_t index, bool is_poll,
                           const mappings::Refusal& refusal) {
  return name_of_request(job, requests, index, is_poll) + " at " + service +
         " cannot be made: " + refusal.text + ".";
}

std::string lost_operation(const std::string& service) {
  return "celld cannot go on with the operation that " + service +
         " has begun: the mapping has changed, and has no such request.";
}

/// `state`: of the operation at its last poll, if known.
CallOutcome late_operation(const std::string& service, const std::string& state) {
  CallOutcome outcome;
  outcome.kind = CallOutcome::Kind::unknown;
  outcome.code = "timeout";
  outcome.message = "The operation at " + service + " did not end in time" +
                    (state.empty() ? "." : ": at its last poll, " + state + ".");
  return outcome;
}

/// One call of an attempt. Kept alive by its callbacks.
class MappedCall : public std::enable_shared_from_this<MappedCall> {
 public:
  MappedCall(std::shared_ptr<const HttpServiceContext> service, const cells::StartCall& call)
      : service_(std::move(service)),
        lease_(call.lease),
        job_(call.job),
        timeout_(call.timeout),
        deadline_(steady_now() + call.timeout),
        mapping_(*service_->settings.mapping),
        scope_(scope_of(mapping_, *job_)) {}

  void begin(const ServiceCalls::Ended& ended) {
    const auto operation = parse_operation(job_->steps[job_->step].operation);
    if (operation) take_up(*operation);
    auto refusal = refusal_of(service_->name, mapping_, *job_, scope_);
    if (!refusal && !operation) refusal = refusal_of_undo(service_->name, mapping_, *job_);
    requests_ = find_requests(mapping_, *job_);
    if (!refusal && operation && !can_go_on(*operation)) refusal = lost_operation(service_->name);
    if (!refusal && operation && operation->has_begun && polls_url()) refusal = moved_operation();
    if (refusal) {
      auto outcome = cleaned(rejection(std::move(*refusal)));
      const bool goes_on = operation && operation->has_begun;
      return end(ended, goes_on ? undecided(std::move(outcome)) : std::move(outcome));
    }
    if (operation && operation->has_begun) {
      deadline_ = steady_now() + time_for(*operation);
      return poll(ended);
    }
    if (index_ == requests_->size()) return end(ended, success());
    make_request(ended);
  }

 private:
  using Result = std::variant<CallOutcome, ServiceCalls::Next>;

  void end(const ServiceCalls::Ended& ended, CallOutcome outcome) const {
    ended([outcome = in_part(std::move(outcome))] { return outcome; });
  }

  /// A failure after a request that has changed something leaves a part done. If the requests that
  /// are done are not made again, it has their messages, too.
  CallOutcome in_part(CallOutcome outcome) const {
    if (has_changed_ && outcome.kind != CallOutcome::Kind::succeeded) outcome.in_doubt = true;
    if (has_operation_ || outcome.kind == CallOutcome::Kind::rejected) {
      outcome.messages.insert(outcome.messages.begin(), messages_.begin(), messages_.end());
      drop_oldest(outcome.messages);
    }
    return outcome;
  }

  // --- Operations --------------------------------------------------------------------------------

  void take_up(const Operation& operation) {
    has_operation_ = true;
    index_ = operation.request;
    url_ = operation.url;
    take({.properties = operation.properties, .messages = {}});
  }

  /// Whether the mapping still has what the operation needs.
  bool can_go_on(const Operation& operation) const {
    if (!operation.has_begun) return index_ <= requests_->size();
    return index_ < requests_->size() && (*requests_)[index_].poll &&
           (!polls_url() || !url_.empty());
  }

  /// Whether the operation is polled at a URL that an answer named.
  bool polls_url() const { return (*requests_)[index_].poll->url.has_value(); }

  /// A fault if a reload has moved the service: its credentials must not be sent to its old
  /// address.
  std::optional<std::string> moved_operation() const {
    const auto fault = origin_fault(url_, service_->settings.url);
    if (fault.empty()) return std::nullopt;
    return "celld cannot go on with the operation that " + service_->name +
           " has begun: its URL is " + fault + ".";
  }

  /// Polls come no closer to the end of the step's timeout than this.
  milliseconds reserve() const {
    return std::min((*requests_)[index_].poll->interval, last_poll_reserve);
  }

  /// The time left for the operation. The delay of a late poll counts only as far as celld could
  /// call the service. A poll always has time for an answer.
  milliseconds time_for(const Operation& operation) const {
    const auto late = operation.due ? service_->outages->callable_within(
                                          cells::SteadyTime{*operation.due}, steady_now())
                                    : milliseconds{0};
    return std::min(std::max(operation.left - late, reserve()), timeout_);
  }

  std::string operation_text(bool has_begun, milliseconds left,
                             std::optional<milliseconds> due = std::nullopt) const {
    return to_text({index_, has_begun, left, properties_, due, has_begun ? url_ : ""});
  }

  CallOutcome pending(milliseconds wait, milliseconds left) {
    CallOutcome outcome;
    outcome.kind = CallOutcome::Kind::pending;
    outcome.retry_after = wait;
    outcome.operation =
        operation_text(true, left - wait,
                       std::chrono::floor<milliseconds>(steady_now().time_since_epoch()) + wait);
    outcome.messages = std::move(messages_);
    return outcome;
  }

  /// The next attempt continues where this one failed: with the whole timeout, or only with what is
  /// left of it after a failure that is not always counted as an attempt. Otherwise an operation
  /// whose polls fail like that now and then would have no end.
  CallOutcome failed(CallOutcome outcome, bool has_begun) const {
    using Kind = CallOutcome::Kind;
    const bool is_put_off = outcome.kind == Kind::throttled || outcome.kind == Kind::unauthorized ||
                            outcome.kind == Kind::unable;
    const auto left = is_put_off ? std::max(time_left(), milliseconds{0}) : timeout_;
    if (has_operation_) outcome.operation = operation_text(has_begun, left);
    return outcome;
  }

  /// A rejection that says nothing about the operation, which may still go on.
  static CallOutcome undecided(CallOutcome rejection) {
    rejection.in_doubt = true;
    return rejection;
  }

  CallOutcome failed_poll(mappings::PollFailed failure) const {
    if (failure.outcome.kind != CallOutcome::Kind::rejected)
      return failed(std::move(failure.outcome), true);
    return failure.has_ended ? std::move(failure.outcome) : undecided(std::move(failure.outcome));
  }

  CallOutcome wait_for_operation(std::optional<milliseconds> retry_after,
                                 const std::string& state = "") {
    has_operation_ = true;
    const milliseconds interval = (*requests_)[index_].poll->interval;
    const auto left = time_left();
    if (left <= reserve()) return failed(late_operation(service_->name, state), true);
    const auto wait = std::max(interval, retry_after.value_or(milliseconds{0}));
    return pending(std::min({wait, left - reserve(), cells::operation_wait_max}), left);
  }

  void poll(const ServiceCalls::Ended& ended) {
    exchange((*requests_)[index_].poll->request, true, ended, &MappedCall::read_poll);
  }

  Result read_poll(const HttpResult& result) {
    auto answer = mappings::read_poll(*(*requests_)[index_].poll, service_->name, result,
                                      service_->wall_clock(), service_->secrets);
    if (auto* failure = std::get_if<mappings::PollFailed>(&answer))
      return failed_poll(std::move(*failure));
    if (const auto* goes_on = std::get_if<mappings::Pending>(&answer))
      return wait_for_operation(goes_on->retry_after, goes_on->state);
    return finish_request(std::get<mappings::Done>(std::move(answer)), true);
  }

  // --- Requests ----------------------------------------------------------------------------------

  void make_request(const ServiceCalls::Ended& ended) {
    exchange((*requests_)[index_], false, ended, &MappedCall::read);
  }

  void exchange(const mappings::Request& request, bool is_poll, const ServiceCalls::Ended& ended,
                Result (MappedCall::*reader)(const HttpResult&)) {
    auto rendered = mappings::render(request, scope_);
    if (const auto* refusal = std::get_if<mappings::Refusal>(&rendered)) {
      auto outcome = cleaned(
          rejection(unmade_request(service_->name, *job_, *requests_, index_, is_poll, *refusal)));
      return end(ended, is_poll ? undecided(std::move(outcome)) : std::move(outcome));
    }
    const auto index = is_poll ? std::nullopt : std::optional(index_);
    auto call =
        mapped_request(service_->settings, *job_, std::get<mappings::Rendered>(std::move(rendered)),
                       index, time_left());
    if (is_poll && polls_url()) call.url = url_;
    if (!is_poll && request.poll && polls_url()) call.kept_header = request.poll->url->header;
    request_url_ = call.url;
    service_->calls->start(lease_, std::move(call),
                           [self = shared_from_this(), ended, reader](HttpResult result) {
                             ended([self, reader, result = std::move(result)] {
                               return self->noted((*self.*reader)(result));
                             });
                           });
  }

  /// Returns the result of an exchange, and records whether the service could be called.
  Result noted(Result result) const {
    auto* outcome = std::get_if<CallOutcome>(&result);
    if (outcome == nullptr) {
      service_->outages->call_succeeded(steady_now());
      return result;
    }
    service_->outages->call_ended(*outcome, steady_now());
    return in_part(std::move(*outcome));
  }

  Result read(const HttpResult& result) {
    const auto& request = (*requests_)[index_];
    auto answer = mappings::read_answer(request.answer, service_->name, result,
                                        service_->wall_clock(), service_->secrets);
    if (auto* failure = std::get_if<CallOutcome>(&answer))
      return failed(of_request(std::move(*failure)), false);
    auto& done = std::get<mappings::Done>(answer);
    if (!request.poll) return finish_request(std::move(done), false);
    const bool already = done.already;
    if (!take(std::move(done))) return too_many_properties(false);
    if (auto failure = take_url(result, already)) return failed(of_request(*failure), false);
    if (!already) {
      return wait_for_operation(result.retry_after
                                    ? parse_retry_after(*result.retry_after, service_->wall_clock())
                                    : std::nullopt);
    }
    // "Already done" may mean that an earlier attempt, cut short, has begun the operation.
    if (!can_poll())
      return finish_request({.properties = {}, .messages = {}, .already = true}, false);
    has_operation_ = true;
    return next(&MappedCall::poll);
  }

  /// The message of the failure says which of several requests has failed.
  CallOutcome of_request(CallOutcome failure) const {
    if (requests_->size() > 1) {
      failure.message = name_of_request(*job_, *requests_, index_, false) + ": " + failure.message;
    }
    return failure;
  }

  /// The failure if the answer does not say where to poll the operation that the request has begun.
  std::optional<CallOutcome> take_url(const HttpResult& result, bool already) {
    if (!polls_url()) return std::nullopt;
    auto read = read_operation_url(*(*requests_)[index_].poll->url, result, request_url_,
                                   service_->settings.url);
    if (auto* url = std::get_if<std::string>(&read)) {
      url_ = std::move(*url);
      return std::nullopt;
    }
    const auto& none = std::get<NoOperationUrl>(read);
    if (already && none.is_missing) return std::nullopt;
    return cleaned(invalid_answer(service_->name, none.text));
  }

  bool can_poll() const {
    if (polls_url() && url_.empty()) return false;
    const auto rendered = mappings::render((*requests_)[index_].poll->request, scope_);
    return std::holds_alternative<mappings::Rendered>(rendered);
  }

  Result finish_request(mappings::Done done, bool of_poll) {
    if (!done.already && (*requests_)[index_].method != "GET") has_changed_ = true;
    if (!take(std::move(done))) return too_many_properties(of_poll);
    url_.clear();
    if (++index_ == requests_->size()) return success();
    return next(&MappedCall::make_request);
  }

  Result next(void (MappedCall::*start)(const ServiceCalls::Ended&)) {
    return ServiceCalls::Next{[self = shared_from_this(), start](const ServiceCalls::Ended& ended) {
      (*self.*start)(ended);
    }};
  }

  CallOutcome too_many_properties(bool has_begun) const {
    return failed(invalid_answer(service_->name, "answered with more than 256 KiB of properties"),
                  has_begun);
  }

  milliseconds time_left() const {
    return std::chrono::ceil<milliseconds>(deadline_ - steady_now());
  }

  static void drop_oldest(std::vector<cells::Message>& messages) {
    if (messages.size() <= messages_max) return;
    messages.erase(messages.begin(), messages.end() - static_cast<std::ptrdiff_t>(messages_max));
  }

  /// False if there are too many properties.
  bool take(mappings::Done done) {
    for (auto& [name, text] : done.properties) {
      auto parsed = json::parse(text, document_limits);
      if (auto* document = std::get_if<json::Document>(&parsed))
        scope_.document["properties"][name] = std::move(document->value);
      properties_[name] = std::move(text);
    }
    std::size_t bytes = 0;
    for (const auto& [name, text] : properties_) bytes += name.size() + text.size();
    for (auto& message : done.messages) messages_.push_back(std::move(message));
    drop_oldest(messages_);
    return bytes <= properties_bytes_max;
  }

  CallOutcome success() {
    CallOutcome outcome;
    outcome.kind = CallOutcome::Kind::succeeded;
    outcome.properties = std::move(properties_);
    outcome.messages = std::move(messages_);
    return outcome;
  }

  CallOutcome cleaned(CallOutcome outcome) const {
    blank(outcome, service_->secrets);
    return outcome;
  }

  const std::shared_ptr<const HttpServiceContext> service_;
  const cells::Lease lease_;
  const cells::JobPtr job_;
  const milliseconds timeout_;
  cells::SteadyTime deadline_;
  const mappings::Mapping& mapping_;
  mappings::Scope scope_;
  const Requests* requests_ = nullptr;
  std::size_t index_ = 0;       ///< Of the request that is being made or polled.
  std::string request_url_;     ///< Of the last request that was made.
  std::string url_;             ///< Of the poll, if an answer named it.
  bool has_operation_ = false;  ///< A request of this attempt, or of an earlier one, began one.
  bool has_changed_ = false;    ///< A request of this attempt other than a GET is done.
  cells::Properties properties_;
  std::vector<cells::Message> messages_;
};

}  // namespace

void start_mapped_call(std::shared_ptr<const HttpServiceContext> service,
                       const cells::StartCall& call, const ServiceCalls::Ended& ended) {
  std::make_shared<MappedCall>(std::move(service), call)->begin(ended);
}

mappings::Scope scope_of(const mappings::Mapping& mapping, const cells::Job& job) {
  mappings::Scope scope;
  auto parsed = json::parse(call_document(job), document_limits);
  if (auto* document = std::get_if<json::Document>(&parsed))
    scope.document = std::move(document->value);
  scope.secrets = mappings::values_of(mapping.secrets);
  return scope;
}

std::optional<std::string> refusal_of(const std::string& service, const mappings::Mapping& mapping,
                                      const cells::Job& job, const mappings::Scope& scope) {
  const auto* requests = find_requests(mapping, job);
  if (requests == nullptr) return unknown_action(service, mapping, job);
  const auto refused = mappings::check_all(*requests, scope);
  if (!refused) return std::nullopt;
  return unmade_request(service, job, *requests, refused->index, refused->is_poll,
                        refused->refusal);
}

std::optional<std::string> refusal_of_undo(const std::string& service,
                                           const mappings::Mapping& mapping,
                                           const cells::Job& job) {
  const bool may_undo = job.spec->on_failure == cells::OnFailure::compensate;
  if (!may_undo || cells::is_compensating(job)) return std::nullopt;
  if (!mapping.undo.contains(job.spec->action)) return std::nullopt;  // A reload may add it again.
  cells::Job failed = job;
  failed.error = cells::JobError{};
  auto scope = scope_of(mapping, failed);
  scope.expects_properties = true;
  return refusal_of(service, mapping, failed, scope);
}

const std::vector<mappings::Request>* find_requests(const mappings::Mapping& mapping,
                                                    const cells::Job& job) {
  const auto& actions = cells::is_compensating(job) ? mapping.undo : mapping.actions;
  const auto found = actions.find(job.spec->action);
  return found == actions.end() ? nullptr : &found->second;
}

}  // namespace celld::providers
