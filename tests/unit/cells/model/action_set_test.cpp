#include "cells/model/action_set.hpp"

#include <vector>

#include "tests/unit/catch.hpp"

using namespace cells;

TEST_CASE("a set of actions has the named ones, or all others") {
  CHECK(ActionSet{}.is_empty());
  CHECK_FALSE(ActionSet{}.contains("create"));
  CHECK(ActionSet::all().contains("create"));
  CHECK_FALSE(ActionSet::all().is_empty());
  CHECK(ActionSet{{"create"}}.contains("create"));
  CHECK_FALSE(ActionSet{{"create"}}.contains("delete"));
  CHECK_FALSE(ActionSet{{"create"}, true}.contains("create"));
  CHECK(ActionSet{{"create"}, true}.contains("delete"));
}

TEST_CASE("the difference of two sets has what is in the first alone") {
  const std::vector<std::string> actions = {"create", "update", "delete", "other"};
  std::vector<ActionSet> sets;
  for (const bool others : {false, true}) {
    for (const auto& names : std::vector<std::set<std::string>>{
             {}, {"create"}, {"update"}, {"create", "update"}, {"update", "delete"}}) {
      sets.push_back({names, others});
    }
  }
  for (const auto& set : sets) {
    for (const auto& other : sets) {
      const ActionSet rest = without(set, other);
      bool any = false;
      for (const auto& action : actions) {
        const bool expected = set.contains(action) && !other.contains(action);
        CHECK(rest.contains(action) == expected);
        any = any || expected;
      }
      CHECK(rest.is_empty() == !any);
    }
  }
}
