// Which cell gets the next lease of a pull service, or permit of a protected one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "cells/model/fair_turns.hpp"
#include "cells/model/lane_state.hpp"

namespace cells {

/// Matches the requests of workers outside, or the permits, of one service with the cells that have
/// jobs for it. Cells take turns (FairTurns), and so do customers that requests are bound to. Pure:
/// the caller sends each Ask to its cell, and passes the answer on. Not thread-safe.
class LeaseMatching {
 public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  struct Request {
    std::uint64_t number = 0;             ///< Unique, ascending; the lower one goes first.
    std::optional<std::string> customer;  ///< Only jobs of this customer.
    std::size_t max = 1;                  ///< Leases.
    /// False: it ends once no cell can be asked and no ask that counts is open. Two kinds count:
    /// asks made before the request came, and asks for earlier requests that do not wait or have
    /// some leases.
    bool waits = true;
  };
  /// Ask this cell for up to `count` leases for this request.
  struct Ask {
    CellKey cell;
    std::uint64_t request = 0;
    std::size_t count = 1;

    bool operator==(const Ask&) const = default;
  };

  void add(Request request);
  /// The request waits no longer.
  void stop_waiting(std::uint64_t request);

  /// The cell could grant `available` leases at once.
  void filled(const CellKey& cell, std::size_t available);
  void emptied(const CellKey& cell);
  /// The cell has reserved a slot, for this customer if one is named. Returns the request that is
  /// to have it; nothing: decline it. Asks for at most `permits` leases.
  std::optional<Ask> offered(const CellKey& cell, const std::optional<std::string>& customer,
                             std::size_t permits = unlimited);

  /// The next cell to be asked, for at most `permits` leases; nothing while there is none.
  std::optional<Ask> next_ask(std::size_t permits = unlimited);
  /// The answer of the cell: how many leases it granted, and how many more it could grant.
  void answered(const Ask& ask, std::size_t granted, LaneState lane, std::size_t available);
  /// The request takes no more leases than it has.
  void fill(std::uint64_t request);
  /// The cell is gone, and with it the answer. The request is not matched until `go_on`.
  void lost(const Ask& ask);
  void go_on(std::uint64_t request);
  /// A lease of the cell has ended after `service_time`.
  void ended(const CellKey& cell, microseconds service_time);
  /// A lease of the customer's has ended after `service_time`. `bound`: it was granted to a request
  /// that was bound to the customer.
  void served(const std::string& customer, microseconds service_time, bool bound);
  /// A lease of the cell was out before this object knew of the cell.
  void note_lease(const CellKey& cell);

  /// The requests that have ended since the last call: they have all that they can get.
  std::vector<std::uint64_t> take_finished();

  /// Requests that have not ended.
  std::size_t waiting() const { return requests_.size(); }
  /// Cells that it remembers.
  std::size_t cells() const { return cells_.size(); }
  /// Cells that have jobs to lease, as far as is known.
  std::vector<CellKey> with_work() const;
  bool remembers(const CellKey& cell) const { return cells_.contains(cell); }

 private:
  struct Cell : FairTurns::Party {
    CellKey key;
    bool has_work = false;
    std::size_t available = 0;  ///< Leases that it could grant, as far as is known.
    std::size_t asked = 0;      ///< Leases asked for and not answered.
    std::size_t asks = 0;       ///< Asks not answered.
    /// Of `asks`, those sent before a slot was last declined. The cell may answer such an ask with
    /// `busy` and only then read DeclineSlot, which makes it forget that a worker waits. Such an
    /// answer therefore promises no slot.
    std::size_t asks_overtaken = 0;
    std::set<std::string> wanted;  ///< It will offer a slot for these customers; "": for any.
  };
  /// The requests that are bound to one customer. In the ring of `customer_turns_` while one of
  /// them is idle, and a cell may have work for it, as far as is known.
  struct Customer : FairTurns::Party {
    std::string name;
    std::set<std::uint64_t> idle;  ///< Not asking.
  };
  struct Waiting : Request {
    std::size_t granted = 0;
    std::uint64_t asks_before = 0;  ///< Asks up to this number were made before the request came.
    std::uint64_t ask = 0;          ///< The number of its own last ask.
    bool asking = false;
    bool withdrawn = false;  ///< It takes no more leases than it has.

    bool is_impatient() const { return !waits || granted > 0; }
  };

  Cell& cell(const CellKey& key);
  void update_ring(Cell& cell);
  void try_again(const Cell& cell);
  void try_again(Customer& customer);
  Cell& take_back(const Ask& ask, std::size_t granted);
  void note_lane(Cell& cell, const Waiting& request, LaneState lane, bool is_overtaken);
  Ask ask(Waiting& request, Cell& cell, std::size_t permits);
  Cell* cell_for(const std::string& customer);
  Customer& customer(const std::string& name);
  void forget_if_idle(Customer& customer);
  void ready(Waiting& request);
  void go_on(Waiting& request);
  void unready(const Waiting& request);
  void finish(Waiting& request);
  bool may_get_more(const Waiting& request) const;
  void finish_impatient();

  std::map<std::uint64_t, Waiting> requests_;
  std::set<std::uint64_t> idle_;       ///< Any customer, not asking.
  std::set<std::uint64_t> content_;    ///< Idle, and have some leases.
  std::set<std::uint64_t> impatient_;  ///< Idle, have no lease, and do not wait.
  std::uint64_t last_ask_ = 0;
  std::set<std::uint64_t> open_asks_;         ///< Not answered.
  std::set<std::uint64_t> impatient_asking_;  ///< Requests.
  std::map<std::string, Customer> customers_;
  FairTurns customer_turns_;
  ClockMemory customer_clocks_;  ///< Of customers that are not in `customers_`.
  std::map<CellKey, Cell> cells_;
  FairTurns turns_;  ///< Of the cells that can be asked for any customer.
  std::vector<std::uint64_t> finished_;
};

}  // namespace cells
