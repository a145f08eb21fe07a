// The fairness of promise P7, measured in service time.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cells/model/cell_key.hpp"
#include "cells/model/time.hpp"

namespace simulation {

using namespace cells;

/// Compares the service times of customers, each divided by the customer's weight, over stretches
/// in which both always had a job waiting or had just received their turn. A customer is ahead by
/// at most the attempts that run at once, so the difference is bounded by a few of the longest.
class Turns {
 public:
  struct Unfair {
    std::string served;
    std::string waiting;
    microseconds difference{};
    microseconds bound{};
  };

  /// A job of `customer` starts while these customers have runnable jobs.
  void started(const CellKey& cell, const std::string& customer, std::set<std::string> waiting) {
    Cell& in = cells_[cell];
    in.running += 1;
    in.running_most = std::max(in.running_most, in.running);
    waiting.insert(customer);
    std::erase_if(in.stretches, [&](const auto& item) {
      return !waiting.contains(item.first.first) || !waiting.contains(item.first.second);
    });
    for (const auto& a : waiting) {
      for (const auto& b : waiting) {
        if (a != b) in.stretches.try_emplace({a, b}, Stretch{in.served[a], in.served[b]});
      }
    }
  }

  /// An attempt of `customer` has ended. Reports a customer that waits and has received less than
  /// its share.
  std::optional<Unfair> ended(const CellKey& cell, const std::string& customer, microseconds time,
                              std::uint32_t weight) {
    Cell& in = cells_[cell];
    const microseconds service = time / weight;
    in.running -= 1;
    in.served[customer] += service;
    in.longest = std::max(in.longest, service);
    for (const auto& [pair, begun] : in.stretches) {
      if (pair.first != customer) continue;
      const microseconds mine = in.served[customer] - begun.first;
      const microseconds theirs = in.served[pair.second] - begun.second;
      const microseconds bound = 2 * (in.running_most + 1) * in.longest;
      if (mine - theirs > bound) return Unfair{customer, pair.second, mine - theirs, bound};
    }
    return std::nullopt;
  }

  /// Something other than the turns decided who was served.
  void forget() { cells_.clear(); }

 private:
  /// What each of the two customers had received when the stretch began.
  struct Stretch {
    microseconds first{};
    microseconds second{};
  };
  struct Cell {
    std::map<std::string, microseconds> served;
    std::map<std::pair<std::string, std::string>, Stretch> stretches;
    int running = 0;
    int running_most = 0;
    microseconds longest{};
  };
  std::map<CellKey, Cell> cells_;
};

}  // namespace simulation
