"""Thousands of jobs over many cells, while pools are resized and celld is killed and stopped.

    many_jobs.py [--jobs N] [--cells N] [--cycles N] [--seed N]

One cycle is a kill -9 and a SIGTERM under load. Afterwards every job answered with 202 must have
ended once and as the provider answered. No pool's size may have been exceeded, no entity may have
had two calls at once, and no ended job may have changed. `CELLD_BINARY` names the program.
"""

import argparse
import asyncio
import collections
import contextlib
import functools
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

from daemon import Daemon  # noqa: E402
import audit  # noqa: E402
from calls import Call  # noqa: E402
from client import BROKEN, all_jobs, unended  # noqa: E402
from faults import Faults  # noqa: E402
from ledger import unix_time  # noqa: E402
from load import Load  # noqa: E402
from sizes import sizes_in_force  # noqa: E402

POOL_SIZE = 3
CLIENTS = 24
RESIZES_PER_S = 10
CELLS_PER_RESIZE = 10
DEADLINE_S = 240.0
EXPECTED = {"ok": ("succeeded", None), "flaky": ("succeeded", None), "busy": ("succeeded", None),
            "reject": ("failed", "provider_rejected")}
ENDED = ("succeeded", "failed", "cancelled")


class RecordingProvider:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "recording_provider.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def stop(self):
        """Returns its log."""
        output, _ = self.process.communicate()
        return [Call(*json.loads(line)) for line in output.splitlines()]


def config(provider, cells):
    url = f"http://127.0.0.1:{provider.port}/"
    return {
        "services": {"one": {"type": "http", "url": url + "one"},
                     "two": {"type": "http", "url": url + "two"}},
        "defaults": {"pool": {"size": POOL_SIZE}, "timeout_ms": 30000,
                     "retry": {"max_attempts": 5, "backoff_ms": 10, "backoff_max_ms": 100}},
        "cells": [{"customer": f"c{i}"} for i in range(cells)],
        "shutdown_grace_ms": 20000,
    }


