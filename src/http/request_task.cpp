#include "src/http/request_task.hpp"

#include <cstddef>
#include <utility>

#include <malloc.h>

#include "src/http/release.hpp"

namespace celld::http {
namespace {

/// What a handler makes of a body takes many times its size. The allocator keeps that for the
/// thread that has freed it, and the next large body may come to another: so it is given back.
constexpr std::size_t large_body_bytes = 128 << 10;

}  // namespace

RequestTask::RequestTask(const ServerState& state, Request request, std::string match_path)
    : state_(state), request_(std::move(request)), match_path_(std::move(match_path)) {}

void RequestTask::set_exchange(std::shared_ptr<Responder::Exchange> exchange) {
  exchange_ = std::move(exchange);
}

void RequestTask::run() noexcept {
  // This copy goes when the function returns: an answer that nobody kept the right to give is a
  // 500.
  const auto exchange = std::move(exchange_);
  if (!exchange->connected()) return;
  try {
    auto found = state_.endpoints.find(request_.method, match_path_);
    if (found.handler != nullptr) {
      exchange->serve(found.endpoint);
      request_.captures = std::move(found.captures);
      (*found.handler)(request_, Responder(exchange));
    } else if (found.status == 405) {
      exchange->refuse(405, "the method is not allowed here", std::move(found.allow));
    } else {
      exchange->refuse(found.status, "there is nothing at this path");
    }
  } catch (...) {  // What was thrown may hold anything, and is told to nobody.
    exchange->refuse(500, "the request failed");
  }
  if (request_.body.size() >= large_body_bytes) {
    release(request_.body);
    ::malloc_trim(0);
  }
}

}  // namespace celld::http
