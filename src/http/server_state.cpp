#include "src/http/server_state.hpp"

#include <algorithm>
#include <string_view>

#include "src/http/text.hpp"

namespace celld::http {
namespace {

void add_field_if_absent(Response& response, std::string_view name, std::string value) {
  const bool present =
      std::any_of(response.headers.begin(), response.headers.end(),
                  [&](const auto& field) { return equal_ignoring_case(field.first, name); });
  if (!present) response.headers.emplace_back(name, std::move(value));
}

}  // namespace

Response ServerState::refusal(int status, std::string detail, std::string allow) const {
  Response response;
  try {
    response = refuse(status, std::move(detail), allow);
  } catch (...) {
    response = Response{status, "text/plain", {}, {}};
  }
  if (status == 405) add_field_if_absent(response, "Allow", std::move(allow));
  if (status == 503) add_field_if_absent(response, "Retry-After", "1");
  return response;
}

void ServerState::use_tls(std::shared_ptr<const TlsContext> context) {
  const std::lock_guard lock(tls_mutex_);
  tls_ = std::move(context);
  tls_used_.store(tls_ != nullptr);
}

std::shared_ptr<const TlsContext> ServerState::tls() const {
  if (!tls_used_.load()) return nullptr;
  const std::lock_guard lock(tls_mutex_);
  return tls_;
}

}  // namespace celld::http
