// Templates: what their text says, and what each expression gives.
#include "src/providers/http/mapping/template.hpp"

#include <string>

#include "src/providers/http/mapping/value.hpp"
#include "tests/unit/catch.hpp"

namespace celld::providers::mappings {
namespace {

Template parsed(const std::string& text) {
  auto result = parse_template(text);
  if (const auto* fault = std::get_if<std::string>(&result)) FAIL(text << ": " << *fault);
  return std::get<Template>(std::move(result));
}

std::string fault_of(const std::string& text) {
  const auto result = parse_template(text);
  const auto* fault = std::get_if<std::string>(&result);
  return fault == nullptr ? "" : *fault;
}

Scope scope() {
  Scope scope;
  scope.document = json::Value::parse(R"({
    "job": "1m82z1sgm0000", "attempt": 2, "customer": "acme", "product": "dns",
    "action": "create", "entity": {"type": "zone", "id": "Example.com"}, "service": "dns",
    "parameters": {"ttl": 300, "on": true, "nothing": null, "servers": ["ns1", "ns2"], "port": "53",
                   "tags": [1, false, "x"], "a.b": {"c/d": "deep"}, "big": 18446744073709551615},
    "properties": {}})");
  scope.secrets = {{"login", "user:p\u00e4ss"}};
  return scope;
}

/// The value of an expression as JSON, "missing", or why there is none.
std::string value_of(const std::string& expression, const Scope& in = scope()) {
  const auto text = parsed("{{" + expression + "}}");
  const auto evaluated = evaluate(*text.whole(), in);
  if (const auto* found = std::get_if<Found>(&evaluated)) return json::dump(found->value);
  if (const auto* shown = std::get_if<Shown>(&evaluated)) return "shown " + shown->text;
  if (const auto* refusal = std::get_if<Refusal>(&evaluated)) return "refused: " + refusal->text;
  return "missing";
}

std::string name_fault_of(const std::string& expression) {
  return name_fault(*parsed("{{" + expression + "}}").whole(), {"login"});
}

}  // namespace

TEST_CASE("text without braces is a template of itself") {
  CHECK(parsed("").parts.empty());
  REQUIRE(parsed("a } b { c").parts.size() == 1);
  CHECK(std::get<std::string>(parsed("a } b { c").parts[0]) == "a } b { c");
  CHECK(parsed("a } b { c").whole() == nullptr);
}

TEST_CASE("expressions stand between literal texts") {
  const auto text = parsed("/zones/{{ entity.id }}./{{parameters.x|lower}}");
  REQUIRE(text.parts.size() == 4);
  CHECK(std::get<std::string>(text.parts[0]) == "/zones/");
  CHECK(std::get<Expression>(text.parts[1]).path == Path{"entity", "id"});
  CHECK(std::get<std::string>(text.parts[2]) == "./");
  CHECK(std::get<Expression>(text.parts[3]).has(FilterKind::lower));
  CHECK(text.whole() == nullptr);
  CHECK(parsed("{{job}}").whole() != nullptr);
}

TEST_CASE("an expression has the value at its path, with its type") {
  CHECK(value_of("parameters.ttl") == "300");
  CHECK(value_of("attempt") == "2");
  CHECK(value_of("parameters.on") == "true");
  CHECK(value_of("parameters.nothing") == "null");
  CHECK(value_of("parameters.servers") == R"(["ns1","ns2"])");
  CHECK(value_of("parameters.servers.1") == R"("ns2")");
  CHECK(value_of("parameters.servers.2") == "missing");
  CHECK(value_of("parameters.servers.01") == "missing");
  CHECK(value_of("parameters.ttl.x") == "missing");
  CHECK(value_of("entity.subtype") == "missing");
  CHECK(value_of("parameters.big") == "18446744073709551615");
}

TEST_CASE("a name that dots cannot write is a JSON Pointer") {
  CHECK(value_of("/parameters/a.b/c~1d") == R"("deep")");
  CHECK(value_of("/parameters/a.b/c~1d|upper") == R"("DEEP")");
  CHECK(fault_of("{{/parameters/~2}}") == "has the malformed name `/parameters/~2`");
}

