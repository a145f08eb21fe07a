#include "src/providers/simulated/kind.hpp"

#include <memory>
#include <utility>

#include "src/providers/simulated/provider.hpp"

namespace celld::providers {
namespace {

using Faults = std::vector<json::Fault>;

constexpr std::int64_t latency_ms_max = 3'600'000;

void read_latency(const json::Value& value, std::string pointer, SimulatedService& simulated,
                  Faults& faults) {
  json::ObjectReader reader(value, std::move(pointer), faults);
  reader.require({"min", "max"});
  const auto min = reader.integer("min", 0, latency_ms_max);
  const auto max = reader.integer("max", 0, latency_ms_max);
  reader.finish();
  if (!min || !max) return;
  if (*min > *max) reader.fault("min", "must not be more than `max`");
  simulated.latency_min = cells::milliseconds(*min);
  simulated.latency_max = cells::milliseconds(*max);
}

/// Makes no calls outside its providers, so there is nothing to abort.
class Simulations final : public Transport {
 public:
  cells::Provider spawn(caf::actor_system& system, const std::string& name,
                        const config::ServiceSettings& settings,
                        AbortByLease abort_by_lease) const override {
    return spawn_simulated_provider(system, name, KindOf<SimulatedService>::get(settings),
                                    std::move(abort_by_lease));
  }

  AbortByLease aborts() const override {
    return [](const cells::Lease&, const std::function<void()>& gone) { gone(); };
  }
};

class SimulatedKind final : public KindOf<SimulatedService> {
 public:
  std::string_view type() const override { return "simulated"; }
  bool settles() const override { return false; }

  std::string_view schema() const override {
    return R"({
  "description": "Simulates a provider, for demonstrations, tests and benchmarks.",
  "type": "object",
  "required": ["type"],
  "additionalProperties": false,
  "properties": {
    "type": {"const": "simulated"},
    "latency_ms": {
      "description": "How long an attempt takes, uniformly distributed.",
      "type": "object",
      "required": ["min", "max"],
      "additionalProperties": false,
      "properties": {
        "min": {"type": "integer", "minimum": 0, "maximum": 3600000},
        "max": {"type": "integer", "minimum": 0, "maximum": 3600000}
      }
    },
    "failure_rate": {
      "description": "The share of attempts that fail and may be retried.",
      "type": "number",
      "minimum": 0,
      "maximum": 1,
      "default": 0
    },
    "seed": {"type": "integer", "minimum": 0, "maximum": 9223372036854775807, "default": 0},
    "undo": {
      "description": "Simulates undos, too.",
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "failure_rate": {
          "description": "The share of attempts to undo that fail and may be retried; that of the service unless set.",
          "type": "number",
          "minimum": 0,
          "maximum": 1
        }
      }
    },
    "limits": {"$ref": "#/$defs/service_limits"},
    "circuit": {"$ref": "#/$defs/circuit"}
  }
})";
  }

  std::unique_ptr<Transport> make_transport(const TransportContext&) const override {
    return std::make_unique<Simulations>();
  }

 private:
  SimulatedService read_settings(json::ObjectReader& reader, const config::Environment&,
                                 Faults& faults) const override {
    SimulatedService simulated;
    if (const json::Value* latency = reader.any("latency_ms"))
      read_latency(*latency, reader.pointer_of("latency_ms"), simulated, faults);
    if (const auto rate = reader.number("failure_rate", 0, 1)) simulated.failure_rate = *rate;
    if (const auto seed = reader.integer("seed", 0, INT64_MAX))
      simulated.seed = static_cast<std::uint64_t>(*seed);
    if (const json::Value* undo = reader.any("undo")) {
      json::ObjectReader of_undo(*undo, reader.pointer_of("undo"), faults);
      simulated.undo_failure_rate =
          of_undo.number("failure_rate", 0, 1).value_or(simulated.failure_rate);
      of_undo.finish();
    }
    return simulated;
  }

  json::Value show(const SimulatedService& simulated) const override {
    json::Value shown{
        {"latency_ms",
         {{"min", simulated.latency_min.count()}, {"max", simulated.latency_max.count()}}},
        {"failure_rate", simulated.failure_rate},
        {"seed", simulated.seed}};
    if (simulated.undo_failure_rate)
      shown["undo"] = {{"failure_rate", *simulated.undo_failure_rate}};
    return shown;
  }

  cells::ActionSet undoes(const SimulatedService& simulated) const override {
    return cells::ActionSet::all_if(simulated.undo_failure_rate.has_value());
  }

  Faults check_machine(const SimulatedService&) const override { return {}; }
};

}  // namespace

const KindOf<SimulatedService>& simulated_kind() {
  static const SimulatedKind kind;
  return kind;
}

}  // namespace celld::providers
