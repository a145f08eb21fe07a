#include "cells/model/routing.hpp"

#include <array>
#include <utility>

namespace cells {
namespace {

/// The keys of the rules that may match (customer, product), the most specific first.
std::array<CellKey, 4> candidates(const std::string& customer, const std::string& product) {
  return {CellKey{customer, product}, {customer, "*"}, {"*", product}, {"*", "*"}};
}

CellKey instance_key(const CellRule& rule, const std::string& customer,
                     const std::string& product) {
  return {rule.per_customer ? customer : rule.customer, rule.per_product ? product : rule.product};
}

}  // namespace

Routing::Routing(std::vector<CellRule> rules) {
  for (auto& rule : rules) {
    CellKey key{rule.customer, rule.product};
    rules_.emplace(std::move(key), std::move(rule));
  }
}

std::optional<Route> Routing::find(const std::string& customer, const std::string& product) const {
  for (const auto& key : candidates(customer, product)) {
    if (const auto found = rules_.find(key); found != rules_.end()) {
      return Route{instance_key(found->second, customer, product), &found->second};
    }
  }
  return std::nullopt;
}

const CellRule* Routing::rule_of(const CellKey& cell) const {
  for (const auto& key : candidates(cell.customer, cell.product)) {
    const auto found = rules_.find(key);
    if (found == rules_.end()) continue;
    const CellRule& rule = found->second;
    if (key == cell) return &rule;
    const bool customer_fits = rule.per_customer == (cell.customer != rule.customer);
    const bool product_fits = rule.per_product == (cell.product != rule.product);
    if (rule.is_template() && customer_fits && product_fits) return &rule;
  }
  return nullptr;
}

}  // namespace cells
