#include "cells/model/durability.hpp"

#include "cells/model/routing.hpp"
#include "tests/unit/catch.hpp"

using namespace cells;

namespace {

CellRule rule(std::string customer, std::string product, Durability durability) {
  CellRule made;
  made.customer = std::move(customer);
  made.product = std::move(product);
  made.settings.durability = durability;
  return made;
}

constexpr auto disk = Durability::disk;
constexpr auto memory = Durability::memory;

}  // namespace

TEST_CASE("the kinds of durability have names") {
  CHECK(to_string(disk) == "disk");
  CHECK(to_string(memory) == "memory");
  CHECK(parse_durability("memory") == memory);
  CHECK(parse_durability("disk") == disk);
  CHECK_FALSE(parse_durability("tape"));
}

TEST_CASE("jobs may stay as they are if both their cell and their route keep them so") {
  const Routing routing{{rule("acme", "*", memory), rule("*", "*", disk)}};
  CHECK(conflicting_rule(routing, {"acme", "*"}, "acme", "dns", memory) == nullptr);
  CHECK(conflicting_rule(routing, {"*", "*"}, "bolt", "dns", disk) == nullptr);
}

TEST_CASE("jobs conflict with the rule of the cell that they are routed to") {
  const Routing routing{{rule("acme", "*", memory), rule("*", "*", disk)}};
  const auto* found = conflicting_rule(routing, {"*", "*"}, "acme", "dns", disk);
  REQUIRE(found != nullptr);
  CHECK(found->customer == "acme");
  found = conflicting_rule(routing, {"gone", "*"}, "gone", "dns", memory);
  REQUIRE(found != nullptr);
  CHECK(found->customer == "*");
}

TEST_CASE("jobs conflict with the rule of the cell that they are still in") {
  const Routing routing{{rule("acme", "dns", disk), rule("*", "dns", memory)}};
  const auto* found = conflicting_rule(routing, {"*", "dns"}, "acme", "dns", disk);
  REQUIRE(found != nullptr);
  CHECK(found->customer == "*");
}

TEST_CASE("jobs that no rule names stay as they are") {
  const Routing routing{{rule("acme", "*", memory)}};
  CHECK(conflicting_rule(routing, {"bolt", "*"}, "bolt", "dns", disk) == nullptr);
  CHECK(conflicting_rule(routing, {"bolt", "*"}, "bolt", "dns", memory) == nullptr);
}

TEST_CASE("a template's instances are kept as it says") {
  auto made = rule("*", "mail", memory);
  made.per_customer = true;
  const Routing routing{{made, rule("*", "*", disk)}};
  CHECK(conflicting_rule(routing, {"acme", "mail"}, "acme", "mail", memory) == nullptr);
  CHECK(conflicting_rule(routing, {"acme", "mail"}, "acme", "mail", disk) != nullptr);
  CHECK(keeps_in_memory(routing));
  CHECK_FALSE(keeps_in_memory(Routing{{rule("*", "*", disk)}}));
}