TEST_CASE("a constant in quotes is a text") {
  CHECK(value_of("'{{'") == R"("{{")");
  CHECK(value_of(R"('it\'s \\')") == R"("it's \\")");
  CHECK(value_of("'a|b}}'") == R"("a|b}}")");
}

TEST_CASE("filters change a value, one after another") {
  CHECK(value_of("entity.id | lower") == R"("example.com")");
  CHECK(value_of("entity.id | upper | lower") == R"("example.com")");
  CHECK(value_of("parameters.ttl | string") == R"("300")");
  CHECK(value_of("parameters.on | string") == R"("true")");
  CHECK(value_of("parameters.port | number") == "53");
  CHECK(value_of("entity.id | number") == "refused: `entity.id` is not a number");
  CHECK(value_of("parameters.servers | json") == R"("[\"ns1\",\"ns2\"]")");
  CHECK(value_of("parameters.tags | join ', '") == R"("1, false, x")");
  CHECK(value_of("parameters.ttl | join ','") == "refused: `parameters.ttl` is not an array");
  CHECK(value_of("secrets.login | base64") == R"("dXNlcjpww6Rzcw==")");
  CHECK(value_of("parameters.servers | lower") ==
        "refused: `parameters.servers` is an array, not a string, a number or a boolean");
}

TEST_CASE("an empty element is joined like any other") {
  auto in = scope();
  in.document["parameters"]["tags"] = {"", "x", ""};
  CHECK(value_of("parameters.tags | join ','", in) == R"(",x,")");
}

TEST_CASE("base64 pads to whole groups") {
  CHECK(value_of("'' | base64") == R"("")");
  CHECK(value_of("'f' | base64") == R"("Zg==")");
  CHECK(value_of("'fo' | base64") == R"("Zm8=")");
  CHECK(value_of("'foo' | base64") == R"("Zm9v")");
}

TEST_CASE("a default replaces what is missing or null, and nothing else") {
  CHECK(value_of("parameters.gone | default 60") == "60");
  CHECK(value_of("parameters.nothing | default 'x'") == R"("x")");
  CHECK(value_of("parameters.gone | default true") == "true");
  CHECK(value_of("parameters.ttl | default 60") == "300");
  CHECK(value_of("parameters.gone | lower | default 'A'") == R"("A")");
  CHECK(value_of("parameters.gone | default 'A' | lower") == R"("a")");
  CHECK(value_of("parameters.gone | optional") == "missing");
}

TEST_CASE("a property of an earlier answer is shown by its stand-in") {
  auto in = scope();
  in.stand_ins = {{"id", "ANSWER-1-id"}};
  CHECK(value_of("properties.id | number", in) == "shown ANSWER-1-id");
  CHECK(value_of("properties.other", in) == "missing");
}

TEST_CASE("secrets can be masked") {
  auto in = scope();
  in.mask_secrets = true;
  CHECK(value_of("secrets.login | base64", in) == "shown ***");
  CHECK(value_of("customer", in) == R"("acme")");
}

TEST_CASE("a template that is not well-formed has a fault that says why") {
  CHECK(fault_of("a {{ b") == "has `{{` without `}}`");
  CHECK(fault_of("{{job}") == "must have `|` or `}}` before `}`");
  CHECK(fault_of("{{}}") == "must have a name before `}`");
  CHECK(fault_of("{{ job customer }}") == "must have `|` or `}}` before `c`");
  CHECK(fault_of("{{entity..id}}") == "has the malformed name `entity..id`");
  CHECK(fault_of("{{entity.}}") == "has the malformed name `entity.`");
  CHECK(fault_of("{{'a}}") == "has a string without its closing quote");
  CHECK(fault_of("{{job | default }}").starts_with("must have a number, true, false, null or"));
  CHECK(fault_of("{{job | default {} }}").starts_with("must have a number, true, false, null or"));
  CHECK(fault_of("{{job | join 3}}") == "must have a string in single quotes after `join`");
  CHECK(fault_of("{{job | shout}}").starts_with("has an unknown filter `shout`; the filters are"));
  CHECK(fault_of("{{job | }}").starts_with("has an unknown filter before `}`"));
  CHECK(fault_of("{{job").starts_with("has `{{` without"));
}

TEST_CASE("names that no job has are unknown") {
  for (const char* name : {"job", "attempt", "customer", "product", "action", "service", "entity",
                           "entity.id", "entity.type", "entity.subtype", "parameters",
                           "parameters.any.thing", "properties.x", "secrets.login", "'constant'"}) {
    INFO(name);
    CHECK(name_fault_of(name).empty());
  }
  for (const char* name : {"jobs", "job.id", "entity.name", "entity.id.x", "labels.x", "secrets",
                           "secrets.login.x", "secrets.other"}) {
    INFO(name);
    CHECK_FALSE(name_fault_of(name).empty());
  }
}

}  // namespace celld::providers::mappings
