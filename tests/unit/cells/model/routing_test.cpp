#include "cells/model/routing.hpp"

#include "tests/unit/catch.hpp"

using namespace cells;

namespace {

CellRule rule(std::string customer, std::string product) {
  CellRule made;
  made.customer = std::move(customer);
  made.product = std::move(product);
  return made;
}

CellRule template_rule(std::string customer, std::string product, bool per_customer,
                       bool per_product) {
  CellRule made = rule(std::move(customer), std::move(product));
  made.per_customer = per_customer;
  made.per_product = per_product;
  return made;
}

/// The name of the cell; "none" if no rule matches.
std::string cell_for(const Routing& routing, const std::string& customer,
                     const std::string& product) {
  const auto route = routing.find(customer, product);
  return route ? to_string(route->cell) : "none";
}

/// The name of the rule that the cell belongs to, or "none".
std::string rule_for(const Routing& routing, const CellKey& cell) {
  const CellRule* found = routing.rule_of(cell);
  return found ? found->customer + "/" + found->product : "none";
}

}  // namespace

TEST_CASE("the most specific rule wins, the customer before the product") {
  const Routing routing({rule("*", "*"), rule("*", "dns"), rule("acme", "*"), rule("acme", "dns")});
  CHECK(cell_for(routing, "acme", "dns") == "acme/dns");
  CHECK(cell_for(routing, "acme", "mail") == "acme/*");
  CHECK(cell_for(routing, "other", "dns") == "*/dns");
  CHECK(cell_for(routing, "other", "mail") == "*/*");
  CHECK(cell_for(Routing({rule("acme", "*"), rule("*", "dns")}), "acme", "dns") == "acme/*");
}

TEST_CASE("a job that no rule matches has no cell") {
  const Routing routing({rule("acme", "dns")});
  CHECK(cell_for(routing, "acme", "mail") == "none");
  CHECK(cell_for(routing, "other", "dns") == "none");
  CHECK(cell_for(Routing({}), "acme", "dns") == "none");
}

TEST_CASE("a route leads to the rule's settings") {
  CellRule own = rule("acme", "*");
  own.settings.pool_size = 77;
  const Routing routing({own, rule("*", "*")});
  const auto route = routing.find("acme", "dns");
  REQUIRE(route);
  CHECK(route->rule->settings.pool_size == 77);
  CHECK(route->rule == routing.rule_of({"acme", "*"}));
}

TEST_CASE("a template gives a cell of its own for each customer, product, or both") {
  CHECK(cell_for(Routing({template_rule("*", "*", true, false)}), "acme", "dns") == "acme/*");
  CHECK(cell_for(Routing({template_rule("*", "*", false, true)}), "acme", "dns") == "*/dns");
  CHECK(cell_for(Routing({template_rule("*", "*", true, true)}), "acme", "dns") == "acme/dns");
  CHECK(cell_for(Routing({template_rule("*", "dns", true, false)}), "acme", "dns") == "acme/dns");
  CHECK(cell_for(Routing({template_rule("acme", "*", false, true)}), "acme", "dns") == "acme/dns");
}

TEST_CASE("a rule for one customer takes precedence over a template") {
  const Routing routing({template_rule("*", "dns", true, false), rule("acme", "dns")});
  CHECK_FALSE(routing.find("acme", "dns")->rule->is_template());
  CHECK(routing.find("other", "dns")->rule->is_template());
  CHECK_FALSE(routing.rule_of({"acme", "dns"})->is_template());
}

TEST_CASE("the rule of a configured cell is its own") {
  const Routing routing({rule("acme", "dns"), rule("*", "*")});
  CHECK(rule_for(routing, {"acme", "dns"}) == "acme/dns");
  CHECK(rule_for(routing, {"*", "*"}) == "*/*");
  CHECK(rule_for(routing, {"acme", "*"}) == "none");
  CHECK(rule_for(routing, {"*", "dns"}) == "none");
  CHECK(rule_for(routing, {"other", "mail"}) == "none");
}

TEST_CASE("the rule of an instance is its template") {
  const Routing per_customer({template_rule("*", "dns", true, false)});
  CHECK(rule_for(per_customer, {"acme", "dns"}) == "*/dns");
  CHECK(rule_for(per_customer, {"*", "dns"}) == "*/dns");
  CHECK(rule_for(per_customer, {"acme", "*"}) == "none");
  CHECK(rule_for(per_customer, {"acme", "mail"}) == "none");

  const Routing per_product({template_rule("acme", "*", false, true)});
  CHECK(rule_for(per_product, {"acme", "dns"}) == "acme/*");
  CHECK(rule_for(per_product, {"acme", "*"}) == "acme/*");
  CHECK(rule_for(per_product, {"other", "dns"}) == "none");

  const Routing per_both({template_rule("*", "*", true, true)});
  CHECK(rule_for(per_both, {"acme", "dns"}) == "*/*");
  CHECK(rule_for(per_both, {"*", "*"}) == "*/*");
  CHECK(rule_for(per_both, {"acme", "*"}) == "none");
  CHECK(rule_for(per_both, {"*", "dns"}) == "none");
}

TEST_CASE("a cell that a template could not have made does not belong to it") {
  const Routing routing({template_rule("*", "*", true, false)});
  CHECK(rule_for(routing, {"acme", "*"}) == "*/*");
  CHECK(rule_for(routing, {"acme", "dns"}) == "none");
  CHECK(rule_for(routing, {"*", "dns"}) == "none");
}

TEST_CASE("every cell that a job is routed to belongs to the rule that routed it") {
  const Routing routing({rule("*", "*"), template_rule("*", "dns", true, false), rule("acme", "*"),
                         template_rule("big", "*", false, true), rule("big", "mail")});
  for (const std::string customer : {"acme", "big", "other"}) {
    for (const std::string product : {"dns", "mail", "vm"}) {
      CAPTURE(customer, product);
      const auto route = routing.find(customer, product);
      REQUIRE(route);
      CHECK(routing.rule_of(route->cell) == route->rule);
    }
  }
}

TEST_CASE("rules are listed in order of their cells") {
  const Routing routing({rule("b", "x"), rule("a", "y"), rule("a", "*"), rule("*", "*")});
  std::string names;
  for (const auto& [key, listed] : routing.rules()) {
    CHECK(key == CellKey{listed.customer, listed.product});
    names += to_string(key) + " ";
  }
  CHECK(names == "*/* a/* a/y b/x ");
}
