#!/usr/bin/env python3
"""Mistakes that a programmer could make in the engine. They test the simulation.

Each bug changes one source file. With CELLD_PLANTED_BUGS, the build compiles a changed copy of that
file for each bug and links it into a simulation of its own, which must find the bug. The engine's
own sources contain nothing of this.

  planted_bugs.py list                        prints NAME,SOURCE,SEEN_AS, one bug per line
  planted_bugs.py plant NAME ROOT OUTPUT      writes the changed copy of ROOT's source to OUTPUT
  planted_bugs.py table                       prints the bugs as a table for the documentation
"""

import dataclasses
import pathlib
import sys


@dataclasses.dataclass(frozen=True)
class Bug:
    name: str
    promise: str  # The promise that the bug breaks.
    seen_as: str  # The violation that the simulation finds first: a regular expression.
    mistake: str
    source: str
    changes: tuple[tuple[str, str], ...]  # (Text in the source, its replacement at every place).


BUGS = (
    Bug(
        "no-fencing",
        "P3",
        "P5",
        "a worker takes any answer for the end of its current attempt",
        "cells/actors/job_worker.cpp",
        ((
            "    if (lease_ != lease) return;\n    lease_ = {};\n",
            "    if (!lease_) return;\n    lease = std::exchange(lease_, {});\n",
        ),),
    ),
    Bug(
        "fencing-by-attempt",
        "P3",
        "P3",
        "a lease is derived from the job, the step and the attempt, but some attempts do not count",
        "cells/actors/job_dispatcher.cpp",
        ((
            "  const Lease lease = context_->leases.next();\n",
            "  const Lease lease{context_->leases.epoch(),\n"
            "                    (job->id << 8) + (job->step << 4) + job->steps[job->step].attempts};\n",
        ),),
    ),
    Bug(
        "idle-worker-race",
        "P5",
        "P5|P11",
        "a worker that has to stop is still listed as ready",
        "cells/actors/job_dispatcher.cpp",
        (
            ("  workers_.withdraw(worker);\n", ""),
            (
                "        return IdleWithdrawn{workers_.withdraw_idle(message.count)};\n",
                "        auto idle = workers_.withdraw_idle(message.count);\n"
                "        for (const auto& worker : idle) workers_.announce(worker);\n"
                "        return IdleWithdrawn{std::move(idle)};\n",
            ),
        ),
    ),
    Bug(
        "stale-rescue",
        "P2",
        "P2|P5",
        "jobs that are running in the store but have no lease here are queued again, even if their "
        "end has been written in the meantime",
        "cells/actors/job_dispatcher_time.cpp",
        ((
            "  report_idle(at);\n}",
            "  report_idle(at);\n"
            "  request(store(), caf::infinite, LoadCell{key_}).then([this](const CellLoaded& loaded) {\n"
            "    for (const auto& job : loaded.running) {\n"
            "      if (leases_.has_job(job->id)) continue;\n"
            "      AttemptEnd end;\n"
            "      end.kind = AttemptEnd::Kind::interrupted;\n"
            "      LiveLease lost;\n"
            "      lost.job = job;\n"
            "      record(job, std::make_shared<const Job>(\n"
            "                      end_attempt(*job, end, retry_inputs(lost), now().wall)));\n"
            "    }\n"
            "  });\n"
            "}",
        ),),
    ),
    Bug(
        "early-release",
        "P6",
        "P5",
        "the dispatcher ends an attempt that times out before the abort is confirmed",
        "cells/actors/job_dispatcher_time.cpp",
        ((
            "abort(lease, AbortCause::timeout);\n",
            "{\n"
            "    abort(lease, AbortCause::timeout);\n"
            "    CallOutcome over;\n"
            "    over.kind = CallOutcome::Kind::aborted;\n"
            "    completed(lease, over);\n"
            "  }\n",
        ),),
    ),
    Bug(
        "lost-checkpoint",
        "P2",
        "P2",
        "a retry begins with the first step of the job",
        "cells/model/job_machine.cpp",
        ((
            "  for (std::size_t i = next.step; i < next.steps.size(); ++i) next.steps[i] = Step{};\n",
            "  next.step = 0;\n  for (auto& step : next.steps) step = Step{};\n",
        ),),
    ),
    Bug(
        "lost-resize",
        "P4",
        "P4|pause",
        "a restart starts its cells before it has loaded the resized pools",
        "cells/actors/cell_dispatcher.cpp",
        (
            ("    overrides_ = loaded.overrides;\n", ""),
            (
                "    for (const auto& [key, change] : loaded.overrides) start_instance(key);\n",
                "    for (const auto& [key, change] : loaded.overrides) start_instance(key);\n"
                "    overrides_ = loaded.overrides;\n",
            ),
        ),
    ),
    Bug(
        "cancel-race",
        "P2",
        "P1|P2",
        "an attempt that succeeds just before its abort wins over the cancellation",
        "cells/model/job_machine.cpp",
        ((
            "  if (next.cancel_requested) {\n",
            "  if (next.cancel_requested && end.kind != Kind::succeeded) {\n",
        ),),
    ),
    Bug(
        "drain-forgets-scheduled",
        "liveness",
        "P7",
        "a draining cell treats its scheduled jobs as new ones and does not run them",
        "cells/actors/job_dispatcher_time.cpp",
        (
            (
                "  if (advancing_ || stopping_) return;\n",
                "  if (advancing_ || stopping_ || state_ == CellState::draining) return;\n",
            ),
            (
                "  if (next_due_ && !advancing_ && !stopping_) wake",
                "  if (next_due_ && !advancing_ && !stopping_ && state_ != CellState::draining) wake",
            ),
        ),
    ),
    Bug(
        "one-too-many",
        "P4",
        "P4",
        "a job starts although as many jobs are running as allowed",
        "cells/actors/job_dispatcher.cpp",
        (("leases_.size() < running_max_", "leases_.size() <= running_max_"),),
    ),
    Bug(
        "two-cells",
        "P6",
        "P6",
        "a job that a reload moves becomes the head of its entity's line",
        "src/store/memory_jobs.cpp",
        ((
            "    change(stored, std::move(job), stored.marks);\n    ++answer.moved;\n",
            "    auto marks = stored.marks;\n"
            "    marks.head = true;\n"
            "    change(stored, std::move(job), marks);\n"
            "    ++answer.moved;\n",
        ),),
    ),
    Bug(
        "stalled-window",
        "liveness",
        "P7",
        "the store limits the number of a customer's queued jobs before it leaves out those that "
        "are followers in their entity lines",
        "src/store/memory_jobs.cpp",
        (
            (
                "  if (is_runnable(job.state, stored.marks)) {\n",
                "  if (job.state == JobState::queued || is_runnable(job.state, stored.marks)) {\n",
            ),
            (
                "    for (const auto& [rank, job] : customer->second) {\n",
                "    std::size_t looked_at = 0;\n"
                "    for (const auto& [rank, job] : customer->second) {\n",
            ),
            (
                "      if (best.jobs.size() >= std::max<std::size_t>(request.jobs_max, 1)) break;\n",
                "      if (looked_at++ >= std::max<std::size_t>(request.jobs_max, 1)) break;\n"
                "      if (!is_runnable(job->state, jobs_.at(job->id).marks)) continue;\n",
            ),
            ("    if (best.jobs.empty()) break;\n", "    if (best.jobs.empty()) continue;\n"),
            (
                "    best.complete = best.jobs.size() == customer->second.size();\n",
                "    best.complete = best.jobs.size() < std::max<std::size_t>(request.jobs_max, 1);\n",
            ),
        ),
    ),
    Bug(
        "wall-clock-deadline",
        "P10",
        "P10",
        "deadlines use the wall clock",
        "cells/actors/engine_context.cpp",
        (
            ("caf::local_actor& self,", "caf::local_actor&,"),
            (
                "  const auto steady = self.clock().now().time_since_epoch();\n",
                "  const auto steady = context.options.wall_clock().time_since_epoch();\n",
            ),
        ),
    ),
    Bug(
        "hasty-stop",
        "P11",
        "P11",
        "a shutdown is reported as complete before the cells have handed back their running jobs",
        "cells/actors/cell_dispatcher.cpp",
        (("  handing_back_cells_ = cells_.size() + 1;\n", "  handing_back_cells_ = 1;\n"),),
    ),
    Bug(
        "settle-ignored",
        "P6",
        "P6",
        "a retry after an unknown outcome waits only for its backoff",
        "cells/model/job_machine.cpp",
        (("  wait_until(job, now + std::max(delay, settle));\n", "  wait_until(job, now + delay);\n"),
         ("  const milliseconds settle = outcome_unknown(end.kind) ? inputs.settle : milliseconds{0};\n",
          "")),
    ),
    Bug(
        "early-call",
        "P6",
        "P6",
        "a call begins before the disk shows its job as running",
        "cells/actors/job_worker.cpp",
        (("    if (message.after_commit) {\n", "    if (false) {\n"),),
    ),
    Bug(
        "newcomer-first",
        "P6",
        "P6",
        "a new job receives its place before jobs that fell due earlier and have none yet",
        "cells/actors/job_dispatcher_requests.cpp",
        (("at.wall, others_await_places(at.wall)))", "at.wall, false))"),),
    ),
    Bug(
        "released-at-the-end",
        "P6",
        "P6",
        "a job that ends with an unknown outcome releases its entity at once",
        "cells/model/job_machine.cpp",
        (("  if (unknown && inputs.settle > milliseconds{0}) next.settle_until = now + inputs.settle;\n",
          ""),
         ("  const bool unknown = outcome_unknown(end.kind);\n", "")),
    ),
    Bug(
        "one-attempt-less",
        "P2",
        "P2",
        "a job fails one attempt too early",
        "cells/model/job_machine.cpp",
        (("counted(end.kind) && attempts >= job.spec->max_attempts",
          "counted(end.kind) && attempts + 1 >= job.spec->max_attempts"),),
    ),
    Bug(
        "rejection-retried",
        "P2",
        "P2",
        "a step that its provider rejects is retried",
        "cells/model/job_machine.cpp",
        (("  if (last || end.kind == AttemptEnd::Kind::rejected) {\n", "  if (last) {\n"),),
    ),
    Bug(
        "hand-back-counted",
        "P2",
        "P2",
        "an attempt that a shutdown cuts short counts like one whose connection broke",
        "cells/actors/attempt_end.cpp",
        (("      end.kind = AttemptEnd::Kind::handed_back;\n",
          "      end.kind = AttemptEnd::Kind::unknown;\n"),),
    ),
    Bug(
        "first-service",
        "P2",
        "P2",
        "every step calls the service of the first step",
        "cells/actors/job_dispatcher.cpp",
        (("find(job.spec->services[job.step]);\n", "find(job.spec->services.front());\n"),),
    ),
    Bug(
        "late-timer",
        "P8",
        "P8",
        "handing out a job does not arm the timer for its deadline",
        "cells/actors/job_dispatcher.cpp",
        (("  tell(*context_, running);\n  arm(at);\n", "  tell(*context_, running);\n"),
         ("->spec->timeout);\n  arm(now());\n", "->spec->timeout);\n")),
    ),
    Bug(
        "window-runs-empty",
        "P7",
        "P7",
        "the dispatcher does not fetch more of a customer's jobs when few are left in memory",
        "cells/model/dispatch_queue.cpp",
        ((
            "  if (!customer.complete && customer.jobs.size() <= jobs_per_customer() / 4)\n"
            "    request_fetch(name, customer);\n}",
            "}",
        ),),
    ),
    Bug(
        "large-instances",
        "P4",
        "P4",
        "an instance has one worker more than its template",
        "cells/actors/cell_dispatcher.cpp",
        (("pool_size.value_or(settings.pool_size);", "pool_size.value_or(settings.pool_size) + 1;"),),
    ),
    Bug(
        "forgotten-call",
        "P5",
        "P5",
        "a call that a dead provider left behind is not aborted",
        "cells/actors/service_client.cpp",
        ((
            "    const auto provider = found == calls_.end() ? providers_.begin() : "
            "found->second.provider;\n",
            "    if (found == calls_.end()) return CallAborted{message.lease};\n"
            "    const auto provider = found->second.provider;\n",
        ),),
    ),
    Bug(
        "silent-successor",
        "events",
        "liveness",
        "changes that a dead dispatcher had stored but not announced are never announced",
        "cells/actors/cell.cpp",
        (("              tell_changes_lost(*context_);\n", ""),),
    ),
    Bug(
        "unanswered-cancel",
        "liveness",
        "liveness",
        "a cancellation that arrives while the job is being written is forgotten",
        "cells/actors/job_dispatcher.cpp",
        (("  if (cancelling_.contains(id)) begin_cancel(id);\n", ""),),
    ),
    Bug(
        "success-unheard",
        "P2",
        "P2",
        "a success with properties is treated as an invalid answer",
        "cells/actors/attempt_end.cpp",
        ((
            "  AttemptEnd end;\n  end.kind = kind_of(outcome.kind);\n",
            "  AttemptEnd end;\n  end.kind = kind_of(outcome.kind);\n"
            "  if (!outcome.properties.empty()) end.kind = AttemptEnd::Kind::retryable;\n",
        ),),
    ),
    Bug(
        "expired-is-cancelled",
        "P2",
        "P2",
        "a job that expires while it waits is cancelled instead of failed",
        "cells/model/job_machine.cpp",
        ((
            '  fail(next, {"expired", "the job expired before it ended", ""}, now);\n',
            "  cancel(next, now);\n",
        ),),
    ),
    Bug(
        "stop-unheard",
        "P11",
        "P11",
        "a cell ignores the shutdown until the grace period is over",
        "cells/actors/cell.cpp",
        ((
            "    request(dispatcher_, caf::infinite, StopDispatching{})\n"
            "        .then([this, owed](const DispatchingStopped&) { stop_pool(owed); },\n"
            "              [this, owed](const caf::error&) { stop_pool(owed); });\n",
            "    static_cast<void>(owed);\n",
        ),),
    ),
    Bug(
        "no-grace",
        "P11",
        "P11",
        "a shutdown hands back running jobs after a quarter of the grace period",
        "cells/actors/cell_dispatcher.cpp",
        (("  delayed_send(this, grace, Tick{});\n", "  delayed_send(this, grace / 4, Tick{});\n"),),
    ),
    Bug(
        "late-admission",
        "P11",
        "P11",
        "a shutdown does not keep a new job from starting the cell that it needs",
        "cells/actors/cell_dispatcher_jobs.cpp",
        (("  if (shutting_down_) return {nullptr, refusal(Refusal::Kind::shutting_down, {}, 0)};\n", ""),),
    ),
    Bug(
        "lost-hand-back",
        "P11",
        "P11",
        "the successor of a dispatcher that dies while handing back its jobs does not continue",
        "cells/actors/cell.cpp",
        (("ask_dispatcher<HandedBack>(message)", "delegate(dispatcher_, message)"),),
    ),
)


def find(name):
    for bug in BUGS:
        if bug.name == name:
            return bug
    sys.exit(f"planted_bugs.py: unknown bug {name}")


def plant(bug, root):
    text = (pathlib.Path(root) / bug.source).read_text()
    for before, after in bug.changes:
        if before not in text:
            sys.exit(f"planted_bugs.py: {bug.name}: {bug.source} no longer contains this text, so "
                     f"the bug must be adapted:\n{before}")
        text = text.replace(before, after)
    return text


def main(arguments):
    if arguments == ["list"]:
        for bug in BUGS:
            print(f"{bug.name},{bug.source},{bug.seen_as}")
    elif arguments == ["table"]:
        for bug in BUGS:
            print(f"| `{bug.name}` | {bug.mistake} | {bug.seen_as.replace('|', ', ')} |")
    elif len(arguments) == 4 and arguments[0] == "plant":
        output = pathlib.Path(arguments[3])
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(plant(find(arguments[1]), arguments[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
