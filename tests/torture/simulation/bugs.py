"""Mistakes that a programmer could make in the engine and in the in-memory store.

`BUG` in a changed text stands for the condition that this bug is planted. `checks` are checks of
the world that find the bug, each without all others. To save time, the tests of rare bugs begin at
`first_seed`, a little before the seed that found them.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    name: str
    checks: tuple[str, ...]
    mistake: str
    source: str
    changes: tuple[tuple[str, str], ...]  # (Text that the source has once, its replacement).
    first_seed: int = 0


BUGS = (
    # --- Leases and attempts ---------------------------------------------------------------------
    Bug(
        "no-fencing", ("two-calls", "call-outlives-attempt"),
        "a worker takes any answer for the end of its current attempt",
        "cells/actors/job_worker.cpp",
        (("    if (lease_ != lease) return;\n    lease_ = {};\n",
          "    if (BUG ? !lease_ : lease_ != lease) return;\n"
          "    if (BUG) lease = lease_;\n    lease_ = {};\n"),),
    ),
    Bug(
        "lease-kept", ("fresh-lease",),
        "an attempt after an interrupted one has the same lease",
        "cells/actors/job_dispatcher.cpp",
        (("  const Lease lease = context_->leases.next();\n",
          "  const Lease lease =\n"
          "      BUG && job->interruptions > 0 ? job->lease : context_->leases.next();\n"),),
    ),
    Bug(
        "stale-rescue", ("entity-kept",),
        "a reload queues jobs again that are running in the store but have no lease here, even if "
        "their end has been written in the meantime",
        "cells/actors/job_dispatcher_moves.cpp",
        (("  idle_reported_ = false;\n  queue_.expect_more();\n",
          "  idle_reported_ = false;\n  queue_.expect_more();\n"
          "  if (BUG) {\n"
          "    request(store(), caf::infinite, LoadCell{key_}).then([this](const CellLoaded& "
          "loaded) {\n"
          "      for (const auto& job : loaded.running) {\n"
          "        if (leases_.has_job(job->id)) continue;\n"
          "        AttemptEnd end;\n"
          "        end.kind = AttemptEnd::Kind::interrupted;\n"
          "        LiveLease lost;\n"
          "        lost.job = job;\n"
          "        record(job, std::make_shared<const Job>(\n"
          "                        end_attempt(*job, end, retry_inputs(lost), now().wall)));\n"
          "      }\n"
          "    });\n"
          "  }\n"),),
    ),
    Bug(
        "early-release", ("call-outlives-attempt",),
        "the dispatcher ends an attempt whose job expires before the abort is confirmed",
        "cells/actors/job_dispatcher_time.cpp",
        (("abort(lease, AbortCause::expiry);\n",
          "{\n    abort(lease, AbortCause::expiry);\n"
          "    CallOutcome over;\n    over.kind = CallOutcome::Kind::aborted;\n"
          "    if (BUG) completed(lease, over);\n  }\n"),),
    ),
    Bug(
        "wall-clock-deadline", ("early-timeout",),
        "deadlines use the wall clock",
        "cells/actors/engine_context.cpp",
        (("  const auto steady = self.clock().now().time_since_epoch();\n",
          "  const microseconds steady = BUG ? "
          "microseconds{context.options.wall_clock().time_since_epoch()}\n"
          "      : "
          "std::chrono::duration_cast<microseconds>(self.clock().now().time_since_epoch());\n"),),
    ),
    Bug(
        "late-timer", ("late-call", "late-slot"),
        "handing out a job does not arm the timer for its deadline",
        "cells/actors/job_dispatcher.cpp",
        (("running->spec->timeout, service->client, after_commit});\n  arm(at);\n",
          "running->spec->timeout, service->client, after_commit});\n  if (!BUG) arm(at);\n"),
         ("->spec->timeout);\n  arm(now());\n", "->spec->timeout);\n  if (!BUG) arm(now());\n")),
    ),
    Bug(
        "early-call", ("entity-doubt",),
        "a call begins before the disk shows its job as running",
        "cells/actors/job_worker.cpp",
        (("    if (message.after_commit) {\n", "    if (message.after_commit && !BUG) {\n"),),
    ),
    Bug(
        "abandoned-expiry", ("expiry",),
        "the lease table forgets when a job expires as soon as its call begins",
        "cells/model/lease_table.cpp",
        (("  entry->started = true;\n",
          "  entry->started = true;\n"
          "  if (BUG && entry->job->expires_at) expiries_.erase({*entry->job->expires_at, "
          "lease});\n"),),
        first_seed=30,
    ),
    Bug(
        "next-one-too", ("early-timeout",),
        "the lease table lists the attempt whose deadline is next beside those that are overdue",
        "cells/model/lease_table.cpp",
        (("    if (time > now) break;\n",
          "    if (time > now && !(BUG && leases.size() == 1)) break;\n"),),
    ),
    Bug(
        "lost-lease", ("late-slot",),
        "an attempt whose abort fails is not aborted again",
        "cells/actors/job_dispatcher.cpp",
        (("              if (leases_.find(lease)) orphans_.insert(lease);\n",
          "              if (!BUG && leases_.find(lease)) orphans_.insert(lease);\n"),),
        first_seed=1390,
    ),
    Bug(
        "forgotten-attempt", ("lease-returned", "late-slot", "unfinished-job"),
        "the attempt of a worker that dies is never ended",
        "cells/actors/job_dispatcher.cpp",
        (("  if (!live) return;\n  live->worker = 0;\n",
          "  if (!live || BUG) return;\n  live->worker = 0;\n"),),
    ),
    # --- Workers outside the daemon --------------------------------------------------------------
    Bug(
        "lease-unstored", ("lease-stored",),
        "a lease is answered before it is on disk",
        "cells/actors/job_dispatcher_leases.cpp",
        (("  if (!leases.empty()) {\n",
          "  if (BUG && !leases.empty()) {\n    granted(leases, message, owed);\n"
          "  } else if (!leases.empty()) {\n"),),
    ),
    Bug(
        "lost-wake-up", ("idle-lease",),
        "a dispatcher that fills its last slot with a lease forgets that workers outside wait for "
        "the next one",
        "cells/actors/job_dispatcher_leases.cpp",
        (("    answer.available = available(lane);\n",
          "    answer.available = available(lane);\n    if (BUG) lane.wanted.clear();\n"),),
    ),
    Bug(
        "shrink-inside", ("pool-size",),
        "a change of a pool's size adds the leases that are out to the new size",
        "cells/actors/job_dispatcher.cpp",
        (("        idle_reported_ = false;  // The override that kept the cell open may be gone.\n",
          "        if (BUG) {\n"
          "          SlotTerms more = message.terms;\n"
          "          more.guarantee += static_cast<std::uint32_t>(leases_.outside());\n"
          "          more.burst += static_cast<std::uint32_t>(leases_.outside());\n"
          "          slots_.change(more);\n        }\n"
          "        idle_reported_ = false;  // The override that kept the cell open may be gone.\n"),),
    ),
    Bug(
        "second-life", ("revived",),
        "half of the leases outside are live for 100 ms after their deadline, and a heartbeat then "
        "extends them",
        "cells/actors/job_dispatcher_leases.cpp",
        (("void JobDispatcherActor::abort_outside(Lease lease, AbortCause cause) {\n"
          "  const LiveLease& live = *leases_.find(lease);\n",
          "void JobDispatcherActor::abort_outside(Lease lease, AbortCause cause) {\n"
          "  const LiveLease& live = *leases_.find(lease);\n"
          "  if (BUG && cause == AbortCause::timeout && live.abort == AbortCause::none &&\n"
          "      live.deadline.time_since_epoch().count() % 2 == 0) {\n"
          "    leases_.start(lease, live.deadline + microseconds{100'001});\n    return;\n  }\n"),),
    ),
    Bug(
        "late-heartbeat", ("stale-accepted",),
        "a heartbeat is accepted while the end of its lease is being written",
        "cells/actors/job_dispatcher_leases.cpp",
        (("LeaseExtended JobDispatcherActor::extend(const ExtendLease& message) {\n"
          "  LiveLease* live = leases_.find(message.lease);\n",
          "LeaseExtended JobDispatcherActor::extend(const ExtendLease& message) {\n"
          "  LiveLease* live = leases_.find(message.lease);\n"
          "  if (BUG && !live && message.job && recording_.contains(message.job->id)) {\n"
          "    return {LeaseOut{message.job, now().steady + message.job->spec->timeout}, false};\n"
          "  }\n"),),
    ),
    Bug(
        "either-outcome", ("stale-accepted",),
        "while the report of a worker is being written, the opposite report is accepted too",
        "cells/actors/job_dispatcher_leases.cpp",
        (("first->second.report == report) {\n", "(BUG || first->second.report == report)) {\n"),),
        first_seed=30,
    ),
    Bug(
        "report-unstored", ("report-stored",),
        "the report of a worker outside is answered before it is on disk",
        "cells/actors/job_dispatcher_leases.cpp",
        (("  completed(message.lease, message.outcome, report);\n",
          "  completed(message.lease, message.outcome, report);\n"
          "  if (BUG) ending.answers.deliver(LeaseEnded{true});\n"),),
    ),
    Bug(
        "lease-cut-short", ("lease-kept",),
        "at its start, a dispatcher ends the leases outside at all steps of a job but the first",
        "cells/actors/job_dispatcher.cpp",
        (("    const bool outside = !job->steps[job->step].worker.empty();\n",
          "    const bool outside = !job->steps[job->step].worker.empty() && !(BUG && job->step > "
          "0);\n"),),
    ),
    Bug(
        "return-is-timeout", ("lease-kept", "early-timeout"),
        "a lease that comes back because its worker has hung up counts as an attempt",
        "cells/actors/job_dispatcher_leases.cpp",
        (("    end_outside(lease, AbortCause::hand_back);\n",
          "    end_outside(lease, BUG ? AbortCause::timeout : AbortCause::hand_back);\n"),),
    ),
    Bug(
        "report-forgotten", ("repeat-refused",),
        "a job that is reopened forgets the report that ended its last attempt",
        "cells/model/job_machine.cpp",
        (("    fresh.report = next.steps[i].report;", "    if (!BUG) fresh.report = "
          "next.steps[i].report;"),),
        first_seed=280,
    ),
    Bug(
        "unlisted", ("lease-listed",),
        "the list of a worker's leases lacks those that it had before a restart",
        "cells/actors/lease_desk.cpp",
        (("    note_out({message.lease, message.key, message.cell, bound});\n",
          "    note_out({message.lease, message.key, message.cell, bound});\n"
          "    if (BUG) by_worker_.erase({worker_of(*message.lease.job), "
          "message.lease.job->lease});\n"),),
    ),
    Bug(
        "beyond-expiry", ("lease-deadline",),
        "the deadline of a lease passes the expiry of its job",
        "cells/actors/job_dispatcher_leases.cpp",
        (("    deadline = std::min<SteadyTime>(deadline, at.steady + (*expiry - at.wall));\n",
          "    if (!BUG) deadline = std::min<SteadyTime>(deadline, at.steady + (*expiry - "
          "at.wall));\n"),),
        first_seed=180,
    ),
    Bug(
        "slot-withheld", ("idle-worker",),
        "a slot that no worker outside takes stays reserved",
        "cells/actors/job_dispatcher_lanes.cpp",
        (("  free_reserved(found->second);\n", "  if (!BUG) free_reserved(found->second);\n"),),
        first_seed=160,
    ),
    Bug(
        "anybodys-job", ("wrong-service",),
        "a worker that may have only the jobs of one customer gets jobs of others",
        "cells/actors/job_dispatcher_leases.cpp",
        (("    JobPtr job = message.customer ? ", "    JobPtr job = message.customer && !BUG ? "),),
        first_seed=130,
    ),
    Bug(
        "untried", ("idle-lease",),
        "workers that wait for the jobs of one customer alone do not learn of a cell that has some "
        "again",
        "cells/model/lease_matching.cpp",
        (("  try_again(filled);\n", "  if (!BUG) try_again(filled);\n"),),
        first_seed=1120,
    ),
    Bug(
        "unseen-change", ("idle-worker",),
        "a job that moves to another lane while a fetch for that lane is under way is forgotten",
        "cells/actors/job_dispatcher_lanes.cpp",
        (("  queue_of(moved->lane).expect_more();", "  if (!BUG) queue_of(moved->lane).expect_more();"),),
        first_seed=220,
    ),
    # --- Batches ---------------------------------------------------------------------------------
    Bug(
        "line-unstored", ("line-stored",),
        "a batch acknowledges a line whose submission has failed",
        "src/http/api/batch_desk.cpp",
        (("              note_outcome(id, number, bytes, Outcome::uncertain,\n"
          "                           std::make_unique<Problem>(store_unavailable()));\n",
          "              note_outcome(id, number, bytes, BUG ? Outcome::accepted : Outcome::uncertain,\n"
          "                           std::make_unique<Problem>(store_unavailable()));\n"),),
        first_seed=310,
    ),
    Bug(
        "hasty-line", ("line-stored",),
        "a batch counts a line before its job is on disk",
        "cells/actors/job_dispatcher_requests.cpp",
        (("  submitting_.emplace(id, promise);\n",
          "  submitting_.emplace(id, promise);\n"
          "  if (BUG && job->batch != 0) promise.deliver(JobSubmitted{job, std::nullopt, false});\n"),),
        first_seed=30,
    ),
    Bug(
        "gate-open", ("batch-end",),
        "a batch ends at its first refused line although a line behind it was accepted",
        "src/http/api/batch_tally.cpp",
        (("    if (taken == 0 && ends_batch(line.outcome)) {\n",
          "    if ((taken == 0 || BUG) && ends_batch(line.outcome)) {\n"),),
        first_seed=30,
    ),
    Bug(
        "turned-away-silently", ("batch-end",),
        "a line with a used key that finds no room ends its batch without a word",
        "cells/model/submission.cpp",
        (("  has_key ? gate->close_until_known(refusal) : gate->close();\n",
          "  has_key && !BUG ? gate->close_until_known(refusal) : gate->close();\n"),),
        first_seed=120,
    ),
    Bug(
        "scheduled-uncounted", ("batch-counts",),
        "a batch does not count its jobs that are not due yet",
        "src/store/memory_jobs.cpp",
        (("  if (auto* batch = touch_batch(job->batch)) add_job(*batch, *job);\n",
          "  if (auto* batch = BUG && job->state == JobState::scheduled ? nullptr\n"
          "                                                             : touch_batch(job->batch)) {\n"
          "    add_job(*batch, *job);\n  }\n"),),
    ),
    # --- Operations ------------------------------------------------------------------------------
    Bug(
        "operation-forgotten", ("operation-kept",),
        "a step does not keep the operation that its provider has begun",
        "cells/model/job_machine.cpp",
        (("  if (end.operation) step.operation = std::move(*end.operation);\n",
          "  if (end.operation && !BUG) step.operation = std::move(*end.operation);\n"),),
    ),
    Bug(
        "operation-dropped", ("operation-kept",),
        "the first poll is the last that knows its operation",
        "cells/model/job_machine.cpp",
        (("  step.report.reset();\n  step.progress.reset();\n",
          "  step.report.reset();\n  step.progress.reset();\n"
          "  if (BUG && !goes_on) step.operation.clear();\n"),),
    ),
    Bug(
        "polls-counted", ("early-failure",),
        "each poll of an operation counts as an attempt",
        "cells/model/job_machine.cpp",
        (("  if (!goes_on) attempts_of(next) += 1;\n",
          "  if (!goes_on || BUG) attempts_of(next) += 1;\n"),),
    ),
    # --- Compensation and followers ----------------------------------------------------------------
    Bug(
        "undo-forwards", ("undo-order",),
        "the first step of a job is undone first",
        "cells/model/job_machine.cpp",
        (("  for (std::size_t i = end; i > 0; --i) {\n    if (needs_undo(job.steps[i - 1])) return i - 1;\n  }\n",
          "  for (std::size_t i = 0; BUG && i < end; ++i) {\n    if (needs_undo(job.steps[i])) return i;\n  }\n"
          "  for (std::size_t i = end; i > 0; --i) {\n    if (needs_undo(job.steps[i - 1])) return i - 1;\n  }\n"),),
        first_seed=200,
    ),
    Bug(
        "undo-of-nothing", ("undo-needless",),
        "a step that certainly failed is undone",
        "cells/model/job_machine.cpp",
        (("  return step.state == StepState::succeeded || step.in_doubt || !step.operation.empty();\n",
          "  return step.state == StepState::succeeded || step.in_doubt || !step.operation.empty() ||\n"
          "         (BUG && step.state == StepState::failed);\n"),),
    ),
    Bug(
        "doubt-forgotten", ("undo-missing",),
        "only the outcome of the last attempt decides whether the failed step is undone",
        "cells/model/job_machine.cpp",
        (("  if (!undoes && compensates(next) && leaves_doubt(end)) step.in_doubt = true;\n",
          "  if (!undoes && compensates(next) && leaves_doubt(end)) step.in_doubt = true;\n"
          "  if (BUG && !leaves_doubt(end)) step.in_doubt = false;\n"),),
        first_seed=60,
    ),
    Bug(
        "doubt-unstored", ("undo-missing",),
        "an attempt that a crash cuts short leaves no doubt",
        "cells/model/job_machine.cpp",
        (("  return !end.never_began && (unclear || end.in_doubt);\n",
          "  if (BUG && end.kind == AttemptEnd::Kind::interrupted) return false;\n"
          "  return !end.never_began && (unclear || end.in_doubt);\n"),),
        first_seed=50,
    ),
    Bug(
        "undo-given-up", ("undo-missing",),
        "a compensation ends with the first undo that fails for good",
        "cells/model/job_machine.cpp",
        (("  if (const auto next = last_to_undo(job, job.step)) return turn_to_undo(job, *next);\n",
          "  const bool ends = BUG && state == StepState::undo_failed;\n"
          "  const auto next = ends ? std::nullopt : last_to_undo(job, job.step);\n"
          "  if (next) return turn_to_undo(job, *next);\n"),),
        first_seed=120,
    ),
    Bug(
        "undo-repeated", ("undo-once",),
        "a failed step whose effect is unknown is undone again and again",
        "cells/model/job_machine.cpp",
        (("  step.state = state;\n  step.finished_at = now;\n  step.operation.clear();\n",
          "  step.state = state;\n  step.finished_at = now;\n  step.operation.clear();\n"
          "  if (BUG && step.in_doubt) return turn_to_undo(job, job.step);\n"),),
    ),
    Bug(
        "undo-unrecorded", ("undo-early",),
        "an undo is handed out while the failure is being written, and called at once",
        "cells/actors/job_dispatcher.cpp",
        (("  record(live.job, after);\n  dispatch(at);\n",
          "  record(live.job, after);\n"
          "  if (BUG && after->state == JobState::compensating && !after->next_attempt_at) {\n"
          "    recording_.erase(after->id);\n    offer(after);\n  }\n"
          "  dispatch(at);\n"),
         ("  return service.settle > milliseconds{0} || may_undo(job, job.step);\n",
          "  if (BUG && is_compensating(job)) return false;\n"
          "  return service.settle > milliseconds{0} || may_undo(job, job.step);\n")),
    ),
    Bug(
        "undo-cancelled", ("undo-end",),
        "a compensation can be cancelled while it waits",
        "src/store/job_rules.cpp",
        (("  return state == JobState::scheduled || state == JobState::queued || state == JobState::retrying;\n",
          "  if (BUG && state == JobState::compensating) return true;\n"
          "  return state == JobState::scheduled || state == JobState::queued || state == JobState::retrying;\n"),),
    ),
    Bug(
        "undo-lost", ("unfinished-job",),
        "a compensation that is handed back is never called again",
        "src/store/job_rules.cpp",
        (("  return job.state == JobState::compensating && !job.next_attempt_at;\n",
          "  if (BUG && job.steps[job.step].state == cells::StepState::retrying) return false;\n"
          "  return job.state == JobState::compensating && !job.next_attempt_at;\n"),),
    ),
    Bug(
        "follower-unasked", ("follower-cause",),
        "a job that is cancelled has followers, too",
        "src/store/job_rules.cpp",
        (("  return ended.state == JobState::failed ? last_id : ended.failed_ahead;\n",
          "  const bool failed = ended.state == JobState::failed ||\n"
          "                      (BUG && ended.state == JobState::cancelled);\n"
          "  return failed ? last_id : ended.failed_ahead;\n"),),
    ),
    Bug(
        "follower-forgotten", ("follower-start",),
        "a crash forgets which jobs are followers",
        "src/store/memory_jobs.cpp",
        (("  marked->failed_ahead = failed_ahead;\n",
          "  if (!BUG) marked->failed_ahead = failed_ahead;\n"),),
    ),
    Bug(
        "latecomer-falls", ("follower-cause",),
        "jobs that join a line after the failure are cancelled, too",
        "src/store/job_rules.cpp",
        (("  return !is_ended(job.state) && job.place <= failed_ahead && job.failed_ahead < failed_ahead;\n",
          "  return !is_ended(job.state) && (job.place <= failed_ahead || BUG) && job.failed_ahead < failed_ahead;\n"),),
        first_seed=80,
    ),
    # --- Permits ---------------------------------------------------------------------------------
    Bug(
        "permit-leak", ("idle-worker", "unfinished-job"),
        "the permit of an attempt that is cut short stays out",
        "cells/actors/permit_desk.cpp",
        (("  guard_.release(message.lease);\n  without_permit_.erase(message.lease);\n",
          "  if (!BUG || message.sign.call != CallSign::nothing) guard_.release(message.lease);\n"
          "  without_permit_.erase(message.lease);\n"),),
    ),
    Bug(
        "permit-early", ("service-limit",),
        "a permit comes back as soon as the call under it has ended with a failure",
        "cells/actors/permit_desk.cpp",
        (("  if (without_permit_.erase(lease) == 0) return;\n  guard_.release(lease);\n",
          "  if (without_permit_.erase(lease) == 0 && !BUG) return;\n  guard_.release(lease);\n"),),
    ),
    Bug(
        "permit-twice", ("service-limit", "service-rate"),
        "a permit that a cell takes as its second at once is not counted",
        "cells/actors/permit_desk.cpp",
        (("      guard_.take(lease, probe, now);\n",
          "      if (BUG && lease != taken->leases.front()) continue;\n"
          "      guard_.take(lease, probe, now);\n"),),
        first_seed=50,
    ),
    Bug(
        "lease-limit", ("service-limit",),
        "leases that are asked for and not yet granted do not count at a limited service",
        "cells/actors/lease_desk.cpp",
        (("    const auto asked = asked_.find(service);\n",
          "    const auto asked = BUG ? asked_.end() : asked_.find(service);\n"),),
        first_seed=50,
    ),
    Bug(
        "lane-asleep", ("idle-worker", "unfinished-job"),
        "a slot that a desk has declined is never offered again",
        "cells/actors/permit_desk.cpp",
        (("      owner_.send(cell, DeclineSlot{service_});\n",
          "      owner_.send(cell, DeclineSlot{service_});\n"
          "      if (BUG) matching_.emptied(key);\n"),),
    ),
    Bug(
        "saved-permits", ("service-rate",),
        "permits that no job takes accumulate beyond the burst",
        "cells/model/rate_limit.cpp",
        (("  const SteadyTime due = std::max(theoretical_.value_or(now), now);\n",
          "  const SteadyTime due = BUG ? theoretical_.value_or(now)\n"
          "                             : std::max(theoretical_.value_or(now), now);\n"),
         ("  theoretical_ =\n      std::max(theoretical_.value_or(at), at) + interval_",
          "  theoretical_ = (BUG ? theoretical_.value_or(at)\n"
          "                      : std::max(theoretical_.value_or(at), at)) +\n"
          "                 interval_")),
    ),
    Bug(
        "rate-refilled", ("service-rate",),
        "a reload that does not change the rate of a service lets the whole burst begin again",
        "cells/model/service_guard.cpp",
        (("  } else if (!rate_ || limits.rate_per_s",
          "  } else if (BUG || !rate_ || limits.rate_per_s"),),
        first_seed=40,
    ),
    Bug(
        "unpaid-lease", ("service-rate",),
        "a lease does not count against the rate of its service",
        "cells/actors/lease_desk.cpp",
        (("    for (const auto& lease : granted) found->second.guard.take(",
          "    for (const auto& lease : granted)\n"
          "      if (BUG) found->second.guard.count(lease.job->lease);\n"
          "      else found->second.guard.take("),),
        first_seed=40,
    ),
    Bug(
        "sleeping-lease", ("idle-lease",),
        "a worker outside that waits only for the rate of its service is never granted a lease",
        "cells/actors/lease_desk.cpp",
        (("    if (!at || (armed && *armed <= *at)) return;\n",
          "    if (BUG || !at || (armed && *armed <= *at)) return;\n"),),
        first_seed=60,
    ),
    Bug(
        "timer-once", ("idle-worker",),
        "the timer for the next permit of a service is armed once and never again",
        "cells/actors/permit_desk.cpp",
        (("  armed_.reset();\n", "  if (!BUG) armed_.reset();\n"),),
    ),
    # --- What becomes of a job -------------------------------------------------------------------
    Bug(
        "lost-checkpoint", ("checkpoint",),
        "a cancelled job that is reopened begins again with its first step",
        "cells/model/job_machine.cpp",
        (("  for (std::size_t i = next.step; i < next.steps.size(); ++i) {\n    Step fresh;\n",
          "  if (BUG && job.state == JobState::cancelled) next.step = 0;\n"
          "  for (std::size_t i = next.step; i < next.steps.size(); ++i) {\n    Step fresh;\n"),),
    ),
    Bug(
        "repeated-step", ("needless-call",),
        "the second step of a job is repeated after its success",
        "cells/model/job_machine.cpp",
        (("  job.step += 1;\n",
          "  job.step += BUG && job.step == 1 && job.steps.size() > 2 ? 0 : 1;\n"),),
    ),
    Bug(
        "lease-returned-to-none", ("stale-write",),
        "a job that is handed back is stored without its last lease",
        "cells/model/job_machine.cpp",
        (("  job.state = JobState::queued;\n  step.state",
          "  job.state = JobState::queued;\n  if (BUG) job.lease = Lease{};\n  step.state"),),
    ),
    Bug(
        "cancel-race", ("cancel-stored", "cancel-kept"),
        "an attempt that succeeds just before its abort wins over the cancellation",
        "cells/model/job_machine.cpp",
        (("  if (next.cancel_requested) {\n",
          "  if (next.cancel_requested && !(BUG && end.kind == Kind::succeeded)) {\n"),),
    ),
    Bug(
        "handed-back-unsettled", ("entity-doubt",),
        "a job that a shutdown hands back does not wait until its entity has settled",
        "cells/model/job_machine.cpp",
        (("    case Kind::handed_back:\n      take_back_attempt(next, inputs.settle, now);\n",
          "    case Kind::handed_back:\n"
          "      take_back_attempt(next, BUG ? milliseconds{0} : inputs.settle, now);\n"),
         ("  if (settles && may_go_on(end.kind, next)) next.settle_until",
          "  if (settles && may_go_on(end.kind, next) && !(BUG && end.kind == Kind::handed_back))\n"
          "    next.settle_until")),
    ),
    Bug(
        "settle-ignored", ("entity-doubt", "entity-kept"),
        "a retry after an unknown outcome waits only for its backoff",
        "cells/model/job_machine.cpp",
        (("  wait_until(job, now + std::max(delay, settle));\n",
          "  wait_until(job, now + (BUG ? delay : std::max(delay, settle)));\n"),),
    ),
    Bug(
        "released-at-the-end", ("entity-doubt",),
        "a job that is cancelled while it runs releases its entity at once",
        "cells/model/job_machine.cpp",
        (("  const bool settles = inputs.settle > milliseconds{0};\n",
          "  const bool settles =\n"
          "      inputs.settle > milliseconds{0} && !(BUG && end.kind == Kind::cancelled);\n"),),
    ),
    Bug(
        "operation-unsettled", ("entity-doubt",),
        "a job that gives up its operation between two calls releases its entity at once",
        "cells/model/job_machine.cpp",
        (("  if (goes_on && *next.settle_until > *next.next_attempt_at) {\n",
          "  if (BUG && goes_on) next.settle_until.reset();\n"
          "  if (!BUG && goes_on && *next.settle_until > *next.next_attempt_at) {\n"),),
        first_seed=20,
    ),
    Bug(
        "one-attempt-less", ("early-failure",),
        "a job that may have four attempts has three",
        "cells/model/job_machine.cpp",
        (("  const std::uint32_t attempts = attempts_of(job);\n",
          "  const bool less = BUG && job.spec->max_attempts == 4;\n"
          "  const std::uint32_t attempts = attempts_of(job) + (less ? 1 : 0);\n"),),
    ),
    Bug(
        "one-attempt-more", ("attempts-max",),
        "a job that may have four attempts has five",
        "cells/model/job_machine.cpp",
        (("  const bool last = counted(end) && attempts >= job.spec->max_attempts;\n",
          "  const bool more = BUG && job.spec->max_attempts == 4;\n"
          "  const bool last = counted(end) && attempts >= job.spec->max_attempts + (more ? "
          "1 : 0);\n"),),
        first_seed=30,
    ),
    Bug(
        "rejection-retried", ("final-rejection",),
        "a rejection of any step but the first is retried",
        "cells/model/job_machine.cpp",
        (("  if (last || end.kind == AttemptEnd::Kind::rejected) {\n",
          "  if (last || (end.kind == AttemptEnd::Kind::rejected && !(BUG && job.step > 0))) "
          "{\n"),),
    ),
    Bug(
        "hand-back-counted", ("uncounted-attempt",),
        "an attempt that a shutdown cuts short counts like one whose connection broke",
        "cells/actors/attempt_end.cpp",
        (("      end.kind = AttemptEnd::Kind::handed_back;\n",
          "      end.kind = BUG ? AttemptEnd::Kind::unknown : AttemptEnd::Kind::handed_back;\n"),),
    ),
    Bug(
        "first-service", ("wrong-service",),
        "the third step calls the service of the second",
        "cells/actors/job_dispatcher.cpp",
        (("find(job.spec->services[job.step]);\n",
          "find(job.spec->services[BUG && job.step == 2 ? 1 : job.step]);\n"),),
    ),
    Bug(
        "success-unheard", ("lost-success",),
        "a success with properties is treated as an invalid answer if its job was cancelled before "
        "and reopened",
        "cells/actors/job_dispatcher.cpp",
        (("  end.report = report;\n",
          "  end.report = report;\n"
          "  if (BUG && live.job->steps[live.job->step].attempts > 2 &&\n"
          "      end.kind == AttemptEnd::Kind::succeeded) {\n"
          "    end.kind = AttemptEnd::Kind::retryable;\n"
          "  }\n"),),
    ),
    Bug(
        "timeout-is-success", ("false-success",),
        "an attempt that is aborted for its timeout at the last step counts as a success",
        "cells/actors/attempt_end.cpp",
        (("    case AbortCause::timeout:\n      end.kind = AttemptEnd::Kind::unknown;\n",
          "    case AbortCause::timeout:\n"
          "      end.kind = BUG ? AttemptEnd::Kind::succeeded : AttemptEnd::Kind::unknown;\n"),),
    ),
    Bug(
        "expired-is-cancelled", ("cancel-unasked",),
        "a job that expires while it waits is cancelled instead of failed",
        "cells/model/job_machine.cpp",
        (('  fail(next, {"expired", "the job expired before it ended", ""}, now);\n',
          '  if (BUG) {\n    cancel(next, now);\n    return next;\n  }\n'
          '  fail(next, {"expired", "the job expired before it ended", ""}, now);\n'),),
    ),
    Bug(
        "hasty-retry", ("early-retry",),
        "a retry that is waiting starts when another job of its cell falls due",
        "src/store/memory_jobs.cpp",
        (("    if (at > request.now || now_due.size() >= request.limit) break;\n",
          "    if (BUG && now_due.size() == 1) {\n"
          "      now_due.push_back(id);\n      continue;\n    }\n"
          "    if (at > request.now || now_due.size() >= request.limit) break;\n"),),
    ),
    Bug(
        "hasty-start", ("early-start",),
        "a job with a delay starts 10 ms too early",
        "cells/actors/job_dispatcher_time.cpp",
        (("AdvanceDue{key_, at.wall, place, ",
          "AdvanceDue{key_, at.wall + milliseconds{BUG ? 10 : 0}, place, "),),
        first_seed=1330,
    ),
    # --- Lines of entities -----------------------------------------------------------------------
    Bug(
        "two-cells", ("line-head", "entity-calls", "entity-leases"),
        "a job that a reload moves becomes the head of its entity's line",
        "src/store/memory_jobs.cpp",
        (("    change(stored, std::move(job), stored.marks);\n    ++answer.moved;\n",
          "    auto marks = stored.marks;\n    if (BUG) marks.head = true;\n"
          "    change(stored, std::move(job), marks);\n    ++answer.moved;\n"),),
    ),
    Bug(
        "newcomer-first", ("line-order",),
        "a new job receives its place before jobs that fell due earlier and have none yet",
        "cells/actors/job_dispatcher_requests.cpp",
        (("others_await_places(at.wall));\n", "!BUG && others_await_places(at.wall));\n"),),
        first_seed=540,
    ),
    Bug(
        "kept-by-none", ("entity-kept",),
        "the store releases the entity of an ended job one second before it has settled",
        "src/store/memory_jobs.cpp",
        (("    if (at > request.now || now_due.size() >= request.limit) break;\n",
          "    if (BUG && is_ended(jobs_.at(id).job->state) &&\n"
          "        at <= request.now + milliseconds{1000}) {\n"
          "      now_due.push_back(id);\n      continue;\n    }\n"
          "    if (at > request.now || now_due.size() >= request.limit) break;\n"),),
    ),
    # --- Who runs next ---------------------------------------------------------------------------
    Bug(
        "stalled-window", ("idle-worker",),
        "the store limits the number of a customer's queued jobs before it leaves out those that "
        "are followers in their entity lines",
        "src/store/memory_jobs.cpp",
        (("    for (const auto& job : first_of(customer->second, request.priority_step, limit)) {\n",
          "    for (const auto& job : first_of(customer->second, request.priority_step, limit)) {\n"
          "      const auto ahead = std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& "
          "item) {\n"
          "        const Job& other = *item.second.job;\n"
          "        return other.cell == request.cell && other.spec->customer == customer->first "
          "&&\n"
          "               other.state == JobState::queued && rank_of(other) < rank_of(*job);\n"
          "      });\n"
          "      if (BUG && static_cast<std::size_t>(ahead) >= request.jobs_max) break;\n"),
         ("    if (best.jobs.empty()) break;\n",
          "    if (BUG && best.jobs.empty()) continue;\n    if (best.jobs.empty()) break;\n")),
    ),
    Bug(
        "window-runs-empty", ("idle-worker",),
        "the dispatcher does not fetch more of a customer's jobs when few are left in memory",
        "cells/model/dispatch_queue.cpp",
        (("  if (!customer.complete && customer.jobs.size() <= jobs_for(customer) / 4) {\n",
          "  if (!BUG && !customer.complete && customer.jobs.size() <= jobs_for(customer) / 4) {\n"),),
    ),
    Bug(
        "unbounded-window", ("window-bound",),
        "the window takes every job that becomes runnable",
        "cells/model/dispatch_queue.cpp",
        (("  if (customer.jobs.size() > jobs_for(customer) ||",
          "  if (BUG) {\n"
          "    turns_.join(customer);\n    return;\n  }\n"
          "  if (customer.jobs.size() > jobs_for(customer) ||"),),
        first_seed=910,
    ),
    Bug(
        "charged-by-count", ("turns",),
        "customers are charged for each job, not for its service time",
        "cells/model/fair_turns.cpp",
        (("  move_clock(party, actual / party.weight_ - charged);\n",
          "  if (!BUG) move_clock(party, actual / party.weight_ - charged);\n"),),
    ),
    Bug(
        "drain-forgets-scheduled", ("idle-worker",),
        "a draining cell treats its scheduled jobs as new ones and does not run them",
        "cells/actors/job_dispatcher_time.cpp",
        (("  if (advancing_ || stopping_) return;\n",
          "  if (advancing_ || stopping_ || (BUG && state_ == CellState::draining)) return;\n"),
         ("  if (next_due_ && !advancing_ && !stopping_) wake",
          "  if (next_due_ && !advancing_ && !stopping_ && !(BUG && state_ == "
          "CellState::draining)) wake")),
    ),
    Bug(
        "lost-hold", ("unfinished-job", "idle-worker"),
        "a job that was held for a missing service is not released when the service is added",
        "cells/actors/job_dispatcher_moves.cpp",
        (("            if (result.released == limit) release_holds_after(result.last);\n",
          "            if (result.released == limit && !BUG) release_holds_after(result.last);\n"),),
        first_seed=830,
    ),
    # --- Pools and cells -------------------------------------------------------------------------
    Bug(
        "one-too-many", ("pool-size",),
        "a shrink reaches the pool but not the dispatcher",
        "cells/actors/job_dispatcher.cpp",
        (("        slots_.change(message.terms);\n",
          "        const bool shrinks = message.terms.guarantee < slots_.terms().guarantee;\n"
          "        if (!BUG || !shrinks) slots_.change(message.terms);\n"),),
        first_seed=30,
    ),
    Bug(
        "large-instances", ("pool-size",),
        "an instance has one worker more than its template",
        "cells/actors/cell_dispatcher.cpp",
        (("pool_size.value_or(settings.pool_size);",
          "pool_size.value_or(settings.pool_size) + (BUG ? 1 : 0);"),),
    ),
    Bug(
        "pool-not-refilled", ("idle-worker",),
        "a pool does not replace a worker that dies",
        "cells/actors/job_worker_pool.cpp",
        (("    retiring_.erase(id);\n    fill();\n",
          "    retiring_.erase(id);\n    if (!BUG) fill();\n"),),
    ),
    Bug(
        "wrong-worker-retired", ("cut-short",),
        "a pool that shrinks ends workers that are busy",
        "cells/actors/job_worker_pool.cpp",
        (("    for (const auto& worker : chosen) retire(worker);\n",
          "    for (const auto& worker : chosen) {\n"
          "      if (BUG) send_exit(worker, caf::exit_reason::user_shutdown);\n"
          "      retire(worker);\n    }\n"),),
    ),
    Bug(
        "idle-worker-race", ("cut-short",),
        "a worker that has to stop is still listed as ready",
        "cells/actors/job_dispatcher.cpp",
        (("  workers_.withdraw(worker);\n", "  if (!BUG) workers_.withdraw(worker);\n"),
         ("        return IdleWithdrawn{workers_.withdraw_idle(message.count)};\n",
          "        auto idle = workers_.withdraw_idle(message.count);\n"
          "        for (const auto& worker : idle) {\n"
          "          if (BUG) workers_.announce(worker);\n        }\n"
          "        return IdleWithdrawn{std::move(idle)};\n")),
        first_seed=60,
    ),
    Bug(
        "lost-pause", ("pause",),
        "a restart forgets that a cell is paused if its pool has been resized as well",
        "cells/actors/cell_dispatcher.cpp",
        (("    overrides_ = loaded.overrides;\n",
          "    overrides_ = loaded.overrides;\n"
          "    for (auto& [key, change] : overrides_) {\n"
          "      if (BUG && change.pool_size) change.state = CellState::active;\n    }\n"),),
    ),
    Bug(
        "lost-resize", ("pool-size",),
        "the successor of a dispatcher runs as many jobs as the configuration says",
        "cells/actors/cell.cpp",
        (("{config(), terms(), setup_.changed.state, Cell{this}}",
          "{config(),\n"
          "                                        BUG ? SlotTerms{setup_.config.settings.pool_size,\n"
          "                                                        setup_.config.settings.pool_size, 1}\n"
          "                                            : terms(),\n"
          "                                        setup_.changed.state, Cell{this}}"),),
        first_seed=1080,
    ),
    Bug(
        "override-unstored", ("override-stored",),
        "a change of a cell's state is answered before it is on disk",
        "cells/actors/cell.cpp",
        (("        [this](const ChangeCellState& message) {\n"
          "          wanted_.state = message.state;\n          return change();\n",
          "        [this](const ChangeCellState& message) -> caf::result<CellDescribed> {\n"
          "          wanted_.state = message.state;\n"
          "          if (!BUG) return change();\n"
          "          setup_.changed = wanted_;\n"
          "          caf::anon_send(context_->options.store, SetCellOverride{setup_.key, "
          "wanted_});\n"
          "          auto promise = make_response_promise<CellDescribed>();\n"
          "          put_in_force([this, owed = owed_.add(promise)] { describe_for(owed); });\n"
          "          return promise;\n"),),
    ),
    # --- Circuit breakers ------------------------------------------------------------------------
    Bug(
        "circuit-closed", ("circuit",),
        "failures do not open a circuit",
        "cells/model/circuit_breaker.cpp",
        (("  if (failures_.size() < policy_.failures || idle() > policy_.window) return;\n",
          "  if (BUG || failures_.size() < policy_.failures || idle() > policy_.window) return;\n"),),
        first_seed=880,
    ),
    Bug(
        "two-probes", ("circuit",),
        "a second probe begins before the first has ended",
        "cells/model/service_guard.cpp",
        (("std::min<std::size_t>(permits, probes_.empty() ? 1 : 0)",
          "std::min<std::size_t>(permits, BUG || probes_.empty() ? 1 : 0)"),),
        first_seed=430,
    ),
    Bug(
        "circuit-unarmed", ("idle-worker",),
        "nothing happens when the time of an open circuit is over",
        "cells/model/service_guard.cpp",
        (("  if (circuit(now) == CircuitState::open) consider",
          "  if (!BUG && circuit(now) == CircuitState::open) consider"),),
    ),
    Bug(
        "probe-counted", ("uncounted-attempt",),
        "a probe that fails uses up an attempt",
        "cells/model/job_machine.cpp",
        (("  if (end.is_probe && (end.kind",
          "  if (!BUG && end.is_probe && (end.kind"),),
        first_seed=3050,
    ),
    # --- Quotas and weights ----------------------------------------------------------------------
    Bug(
        "one-more-runs", ("running-quota",),
        "a customer that runs as many jobs as its quota allows stays in the window",
        "cells/actors/job_dispatcher.cpp",
        (("  if (!running_.is_reached(customer)) return;\n",
          "  if (BUG || !running_.is_reached(customer)) return;\n"),),
    ),
    Bug(
        "never-again", ("idle-worker", "unfinished-job"),
        "a customer whose job has ended stays out of the window",
        "cells/actors/job_dispatcher.cpp",
        (("  if (!was_reached || running_.is_reached(customer)) return;\n",
          "  if (BUG || !was_reached || running_.is_reached(customer)) return;\n"),),
    ),
    Bug(
        "quota-masked", ("running-quota",),
        "the limits that an administrator set are stored and have no effect",
        "cells/actors/cell.cpp",
        (("    config.settings = overridden(std::move(config.settings), setup_.changed.quota);\n",
          "    if (!BUG)\n"
          "      config.settings = overridden(std::move(config.settings), setup_.changed.quota);\n"),),
        first_seed=460,
    ),
    Bug(
        "room-unasked", ("quota-bound",),
        "a job is inserted without asking for the room of its customer",
        "cells/actors/job_dispatcher_requests.cpp",
        (("                    std::move(firing), room()})",
          "                    std::move(firing), BUG ? CustomerRoom{} : room()})"),),
    ),
    Bug(
        "one-job-less", ("refusal",),
        "a customer has room for one job less than its quota says",
        "cells/model/quota.cpp",
        (("  if (room.jobs_max != 0 && jobs >= room.jobs_max) {\n",
          "  if (room.jobs_max != 0 && jobs + (BUG ? 1 : 0) >= room.jobs_max) {\n"),),
        first_seed=30,
    ),
    Bug(
        "rate-unpaid", ("quota-rate",),
        "the submissions of a customer do not count against its rate",
        "cells/model/submission_rates.cpp",
        (("  if (Limited* limited = find(customer)) confirm(*limited, reserved_at);\n",
          "  if (Limited* limited = find(customer)) {\n"
          "    BUG ? release(*limited, reserved_at) : confirm(*limited, reserved_at);\n"
          "  }\n"),),
        first_seed=70,
    ),
    Bug(
        "rate-too-low", ("refusal",),
        "each submission counts twice against the rate of its cell",
        "cells/model/submission_rates.cpp",
        (("  count_reserved(cell_, now);\n",
          "  count_reserved(cell_, now);\n"
          "  if (BUG && cell_.limit) cell_.with_reserved->take(1, now);\n"),),
    ),
    Bug(
        "all-alike", ("turns",),
        "each customer has the weight of the others",
        "cells/model/dispatch_queue.cpp",
        (("  turns_.set_weight(found->second, terms_.weights.weight_of(name));\n",
          "  turns_.set_weight(found->second,\n"
          "                    BUG ? terms_.weights.others() : terms_.weights.weight_of(name));\n"),),
        first_seed=140,
    ),
    # --- Capacity between cells ------------------------------------------------------------------
    Bug(
        "deaf-borrower", ("guarantee",),
        "a cell goes on starting jobs in slots that it is to give back",
        "cells/actors/job_dispatcher.cpp",
        (("        slots_.recall(message.to);\n", "        if (!BUG) slots_.recall(message.to);\n"),),
        first_seed=2560,
    ),
    Bug(
        "silent-need", ("idle-worker",),
        "a cell that could use more slots than it holds does not report it",
        "cells/model/slot_account.cpp",
        (("  const bool lacks = is_answered_ &&",
          "  const bool lacks = !BUG && is_answered_ &&"),),
    ),
    Bug(
        "one-slot-too-many", ("capacity",),
        "the capacity desk grants one slot more than there are",
        "cells/model/capacity_book.cpp",
        (("  return static_cast<std::int64_t>(total()) -",
          "  return (BUG ? 1 : 0) + static_cast<std::int64_t>(total()) -"),),
    ),
    Bug(
        "resize-counted-twice", ("refusal",),
        "a cell that is resized needs room for its whole new size, as if it had none",
        "cells/model/guarantees.cpp",
        (("static_cast<std::int64_t>(demand.wanted) - of(cell) <=",
          "static_cast<std::int64_t>(demand.wanted) - (BUG ? 0 : of(cell)) <="),),
    ),
    Bug(
        "kept-loan", ("final-state",),
        "slots that no cell needs do not return to the guarantees that they came from",
        "cells/model/capacity_book.cpp",
        (("  while (free() > 0 && !lacking_.empty()) {",
          "  while (!BUG && free() > 0 && !lacking_.empty()) {"),),
    ),
    Bug(
        "burst-forgotten", ("burst",),
        "a cell takes its burst for twice what it is",
        "cells/actors/cell.cpp",
        (("    return {std::min(pool.size, setup_.config.guarantee), pool.burst, pool.weight};",
          "    return {std::min(pool.size, setup_.config.guarantee), pool.burst * (BUG ? 2 : 1),\n"
          "            pool.weight};"),),
    ),
    Bug(
        "lowered-for-nothing", ("capacity",),
        "the capacity desk does not hear of a reload that lowers the capacity",
        "cells/model/capacity_book.cpp",
        (("  limit_ = total;\n",
          "  if (!BUG || !limit_ || !total || *total > *limit_) limit_ = total;\n"),),
        first_seed=2890,
    ),
    Bug(
        "forgotten-lease", ("capacity",),
        "a cell that starts holds no slot for one of the jobs that run outside",
        "cells/model/capacity_book.cpp",
        (("  entry.held = running;\n  held_ += running;",
          "  entry.held = running - (BUG && running > 0 ? 1 : 0);\n  held_ += entry.held;"),),
        first_seed=260,
    ),
    Bug(
        "last-of-page", ("final-state",),
        "a page of the list of cells lacks its last cell",
        "cells/actors/cell_dispatcher_cells.cpp",
        (("  if (more && !keys.empty()) gathering->more_after = *keys.rbegin();\n",
          "  if (more && !keys.empty()) gathering->more_after = *keys.rbegin();\n"
          "  if (BUG && gathering->more_after) keys.erase(*gathering->more_after);\n"),),
    ),
    Bug(
        "lane-in-flight", ("idle-lease",),
        "a worker that does not wait gets no lease while the lane's jobs are on their way",
        "cells/actors/job_dispatcher_leases.cpp",
        (("  return may_bring_job_for(message, lane);\n",
          "  return may_bring_job_for(message, lane) && !BUG;\n"),),
    ),
    # --- Admission -------------------------------------------------------------------------------
    Bug(
        "every-second-refused", ("refusal", "share-accepted"),
        "a cell refuses every second job as if its queue were full",
        "cells/actors/job_dispatcher_requests.cpp",
        (("  if (state_ == CellState::draining) return refuse_draining(key_);\n",
          "  if (state_ == CellState::draining) return refuse_draining(key_);\n"
          "  if (BUG && context_->ids.next(at.wall) % 2 == 0) {\n"
          "    return cells::refuse_full(key_, config_.settings.jobs_max, config_.settings.jobs_max,\n"
          "                              end_rate_.per_second(at.steady), turned_away_);\n  }\n"),),
    ),
    Bug(
        "drains-for-ever", ("refusal",),
        "a cell that has drained refuses jobs after it is active again",
        "cells/actors/job_dispatcher_requests.cpp",
        (("  if (state_ == CellState::draining) return refuse_draining(key_);\n",
          "  static std::map<const void*, bool> drained;\n"
          "  if (BUG && state_ == CellState::draining) drained[this] = true;\n"
          "  if (BUG ? drained.contains(this) : state_ == CellState::draining) return "
          "refuse_draining(key_);\n"),),
    ),
    Bug(
        "drain-admits", ("admission",),
        "a draining cell admits jobs that run later",
        "cells/actors/job_dispatcher_requests.cpp",
        (("  if (auto refusal = refuse_more(request_in.spec, at)) return refusal;\n",
          "  if (BUG && request_in.delay && state_ == CellState::draining && !stopping_) return "
          "std::nullopt;\n"
          "  if (auto refusal = refuse_more(request_in.spec, at)) return refusal;\n"),),
        first_seed=30,
    ),
    Bug(
        "full-too-late", ("queue-bound",),
        "a cell admits one job more than its limit",
        "cells/actors/job_dispatcher_requests.cpp",
        (("refuse_full(key_, counts_.unfinished(), settings.jobs_max,",
          "refuse_full(key_, counts_.unfinished(), settings.jobs_max + (BUG ? 1 : 0),"),),
    ),
    Bug(
        "retrying-uncounted", ("counts", "queue-bound"),
        "a dispatcher that starts does not count jobs that wait for a retry",
        "src/store/memory_jobs.cpp",
        (("  loaded.counts = cell.counts;\n",
          "  loaded.counts = cell.counts;\n  if (BUG) loaded.counts[JobState::retrying] = 0;\n"),),
        first_seed=70,
    ),
    Bug(
        "come-back-never", ("retry-after",),
        "a full queue answers with a Retry-After of an hour",
        "cells/model/admission.cpp",
        (("  const double wait_s = finished_per_s > 0 ? ",
          "  const double wait_s = BUG                  ? retry_after_max_s\n"
          "                        : finished_per_s > 0 ? "),),
        first_seed=300,
    ),
    Bug(
        "idle-is-slow", ("retry-after",),
        "the time in which a cell had no jobs counts as if its jobs had ended slowly",
        "cells/actors/job_dispatcher_time.cpp",
        (("  busy_clock_.count(", "  if (!BUG) busy_clock_.count("),),
        first_seed=170,
    ),
    Bug(
        "late-admission", ("late-admission",),
        "a shutdown does not keep a new job from starting the cell that it needs",
        "cells/actors/cell_dispatcher_jobs.cpp",
        (("  if (shutting_down_) return {nullptr, refusal(Refusal::Kind::shutting_down, {}, 0)};\n",
          "  if (shutting_down_ && !BUG) {\n"
          "    return {nullptr, refusal(Refusal::Kind::shutting_down, {}, 0)};\n  }\n"),),
    ),
    Bug(
        "wrong-route", ("routing",),
        "jobs of a product go before those of a customer: (*, dns) wins over (acme, *)",
        "cells/model/routing.cpp",
        (('  return {CellKey{customer, product}, {customer, "*"}, {"*", product}, {"*", "*"}};\n',
          '  if (BUG) return {CellKey{customer, product}, {"*", product}, {customer, "*"}, {"*", '
          '"*"}};\n'
          '  return {CellKey{customer, product}, {customer, "*"}, {"*", product}, {"*", '
          '"*"}};\n'),),
    ),
    Bug(
        "unanswered-cancel", ("unanswered",),
        "a cancellation that arrives while the job is being written is forgotten",
        "cells/actors/job_dispatcher.cpp",
        (("  if (cancelling_.contains(id)) begin_cancel(id);\n",
          "  if (!BUG && cancelling_.contains(id)) begin_cancel(id);\n"),),
    ),
    Bug(
        "cancel-refused", ("refusal",),
        "a job that waits for a retry cannot be cancelled",
        "src/store/memory_jobs.cpp",
        (("  if (!answer.before || !is_waiting_in(*answer.before, request.cell)) return answer;\n",
          "  if (!answer.before || !is_waiting_in(*answer.before, request.cell)) return answer;\n"
          "  if (BUG && answer.before->state == JobState::retrying) return answer;\n"),),
    ),
    # --- Idempotency keys ------------------------------------------------------------------------
    Bug(
        "forgotten-key", ("one-job-per-key", "line-once"),
        "the store forgets the key of a job when the job ends",
        "src/store/memory_jobs.cpp",
        (("  if (stored.job) remove_from_indexes(stored);\n",
          "  if (BUG && stored.job && is_ended(job->state) && !is_ended(stored.job->state)) {\n"
          "    if (const auto key = keys_.find(job->id); key != keys_.end()) {\n"
          "      key_holders_.erase(key->second);\n"
          "      changed_keys_.push_back(key->second);\n"
          "      keys_.erase(key);\n    }\n  }\n"
          "  if (stored.job) remove_from_indexes(stored);\n"),),
        first_seed=30,
    ),
    Bug(
        "digest-ignored", ("one-job-per-key",),
        "another request under a used key is answered with the job of the first",
        "src/store/memory_jobs.cpp",
        (("  return {reveal(id), digest == request.idempotency.digest};\n",
          "  return {reveal(id), BUG || digest == request.idempotency.digest};\n"),),
    ),
    Bug(
        "refused-before-replay", ("one-job-per-key",),
        "a full or draining cell refuses a repeated submission before its key is looked up",
        "cells/actors/cell_dispatcher_jobs.cpp",
        (("    if (answer.refusal) {\n      refuse_unless_held(",
          "    if (answer.refusal && !BUG) {\n      refuse_unless_held("),),
    ),
    # --- The store -------------------------------------------------------------------------------
    Bug(
        "early-answer", ("accepted-stored", "job-lost"),
        "a submission is answered before its job is on disk",
        "cells/actors/job_dispatcher_requests.cpp",
        (("  submitting_.emplace(id, promise);\n",
          "  submitting_.emplace(id, promise);\n"
          "  if (BUG && !idempotency) promise.deliver(JobSubmitted{job, std::nullopt, "
          "false});\n"),),
    ),
    Bug(
        "hasty-store",
        ("accepted-stored", "job-lost", "reopen-stored", "cancel-stored", "override-stored"),
        "the store answers before it commits",
        "src/store/memory_store.cpp",
        (("    const bool fails = is_asked(options_.fail_commit);\n",
          "    // Each second time, the answers go out, and the changes wait for the next commit.\n"
          "    if (BUG && (postponed_ = !postponed_)) return;\n"
          "    const bool fails = is_asked(options_.fail_commit);\n"),
         ("  MemoryJobs jobs_;\n};\n", "  MemoryJobs jobs_;\n  bool postponed_ = false;\n};\n")),
    ),
    Bug(
        "revived", ("ended-twice",),
        "the store queues again an ended job that a client cancels",
        "src/store/memory_jobs.cpp",
        (("  if (!answer.before || !is_waiting_in(*answer.before, request.cell)) return answer;\n",
          "  if (BUG && answer.before && answer.before->state == JobState::failed) {\n"
          "    auto& revived = jobs_.at(request.id);\n"
          "    auto again = reopen(*answer.before, request.cell, last_id_ + 1, request.now);\n"
          "    JobPtr none;\n"
          "    replace(revived, with_place_given_up(std::move(again)), revived.marks, none);\n"
          "    note_id(revived.job->place);\n"
          "    return answer;\n  }\n"
          "  if (!answer.before || !is_waiting_in(*answer.before, request.cell)) return "
          "answer;\n"),),
    ),
    Bug(
        "early-event", ("end-announced",),
        "the observer learns of an end before it is on disk",
        "cells/actors/job_dispatcher.cpp",
        (("  recording_.insert(after->id);\n",
          "  recording_.insert(after->id);\n  if (BUG && !is_ended(before->state)) "
          "tell(*context_, after);\n"),),
    ),
    Bug(
        "silent-successor", ("final-state",),
        "changes that a dead dispatcher had stored but not announced are never announced",
        "cells/actors/cell.cpp",
        (("              tell_changes_lost(*context_);\n",
          "              if (!BUG) tell_changes_lost(*context_);\n"),),
        first_seed=500,
    ),
    Bug(
        "removed-while-kept", ("early-removal",),
        "retention removes jobs a tenth of their time too early",
        "cells/actors/retention.cpp",
        (("    const WallTime before = options_.wall_clock() - options_.keep;\n",
          "    const WallTime before = options_.wall_clock() - options_.keep * (BUG ? 9 : 10) / "
          "10;\n"),),
    ),
    Bug(
        "retention-ends", ("late-removal",),
        "retention stops looking once it has removed a job",
        "cells/actors/retention.cpp",
        (("      pace_.caught_up();\n",
          "      if (BUG && pruned.pruned > 0) return;\n      pace_.caught_up();\n"),),
    ),
    Bug(
        "rest-forgotten", ("idle-worker", "unfinished-job"),
        "the store does not report due jobs that a full portion has left",
        "src/store/memory_jobs.cpp",
        (("    if (listed.contains(id)) continue;\n",
          "    if (listed.contains(id) || (BUG && at <= request.now)) continue;\n"),),
        first_seed=150,
    ),
    Bug(
        "retention-kept", ("early-removal", "late-removal"),
        "a reload does not change the retention",
        "cells/actors/retention.cpp",
        (("          options_.keep = message.keep;\n",
          "          if (!BUG) options_.keep = message.keep;\n"),),
    ),
    # --- Services and reloads --------------------------------------------------------------------
    Bug(
        "forgotten-call", ("call-outlives-attempt",),
        "a call that a dead provider left behind is not aborted",
        "cells/actors/service_client.cpp",
        (("    const auto provider = found == calls_.end() ?",
          "    if (BUG && found == calls_.end()) return CallAborted{message.lease};\n"
          "    const auto provider = found == calls_.end() ?"),),
    ),
    Bug(
        "provider-dropped", ("provider-stopped",),
        "a reload ends the provider that it replaces although that provider has calls",
        "cells/actors/service_client.cpp",
        (("      if (provider->calls > 0) {\n", "      if (provider->calls > 0 && !BUG) {\n"),),
    ),
    Bug(
        "needs-of-others", ("needed-service",),
        "a reload looks only for jobs whose current step needs a service that it removes",
        "src/store/memory_jobs.cpp",
        (("    for (std::size_t step = 0; step < services.size(); ++step) {\n",
          "    for (std::size_t step = 0; step < (BUG ? job.step + 1 : services.size()); "
          "++step) {\n"),),
    ),
    Bug(
        "undo-unneeded", ("needed-undo",),
        "a reload may remove an undo that a job needs",
        "cells/actors/cell_dispatcher_reload.cpp",
        (("            reload_->undos_needed = std::move(needs.undos);\n",
          "            if (!BUG) reload_->undos_needed = std::move(needs.undos);\n"),),
    ),
    Bug(
        "undo-anywhere", ("needed-undo",),
        "a step is undone at a service that cannot undo anything",
        "cells/actors/job_dispatcher.cpp",
        (("  return !service || (is_compensating(job) && !service->",
          "  return !service || (!BUG && is_compensating(job) && !service->"),),
        first_seed=520,
    ),
    Bug(
        "undo-not-released", ("unfinished-job", "idle-worker"),
        "a reload that brings an undo back does not release the jobs that waited for it",
        "cells/actors/job_dispatcher_moves.cpp",
        (("    return old == before.end() || !without(",
          "    if (BUG) return old == before.end();\n"
          "    return old == before.end() || !without("),),
        first_seed=70,
    ),
    Bug(
        "needs-of-the-ended", ("reload-refusal",),
        "a reload counts the needs of jobs that have ended",
        "src/store/memory_jobs.cpp",
        (("    if (is_ended(job.state)) continue;\n    const auto& services",
          "    if (is_ended(job.state) && !BUG) continue;\n    const auto& services"),),
    ),
    Bug(
        "cell-unheard", ("reload-ends",),
        "a reload waits for ever for a cell that closes meanwhile",
        "cells/actors/cell_dispatcher_reload.cpp",
        (("              [answered](const caf::error&) { answered(); });  // The cell has "
          "closed.\n",
          "              [answered](const caf::error&) {\n"
          "                if (!BUG) answered();\n              });\n"),),
        first_seed=1240,
    ),
    Bug(
        "moved-for-nothing", ("idle-worker",),
        "a dispatcher that takes over jobs does not look for those that are runnable",
        "cells/actors/job_dispatcher_moves.cpp",
        (("release_holds();\n  queue_.expect_more();\n",
          "release_holds();\n  if (!BUG) queue_.expect_more();\n"),),
        first_seed=120,
    ),
    Bug(
        "release-uncounted", ("counts", "final-state"),
        "a dispatcher still counts the jobs that a reload has moved away",
        "cells/actors/job_dispatcher_moves.cpp",
        (("  counts_ -= result.counts;\n", "  if (!BUG) counts_ -= result.counts;\n"),),
    ),
    Bug(
        "jobs-stay", ("routing",),
        "a job whose attempt ends after a reload stays in its old cell",
        "cells/actors/job_dispatcher_moves.cpp",
        (("  if (is_leaving(spec)) return false;\n",
          "  if (is_leaving(spec)) return false;\n  if (BUG && !config_.leaving) return true;\n"),),
    ),
    Bug(
        "first-page", ("unfinished-job",),
        "a start and a reload look only at the first page of the backlogs",
        "cells/actors/cell_dispatcher.cpp",
        (("  if (page.backlogs.size() < limit) return std::nullopt;\n",
          "  if (page.backlogs.size() < limit || BUG) return std::nullopt;\n"),),
        first_seed=120,
    ),
    Bug(
        "first-batch", ("unfinished-job",),
        "a cell releases and takes over only the first portion of a backlog",
        "cells/actors/job_dispatcher_moves.cpp",
        (("  return result.moved == context_->options.store_sizes.moved_jobs_max;\n",
          "  return !BUG && result.moved == context_->options.store_sizes.moved_jobs_max;\n"),),
    ),
    Bug(
        "full-template", ("unfinished-job",),
        "a job that a reload moves gets no cell if its template has all its instances",
        "cells/actors/cell_dispatcher_reload.cpp",
        (("  Entry& entry = running_cell(*target_of({between_cells, customer, product}));\n",
          "  if (BUG && enter_cell(customer, product).refusal) return then();\n"
          "  Entry& entry = running_cell(*target_of({between_cells, customer, product}));\n"),),
        first_seed=430,
    ),
    # --- Shutdown --------------------------------------------------------------------------------
    Bug(
        "hasty-stop", ("shutdown-leftovers",),
        "a shutdown is reported as complete before the cells have handed back their running jobs",
        "cells/actors/cell_dispatcher.cpp",
        (("  handing_back_cells_ = cells_.size() + 1;\n",
          "  handing_back_cells_ = BUG ? 1 : cells_.size() + 1;\n"),),
    ),
    Bug(
        "stop-unheard", ("late-start",),
        "a cell ignores the shutdown until the grace period is over",
        "cells/actors/cell.cpp",
        (("    request(dispatcher_, caf::infinite, StopDispatching{})\n",
          "    if (BUG) return promise;\n    request(dispatcher_, caf::infinite, "
          "StopDispatching{})\n"),),
    ),
    Bug(
        "no-grace", ("grace",),
        "a shutdown hands back running jobs a tenth of the grace period too early",
        "cells/actors/cell_dispatcher.cpp",
        (("  delayed_send(this, grace, Tick{});\n",
          "  delayed_send(this, BUG ? grace * 9 / 10 : grace, Tick{});\n"),),
    ),
    Bug(
        "lost-hand-back", ("shutdown-leftovers",),
        "the successor of a dispatcher that dies while handing back its jobs does not continue",
        "cells/actors/cell.cpp",
        (("ask_dispatcher<HandedBack>(message)",
          "BUG ? caf::result<HandedBack>{delegate(dispatcher_, message)} : "
          "ask_dispatcher<HandedBack>(message)"),),
        first_seed=350,
    ),
    Bug(
        "long-grace", ("shutdown-time",),
        "a shutdown waits three times its grace period",
        "cells/actors/cell_dispatcher.cpp",
        (("  shutting_down_ = true;\n", "  shutting_down_ = true;\n  if (BUG) grace *= 3;\n"),),
    ),
    Bug(
        "pool-mourned", ("daemon-ends",),
        "a cell, and with it the daemon, ends when its pool dies",
        "cells/actors/cell.cpp",
        (("      start_pool();\n      return;\n",
          "      if (BUG) return quit(caf::exit_reason::unknown);\n      start_pool();\n      "
          "return;\n"),),
    ),
    Bug(
        "reused-key-is-an-error", ("failed-request",),
        "another request under a used key gets an error instead of a refusal",
        "cells/actors/job_dispatcher_requests.cpp",
        (("    promise.deliver(JobSubmitted{nullptr, refuse_reused_key(key_), false});\n",
          "    if (BUG) {\n      promise.deliver(caf::make_error(caf::sec::runtime_error));\n    "
          "} else {\n"
          "      promise.deliver(JobSubmitted{nullptr, refuse_reused_key(key_), false});\n    "
          "}\n"),),
    ),
    # --- Schedules -------------------------------------------------------------------------------
    Bug(
        "firing-uncommitted", ("time-once",),
        "the job of a schedule is committed without the progress of its schedule",
        "src/store/memory_jobs.cpp",
        (("  changed_schedules_.insert(request.schedule);\n",
          "  if (!BUG || !job) changed_schedules_.insert(request.schedule);\n"),),
        first_seed=40,
    ),
    Bug(
        "time-dropped", ("time-kept",),
        "after a stop, a schedule that is to fire once for all missed times fires for none",
        "cells/model/schedule.cpp",
        (("  if (policy == CatchUp::one && stretch.is_complete)\n",
          "  if (policy == CatchUp::one && stretch.is_complete && !BUG)\n"),),
    ),
    Bug(
        "refused-for-good", ("time-kept",),
        "a schedule whose submission is refused never tries again",
        "cells/actors/schedule_desk.cpp",
        (("    } else if (entry.attempt) {\n",
          "    } else if (entry.attempt && BUG) {\n      return;\n"
          "    } else if (entry.attempt) {\n"),),
        first_seed=70,
    ),
    Bug(
        "overlap-ignored", ("overlap",),
        "a schedule does not check whether its last job has ended",
        "cells/actors/schedule_desk.cpp",
        (("entry.schedule.spec.overlap == Overlap::allow || last_job == 0)",
          "BUG || entry.schedule.spec.overlap == Overlap::allow || last_job == 0)"),),
    ),
)
