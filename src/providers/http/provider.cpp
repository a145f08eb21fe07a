#include "src/providers/http/provider.hpp"

#include <utility>
#include <vector>

#include "src/providers/http/document.hpp"
#include "src/providers/http/mapped_call.hpp"
#include "src/providers/http/outcome.hpp"
#include "src/providers/secrets.hpp"
#include "src/providers/steady_now.hpp"

namespace celld::providers {
namespace {

class HttpServiceCalls : public ServiceCalls {
 public:
  explicit HttpServiceCalls(std::shared_ptr<const HttpServiceContext> service)
      : service_(std::move(service)) {}

  void start(const cells::StartCall& call, Ended ended) const override {
    if (service_->settings.mapping) return start_mapped_call(service_, call, ended);
    service_->calls->start(call.lease, call_request(service_->settings, call),
                           [service = service_, ended = std::move(ended)](HttpResult result) {
                             ended([service, result = std::move(result)] {
                               return interpret(service->name, result, service->wall_clock(),
                                                service->secrets);
                             });
                           });
  }

 private:
  const std::shared_ptr<const HttpServiceContext> service_;
};

std::vector<std::string> all_secrets_of(const HttpService& service) {
  auto secrets = secrets_of(service.headers);
  if (!service.mapping) return secrets;
  for (auto& secret : secrets_of(service.mapping->secrets)) secrets.push_back(std::move(secret));
  for (const auto& secret : service.mapping->derived_secrets) secrets.push_back(secret);
  return secrets;
}

}  // namespace

cells::Provider spawn_http_provider(caf::actor_system& system, std::string name,
                                    HttpService service, std::shared_ptr<HttpCallQueue> calls,
                                    AbortByLease abort_by_lease, WallClock wall_clock) {
  auto secrets = all_secrets_of(service);
  auto shared = std::make_shared<const HttpServiceContext>(
      HttpServiceContext{std::move(name), std::move(service), std::move(secrets), std::move(calls),
                         std::move(wall_clock), std::make_shared<Outages>(steady_now())});
  return spawn_call_provider(system, std::make_shared<HttpServiceCalls>(std::move(shared)),
                             std::move(abort_by_lease));
}

}  // namespace celld::providers
