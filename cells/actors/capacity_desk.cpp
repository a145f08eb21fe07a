#include "cells/actors/capacity_desk.hpp"

#include <map>
#include <optional>
#include <set>

namespace cells {
namespace {

/// Decides nothing itself: the book knows which cell holds which slots, and gives the orders.
class CapacityDeskActor : public CapacityDesk::base {
 public:
  explicit CapacityDeskActor(caf::actor_config& config) : CapacityDesk::base(config) {}

  behavior_type make_behavior() override {
    return {
        [this](const CellJoined& message) {
          holders_[message.key] = message.holder;
          book_.join(message.key, message.terms, message.running);
          arrived(message.key);
          carry_out_orders();
        },
        [this](const SlotsReported& message) {
          if (!is_from_holder(message.key)) return;
          book_.report(message.key, message.terms, message.need, message.returned);
          carry_out_orders();
        },
        [this](const CellLeft& message) {
          holders_.erase(message.key);
          book_.leave(message.key);
          arrived(message.key);
          carry_out_orders();
        },
        [this](const LimitCapacity& message) {
          book_.limit(message.running_max);
          carry_out_orders();
        },
        [this](const AwaitCells& message) {
          awaited_.emplace();
          for (const auto& key : message.cells) {
            if (!holders_.contains(key)) awaited_->insert(key);
          }
          open_if_complete();
          carry_out_orders();
        },
        [this](const DescribeLoans& message) { return describe(message); },
    };
  }

  void on_exit() override { holders_.clear(); }

 private:
  void arrived(const CellKey& key) {
    if (!awaited_ || awaited_->erase(key) == 0) return;
    open_if_complete();
  }

  void open_if_complete() {
    if (awaited_->empty()) book_.open();
  }

  /// A dispatcher that has a successor, or whose cell has closed, may have a report under way.
  bool is_from_holder(const CellKey& key) {
    const auto found = holders_.find(key);
    return found != holders_.end() && found->second.address() == current_sender();
  }

  void carry_out_orders() {
    for (const auto& order : book_.take_orders()) {
      const SlotHolder& holder = holders_.at(order.cell);  // The book knows no other cells.
      if (order.grant) send(holder, GrantSlots{*order.grant});
      if (order.recall_to) send(holder, RecallSlots{*order.recall_to});
    }
  }

  LoansDescribed describe(const DescribeLoans& message) const {
    LoansDescribed described;
    for (const auto& key : message.cells) {
      if (holders_.contains(key)) described.loans.emplace(key, book_.loans(key));
    }
    return described;
  }

  CapacityBook book_;
  std::map<CellKey, SlotHolder> holders_;
  std::optional<std::set<CellKey>> awaited_;  ///< None: not known yet.
};

}  // namespace

CapacityDesk spawn_capacity_desk(caf::actor_system& system) {
  return system.spawn<CapacityDeskActor>();
}

}  // namespace cells
