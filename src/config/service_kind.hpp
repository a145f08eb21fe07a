// What the configuration knows about the kinds of providers. Each kind is a module in
// src/providers, and reads its own services.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/action_set.hpp"
#include "src/config/secrets.hpp"
#include "src/json/json.hpp"

namespace celld::config {

class ServiceKind;

/// What a kind has read of one service. Immutable.
class ServiceSettings {
 public:
  virtual ~ServiceSettings() = default;

  virtual const ServiceKind& kind() const = 0;
  /// Whether `other`, of any kind, has equal settings.
  virtual bool equals(const ServiceSettings& other) const = 0;
  /// The members as in the file, with defaults, and without a secret.
  virtual json::Value show() const = 0;
  /// The actions that the service can undo.
  virtual cells::ActionSet undoes() const = 0;
  /// What is wrong on this machine, such as a program that does not exist. The pointers start at
  /// the service.
  virtual std::vector<json::Fault> check_machine() const = 0;
};

/// How a kind of provider reads the services of its type. The members that do not depend on the
/// kind (`type`, `settle_ms`, `limits` and `circuit`) are read elsewhere.
class ServiceKind {
 public:
  virtual ~ServiceKind() = default;

  /// The value of the member `type`.
  virtual std::string_view type() const = 0;
  /// Whether its services have the member `settle_ms`.
  virtual bool settles() const = 0;
  /// False: workers outside celld lease the jobs of its services, and celld makes no calls.
  virtual bool makes_calls() const { return true; }
  /// A JSON Schema, as text, of the members that this kind reads.
  virtual std::string_view schema() const = 0;
  /// Reads the members. Returns usable settings, whether or not it records faults.
  virtual std::shared_ptr<const ServiceSettings> read(json::ObjectReader& reader,
                                                      const Environment& environment,
                                                      std::vector<json::Fault>& faults) const = 0;
};

/// In the order of the documentation.
using ServiceKinds = std::vector<const ServiceKind*>;

}  // namespace celld::config
