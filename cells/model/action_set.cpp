#include "cells/model/action_set.hpp"

#include <algorithm>
#include <iterator>

namespace cells {

ActionSet without(const ActionSet& set, const ActionSet& other) {
  ActionSet rest{{}, set.others && !other.others};
  const auto belongs = [&](const std::string& action) {
    return set.contains(action) && !other.contains(action);
  };
  for (const auto* names : {&set.named, &other.named}) {
    std::copy_if(names->begin(), names->end(), std::inserter(rest.named, rest.named.end()),
                 [&](const std::string& action) { return belongs(action) != rest.others; });
  }
  return rest;
}

}  // namespace cells
