#include "cells/actors/engine_context.hpp"

namespace cells {

Now read_clocks(caf::local_actor& self, const EngineContext& context) {
  const auto steady = self.clock().now().time_since_epoch();
  return {SteadyTime{std::chrono::duration_cast<microseconds>(steady)},
          context.options.wall_clock()};
}

void tell(const EngineContext& context, JobPtr job) {
  if (is_ended(job->state)) context.options.probe->job_ended(*job);
  if (const auto& observer = context.options.observer) {
    caf::anon_send(observer, JobChanged{std::move(job)});
  }
}

void tell_changes_lost(const EngineContext& context) {
  if (const auto& observer = context.options.observer) caf::anon_send(observer, ChangesLost{});
}

}  // namespace cells
