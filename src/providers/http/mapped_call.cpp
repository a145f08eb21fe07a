#include "src/providers/http/mapped_call.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "src/providers/call_document.hpp"
#include "src/providers/http/document.hpp"
#include "src/providers/http/mapping/answer.hpp"
#include "src/providers/http/mapping/request.hpp"
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
                           const std::string& action) {
  return "The mapping of " + service + " has no action \"" + action + "\"; it has " +
         quoted_actions(mapping) + ".";
}

/// Request 2 of the action "create" at dns cannot be made: `properties.id` is missing.
std::string unmade_request(const std::string& service, const std::string& action,
                           const Requests& requests, std::size_t index,
                           const mappings::Refusal& refusal) {
  const std::string which =
      requests.size() == 1 ? "The request" : "Request " + std::to_string(index + 1);
  return which + " of the action \"" + action + "\" at " + service +
         " cannot be made: " + refusal.text + ".";
}

/// One attempt. Kept alive by its callbacks.
class MappedCall : public std::enable_shared_from_this<MappedCall> {
 public:
  MappedCall(std::shared_ptr<const HttpServiceContext> service, const cells::StartCall& call)
      : service_(std::move(service)),
        lease_(call.lease),
        job_(call.job),
        deadline_(steady_now() + call.timeout),
        mapping_(*service_->settings.mapping),
        scope_(scope_of(mapping_, *job_)) {}

  void begin(const ServiceCalls::Ended& ended) {
    if (auto refusal = refusal_of(service_->name, mapping_, *job_, scope_))
      return end(ended, cleaned(rejection(std::move(*refusal))));
    requests_ = &mapping_.actions.at(job_->spec->action);
    if (requests_->empty()) return end(ended, success());
    make_request(ended);
  }

 private:
  using Result = std::variant<CallOutcome, ServiceCalls::Next>;

  static void end(const ServiceCalls::Ended& ended, CallOutcome outcome) {
    ended([outcome = std::move(outcome)] { return outcome; });
  }

  void make_request(const ServiceCalls::Ended& ended) {
    auto rendered = mappings::render((*requests_)[index_], scope_);
    if (const auto* refusal = std::get_if<mappings::Refusal>(&rendered)) {
      return end(ended, cleaned(rejection(unmade_request(service_->name, job_->spec->action,
                                                         *requests_, index_, *refusal))));
    }
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - steady_now());
    service_->calls->start(
        lease_,
        mapped_request(service_->settings, *job_, std::get<mappings::Rendered>(std::move(rendered)),
                       index_, left),
        [self = shared_from_this(), ended](HttpResult result) {
          ended([self, result = std::move(result)] { return self->read(result); });
        });
  }

  Result read(const HttpResult& result) {
    auto answer = mappings::read_answer((*requests_)[index_].answer, service_->name, result,
                                        service_->wall_clock(), service_->secrets);
    if (auto* failure = std::get_if<CallOutcome>(&answer)) return std::move(*failure);
    if (!take(std::get<mappings::Done>(std::move(answer))))
      return invalid_answer(service_->name, "answered with more than 256 KiB of properties");
    if (++index_ == requests_->size()) return success();
    return ServiceCalls::Next{[self = shared_from_this()](const ServiceCalls::Ended& ended) {
      self->make_request(ended);
    }};
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
    if (messages_.size() > messages_max) {  // Drops the oldest.
      messages_.erase(messages_.begin(),
                      messages_.end() - static_cast<std::ptrdiff_t>(messages_max));
    }
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
  const cells::SteadyTime deadline_;
  const mappings::Mapping& mapping_;
  mappings::Scope scope_;
  const Requests* requests_ = nullptr;
  std::size_t index_ = 0;  ///< Of the request that is being made.
  cells::Properties properties_;
  std::vector<cells::Message> messages_;
};

}  // namespace

void start_mapped_call(std::shared_ptr<const HttpServiceContext> service,
                       const cells::StartCall& call, ServiceCalls::Ended ended) {
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
  const auto& action = job.spec->action;
  const auto requests = mapping.actions.find(action);
  if (requests == mapping.actions.end()) return unknown_action(service, mapping, action);
  const auto refused = mappings::check_all(requests->second, scope);
  if (!refused) return std::nullopt;
  return unmade_request(service, action, requests->second, refused->index, refused->refusal);
}

}  // namespace celld::providers
