#include "src/store/memory_budget.hpp"

#include <string>

#include "src/store/job_rules.hpp"

namespace celld::store {

using cells::CellKey;
using cells::Job;
using cells::JobId;

namespace {

/// The nodes of the maps that list a job, its version that is about to be replaced, and what the
/// allocator adds to each. Measured.
constexpr std::uint64_t index_bytes = 1460;
constexpr std::uint64_t node_bytes = 48;  ///< Of a map, besides what it holds.

/// What a string takes outside of itself.
std::uint64_t heap(const std::string& text) {
  constexpr std::size_t inside = 15;
  return text.size() <= inside ? 0 : text.size() + 24;
}

std::uint64_t excess_over(std::uint64_t bytes, std::uint64_t bytes_max) {
  return bytes > bytes_max ? bytes - bytes_max : 0;
}

}  // namespace

std::uint64_t memory_bytes(const Job& job) {
  const auto& spec = *job.spec;
  std::uint64_t bytes = index_bytes + sizeof(Job) + sizeof(cells::JobSpec);
  for (const auto* text : {&spec.customer, &spec.product, &spec.action, &spec.entity.type,
                           &spec.entity.subtype, &spec.entity.id, &spec.parameters,
                           &spec.traceparent, &job.cell.customer, &job.cell.product, &job.lane}) {
    bytes += heap(*text);
  }
  bytes += heap(job.lane);  // Again, in the index of the order in which jobs are moved.
  for (const auto& service : spec.services) bytes += sizeof(std::string) + heap(service);
  const auto add_pairs = [&bytes](const auto& pairs) {
    for (const auto& [name, value] : pairs) {
      bytes += node_bytes + 2 * sizeof(std::string) + heap(name) + heap(value);
    }
  };
  add_pairs(spec.labels);
  add_pairs(job.properties);
  for (const auto& step : job.steps) {
    bytes += sizeof(step) + heap(step.worker) + heap(step.operation);
  }
  for (const auto& message : job.messages) {
    bytes += sizeof(message) + heap(message.service) + heap(message.text);
  }
  if (job.error) {
    bytes += heap(job.error->code) + heap(job.error->message) + heap(job.error->service);
  }
  return bytes;
}

// --- Counting --------------------------------------------------------------------------------

void MemoryBudget::changed(const Job* before, const Job* after) {
  if (before != nullptr) subtract(*before);
  if (after != nullptr) add(*after);
  if (before != nullptr && bytes_of(before->cell) == 0) cells_.erase(before->cell);
}

void MemoryBudget::add(const Job& job) {
  const auto bytes = memory_bytes(job);
  auto& cell = cells_[job.cell];
  cell.bytes += bytes;
  bytes_ += bytes;
  if (is_open(job)) return;
  for (auto* ended : {&ended_, &cell.ended}) {
    ended->bytes[{*job.finished_at, job.id}] = bytes;
    ended->sum += bytes;
  }
}

void MemoryBudget::subtract(const Job& job) {
  const auto bytes = memory_bytes(job);
  auto& cell = cells_.at(job.cell);
  cell.bytes -= bytes;
  bytes_ -= bytes;
  if (!is_open(job)) {
    for (auto* ended : {&ended_, &cell.ended}) {
      ended->bytes.erase({*job.finished_at, job.id});
      ended->sum -= bytes;
    }
  }
}

std::uint64_t MemoryBudget::bytes_of(const CellKey& cell) const {
  const auto found = cells_.find(cell);
  return found == cells_.end() ? 0 : found->second.bytes;
}

// --- Making room -----------------------------------------------------------------------------

/// Adds jobs to those chosen until they take as much as the excess, or all of `from` are chosen.
void MemoryBudget::choose(const Ended& from, std::uint64_t excess, Chosen& chosen) {
  for (const auto& [end, bytes] : from.bytes) {
    if (chosen.bytes >= excess) return;
    if (chosen.ends.insert(end).second) chosen.bytes += bytes;
  }
}

MemoryBudget::Room MemoryBudget::room_for(const Job& job, std::uint64_t cell_bytes_max) {
  const auto bytes = memory_bytes(job);
  const auto found = cells_.find(job.cell);
  const std::uint64_t bytes_max = bytes_max_;
  if (found != cells_.end()) found->second.bytes_max = cell_bytes_max;
  const auto cell_bytes = bytes_of(job.cell);
  const auto ended_bytes = found == cells_.end() ? 0 : found->second.ended.sum;
  const auto cell_excess = excess_over(cell_bytes + bytes, cell_bytes_max);
  if (cell_excess > ended_bytes) {
    return {{}, cells::MemoryFull{true, cell_bytes_max, cell_bytes, bytes}};
  }
  const auto all_excess = excess_over(bytes_ + bytes, bytes_max);
  if (all_excess > ended_.sum) return {{}, cells::MemoryFull{false, bytes_max, bytes_, bytes}};
  Chosen chosen;
  if (found != cells_.end()) choose(found->second.ended, cell_excess, chosen);
  choose(ended_, all_excess, chosen);
  Room room;
  for (const auto& [at, id] : chosen.ends) room.to_remove.push_back(id);
  return room;
}

std::vector<JobId> MemoryBudget::excess(const CellKey& key) {
  Chosen chosen;
  if (const auto found = cells_.find(key); found != cells_.end()) {
    const auto& cell = found->second;
    if (cell.bytes_max != 0) choose(cell.ended, excess_over(cell.bytes, cell.bytes_max), chosen);
  }
  choose(ended_, excess_over(bytes_, bytes_max_), chosen);
  std::vector<JobId> to_remove;
  to_remove.reserve(chosen.ends.size());
  for (const auto& [at, id] : chosen.ends) to_remove.push_back(id);
  return to_remove;
}

}  // namespace celld::store
