"""A celld whose pool is busy all the while, and what is measured of it in a storm.

The jobs take half a second each, so that the pool decides how many end per second, and not the
machine: POOL / LATENCY_S. There are as many jobs at a time as it does in one and a half seconds.
"""

import asyncio
import collections
import json
import os
import re
import shutil
import statistics
import tempfile
import time

from daemon import DEADLINE_S, SLOWDOWN, Daemon
from siege import GROWTH_BYTES_MAX, MEASURED, Gauge
from submitter import Submitter

POOL = 150
LATENCY_S = 0.5
CAPACITY_PER_S = POOL / LATENCY_S
JOBS_MAX = 450
BUSY_PER_S = 1.5 * CAPACITY_PER_S
FILL_S = 1.0
PEAK_S = 2.0
NORMAL_S_MAX = 5.0 * SLOWDOWN
GOODPUT_MIN = 0.9
# With more processes waiting for each processor, it is the machine that is measured.
LOAD_MAX = 8
STORE_CACHE_BYTES = 32 << 20  # What the store keeps of its database, at most.
FINISHED = re.compile(r'^celld_jobs_finished_total\{[^}]*\} (\d+)', re.M)


def cell(**changes):
    return {"customer": "acme", "pool": {"size": POOL}, "queue": {"max_jobs": JOBS_MAX}, **changes}


def config(*cells):
    milliseconds = int(1000 * LATENCY_S)
    return {"services": {"demo": {"type": "simulated",
                                  "latency_ms": {"min": milliseconds, "max": milliseconds}}},
            "cells": list(cells) or [cell()], "shutdown_grace_ms": 10000}


