"""A celld whose pool is always busy, and the measurements taken of it during a storm.

Each job takes half a second, so that the pool rather than the machine limits the jobs per second,
to POOL / LATENCY_S. The queue holds at most the jobs of one and a half seconds.
"""

import asyncio
import collections
import json
import os
import shutil
import tempfile
import time
from datetime import datetime

import goodput
from daemon import DEADLINE_S, SLOWDOWN, Daemon
from goodput import GAP_S_MAX, GOODPUT_MIN, Job
from machine import Quiet
from siege import BUSY_GROWTH_BYTES_MAX, GROWTH_BYTES_MAX, MEASURED, Gauge
from submitter import Submitter

POOL = 150
LATENCY_S = 0.5
SPREAD_S = 0.1  # Latencies vary by this much either way, so that jobs do not end in waves.
CAPACITY_PER_S = POOL / LATENCY_S
JOBS_MAX = 450
BUSY_PER_S = 1.5 * CAPACITY_PER_S
FILL_S = 1.0
PEAK_S = 3.0
NORMAL_S_MAX = 3.0 * SLOWDOWN
STORE_CACHE_BYTES = 32 << 20  # The most that the store caches of its database.


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def cell(**changes):
    return {"customer": "acme", "pool": {"size": POOL}, "queue": {"max_jobs": JOBS_MAX}, **changes}


def config(*cells):
    latency_ms = {"min": int(1000 * (LATENCY_S - SPREAD_S)),
                  "max": int(1000 * (LATENCY_S + SPREAD_S))}
    return {"services": {"demo": {"type": "simulated", "latency_ms": latency_ms}},
            "cells": list(cells) or [cell()], "shutdown_grace_ms": 10000}


