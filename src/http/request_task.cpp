#include "src/http/request_task.hpp"

#include <cstddef>
#include <utility>

#include "src/allocator.hpp"
#include "src/http/release.hpp"

namespace celld::http {
namespace {

/// A parsed body takes many times the memory of the body itself. The allocator would keep it for a
/// while, and clients with one large body after another would add up. So after a body of this size
/// the memory is returned to the system.
constexpr std::size_t large_body_bytes = 128 << 10;

}  // namespace

RequestTask::RequestTask(const ServerState& state, Request request, std::string match_path)
    : state_(state), request_(std::move(request)), match_path_(std::move(match_path)) {}

void RequestTask::set_exchange(std::shared_ptr<Responder::Exchange> exchange) {
  exchange_ = std::move(exchange);
}

void RequestTask::run() noexcept {
  // This copy is destroyed on return: if the handler has neither answered nor kept a Responder, the
  // client gets a 500.
  const auto exchange = std::move(exchange_);
  if (!exchange->connected()) return;
  try {
    auto found = state_.endpoints.find(request_.method, match_path_);
    if (found.handler != nullptr) {
      exchange->serve(found.endpoint);
      request_.captures = std::move(found.captures);
      (*found.handler)(request_, Responder(exchange));
    } else if (found.status == 405) {
      exchange->refuse(405, "The path does not support this method.", std::move(found.allow));
    } else {
      exchange->refuse(found.status, "There is nothing at this path.");
    }
  } catch (...) {  // The exception may contain anything, so it is not reported.
    exchange->refuse(500, "The request failed.");
  }
  if (request_.body.size() >= large_body_bytes) {
    release(request_.body);
    return_free_memory_of_thread();
  }
}

}  // namespace celld::http