def descriptors(daemon, provider):
    """How many descriptors celld holds, without its idle connections to the provider."""
    base = f"/proc/{daemon.process.pid}"
    kept = set()
    with open(f"{base}/net/tcp", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            fields = line.split()
            if int(fields[2].rpartition(":")[2], 16) == provider.port:
                kept.add(f"socket:[{fields[9]}]")
    names = []
    for name in os.listdir(f"{base}/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"{base}/fd/{name}"))
    return len([name for name in names if name not in kept])


def longest_commit_s(daemon):
    """No commit of this celld took longer: the bound of the highest bucket in use."""
    text = daemon.client().get("/metrics").body.decode()
    buckets = re.findall(r'^celld_store_commit_seconds_bucket\{le="(.*)"\} (\d+)$', text, re.M)
    total = buckets[-1][1]
    return float(next(bound for bound, count in buckets if count == total))


async def until(condition, what, deadline_s):
    give_up_at = time.monotonic() + deadline_s
    while not await condition():
        if time.monotonic() > give_up_at:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        await asyncio.sleep(0.02)


class Run:
    def __init__(self, options, directory):
        self.faults = Faults()
        self.provider = RecordingProvider()
        self.daemon = Daemon(config(self.provider, options.cells), directory)
        self.load = Load(self.daemon, options.jobs, options.cells, options.seed)
        self.options = options
        self.wall_ahead_s = audit.wall_ahead_s()
        self.kills = []  # When celld was signalled, and when it was dead.
        self.ended = {}  # By id: each job as it was when first seen ended.

    async def whole(self):
        await asyncio.to_thread(self.daemon.start)
        resizing = asyncio.create_task(self.load.resize(RESIZES_PER_S, CELLS_PER_RESIZE))
        submitting = asyncio.create_task(self.load.submit_all(CLIENTS))
        await self.interrupt()
        await submitting
        await self.wait_until_all_ended()
        self.load.done = True
        await resizing
        await self.check_descriptors()
        jobs = await all_jobs(self.daemon)
        self.check_database(jobs)
        commit_s = longest_commit_s(self.daemon)
        self.faults.expect(await asyncio.to_thread(self.daemon.stop) == 0, "the exit code is not 0")
        calls = self.provider.stop()
        calls.sort(key=lambda call: call.began_at)
        self.check_jobs(jobs)
        self.check_calls(jobs, calls, self.on_the_way_s(jobs, calls) + commit_s)
        self.check_entities(calls)
        self.check_pools(jobs, calls)
        return len(calls)

    async def interrupt(self):
        """Kills and stops celld, spread evenly over the load."""
        turns = 2 * self.options.cycles
        for turn in range(turns):
            target = self.options.jobs * (turn + 1) // (turns + 1)

            async def reached(target=target):
                return len(self.load.accepted) >= target
            await until(reached, f"{target} jobs are accepted", DEADLINE_S)
            await self.note_ended()
            if turn % 2 == 0:
                signalled_at = time.monotonic()
                self.daemon.kill()
                self.kills.append((signalled_at, time.monotonic()))
            else:
                self.load.stopping = True
                code = await asyncio.to_thread(self.daemon.stop)
                self.faults.expect(code == 0, "a stopped celld did not exit with 0", code)
            await asyncio.to_thread(self.daemon.start)
            self.load.stopping = False  # By now, all answers of the celld before were read.

    async def note_ended(self):
        for state in ("succeeded", "failed"):
            for job_id, job in (await all_jobs(self.daemon, state=state)).items():
                before = self.ended.setdefault(job_id, job)
                self.faults.expect(before == job, "an ended job changed", before, job)

    async def wait_until_all_ended(self):
        async def idle():
            try:
                return await unended(self.daemon) == 0
            except BROKEN:
                return False
        await until(idle, "every job has ended", DEADLINE_S)

    async def check_descriptors(self):
        """More of the same load must not make celld hold more descriptors."""
        await all_jobs(self.daemon, customer="c0")
        few = await self.fewest_descriptors()
        self.load.count += 1000
        await self.load.submit_all(CLIENTS)
        await self.wait_until_all_ended()
        await all_jobs(self.daemon, customer="c0")
        still_few = await self.fewest_descriptors()
        self.faults.expect(still_few <= few, "descriptors leaked", few, still_few)

    async def fewest_descriptors(self):
        """The fewest within half a second, in which celld closes what its clients left open."""
        fewest = descriptors(self.daemon, self.provider)
        until_at = time.monotonic() + 0.5
        while time.monotonic() < until_at:
            await asyncio.sleep(0.02)
            fewest = min(fewest, descriptors(self.daemon, self.provider))
        return fewest

    def check_database(self, jobs):
        path = os.path.join(self.daemon.data, "celld.db")
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            [(verdict,)] = database.execute("PRAGMA integrity_check").fetchall()
            states = dict(database.execute(
                "SELECT state, count(*) FROM jobs_for_people GROUP BY state"))
        self.faults.expect(verdict == "ok", "the database is corrupt", verdict)
        listed = dict(collections.Counter(job["state"] for job in jobs.values()))
        self.faults.expect(states == listed, "database and API disagree", states, listed)

    def check_jobs(self, jobs):
        for answer in self.load.unexpected:
            self.faults.expect(False, "an unexpected answer", *answer)
        for job_id in self.load.accepted:
            self.faults.expect(job_id in jobs, "an accepted job is lost", job_id)
        for job_id, job in jobs.items():
            state, code = EXPECTED[job["parameters"]["outcome"]]
            got = (job["state"], job["error"] and job["error"]["code"])
            self.faults.expect(got == (state, code),
                               "a job's end contradicts its provider's answer", json.dumps(job))
            if state == "succeeded":
                expected = {service: job_id for service in job["services"]}
                self.faults.expect(job["properties"] == expected, "properties are missing",
                                   json.dumps(job))
        for job_id, before in self.ended.items():
            self.faults.expect(jobs.get(job_id) == before, "an ended job changed", before,
                               jobs.get(job_id))
        for job_id, sent in self.load.accepted.items():
            job = jobs.get(job_id, {})
            for name, value in sent.items():
                self.faults.expect(job.get(name) == value, "a job differs from its submission",
                                   job_id, name)

    def on_the_way_s(self, jobs, calls):
        """The longest time from a provider's answer until celld had it."""
        ends = {(job_id, step["service"]): unix_time(step["finished_at"]) - self.wall_ahead_s
                for job_id, job in jobs.items() for step in job["steps"]
                if step["state"] == "succeeded"}
        last = {(call.job, call.service): call.ended_at for call in calls if call.succeeded}
        return max(ends[step] - last[step] for step in ends if step in last)

    def check_calls(self, jobs, calls, on_the_way_s):
        """Each step must have been called; only a kill explains more calls than it needs."""
        of_step = collections.defaultdict(list)
        for call in calls:
            of_step[call.job, call.service].append(call)
            self.faults.expect(call.job in jobs, "a call for an unknown job", call)
            self.faults.expect(not call.broken or self.at_a_kill(call, 0), "a call was cut short",
                               call)
        for job_id, job in jobs.items():
            outcome = job["parameters"]["outcome"]
            services = job["services"][:1] if outcome == "reject" else job["services"]
            needed = 2 if outcome in ("flaky", "busy") else 1
            for service in services:
                made = of_step.get((job_id, service), [])
                self.faults.expect(len(made) >= needed, "too few calls for a step", job_id, made)
                extra = [call for call in made if self.at_a_kill(call, on_the_way_s)]
                self.faults.expect(len(made) <= needed + len(extra), "too many calls for a step",
                                   job_id, made, on_the_way_s)

    def at_a_kill(self, call, on_the_way_s):
        """Whether the call ran at a kill, or ended so shortly before it that the end may not have
        been on disk."""
        lost_s = on_the_way_s + audit.ON_THE_WAY_MORE_S
        return any((call.began_at <= died_at or call.over) and
                   (call.ended_at is None or call.ended_at >= signalled_at - lost_s)
                   for signalled_at, died_at in self.kills)

    def end_of(self, call):
        """When the call ended: at the latest with its celld, although the provider may notice
        later."""
        ends = [died_at for _, died_at in self.kills if call.broken and died_at >= call.began_at]
        return min(ends + ([call.ended_at] if call.ended_at is not None else [float("inf")]))

    def check_entities(self, calls):
        last = {}
        for call in calls:
            before = last.get(call.entity)
            self.faults.expect(before is None or self.end_of(before) <= call.began_at,
                               "two calls for one entity at once", before, call)
            last[call.entity] = call

    def check_pools(self, jobs, calls):
        def decided_since(call):
            [step] = [step for step in jobs[call.job]["steps"] if step["service"] == call.service]
            at = unix_time(step["started_at"]) - self.wall_ahead_s
            return at if at <= call.began_at else float("-inf")
        of_cell = collections.defaultdict(list)
        for call in calls:
            if not call.over:
                of_cell[call.cell].append(call)
        for name, cell_calls in of_cell.items():
            resizes = self.load.resizes[int(re.match(r"c(\d+)/", name)[1])]
            audit.check_pool(self.faults, name, cell_calls, self.end_of, decided_since,
                             functools.partial(sizes_in_force, resizes, POOL_SIZE))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--cycles", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="celld-crash-")
    run = Run(options, directory)
    began_at = time.monotonic()
    try:
        calls = asyncio.run(run.whole())
    except BaseException:
        run.faults.report()
        print(f"seed {options.seed}; celld's log:\n{run.daemon.log()}", file=sys.stderr)
        raise
    finally:
        run.daemon.kill_if_running()
        run.provider.process.kill()
        shutil.rmtree(directory, ignore_errors=True)
    resizes = sum(len(records) for records in run.load.resizes.values())
    print(f"{len(run.load.accepted)} jobs, {calls} calls, {resizes} resizes, "
          f"{2 * options.cycles} restarts in {time.monotonic() - began_at:.1f} s")
    if run.faults.report():
        print(f"seed {options.seed}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
