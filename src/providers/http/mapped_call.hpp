// The requests of a mapping, made one after another for one attempt.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/providers/call_provider.hpp"
#include "src/providers/http/call_queue.hpp"
#include "src/providers/http/mapping/value.hpp"
#include "src/providers/http/outage.hpp"
#include "src/providers/http/settings.hpp"

namespace celld::providers {

/// What every call of one service uses. Immutable.
struct HttpServiceContext {
  std::string name;
  HttpService settings;
  std::vector<std::string> secrets;  ///< To be blanked in texts.
  std::shared_ptr<HttpCallQueue> calls;
  WallClock wall_clock;
  std::shared_ptr<Outages> outages;
};

/// Makes the requests of the job's action, or those that undo it. All of them share the timeout of
/// the call. A job is rejected before the first request if the mapping cannot express it, or if the
/// job asks for compensation and the mapping cannot express its undo. The call ends with the first
/// request that fails, or succeeds with the properties and messages of all. After a request that
/// begins an operation, the call ends `pending`; later calls poll the operation and continue.
void start_mapped_call(std::shared_ptr<const HttpServiceContext> service,
                       const cells::StartCall& call, const ServiceCalls::Ended& ended);

/// What expressions in the mapping refer to.
mappings::Scope scope_of(const mappings::Mapping& mapping, const cells::Job& job);

/// The requests of the job's action, or those that undo it if the job compensates; null: the
/// mapping has none.
const std::vector<mappings::Request>* find_requests(const mappings::Mapping& mapping,
                                                    const cells::Job& job);

/// Nothing if the mapping can express the job. Otherwise a sentence.
std::optional<std::string> refusal_of(const std::string& service, const mappings::Mapping& mapping,
                                      const cells::Job& job, const mappings::Scope& scope);

/// Why the mapping cannot express the undo of a job that asks for compensation, as a sentence.
/// Nothing if it can, or if it has no undo of the action, which a reload may add. Assumes that
/// answers will set every property that the undo needs.
std::optional<std::string> refusal_of_undo(const std::string& service,
                                           const mappings::Mapping& mapping, const cells::Job& job);

}  // namespace celld::providers
