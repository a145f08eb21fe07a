#include "src/providers/http/provider.hpp"

#include <utility>
#include <vector>

#include "src/providers/http/document.hpp"
#include "src/providers/http/outcome.hpp"
#include "src/providers/secrets.hpp"

namespace celld::providers {
namespace {

class HttpServiceCalls : public ServiceCalls,
                         public std::enable_shared_from_this<HttpServiceCalls> {
 public:
  HttpServiceCalls(std::string name, HttpService service, std::shared_ptr<HttpCallQueue> calls,
                   WallClock wall_clock)
      : name_(std::move(name)),
        service_(std::move(service)),
        secrets_(secrets_of(service_.headers)),
        calls_(std::move(calls)),
        wall_clock_(std::move(wall_clock)) {}

  void start(const cells::StartCall& call, std::function<void(Outcome)> ended) const override {
    calls_->start(call.lease, call_request(service_, call),
                  [self = shared_from_this(), ended = std::move(ended)](HttpResult result) {
                    ended([self, result = std::move(result)] {
                      return interpret(self->name_, result, self->wall_clock_(), self->secrets_);
                    });
                  });
  }

 private:
  const std::string name_;
  const HttpService service_;
  const std::vector<std::string> secrets_;
  const std::shared_ptr<HttpCallQueue> calls_;
  const WallClock wall_clock_;
};

}  // namespace

cells::Provider spawn_http_provider(caf::actor_system& system, std::string name,
                                    HttpService service, std::shared_ptr<HttpCallQueue> calls,
                                    AbortByLease abort_by_lease, WallClock wall_clock) {
  return spawn_call_provider(
      system,
      std::make_shared<HttpServiceCalls>(std::move(name), std::move(service), std::move(calls),
                                         std::move(wall_clock)),
      std::move(abort_by_lease));
}

}  // namespace celld::providers
