// A kind of provider, such as `http`: how its services are configured, and how their calls are made
// and aborted. Each kind is a module in a directory of its own; kinds.cpp lists them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cells/ports/provider.hpp"
#include "src/config/service_kind.hpp"
#include "src/help_actors.hpp"
#include "src/providers/call_provider.hpp"
#include "src/providers/open_aborts.hpp"

namespace celld::providers {

/// What a transport may use of the daemon around it.
struct TransportContext {
  WallClock wall_clock;
  /// A file that celld has locked. The next celld starts once all copies of this descriptor are
  /// closed, so a process that outlives celld must hold one while it makes calls. -1: none.
  int lock = -1;
  HelpActors help_actors{};  ///< May be null.
};

/// Makes the calls of all services of one kind. The providers that it starts may outlive it; their
/// calls then end `aborted`.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Starts the provider of a service. `settings` are of this transport's kind. The provider leaves
  /// aborts of calls that it does not know to `abort_by_lease`.
  virtual cells::Provider spawn(caf::actor_system& system, const std::string& name,
                                const config::ServiceSettings& settings,
                                AbortByLease abort_by_lease) const = 0;

  /// Aborts calls that this transport makes. May outlive the transport.
  virtual AbortByLease aborts() const = 0;
};

class ProviderKind : public config::ServiceKind {
 public:
  /// Null for a kind that makes no calls.
  virtual std::unique_ptr<Transport> make_transport(const TransportContext& context) const = 0;
};

/// A kind whose services have settings of type `Settings`, a value with operator==. Derive from it;
/// the pure virtual functions are what a new kind has to define.
template <class Settings>
class KindOf : public ProviderKind {
 public:
  using Faults = std::vector<json::Fault>;

  /// The settings of a service of this kind, for its transport.
  static const Settings& get(const config::ServiceSettings& settings) {
    return dynamic_cast<const Held&>(settings).values;
  }

  std::shared_ptr<const config::ServiceSettings> hold(Settings settings) const {
    return std::make_shared<Held>(*this, std::move(settings));
  }

  std::shared_ptr<const config::ServiceSettings> read(json::ObjectReader& reader,
                                                      const config::Environment& environment,
                                                      Faults& faults) const final {
    return hold(read_settings(reader, environment, faults));
  }

 private:
  /// As ServiceKind::read.
  virtual Settings read_settings(json::ObjectReader& reader, const config::Environment& environment,
                                 Faults& faults) const = 0;
  /// As ServiceSettings::show.
  virtual json::Value show(const Settings& settings) const = 0;
  /// As ServiceSettings::undoes.
  virtual cells::ActionSet undoes(const Settings& settings) const = 0;
  /// As ServiceSettings::check_machine.
  virtual Faults check_machine(const Settings& settings) const = 0;

  struct Held final : config::ServiceSettings {
    Held(const KindOf& of, Settings read) : kind_of(of), values(std::move(read)) {}

    const config::ServiceKind& kind() const override { return kind_of; }
    bool equals(const config::ServiceSettings& other) const override {
      const auto* same_kind = dynamic_cast<const Held*>(&other);
      return same_kind != nullptr && same_kind->values == values;
    }
    json::Value show() const override { return kind_of.show(values); }
    cells::ActionSet undoes() const override { return kind_of.undoes(values); }
    Faults check_machine() const override { return kind_of.check_machine(values); }

    const KindOf& kind_of;
    const Settings values;
  };
};

}  // namespace celld::providers
