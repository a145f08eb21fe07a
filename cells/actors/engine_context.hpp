// What every actor of the engine is given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cells/actors/protocol.hpp"
#include "cells/model/dispatch_queue.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/job_machine.hpp"
#include "cells/model/lease_table.hpp"
#include "cells/model/routing.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// Sees decisions at the moment they are made, in the actor that makes them. For checkers, metrics
/// and logs; every method is cheap, and safe to call from several threads.
class EngineProbe {
 public:
  virtual ~EngineProbe() = default;
  /// An actor began: "dispatcher", "pool", "worker", "cell", "service".
  virtual void spawned(std::string_view /*role*/, const CellKey&, const caf::actor&) {}
  /// A new job is on disk.
  virtual void submitted(const Job&) {}
  /// A submission, or another try of a job, was refused for good.
  virtual void refused(const Refusal&) {}
  /// A job was handed out: `running` leases are live, this one included, of at most `max`.
  virtual void handed_out(const Job&, std::size_t /*running*/, std::size_t /*max*/) {}
  /// With handed_out, once for a job: `waited` has passed since it was due.
  virtual void first_attempt_began(const Job&, milliseconds /*waited*/) {}
  /// An attempt of the job as it was handed out is over, `ran` after that; `cause` is why it was
  /// aborted, if it was.
  virtual void attempt_ended(const Job&, AttemptEnd::Kind, AbortCause /*cause*/,
                             microseconds /*ran*/) {}
  /// An attempt is over; `after` is what the job becomes, `cause` why it was aborted, if it was.
  virtual void lease_ended(const Job& /*before*/, const Job& /*after*/, AbortCause /*cause*/) {}
  /// A job has ended, on disk.
  virtual void job_ended(const Job&) {}
  /// A report named a lease that is not live, and changed nothing.
  virtual void stale_report(const CellKey&, Lease) {}
  /// A dispatcher died and was started again, with what its cell's jobs were in the store.
  virtual void cell_restarted(const CellKey&) {}
  /// The provider of a service died and was started again; the calls that it had have failed.
  virtual void provider_restarted(const std::string& /*service*/) {}
};

/// How to run the engine.
struct EngineOptions {
  JobStore store;
  JobObserver observer;  ///< May be null.
  std::function<WallTime()> wall_clock;
  std::shared_ptr<const Routing> routing;
  std::map<std::string, ServiceEntry> services;
  std::uint64_t seed = 1;  ///< Of the jitter of retries.
  DispatchQueue::Limits window;
  milliseconds go_ahead{5000};    ///< How often a cell that seems blocked asks the store again.
  milliseconds idle_close{1000};  ///< How long an instance of a template stays without work.
  std::uint32_t instances_max = 100'000;  ///< Of one template.
  std::shared_ptr<EngineProbe> probe = std::make_shared<EngineProbe>();
};

/// Shared by all actors of one epoch; everything in it may be used from any thread.
struct EngineContext {
  EngineContext(EngineOptions opts, std::uint64_t epoch)
      : options(std::move(opts)), leases(epoch) {}

  const EngineOptions options;
  JobIdSource ids;
  LeaseSource leases;
};
using ContextPtr = std::shared_ptr<EngineContext>;

/// Reads both clocks; once per handler.
Now read_clocks(caf::local_actor& self, const EngineContext& context);

/// Tells the observer, if there is one, and the probe of a job's end.
void tell(const EngineContext& context, JobPtr job);

/// Tells the observer, if there is one, that it may have missed changes.
void tell_changes_lost(const EngineContext& context);

}  // namespace cells
