"""What must be true after a round of cycles of services."""

import collections

from audit import wall_ahead_s
from ledger import unix_time
from rates import check_rate
from services_clients import BURST, CONCURRENCY, EVERY_MS, RATE_PER_S, SCHEDULES, STEPS

INTERRUPTIONS_MAX = 3  # By a crash, without a counted attempt between them; then a job fails.
UNDO_INTERRUPTED = "cannot be undone: the attempt was cut short by a crash"


class Audit:
    """Adds what it finds to `faults`."""

    def __init__(self, faults, lives, provider, clients):
        self.faults = faults
        self.lives = lives
        self.provider = provider
        self.clients = clients
        self.wall_ahead_s = wall_ahead_s()

    def whole(self, jobs, schedules):
        """`jobs`: all, by id, after all have ended. `schedules`: as they were last."""
        self.check_jobs(jobs)
        self.check_entities()
        self.check_schedules(schedules, jobs)
        self.faults.expect(self.provider.most <= CONCURRENCY, "a limit was exceeded",
                           self.provider.most)
        check_rate(self.faults, [call for call in self.provider.log if call.service == "rated"],
                   RATE_PER_S, BURST, self.lives.spans())

    def check_jobs(self, jobs):
        of_job = collections.defaultdict(list)
        for call in self.provider.log:
            of_job[call.job].append(call)
        for job_id, sent in self.clients.accepted.items():
            job = jobs.get(job_id)
            if job is None:
                self.faults.expect(False, "an accepted job is lost", job_id)
                continue
            # Neither a kill, a stop nor waiting uses up an attempt; only "flaky" fails any.
            self.faults.expect(sent["product"] == "flaky" or
                               all(step["attempts"] <= 1 for step in job["steps"]),
                               "an attempt was used up", job, of_job[job_id])
            if "on_failure" in sent:
                self.check_compensation(job, of_job[job_id])
            else:
                self.faults.expect(job["state"] == "succeeded" or self.was_interrupted(job),
                                   "a limit or an open circuit failed a job", job)

    def was_interrupted(self, job):
        """Whether kills may have cut short so many of its attempts that celld gave up."""
        code = (job["error"] or {}).get("code")
        return code == "interrupted" and self.kills_during(job) >= INTERRUPTIONS_MAX

    def was_undo_interrupted(self, job, service):
        """An undo, too, fails once kills have cut it short that often."""
        said = any(message["service"] == service and message["text"].startswith(UNDO_INTERRUPTED)
                   for message in job["messages"])
        return said and self.kills_during(job) >= INTERRUPTIONS_MAX

    def check_compensation(self, job, calls):
        fails_at = job["parameters"]["fails_at"]
        code = (job["error"] or {}).get("code")
        interrupted = self.was_interrupted(job)
        if interrupted:
            fails_at = job["error"]["service"]
        if fails_at is None:
            self.faults.expect(job["state"] == "succeeded", "a job failed", job, calls)
            self.faults.expect(not any(call.undo for call in calls), "a needless undo", job, calls)
            return
        self.faults.expect(job["state"] == "failed" and (interrupted or code == "provider_rejected"),
                           "a job ended otherwise than its provider answered", job)
        failed = STEPS.index(fails_at)
        states = [step["state"] for step in job["steps"]]
        # An attempt that was cut short may have had an effect, so the failed step is undone, too.
        expected = {"failed", "undone"} if self.ends_during(job) else {"failed"}
        for step in job["steps"]:
            self.faults.expect(step["state"] != "undo_failed" or
                               self.was_undo_interrupted(job, step["service"]),
                               "an undo failed", job, calls)
        self.faults.expect(set(states[:failed]) <= {"undone", "undo_failed"} and
                           states[failed] in expected | {"undo_failed"} and
                           set(states[failed + 1:]) <= {"skipped"},
                           "a job has not undone what it had done", job, calls)
        self.check_undos({step["service"]: step["state"] for step in job["steps"]}, calls)
        refused = [call.ended_at for call in calls
                   if call.service == fails_at and not call.undo and not call.broken]
        begun = [call.began_at for call in calls if call.undo]
        self.faults.expect(interrupted or refused and all(min(refused) <= at for at in begun),
                           "an undo before the failure", calls)

    def check_undos(self, states, calls):
        """`states`: of the steps, by service."""
        undone = [service for service, state in states.items() if state == "undone"]
        undos = {service: [call for call in calls if call.undo and call.service == service]
                 for service in STEPS}
        for service, made in undos.items():
            done = [call for call in made if call.succeeded]
            # celld has seen no answer to an undo that failed.
            self.faults.expect(bool(done) == (service in undone) or
                               states[service] == "undo_failed", "a wrong undo", service, calls)
            for first, second in zip(done, done[1:]):
                self.faults.expect(self.lives.may_have_lost(first), "a step was undone twice",
                                   service, first, second)
        # What was done last is undone first.
        for later, earlier in zip(undone[::-1], undone[-2::-1]):
            over = [call.ended_at for call in undos[later] if call.succeeded]
            self.faults.expect(over and undos[earlier] and
                               min(over) <= undos[earlier][0].began_at,
                               "undone in a wrong order", later, earlier, calls)

    def kills_during(self, job):
        return self.lives.kills_between(*self.times_of(job))

    def ends_during(self, job):
        """How many lives of celld may have ended."""
        return self.lives.ends_between(*self.times_of(job))

    def times_of(self, job):
        """When it was created and when it ended, on the clock of the calls."""
        return (unix_time(job["created_at"]) - self.wall_ahead_s,
                unix_time(job["finished_at"]) - self.wall_ahead_s)

    def check_entities(self):
        last = {}
        for call in sorted(self.provider.log, key=lambda call: call.began_at):
            before = last.get(call.entity)
            self.faults.expect(before is None or self.lives.end_of(before) <= call.began_at,
                               "two calls for one entity at once", before, call)
            last[call.entity] = call

    def check_schedules(self, schedules, jobs):
        for name, schedule in schedules.items():
            made = [job for job in jobs.values() if job["labels"].get("schedule") == name]
            self.faults.expect(len(made) == schedule["fired"], "a schedule counts other jobs",
                               schedule, len(made))
            times = [job["run_at"] for job in made]
            self.faults.expect(len(times) == len(set(times)), "a due time fired twice", name, times)
            self.faults.expect(schedule["missed"] == 0, "a due time was missed", schedule)
            if made:
                last = max(unix_time(job["run_at"]) for job in made)
            else:
                last = self.clients.due_next[name] - EVERY_MS / 1000
            due = round((last - self.clients.due_first[name]) * 1000 / EVERY_MS) + 1
            passed = schedule["fired"] + schedule["skipped"]
            self.faults.expect(abs(passed - due) <= schedule["skipped"], "a due time is not passed",
                               schedule, due)
            self.faults.expect(schedule["skipped"] == 0 or SCHEDULES[name] == "skip",
                               "a due time was skipped without an overlap", schedule)
