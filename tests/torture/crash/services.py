"""Kills celld again and again while jobs undo what they have done, services are limited or down, and
schedules submit jobs.

    services.py [--kills N] [--seed N]

Afterwards, by the calls that the provider saw: a job that failed has undone what it had done, in
reverse order, and nothing twice but for a kill; no entity had two calls at once; no limit was
exceeded, of calls at once or of their rate; no attempt was used up behind an open circuit or by
waiting for a limit; and each due time of a schedule has one job.
`CELLD_BINARY` names the program.
"""

import argparse
import asyncio
import collections
import json
import os
import random
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import audit  # noqa: E402
from client import BROKEN, Connection, all_jobs, unended  # noqa: E402
from daemon import SLOWDOWN, Daemon  # noqa: E402
from faults import Faults  # noqa: E402
from ledger import unix_time  # noqa: E402
from rates import check_rate  # noqa: E402
from recording_provider import Provider  # noqa: E402

CLIENTS = 8
CONCURRENCY = 2   # Of the service "limited".
# Of the service "rated". Each of its clients has an entity of its own, and submits its next job when
# the last one has ended. A celld that ignores the rate makes hundreds of calls a second.
RATE_PER_S, BURST = 20, 3
RATED_CLIENTS = 6
ATTEMPTS_MAX = 10  # Fewer than would fit into the time that "flaky" is down.
EVERY_MS = 1000   # The shortest interval of a schedule.
LIFE_S = (0.1, 0.6)
INTERRUPTIONS_MAX = 3  # By a crash, in a row; then a job fails.
DOWN_S, UP_S = 0.5, 0.3
ALL_ENDED_DEADLINE_S = 120.0 * SLOWDOWN
STEPS = ["one", "limited", "two"]
SCHEDULES = {"all": "allow", "one-at-a-time": "skip"}  # By name: what happens at an overlap.


class Services(Provider):
    """Its service "flaky" is down now and then."""

    def __init__(self):
        super().__init__()
        self.is_down = False
        self.most = 0  # Calls of "limited" at once.

    def status_of(self, document):
        if document["service"] == "flaky" and self.is_down:
            return 503
        refuses = document["parameters"].get("fails_at") == document["service"]
        return 422 if refuses and not document.get("undo") else 200

    def watch(self, connection):
        super().watch(connection)
        calls = [each.call for each in self.under_way.values() if each.call is not None]
        limited = sum(call.service == "limited" for call in calls)
        self.most = max(self.most, limited)


