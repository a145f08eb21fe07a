#include "src/providers/transports.hpp"

#include <atomic>
#include <functional>
#include <utility>

namespace celld::providers {

AbortByLease abort_through(std::vector<AbortByLease> transports) {
  return
      [transports = std::move(transports)](const cells::Lease& lease, std::function<void()> gone) {
        const auto gone_from_one =
            [gone = std::move(gone),
             left = std::make_shared<std::atomic<std::size_t>>(transports.size())] {
              if (--*left == 0) gone();
            };
        for (const auto& abort : transports) abort(lease, gone_from_one);
      };
}

Transports::Transports(const std::vector<const ProviderKind*>& kinds,
                       const TransportContext& context) {
  for (const ProviderKind* kind : kinds) {
    if (auto transport = kind->make_transport(context)) {
      by_kind_.emplace(kind, std::move(transport));
    }
  }
}

cells::Provider Transports::spawn(caf::actor_system& system, const config::Service& service) const {
  std::vector<AbortByLease> aborts;
  for (const auto& [kind, transport] : by_kind_) aborts.push_back(transport->aborts());
  return by_kind_.at(&service.settings->kind())
      ->spawn(system, service.name, *service.settings, abort_through(std::move(aborts)));
}

}  // namespace celld::providers
