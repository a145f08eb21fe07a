#include "tests/torture/stores/judge.hpp"

#include <algorithm>
#include <deque>

#include "src/store/memory_store.hpp"

namespace stores {
namespace {

using celld::store::MemoryDisk;
using celld::store::MemoryJobs;
using celld::store::ReadLimits;
using celld::store::StoreContent;

bool is_same(const StoreContent& a, const StoreContent& b) {
  return a.epoch == b.epoch && a.last_id == b.last_id && a.overrides == b.overrides &&
         a.key_holders == b.key_holders && a.batches == b.batches && a.schedules == b.schedules &&
         std::equal(a.jobs.begin(), a.jobs.end(), b.jobs.begin(), b.jobs.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.marks == y.second.marks &&
                             stores::is_same(x.second.job, y.second.job);
                    });
}

/// Why the contents differ.
std::string difference(const StoreContent& expected, const StoreContent& found) {
  if (expected.epoch != found.epoch) return "the epoch";
  if (expected.last_id != found.last_id) {
    return "the last id, expected " + std::to_string(expected.last_id) + ", found " +
           std::to_string(found.last_id);
  }
  if (expected.overrides != found.overrides) return "the overrides";
  if (expected.key_holders != found.key_holders) return "the idempotency keys";
  if (expected.batches != found.batches) return "the batches";
  if (expected.schedules != found.schedules) return "the schedules";
  for (const auto& [id, stored] : expected.jobs) {
    const auto other = found.jobs.find(id);
    if (other == found.jobs.end()) return "missing " + to_text(stored.job);
    const auto& [job, marks] = other->second;
    if (!stores::is_same(stored.job, job)) {
      return "expected " + to_text(stored.job) + ", found " + to_text(job);
    }
    if (stored.marks != marks) return "the marks of " + to_text(job);
  }
  return "a job too many";
}

/// Whether this page is the beginning of the expected one, cut short by the bound on its work.
bool is_cut_short(const JobsListed& page, const JobsListed& whole, const ListJobs& request) {
  const auto& jobs = page.jobs;
  if (page.full || page.next == 0 || jobs.size() > whole.jobs.size()) return false;
  if (request.before != 0 && page.next >= request.before) return false;
  if (!jobs.empty() && jobs.back()->id < page.next) return false;
  const auto not_listed = std::next(whole.jobs.begin(), static_cast<std::ptrdiff_t>(jobs.size()));
  if (not_listed != whole.jobs.end() && (*not_listed)->id >= page.next) return false;
  if (not_listed == whole.jobs.end() && whole.next > page.next) return false;
  return std::equal(jobs.begin(), jobs.end(), whole.jobs.begin(),
                    [](const auto& a, const auto& b) { return stores::is_same(a, b); });
}

/// Goes through the states of a life, from one operation to the next.
class Replay {
 public:
  Replay(const StoreContent& before, const History& history, const Record& record,
         const ReadLimits& limits)
      : history_(history),
        record_(record),
        pages_are_short_(limits.rows_max < ReadLimits{}.rows_max),
        model_(before),
        disk_(before),
        counts_(record.counted.begin(), record.counted.end()) {}

  Verdict find(const StoreContent& left) {
    std::optional<std::size_t> survived;
    for (std::size_t done = 0;; ++done) {
      take_looks(done);
      if (done >= record_.durable && done >= seen_ && !survived && is_same(disk_.content(), left)) {
        survived = done;
      }
      if (done == record_.sent) break;
      stores::apply(model_, history_.operations[done].request);
      disk_.commit(model_);
    }
    Verdict verdict{survived.value_or(0), unexplained_look()};
    if (verdict.violation.empty() && !survived) {
      verdict.violation = "after its end, the store has no state between those of " +
                          std::to_string(std::max(record_.durable, seen_)) + " and " +
                          std::to_string(record_.sent) +
                          " operations; it differs from the last in " +
                          difference(disk_.content(), left);
    }
    return verdict;
  }

 private:
  /// Takes the looks that show the state after this many operations. The reader never shows an
  /// older state after a newer one.
  void take_looks(std::size_t done) {
    const auto is_shown = [&](const Looked& looked) {
      return looked.from <= done && done <= looked.to &&
             shows(disk_, history_.looks[looked.look], looked.answer, pages_are_short_);
    };
    for (; next_ < record_.looked.size() && is_shown(record_.looked[next_]); ++next_) seen_ = done;
    std::erase_if(counts_, is_shown);
  }

  std::string unexplained_look() const {
    const bool of_reader = next_ < record_.looked.size();
    if (!of_reader && counts_.empty()) return "";
    const Looked& looked = of_reader ? record_.looked[next_] : counts_.front();
    return to_text(history_.looks[looked.look]) + " was answered with " + to_text(looked.answer) +
           ", which shows no state between those of " + std::to_string(looked.from) + " and " +
           std::to_string(looked.to) + " operations";
  }

  const History& history_;
  const Record& record_;
  const bool pages_are_short_;
  MemoryJobs model_;
  MemoryDisk disk_;
  std::deque<Looked> counts_;  ///< Not yet explained.
  std::size_t next_ = 0;       ///< The first look that is not yet explained.
  std::size_t seen_ = 0;       ///< The reader has shown a state with this many operations.
};

/// What the request of an operation asks of the disk; none: nothing that changes it.
std::optional<Request> on_disk(const Operation& operation) {
  const auto& request = operation.request;
  if (operation.scope == Scope::memory || std::holds_alternative<OpenBatch>(request) ||
      std::holds_alternative<CloseBatch>(request) ||
      std::holds_alternative<MarkCancelled>(request)) {
    return std::nullopt;
  }
  const auto* insert = std::get_if<InsertJob>(&request);
  const auto* inserted = std::get_if<JobInserted>(&operation.expected);
  if (!insert || !inserted) return request;
  if (inserted->holder.job || inserted->customer_full) return std::nullopt;
  if (insert->job->durability == Durability::disk) return request;
  if (!insert->firing) return std::nullopt;
  AdvanceSchedule advance{*insert->firing};
  advance.advance.after.last_job = insert->job->id;
  return advance;
}

}  // namespace

bool shows(const MemoryDisk& disk, const Look& look, const Answer& answer, bool pages_are_short) {
  const Answer expected =
      std::visit([&](const auto& each) -> Answer { return disk.read(each); }, look);
  if (stores::is_same(expected, answer)) return true;
  const auto* request = std::get_if<ListJobs>(&look);
  return request && pages_are_short &&
         is_cut_short(std::get<JobsListed>(answer), std::get<JobsListed>(expected), *request);
}

DiskPart disk_part(const History& history, const Record& record) {
  DiskPart part;
  std::vector<std::size_t> among_first{0};  // By a number of operations: those of the part.
  for (const auto& operation : history.operations) {
    if (auto request = on_disk(operation))
      part.history.operations.push_back({std::move(*request), {}});
    among_first.push_back(part.history.operations.size());
  }
  part.record.sent = among_first.at(record.sent);
  part.record.durable = among_first.at(record.durable);
  return part;
}

Verdict judge(const StoreContent& before, const History& history, const Record& record,
              const StoreContent& left, const ReadLimits& limits) {
  return Replay{before, history, record, limits}.find(left);
}

}  // namespace stores