class Run:
    def __init__(self, options, directory):
        self.kills = options.kills
        self.random = random.Random(options.seed)
        self.provider = Services()
        self.directory = directory
        self.daemon = None
        self.life = 0
        self.deaths = []      # Of each life: when celld was signalled, and when it was dead.
        self.accepted = {}    # By id: the job as submitted.
        self.due_first = {}   # By schedule.
        self.faults = Faults()
        self.submitted = 0
        self.is_over = False
        self.wall_ahead_s = audit.wall_ahead_s()

    def configuration(self):
        self.life += 1
        service = {"type": "http", "url": f"http://127.0.0.1:{self.provider.port}/", "undo": {},
                   "headers": {"X-Life": str(self.life)}}
        return {
            "services": {"one": service, "two": service,
                         "limited": {**service, "limits": {"concurrency": CONCURRENCY}},
                         "rated": {**service, "limits": {"rate_per_s": RATE_PER_S,
                                                         "burst": BURST}},
                         "flaky": {**service, "circuit": {"failures": 2, "open_ms": 100}}},
            "defaults": {"pool": {"size": 6}, "timeout_ms": 30000,
                         "retry": {"max_attempts": ATTEMPTS_MAX, "backoff_ms": 10,
                                   "backoff_max_ms": 50}},
            "cells": [{"product": "flaky"}, {"product": "schedules"}, {"product": "rated"},
                      {}],
        }

    async def whole(self):
        server = await self.provider.serve()
        self.daemon = Daemon(self.configuration(), self.directory)
        await asyncio.to_thread(self.daemon.start)
        await self.add_schedules()
        clients = [asyncio.create_task(self.submit()) for _ in range(CLIENTS)]
        clients += [asyncio.create_task(self.submit_rated(f"r{number}"))
                    for number in range(RATED_CLIENTS)]
        outages = asyncio.create_task(self.interrupt_flaky())
        for _ in range(self.kills):
            await asyncio.sleep(self.random.uniform(*LIFE_S))
            await self.kill_and_restart()
        self.is_over = True
        await asyncio.gather(*clients, outages)
        self.provider.is_down = False
        schedules = await self.pause_schedules()
        await self.wait_until_all_ended()
        jobs = await all_jobs(self.daemon)
        await asyncio.to_thread(self.daemon.stop)
        server.close()
        self.check_jobs(jobs)
        self.check_entities()
        self.check_schedules(schedules, jobs)
        self.faults.expect(self.provider.most <= CONCURRENCY, "a limit was exceeded",
                           self.provider.most)
        check_rate(self.faults, [call for call in self.provider.log if call.service == "rated"],
                   RATE_PER_S, BURST, self.lives())
        return jobs

    def lives(self):
        """Of each life: a time before its start, and one at which it was dead."""
        dead = [died_at for _, died_at in self.deaths]
        return list(zip([float("-inf"), *dead], [*dead, float("inf")]))

    async def kill_and_restart(self):
        signalled_at = time.monotonic()
        await asyncio.to_thread(self.daemon.kill)
        self.deaths.append((signalled_at, time.monotonic()))
        self.daemon.write_config(self.configuration())
        await asyncio.to_thread(self.daemon.start)

    async def interrupt_flaky(self):
        while not self.is_over:
            self.provider.is_down = not self.provider.is_down
            await asyncio.sleep(DOWN_S if self.provider.is_down else UP_S)

    # Clients.

    def a_job(self):
        fails_at = self.random.choice((None, *STEPS))
        job = {"customer": f"c{self.random.randrange(3)}", "action": "create",
               "entity": {"type": "zone", "id": f"e{self.random.randrange(12)}"},
               "parameters": {"outcome": "ok", "latency_ms": self.random.randint(1, 25)}}
        if self.random.random() < 0.2:
            return {**job, "product": "flaky", "services": ["flaky"]}
        job["parameters"]["fails_at"] = fails_at
        return {**job, "product": "dns", "services": STEPS, "on_failure": "compensate"}

    async def submit(self):
        connection = Connection(self.daemon)
        while not self.is_over:
            await self.submit_one(connection, self.a_job())
            await asyncio.sleep(self.random.uniform(0, 0.1))
        connection.close()

    async def submit_rated(self, entity):
        connection = Connection(self.daemon)
        while not self.is_over:
            await self.submit_one(connection, {
                "customer": "c0", "product": "rated", "action": "create", "services": ["rated"],
                "entity": {"type": "zone", "id": entity},
                "parameters": {"outcome": "ok", "latency_ms": 1}}, "Prefer: wait=30\r\n")
        connection.close()

    async def submit_one(self, connection, job, header=""):
        self.submitted += 1
        job["idempotency_key"] = f"key-{self.submitted}"
        status, answer = await self.ask(connection, "POST", "/v1/jobs", job, header)
        self.faults.expect(status in (200, 202), "an unexpected answer", status, answer)
        if status in (200, 202):
            self.accepted[answer["id"]] = job

    async def ask(self, connection, method, path, body=None, header=""):
        """Repeats the request until there is an answer."""
        while True:
            try:
                return await connection.request(method, path, body, header)
            except BROKEN:
                await asyncio.sleep(0.01)

    async def add_schedules(self):
        connection = Connection(self.daemon)
        for name, overlap in SCHEDULES.items():
            job = {"customer": "c0", "product": "schedules", "action": "renew",
                   "entity": {"type": "zone", "id": name}, "services": ["one"],
                   "labels": {"schedule": name},
                   "parameters": {"outcome": "ok", "latency_ms": 5}}
            status, schedule = await self.ask(
                connection, "PUT", f"/v1/schedules/{name}",
                {"every_ms": EVERY_MS, "overlap": overlap, "catch_up": "all", "job": job})
            assert status == 201, schedule
            self.due_first[name] = unix_time(schedule["next_run_at"])
        connection.close()

    async def pause_schedules(self):
        """Returns the schedules as they were last."""
        connection, schedules = Connection(self.daemon), {}
        for name in SCHEDULES:
            path = f"/v1/schedules/{name}"
            _, schedule = await self.ask(connection, "GET", path)
            wanted = {name: schedule[name] for name in ("every_ms", "overlap", "catch_up", "job")}
            await self.ask(connection, "PUT", path, {**wanted, "paused": True})
            _, schedules[name] = await self.ask(connection, "GET", path)
        connection.close()
        return schedules

    async def wait_until_all_ended(self):
        give_up_at = time.monotonic() + ALL_ENDED_DEADLINE_S
        while await unended(self.daemon) > 0:
            if time.monotonic() > give_up_at:
                raise AssertionError(f"not within {ALL_ENDED_DEADLINE_S} s: every job has ended")
            await asyncio.sleep(0.05)

    # What must be true afterwards.

    def check_jobs(self, jobs):
        of_job = collections.defaultdict(list)
        for call in self.provider.log:
            of_job[call.job].append(call)
        for job_id, sent in self.accepted.items():
            job = jobs.get(job_id)
            if job is None:
                self.faults.expect(False, "an accepted job is lost", job_id)
            elif "on_failure" in sent:
                self.check_compensation(job, of_job[job_id])
            elif sent["product"] == "rated":
                self.check_rated(job, of_job[job_id])
            else:
                self.faults.expect(job["state"] == "succeeded" or self.was_interrupted(job),
                                   "an open circuit failed a job", job)

    def check_rated(self, job, calls):
        """Its provider never refuses, so only a kill may use up an attempt."""
        self.faults.expect(job["state"] == "succeeded" or self.was_interrupted(job),
                           "a rate failed a job", job, calls)
        self.faults.expect(job["steps"][0]["attempts"] <= 1 + self.deaths_during(job),
                           "a rate used up an attempt", job, calls)

    def was_interrupted(self, job):
        """Whether so many kills may have ended its attempts that celld gave up."""
        code = (job["error"] or {}).get("code")
        return code == "interrupted" and self.deaths_during(job) >= INTERRUPTIONS_MAX

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
        # An attempt that a kill cut short may have had an effect, so the failed step is undone, too.
        expected = {"failed", "undone"} if self.deaths_during(job) else {"failed"}
        self.faults.expect(states[:failed] == ["undone"] * failed and states[failed] in expected and
                           set(states[failed + 1:]) <= {"skipped"},
                           "a job has not undone what it had done", job, calls)
        self.check_undos([step["service"] for step in job["steps"] if step["state"] == "undone"],
                         calls)
        refused = [call.ended_at for call in calls
                   if call.service == fails_at and not call.undo and not call.broken]
        begun = [call.began_at for call in calls if call.undo]
        self.faults.expect(interrupted or refused and all(min(refused) <= at for at in begun),
                           "an undo before the failure", calls)

    def check_undos(self, undone, calls):
        undos = {service: [call for call in calls if call.undo and call.service == service]
                 for service in STEPS}
        for service, made in undos.items():
            done = [call for call in made if call.succeeded]
            self.faults.expect(bool(done) == (service in undone), "a wrong undo", service, calls)
            for first, second in zip(done, done[1:]):
                self.faults.expect(self.deaths_between(first.began_at, second.began_at),
                                   "a step was undone twice", service, calls)
        # Newest first: what was done last is undone first.
        for later, earlier in zip(undone[::-1], undone[-2::-1]):
            over = [call.ended_at for call in undos[later] if call.succeeded]
            self.faults.expect(over and undos[earlier] and
                               min(over) <= undos[earlier][0].began_at,
                               "undone in a wrong order", later, earlier, calls)

    def deaths_during(self, job):
        return self.deaths_between(unix_time(job["created_at"]) - self.wall_ahead_s,
                                   unix_time(job["finished_at"]) - self.wall_ahead_s)

    def deaths_between(self, begin, end):
        return sum(begin <= died_at and signalled_at <= end for signalled_at, died_at in self.deaths)

    def end_of(self, call):
        """At the latest with its celld, although the provider may notice later."""
        died_at = (self.deaths[call.life - 1][1] if call.life <= len(self.deaths)
                   else float("inf"))
        return min(died_at, call.ended_at if call.ended_at is not None else float("inf"))

    def check_entities(self):
        last = {}
        for call in sorted(self.provider.log, key=lambda call: call.began_at):
            before = last.get(call.entity)
            self.faults.expect(before is None or self.end_of(before) <= call.began_at,
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
            last = max((unix_time(job["run_at"]) for job in made), default=0)
            due = round((last - self.due_first[name]) * 1000 / EVERY_MS) + 1
            passed = schedule["fired"] + schedule["skipped"]
            self.faults.expect(abs(passed - due) <= schedule["skipped"], "a due time is not passed",
                               schedule, due)
            self.faults.expect(schedule["skipped"] == 0 or SCHEDULES[name] == "skip",
                               "a due time was skipped without an overlap", schedule)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="celld-crash-")
    run = Run(options, directory)
    began_at = time.monotonic()
    try:
        jobs = asyncio.run(run.whole())
    except BaseException:
        run.faults.report()
        if run.daemon is not None:
            print(f"seed {options.seed}; celld's log:\n{run.daemon.log()}", file=sys.stderr)
        raise
    finally:
        if run.daemon is not None and run.daemon.running():
            run.daemon.kill()
        shutil.rmtree(directory, ignore_errors=True)
    states = collections.Counter(job["state"] for job in jobs.values())
    undos = sum(call.undo for call in run.provider.log)
    rated = sum(call.service == "rated" for call in run.provider.log)
    print(f"{len(jobs)} jobs ({json.dumps(states)}), {len(run.provider.log)} calls, {undos} of them "
          f"undos and {rated} at a limited rate, {options.kills} kills in "
          f"{time.monotonic() - began_at:.1f} s")
    if run.faults.report():
        print(f"seed {options.seed}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
