// What administrators ask about cells, and what they change in them.
#include <set>
#include <utility>

#include "cells/actors/cell_dispatcher_actor.hpp"
#include "cells/actors/pool_change.hpp"
#include "cells/model/pool_terms.hpp"

namespace cells {

// --- Reporting -----------------------------------------------------------------------------------

/// The status of a template: what its instances start with.
std::optional<CellStatus> CellDispatcherActor::describe_template(const CellKey& key) const {
  const auto found = routing().rules().find(key);
  if (found == routing().rules().end() || !found->second.is_template()) return std::nullopt;
  CellStatus status;
  status.key = key;
  status.is_template = true;
  status.settings = found->second.settings;
  status.pool.target = settings_of(found->second).pool_size;
  status.changed = override_of(key);
  return status;
}

caf::result<CellDescribed> CellDispatcherActor::describe(const CellKey& key) {
  const auto found = cells_.find(key);
  if (found == cells_.end()) return CellDescribed{describe_template(key)};
  auto promise = make_response_promise<CellDescribed>();
  const auto owed = owed_.add(promise);
  request(found->second.cell, caf::infinite, DescribeCell{key})
      .then([this, owed](CellDescribed& described) { owed_.deliver(owed, std::move(described)); },
            [this, owed, key](caf::error& error) {
              if (cells_.contains(key)) return owed_.deliver(owed, std::move(error));
              owed_.deliver(owed, CellDescribed{describe_template(key)});  // The cell has closed.
            });
  return promise;
}

/// Collects the answers for one page of cells.
struct CellDispatcherActor::Gathering {
  std::map<CellKey, CellStatus> cells;
  std::size_t missing = 0;
  std::optional<CellKey> more_after;
  std::uint64_t owed = 0;
};

caf::result<CellsListed> CellDispatcherActor::list(const ListCells& message) {
  std::set<CellKey> keys;
  const CellKey first{message.customer.value_or(""), ""};
  const auto after = [&](const auto& map) {
    return message.after && *message.after > first ? map.upper_bound(*message.after)
                                                   : map.lower_bound(first);
  };
  const auto asked_for = [&](const CellKey& key) {
    return !message.customer || key.customer == *message.customer;
  };
  const std::size_t wanted = message.limit + 1;
  for (auto it = after(cells_); it != cells_.end() && keys.size() < wanted && asked_for(it->first);
       ++it) {
    keys.insert(it->first);
  }
  for (auto it = after(routing().rules()); it != routing().rules().end() && asked_for(it->first);
       ++it) {
    if (it->second.is_template()) keys.insert(it->first);
  }
  auto gathering = std::make_shared<Gathering>();
  auto promise = make_response_promise<CellsListed>();
  gathering->owed = owed_.add(promise);
  const bool more = keys.size() > message.limit;
  while (keys.size() > message.limit) keys.erase(std::prev(keys.end()));
  if (more && !keys.empty()) gathering->more_after = *keys.rbegin();
  gathering->missing = keys.size() + 1;
  for (const auto& key : keys) gather(key, gathering);
  gathered(gathering);
  return promise;
}

void CellDispatcherActor::gather(const CellKey& key, const std::shared_ptr<Gathering>& gathering) {
  const auto found = cells_.find(key);
  if (found == cells_.end()) {
    if (auto status = describe_template(key)) gathering->cells.emplace(key, std::move(*status));
    gathered(gathering);
    return;
  }
  request(found->second.cell, caf::infinite, DescribeCell{key})
      .then(
          [this, gathering, key](CellDescribed& described) {
            if (described.status) gathering->cells.emplace(key, std::move(*described.status));
            gathered(gathering);
          },
          [this, gathering](const caf::error&) { gathered(gathering); });
}

void CellDispatcherActor::gathered(const std::shared_ptr<Gathering>& gathering) {
  if (--gathering->missing == 0) note_loans(gathering);
}

/// Reads the loans of all cells at one moment, so that the slots borrowed and the slots lent add up
/// to the same number.
void CellDispatcherActor::note_loans(const std::shared_ptr<Gathering>& gathering) {
  DescribeLoans question;
  for (const auto& [key, status] : gathering->cells) question.cells.push_back(key);
  request(context_->capacity, caf::infinite, std::move(question))
      .then(
          [this, gathering](const LoansDescribed& described) {
            for (const auto& [key, loans] : described.loans) {
              auto& pool = gathering->cells.at(key).pool;
              pool.borrowed = loans.borrowed;
              pool.lent = loans.lent;
            }
            deliver(*gathering);
          },
          [this, gathering](const caf::error&) { deliver(*gathering); });
}

void CellDispatcherActor::deliver(Gathering& gathering) {
  CellsListed listed;
  listed.more_after = std::move(gathering.more_after);
  for (auto& [key, status] : gathering.cells) listed.cells.push_back(std::move(status));
  owed_.deliver(gathering.owed, std::move(listed));
}

/// All services, or the one that is named. Omits a service whose client has just ended.
caf::result<ServicesListed> CellDispatcherActor::list_services(
    const std::optional<std::string>& only, const DescribeService& describe) {
  struct Listing {
    ServicesListed listed;
    std::size_t missing = 2;
  };
  auto promise = make_response_promise<ServicesListed>();
  auto listing = std::make_shared<Listing>();
  const auto counted = [this, listing, owed = owed_.add(promise)] {
    if (--listing->missing == 0) owed_.deliver(owed, std::move(listing->listed));
  };
  for (const auto& [name, service] : *services_) {
    if (only && *only != name) continue;
    if (!service.client) {  // Replaced below if the lease desk has figures.
      listing->listed.services.emplace(
          name, ServiceStatus{.leases = LeaseTraffic{}, .protection = service.protection});
      continue;
    }
    listing->missing += 1;
    request(service.client, caf::infinite, describe)
        .then(
            [listing, counted, name = name](const ServiceDescribed& described) {
              listing->listed.services.emplace(name, described.status);
              counted();
            },
            [counted](const caf::error&) { counted(); });
  }
  request(context_->desk, caf::infinite, DescribeLeases{only})
      .then(
          [listing, counted](const LeasesDescribed& described) {
            for (const auto& [name, status] : described.services) {
              const auto found = listing->listed.services.find(name);
              if (found == listing->listed.services.end() || !found->second.leases) continue;
              const auto protection = std::exchange(found->second, status).protection;
              found->second.protection = protection;
            }
            counted();
          },
          [counted](const caf::error&) { counted(); });
  counted();
  return promise;
}

// --- Changes by an administrator -----------------------------------------------------------------

// If a cell closes after all, a change to it has no effect, and must not be remembered for the next
// cell with the same key.

caf::result<CellDescribed> CellDispatcherActor::resize(const ResizePool& message) {
  const auto found = cells_.find(message.cell);
  const CellOverride change = changed_by(override_of(message.cell), message);
  if (found == cells_.end()) return resize_template(message, change);
  Entry& entry = found->second;
  if (entry.closing) return pass_on<CellDescribed>(entry, message);
  const auto demand = demand_of(message.cell, entry, change);
  auto refused = refusal_of(message, entry.settings, change);
  if (message.size && !guarantees_.has_room_for(message.cell, demand)) {
    refused = PoolRefusal::beyond_capacity;
  }
  if (refused) return CellDescribed{std::nullopt, refused};
  remember_override(message.cell, change);
  guarantees_.set(message.cell, demand);
  divide_guarantees();
  return pass_on<CellDescribed>(entry, message);
}

/// A reload may have made the burst less than the size. Such a pool may still change its weight. A
/// change of the size or the burst is refused unless the burst then reaches the size.
std::optional<PoolRefusal> CellDispatcherActor::refusal_of(const ResizePool& message,
                                                           const CellSettings& settings,
                                                           const CellOverride& change) const {
  if (!message.size && !message.burst) return std::nullopt;
  if (!has_burst_below_size(settings, change)) return std::nullopt;
  return PoolRefusal::burst_below_size;
}

caf::result<CellDescribed> CellDispatcherActor::resize_template(const ResizePool& message,
                                                                const CellOverride& change) {
  const auto status = describe_template(message.cell);
  const auto refused = status ? refusal_of(message, status->settings, change) : std::nullopt;
  if (refused) return CellDescribed{std::nullopt, refused};
  return change_template(message.cell, change);
}

caf::result<CellDescribed> CellDispatcherActor::change_quota(const ChangeQuota& message) {
  const auto found = cells_.find(message.cell);
  CellOverride change = override_of(message.cell);
  change.quota = message.quota;
  if (found == cells_.end()) return change_template(message.cell, change);
  if (!found->second.closing) remember_override(message.cell, change);
  return pass_on<CellDescribed>(found->second, message);
}

/// Existing instances keep their size and their limits until the next reload.
caf::result<CellDescribed> CellDispatcherActor::change_template(const CellKey& key,
                                                                const CellOverride& change) {
  if (!describe_template(key)) return CellDescribed{};
  remember_override(key, change);  // Before the answer, so that the next change builds on it.
  auto promise = make_response_promise<CellDescribed>();
  const auto owed = owed_.add(promise);
  request(options_.store, caf::infinite, SetCellOverride{key, change})
      .then(
          [this, owed, key](const CellOverrideSet&) {
            owed_.deliver(owed, CellDescribed{describe_template(key)});
          },
          [this, owed](caf::error& error) { owed_.deliver(owed, std::move(error)); });
  return promise;
}

caf::result<CellDescribed> CellDispatcherActor::change_state(const ChangeCellState& message) {
  const auto found = cells_.find(message.cell);
  if (found == cells_.end()) return CellDescribed{describe_template(message.cell)};
  CellOverride change = override_of(message.cell);
  change.state = message.state;
  if (!found->second.closing) remember_override(message.cell, change);
  return pass_on<CellDescribed>(found->second, message);
}

void CellDispatcherActor::remember_override(const CellKey& key, const CellOverride& change) {
  if (change.is_none()) {
    overrides_.erase(key);
  } else {
    overrides_[key] = change;
  }
}

}  // namespace cells