class Field:
    variables = None  # More variables of celld's environment.

    def __init__(self, **client):
        self.directory = tempfile.mkdtemp(prefix="celld-storm-")
        self.daemon = Daemon(config(), self.directory, environment=self.variables).start()
        self.client = self.daemon.client()
        self.load = Submitter(self.daemon, **client)
        self.lone = []
        self.faults = []
        self.quiet = Quiet()
        self.missed = []  # Bounds that only a machine with spare capacity can meet.
        self.active = False

    def expect(self, good, fault):
        if not good:
            self.faults.append(fault)

    def expect_measured(self, good, fault):
        """For bounds that only a machine with spare capacity can meet."""
        if not good and MEASURED:
            self.missed.append(fault)

    def judge_measured(self):
        """Whether the machine was quiet enough to judge what was measured."""
        if self.missed and self.quiet.explains(self.missed):
            return False
        self.faults += self.missed
        return True

    # --- Before ----------------------------------------------------------------------------------

    async def fill(self):
        """Keeps celld busy and fills its queue."""
        await self.load.open()
        self.lone_s = min([await self.lone_job() for _ in range(2)])
        self.load.rate = 2 * JOBS_MAX / FILL_S
        await asyncio.sleep(FILL_S)
        self.load.waits.clear()  # Jobs end by now, so celld can compute an honest Retry-After.
        self.load.rate = BUSY_PER_S

    async def lone_job(self):
        """Seconds from the submission of a job to its end."""
        began = time.monotonic()
        answer = await asyncio.to_thread(
            self.client.post, "/v1/jobs",
            {"customer": "acme", "product": "any", "action": "create", "services": ["demo"],
             "entity": {"type": "lone", "id": f"{len(self.lone)}"}}, Prefer="wait=30")
        self.expect(answer.status == 200, f"a lone job: {answer}")
        self.lone.append(answer.json["id"])
        return time.monotonic() - began

    # --- The storm -------------------------------------------------------------------------------

    async def run_storm(self, seconds, storm):
        """Runs `storm()` for `seconds` under constant load. It must end once `active` is false, and
        memory must not grow."""
        self.before_at = time.time()
        await asyncio.sleep(PEAK_S)
        gauge = Gauge(self.daemon.process.pid)
        before = gauge.peak
        self.active = True
        self.began_at, sent = time.time(), self.load.sent
        task = asyncio.create_task(storm())
        await asyncio.sleep(seconds)
        self.ended_at = time.time()
        self.waits = dict(self.load.waits)
        self.offered_per_s = (self.load.sent - sent) / (self.ended_at - self.began_at)
        self.active = False
        await task
        gauge.end()
        self.grown = gauge.peak - before
        stored = sum(os.path.getsize(os.path.join(self.daemon.data, name))
                     for name in ("celld.db", "celld.db-wal"))
        cached = min(STORE_CACHE_BYTES, stored)
        self.expect(self.grown <= BUSY_GROWTH_BYTES_MAX + cached or not MEASURED,
                    f"memory grew by {self.grown >> 20} MB")
        self.expect_measured(
            self.grown <= GROWTH_BYTES_MAX + cached,
            f"memory grew by {self.grown >> 20} MB, and the store caches {cached >> 20} MB at most")

    # --- After -----------------------------------------------------------------------------------

    async def calm_down(self):
        """Keeps the load until celld must have recovered, then ends it and waits for the queue."""
        until = self.ended_at + (NORMAL_S_MAX + goodput.CALM_S if MEASURED else 1.0)
        await asyncio.sleep(max(0.0, until - time.time()))
        self.calm_at = time.time()
        self.client.close()  # It reconnects: celld may have closed the idle connection.
        began = time.monotonic()
        try:
            await asyncio.wait_for(self.load.quiet(), DEADLINE_S)
        except asyncio.TimeoutError:
            raise AssertionError(
                f"celld left submissions unanswered for {DEADLINE_S} s") from None
        expected_s = self.unfinished() / CAPACITY_PER_S
        await self.wait_until_all_ended()
        took_s = time.monotonic() - began
        self.expect_measured(
            took_s <= expected_s + 1.5 * SLOWDOWN,
            f"the queue emptied in {took_s:.1f} s instead of {expected_s:.1f} s")
        lone_s = min([await self.lone_job() for _ in range(2)])
        self.expect_measured(
            lone_s <= self.lone_s + 0.25 * SLOWDOWN,
            f"a lone job takes {lone_s:.2f} s; before the storm it took {self.lone_s:.2f} s")

    async def wait_until_all_ended(self):
        """Waits until all jobs have ended, as long as their number keeps falling."""
        left, give_up_at = self.unfinished(), time.monotonic() + DEADLINE_S
        while left and time.monotonic() < give_up_at:
            await asyncio.sleep(0.02)
            before, left = left, self.unfinished()
            if left < before:
                give_up_at = time.monotonic() + DEADLINE_S
        self.expect(left == 0, f"{left} jobs do not end")

    def unfinished(self):
        return sum(each["queue"][state] for each in self.client.get("/v1/cells").json["items"]
                   for state in ("queued", "scheduled", "retrying", "running"))

    async def end(self):
        """Checks that no job is lost and that no answer was unexpected, and stops celld."""
        self.expect(not self.load.unexpected, f"unexpected answers: {self.load.unexpected}")
        await self.load.close()
        jobs = await self.ended_jobs()
        known = set(self.load.accepted) | set(self.lone)
        self.expect(len(known) == len(self.load.accepted) + len(self.lone),
                    "two jobs have the same id")
        self.expect(set(jobs) == known,
                    f"{len(known - set(jobs))} acknowledged jobs are lost, and "
                    f"{len(set(jobs) - known)} jobs were never acknowledged")
        outcomes = collections.Counter((job.state, job.attempt) for job in jobs.values())
        self.expect(set(outcomes) == {("succeeded", 1)},
                    f"jobs ended with (state, attempts): {dict(outcomes)}")
        self.judge_goodput(list(jobs.values()))
        self.audit(jobs.values())
        self.client.close()
        self.expect(self.daemon.stop() == 0, "celld did not exit with 0")

    async def ended_jobs(self):
        """By id. A cell counts a job as ended shortly before the end is on disk and in the list."""
        give_up_at = time.monotonic() + DEADLINE_S
        while (jobs := self.all_jobs()) is None and time.monotonic() < give_up_at:
            await asyncio.sleep(0.02)
        self.expect(jobs is not None, "the list shows jobs that do not end")
        return jobs or {}

    def all_jobs(self):
        """By id; None if some have not ended. Bypasses the usual client, which checks each answer
        and would take too long."""
        jobs, cursor = {}, ""
        while cursor is not None:
            self.client.connection.request("GET", f"/v1/jobs?limit=1000{cursor}")
            page = json.loads(self.client.connection.getresponse().read())
            for job in page["items"]:
                step = job["steps"][0]
                if step["finished_at"] is None:
                    return None
                jobs[job["id"]] = Job(job["state"], job["attempt"], moment(step["started_at"]),
                                      moment(step["finished_at"]))
            cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
        return jobs

    def judge_goodput(self, jobs):
        ends = sorted(job.ended_at for job in jobs)
        before, storm = (self.before_at, self.began_at), (self.began_at, self.ended_at)
        self.peak, self.stormy = goodput.rate(ends, *before), goodput.rate(ends, *storm)
        self.peak_use, self.use = (goodput.use(jobs, ends, self.sizes(), LATENCY_S, *when)
                                   for when in (before, storm))
        self.gap_s = goodput.longest_gap_s(ends, *storm)
        self.normal_s = goodput.recovery_s(ends, self.ended_at, self.calm_at,
                                           GOODPUT_MIN * self.peak)
        self.expect_measured(self.peak >= GOODPUT_MIN * CAPACITY_PER_S,
                             f"{self.peak:.0f} jobs/s before the storm instead of "
                             f"{CAPACITY_PER_S:.0f}")
        self.expect_measured(self.stormy >= GOODPUT_MIN * self.peak,
                             f"{self.stormy:.0f} jobs/s in the storm, {self.peak:.0f} before it")
        self.expect_measured(
            self.use >= GOODPUT_MIN * self.peak_use,
            f"{100 * self.use:.0f} % of the workers' time used in the storm, "
            f"{100 * self.peak_use:.0f} % before it")
        self.expect_measured(self.gap_s <= GAP_S_MAX,
                             f"no job ended for {self.gap_s:.2f} s of the storm")
        self.expect_measured(
            self.normal_s is not None,
            f"still below {GOODPUT_MIN * self.peak:.0f} jobs/s {NORMAL_S_MAX:.0f} s after it")

    def sizes(self):
        """The total size of the pools over time: (since, size)."""
        return [(0.0, POOL)]

    def audit(self, jobs):
        """Further checks of the jobs, for a storm to override."""

    def close(self):
        self.daemon.kill_if_running()
        shutil.rmtree(self.directory, ignore_errors=True)
