#include "tests/bench/leases.hpp"

#include <nlohmann/json.hpp>

#include "tests/bench/http_wire.hpp"

namespace celld::bench {
namespace {

constexpr std::string_view lease_member = R"("lease":")";

}  // namespace

std::string lease_request(std::string_view service, const std::string& worker, std::size_t max,
                          std::size_t wait_ms) {
  const nlohmann::json body = {{"worker", worker}, {"max", max}, {"wait_ms", wait_ms}};
  return request_text("POST", "/v1/services/" + std::string(service) + "/leases", body.dump());
}

std::vector<std::string_view> leases_of(std::string_view answer) {
  std::vector<std::string_view> names;
  for (auto at = answer.find(lease_member); at != std::string_view::npos;
       at = answer.find(lease_member, at)) {
    at += lease_member.size();
    names.push_back(answer.substr(at, answer.find('"', at) - at));
  }
  return names;
}

std::string completion(const std::vector<std::string_view>& leases) {
  if (leases.size() == 1) {
    return request_text("POST", "/v1/leases/" + std::string(leases.front()) + "/complete", "{}");
  }
  std::string body = "[";
  for (const auto& lease : leases) {
    if (body.size() > 1) body += ',';
    body.append(R"({"lease":")").append(lease).append(R"(","outcome":"complete"})");
  }
  return request_text("POST", "/v1/leases/report", body += ']');
}

}  // namespace celld::bench
