// The list of kinds of providers, and what a kind of its own needs.
#include "src/providers/transports.hpp"

#include <atomic>
#include <chrono>
#include <set>
#include <string>

#include "src/providers/kinds.hpp"
#include "src/providers/simulated/kind.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/providers/call_fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;

struct EchoService {
  std::string text;

  bool operator==(const EchoService&) const = default;
};

/// How many aborts the transports of Echo were asked for.
std::atomic<int> aborts_at_echo = 0;

/// Succeeds at once, with the configured text as a property.
class Echo final : public Transport {
 public:
  cells::Provider spawn(caf::actor_system& system, const std::string& name,
                        const config::ServiceSettings& settings, AbortByLease) const override {
    const auto echo = [](const std::string& property, const std::string& text) {
      return cells::Provider::behavior_type{
          [property, text](const cells::StartCall& call) -> caf::result<cells::CallEnded> {
            cells::CallOutcome outcome;
            outcome.kind = cells::CallOutcome::Kind::succeeded;
            outcome.properties[property] = text;
            return cells::CallEnded{call.lease, outcome};
          },
          [](const cells::AbortCall& abort) -> caf::result<cells::CallAborted> {
            return cells::CallAborted{abort.lease};
          }};
    };
    return system.spawn(echo, name, KindOf<EchoService>::get(settings).text);
  }
  AbortByLease aborts() const override {
    return [](const cells::Lease&, const std::function<void()>& gone) {
      ++aborts_at_echo;
      gone();
    };
  }
};

class EchoKind final : public KindOf<EchoService> {
 public:
  std::string_view type() const override { return "echo"; }
  bool settles() const override { return true; }
  std::string_view schema() const override { return "{}"; }
  std::unique_ptr<Transport> make_transport(const TransportContext&) const override {
    return std::make_unique<Echo>();
  }

 private:
  EchoService read_settings(json::ObjectReader& reader, const config::Environment&,
                            Faults&) const override {
    return {reader.string("text").value_or("null")};
  }
  json::Value show(const EchoService& echo) const override { return {{"text", echo.text}}; }
  cells::ActionSet undoes(const EchoService&) const override { return {}; }
  Faults check_machine(const EchoService&) const override { return {}; }
};

}  // namespace

TEST_CASE("no two kinds have the same type") {
  std::set<std::string_view> types;
  for (const auto* kind : kinds()) CHECK(types.insert(kind->type()).second);
}

TEST_CASE("a kind's schema has the members that are read for it elsewhere") {
  for (const auto* kind : kinds()) {
    const auto members = json::Value::parse(kind->schema()).at("properties");
    CHECK(members.contains("settle_ms") == kind->settles());
    CHECK(members.contains("circuit") == kind->makes_calls());
  }
}

TEST_CASE("services of different kinds never have equal settings") {
  std::vector<std::shared_ptr<const config::ServiceSettings>> all;
  const config::Environment nothing{
      [](const std::string&) { return std::nullopt; },
      [](const std::string&) { return config::FileText{.fault = "cannot be read"}; }};
  for (const auto* kind : kinds()) {
    std::vector<json::Fault> faults;
    const json::Value empty = json::Value::object();
    json::ObjectReader reader(empty, "", faults);
    all.push_back(kind->read(reader, nothing, faults));
  }
  for (const auto& one : all) {
    for (const auto& other : all) CHECK(one->equals(*other) == (one == other));
  }
}

TEST_CASE("a kind that is in the list can be configured, shown and called") {
  const EchoKind echo;
  auto every_kind = kinds();
  every_kind.push_back(&echo);
  const auto outcome = config::parse_config(
      R"({"cells":[],"services":{"said":{"type":"echo","text":"\"hello\"","settle_ms":5}}})",
      {every_kind.begin(), every_kind.end()}, config::process_environment());
  const auto& service = std::get<config::Config>(outcome).services.front();
  CHECK(service.settle == 5ms);
  CHECK(service.settings->show() == json::Value{{"text", "\"hello\""}});

  caf::actor_system_config config;
  caf::actor_system system(config);
  const Transports transports(every_kind, {[] { return cells::WallTime{}; }, -1});
  const auto provider = transports.spawn(system, service);
  caf::scoped_actor self(system);
  self->request(provider, 20s, test::make_call({1, 1}, test::make_job(1, {"said"})))
      .receive(
          [](const cells::CallEnded& ended) {
            CHECK(ended.outcome.properties.at("said") == "\"hello\"");
          },
          [](const caf::error&) { FAIL("no answer"); });
}

TEST_CASE("a provider aborts the calls of its predecessor, whatever kind that was of") {
  const EchoKind echo;
  auto every_kind = kinds();
  every_kind.push_back(&echo);
  const config::Service service{"said", {}, simulated_kind().hold({})};
  caf::actor_system_config config;
  caf::actor_system system(config);
  const Transports transports(every_kind, {[] { return cells::WallTime{}; }, -1});
  const auto provider = transports.spawn(system, service);
  caf::scoped_actor self(system);
  const int before = aborts_at_echo;
  self->request(provider, 20s, cells::AbortCall{{1, 1}})
      .receive([](const cells::CallAborted&) {},
               [](const caf::error&) { FAIL("no confirmation"); });
  CHECK(aborts_at_echo == before + 1);
}

TEST_CASE("a type that no kind has is refused with those that exist") {
  const auto outcome = config::parse_config(R"({"cells":[],"services":{"x":{"type":"grpc"}}})",
                                            service_kinds(), config::process_environment());
  const auto& faults = std::get<std::vector<json::Fault>>(outcome);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].pointer == "/services/x/type");
  for (const auto& kind : service_kinds()) {
    CHECK(faults[0].detail.find('"' + std::string(kind->type()) + '"') != std::string::npos);
  }
}

}  // namespace celld::providers