class Field:
    def __init__(self, **client):
        self.directory = tempfile.mkdtemp(prefix="celld-storm-")
        self.daemon = Daemon(config(), self.directory).start()
        self.client = self.daemon.client()
        self.load = Submitter(self.daemon, **client)
        self.lone = []
        self.faults = []
        self.unjudged = 0
        self.raging = False

    def expect(self, good, fault):
        if not good:
            self.faults.append(fault)

    def expect_measured(self, good, fault):
        """For what only a machine can keep that has room for it."""
        if MEASURED and os.getloadavg()[0] <= LOAD_MAX * os.cpu_count():
            self.expect(good, fault)
        else:
            self.unjudged += not good

    # --- Before ----------------------------------------------------------------------------------

    async def fill(self):
        """celld is busy, and its queue full."""
        await self.load.open()
        self.lone_s = min([await self.lone_job() for _ in range(2)])
        self.load.rate = 2 * JOBS_MAX / FILL_S
        await asyncio.sleep(FILL_S)
        self.load.rate = BUSY_PER_S

    async def goodput(self, seconds):
        """Jobs ended per second, from now on: in the middle one of these seconds, as a machine may
        have stood still in another."""
        until, rates = time.monotonic() + seconds, []
        while not rates or time.monotonic() < until:
            began, before = time.monotonic(), self.finished()
            await asyncio.sleep(min(1.0, max(0.1, until - began)))
            rates.append((self.finished() - before) / (time.monotonic() - began))
        return statistics.median(rates)

    def finished(self):
        return sum(map(int, FINISHED.findall(self.client.get("/metrics").body.decode())))

    async def lone_job(self):
        """How long one takes from its submission to its end."""
        began = time.monotonic()
        answer = await asyncio.to_thread(
            self.client.post, "/v1/jobs",
            {"customer": "acme", "product": "any", "action": "create", "services": ["demo"],
             "entity": {"type": "lone", "id": f"{len(self.lone)}"}}, Prefer="wait=30")
        self.expect(answer.status == 200, f"a lone job: {answer}")
        self.lone.append(answer.json["id"])
        return time.monotonic() - began

    # --- The storm -------------------------------------------------------------------------------

    async def weather(self, seconds, storm):
        """`storm()` goes on while it is `raging`, for so long. Goodput must stay, and memory."""
        self.peak = await self.goodput(PEAK_S)
        gauge = Gauge(self.daemon.process.pid)
        before = gauge.peak
        self.raging = True
        raging = asyncio.create_task(storm())
        began, sent = time.monotonic(), self.load.sent
        self.stormy = await self.goodput(seconds)
        self.offered_per_s = (self.load.sent - sent) / (time.monotonic() - began)
        self.raging = False
        await raging
        gauge.end()
        self.grown = gauge.peak - before
        self.expect_measured(self.stormy >= GOODPUT_MIN * self.peak,
                             f"{self.stormy:.0f} jobs/s in the storm, {self.peak:.0f} before it")
        stored = sum(os.path.getsize(os.path.join(self.daemon.data, name))
                     for name in ("celld.db", "celld.db-wal"))
        cached = min(STORE_CACHE_BYTES, stored)
        self.expect(self.grown <= GROWTH_BYTES_MAX + cached or not MEASURED,
                    f"memory grew by {self.grown >> 20} MB, the store's cache by {cached >> 20} MB "
                    "at most")

    # --- After -----------------------------------------------------------------------------------

    async def calm_down(self):
        """Everything is as before within five seconds."""
        began = time.monotonic()
        await asyncio.wait_for(self.load.quiet(), DEADLINE_S)
        expected_s = self.unfinished() / CAPACITY_PER_S
        await self.drain()
        self.drained_s = time.monotonic() - began
        self.expect_measured(
            self.drained_s <= expected_s + 1.5 * SLOWDOWN,
            f"the queue drained in {self.drained_s:.1f} s instead of {expected_s:.1f} s")
        lone_s = await self.lone_job()
        while lone_s > self.lone_s + 0.25 and time.monotonic() - began < NORMAL_S_MAX:
            lone_s = await self.lone_job()
        self.normal_s = time.monotonic() - began
        self.expect_measured(
            self.normal_s <= NORMAL_S_MAX,
            f"not as before after {self.normal_s:.1f} s: a lone job takes {lone_s:.2f} s, "
            f"{self.lone_s:.2f} s before")

    async def drain(self):
        give_up_at = time.monotonic() + DEADLINE_S
        while self.unfinished() and time.monotonic() < give_up_at:
            await asyncio.sleep(0.02)

    def unfinished(self):
        return sum(each["queue"][state] for each in self.client.get("/v1/cells").json["items"]
                   for state in ("queued", "scheduled", "retrying", "running"))

    async def end(self):
        """Nothing is lost, and nothing was answered that nobody should get."""
        self.expect(not self.load.strange, f"strange answers: {self.load.strange}")
        await self.load.close()
        jobs = self.all_jobs()
        known = set(self.load.accepted) | set(self.lone)
        self.expect(len(known) == len(self.load.accepted) + len(self.lone), "an id was given twice")
        self.expect(set(jobs) == known,
                    f"{len(known - set(jobs))} acknowledged jobs are lost, and "
                    f"{len(set(jobs) - known)} are there that nobody has heard of")
        outcomes = collections.Counter((job["state"], job["attempt"]) for job in jobs.values())
        self.expect(set(outcomes) == {("succeeded", 1)}, f"jobs ended as {dict(outcomes)}")
        self.audit(jobs.values())
        self.client.close()
        self.expect(self.daemon.stop() == 0, "celld did not stop in order")

    def all_jobs(self):
        """By id. Not through the test's usual client, which looks closely at each of them."""
        jobs, cursor = {}, ""
        while cursor is not None:
            self.client.connection.request("GET", f"/v1/jobs?limit=1000{cursor}")
            page = json.loads(self.client.connection.getresponse().read())
            jobs |= {job["id"]: job for job in page["items"]}
            cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
        return jobs

    def audit(self, jobs):
        """What else has to be true of them."""

    def close(self):
        if self.daemon.running():
            self.daemon.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
