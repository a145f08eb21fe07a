#include "src/providers/pull/kind.hpp"

namespace celld::providers {
namespace {

class PullKind final : public KindOf<PullService> {
 public:
  std::string_view type() const override { return "pull"; }
  bool settles() const override { return true; }
  bool makes_calls() const override { return false; }

  std::string_view schema() const override {
    return R"({
  "description": "Workers outside celld lease the jobs over HTTP.",
  "type": "object",
  "required": ["type"],
  "additionalProperties": false,
  "properties": {
    "type": {"const": "pull"},
    "undo": {
      "description": "Workers also undo steps: such leases have `\"undo\": true`.",
      "type": "object",
      "additionalProperties": false
    },
    "limits": {"$ref": "#/$defs/service_limits"},
    "settle_ms": {"$ref": "#/$defs/settle_ms"}
  }
})";
  }

  std::unique_ptr<Transport> make_transport(const TransportContext&) const override {
    return nullptr;
  }

 private:
  PullService read_settings(json::ObjectReader& reader, const config::Environment&,
                            Faults& faults) const override {
    const json::Value* undo = reader.any("undo");
    if (undo != nullptr) json::ObjectReader(*undo, reader.pointer_of("undo"), faults).finish();
    return {undo != nullptr};
  }

  json::Value show(const PullService& pull) const override {
    auto shown = json::Value::object();
    if (pull.undoes) shown["undo"] = json::Value::object();
    return shown;
  }

  cells::ActionSet undoes(const PullService& pull) const override {
    return cells::ActionSet::all_if(pull.undoes);
  }

  Faults check_machine(const PullService&) const override { return {}; }
};

}  // namespace

const KindOf<PullService>& pull_kind() {
  static const PullKind kind;
  return kind;
}

}  // namespace celld::providers
