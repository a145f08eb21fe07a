// What the actors of the engine share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cells/actors/protocol.hpp"
#include "cells/model/dispatch_queue.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/job_machine.hpp"
#include "cells/model/lease_table.hpp"
#include "cells/model/routing.hpp"
#include "cells/model/service_guard.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// Observes decisions as they are made, in the actor that makes them: for checkers, metrics and
/// logs. Every method must be cheap and thread-safe.
class EngineProbe {
 public:
  virtual ~EngineProbe() = default;
  /// An actor was spawned: "dispatcher", "pool", "worker", "cell", "service" or "provider".
  virtual void spawned(std::string_view /*role*/, const CellKey&, const caf::actor&) {}
  /// A new job is stored.
  virtual void submitted(const Job&) {}
  /// A request to submit or reopen a job was refused, and the refusal is final.
  virtual void refused(const Refusal&, const std::string& /*customer*/) {}
  /// A job was handed out: of at most `max` leases, `running` are live, this one included.
  virtual void handed_out(const Job&, std::size_t /*running*/, std::size_t /*max*/) {}
  /// Follows the first handed_out of a job, `waited` after the job was due.
  virtual void first_attempt_began(const Job&, milliseconds /*waited*/) {}
  /// A lease ended, `ran` after its job was handed out; a later call continues a `pending` attempt.
  /// The job is as it was handed out. `cause`: why the call was aborted, if it was; a provider's
  /// own timeout counts as one.
  virtual void attempt_ended(const Job&, AttemptEnd::Kind, AbortCause /*cause*/,
                             microseconds /*ran*/) {}
  /// The same event as attempt_ended: `before` becomes `after`. `cause`: why the dispatcher aborted
  /// the call, if it did.
  virtual void lease_ended(const Job& /*before*/, const Job& /*after*/, AbortCause /*cause*/) {}
  /// A job has ended; the end is stored.
  virtual void job_ended(const Job&) {}
  /// A report named a lease that is not live, and changed nothing.
  virtual void stale_report(const CellKey&, Lease) {}
  /// The window of this cell's first lane, that of workers inside, has this many jobs; called
  /// often.
  virtual void window_holds(const CellKey&, std::size_t /*jobs*/) {}
  /// A dispatcher died; its successor starts from the store.
  virtual void cell_restarted(const CellKey&) {}
  /// The provider actor of a service died and was replaced; its calls have failed.
  virtual void provider_restarted(const std::string& /*service*/) {}
  /// The circuit of a service opened, or closed again. A half-open one has not closed.
  virtual void circuit_opened(const std::string& /*service*/) {}
  virtual void circuit_closed(const std::string& /*service*/) {}
  /// A job is held: its service, or the undo that it needs, is not configured.
  virtual void job_held(const Job&) {}
  /// No cell matches so many unfinished or settling jobs; customer and product are those of one.
  virtual void jobs_without_cell(std::uint64_t /*jobs*/, const std::string& /*customer*/,
                                 const std::string& /*product*/) {}
  /// Due times of a schedule fired, were skipped or were missed; the change is stored.
  virtual void due_times_passed(const std::string& /*schedule*/, DueOutcome,
                                std::uint64_t /*times*/) {}
  /// A job of a schedule was refused. The schedule desk submits it again until the next due time.
  virtual void firing_refused(const std::string& /*schedule*/, const Refusal&) {}
  /// A stored schedule never fires, because its time zone is unknown on this machine.
  virtual void schedule_without_zone(const std::string& /*schedule*/, const std::string& /*zone*/) {
  }
};

/// The most that one operation of the store does. More work takes several operations, so that other
/// requests to the store come in between.
struct StoreSizes {
  std::size_t backlogs_max = 1000;    ///< Listed.
  std::size_t moved_jobs_max = 1000;  ///< From one cell to another.
  std::size_t due_jobs_max = 256;     ///< Advanced.
  std::size_t held_jobs_max = 1000;   ///< Released.
};

/// The most that the desks of one engine do at a time.
struct DeskSizes {
  std::size_t offered_slots_max = 64;      ///< By a cell to one desk, and not answered.
  std::size_t leased_bytes_max = 1 << 20;  ///< Of the jobs that one answer leases, or one job.
  std::size_t listed_bytes_max = 8 << 20;  ///< Of the jobs in one list of leases, or one job.
  std::size_t permits_max = ServiceGuard::permits_usual;  ///< Handed out at once, by one service.
};

struct EngineOptions {
  JobStore store;
  JobObserver observer;  ///< May be null.
  std::function<WallTime()> wall_clock;
  std::shared_ptr<const Routing> routing;
  std::map<std::string, ServiceEntry> services;
  std::uint64_t seed = 1;       ///< For the jitter of retries.
  std::uint64_t id_offset = 0;  ///< Of JobIdSource.
  DispatchQueue::Limits window;
  /// Of all windows together, roughly: each cell may also hold `window.jobs_min` jobs.
  std::size_t window_bytes_max = 16 << 20;
  StoreSizes store_sizes;
  DeskSizes desks;
  milliseconds go_ahead{5000};    ///< How often a cell that seems blocked asks the store again.
  milliseconds idle_close{1000};  ///< For how long an idle instance stays open, at least.
  std::uint32_t instances_max = 100'000;  ///< Per template.
  /// Of all cells together; none: the sum of their pool sizes.
  std::optional<std::uint64_t> running_max{};
  std::shared_ptr<EngineProbe> probe = std::make_shared<EngineProbe>();
};

/// Shared by all actors of one epoch; thread-safe.
struct EngineContext {
  EngineContext(EngineOptions opts, std::uint64_t epoch, LeaseDesk lease_desk,
                CapacityDesk capacity_desk)
      : options(std::move(opts)),
        desk(std::move(lease_desk)),
        capacity(std::move(capacity_desk)),
        window_budget(std::make_shared<WindowBudget>(options.window_bytes_max)),
        ids(options.id_offset),
        leases(epoch) {}

  const EngineOptions options;
  const LeaseDesk desk;
  const CapacityDesk capacity;
  const std::shared_ptr<WindowBudget> window_budget;
  JobIdSource ids;
  LeaseSource leases;
};
using ContextPtr = std::shared_ptr<EngineContext>;

/// Reads both clocks; call it once per handler.
Now read_clocks(caf::local_actor& self, const EngineContext& context);

/// Reports a changed job to the observer, and to the probe if the job has ended.
void tell(const EngineContext& context, JobPtr job);

/// Reports to the observer that it may have missed changes.
void tell_changes_lost(const EngineContext& context);

}  // namespace cells
