"""A celld under a load that never changes, and what it holds when the load pauses."""

import collections
import contextlib
import json
import os
import random
import shutil
import sqlite3
import stat
import tempfile
import threading
import time

from daemon import DEADLINE_S, Daemon, a_job, wait_until
from provider import Provider, answer, raw, response
from siege import Gauge
from stream import Stream

CLIENTS = 3
PER_S = 25.0  # Operations of each client.
RETENTION_MS = 1000
PARAMETER_BYTES_MAX = 8000
# Some seconds after its last work, the instance of a template closes. celld also notices within this
# time that a client has left.
SETTLE_S = 1.5
# celld merges counts, and forgets names, after every 2,048 changes.
# celld keeps up to 48 partitions of the lines without keys, and of each index the newest.
ROWS_MAX = {**{f"rows of {table}": 2100 for table in ("cells", "origins", "route_counts")},
            "rows of index_partitions": 56}
PROVIDER_ERRORS = 20  # One call in this many fails.


def descriptors(pid):
    """The open descriptors by what they are."""
    found = collections.Counter()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            found[os.path.basename(target) if target.startswith("/") else target.split(":")[0]] += 1
    return found


class Operator(threading.Thread):
    """Repeats `act(client, number)` at a steady rate."""

    def __init__(self, daemon, per_s, act):
        super().__init__(daemon=True)
        self.daemon_, self.per_s, self.act = daemon, per_s, act
        self.ending = threading.Event()
        self.fault = None
        self.start()

    def run(self):
        client, number, due = self.daemon_.client(), 0, time.monotonic()
        try:
            while not self.ending.wait(max(0.0, due - time.monotonic())):
                self.act(client, number)
                number += 1
                due = max(due + 1 / self.per_s, time.monotonic() - 1)
        except Exception as error:  # Reported with the other faults.
            self.fault = f"{self.act.__name__}: {error!r}"
        client.close()

    def end(self):
        self.ending.set()
        self.join(DEADLINE_S)
        return "an operation does not end" if self.is_alive() else self.fault


class SteadyLoad:
    WARM_UP_S = 8.0
    # The log of changes for clients that reconnect (8 MiB) is full after the first thousands of jobs.
    # The write-ahead log grows while readers delay a checkpoint.
    GROWTH_MAX = {**ROWS_MAX, "bytes of memory": 8 << 20, "bytes of files": 18 << 20}

    def __init__(self, seed, environment=None, retention_ms=RETENTION_MS):
        self.directory = tempfile.mkdtemp(prefix="celld-soak-")
        self.random = random.Random(seed)
        self.retention_ms = retention_ms
        self.provider = Provider()
        self.provider.rules["/dns"] = self.behaviour
        self.command = self.write_command()
        self.daemon = Daemon(self.config(4), self.directory, environment=environment).start()
        self.client = self.daemon.client()
        self.numbers = iter(range(1 << 62))
        self.jobs = 0

    def behaviour(self, call):
        """Closes each connection: celld would keep some, and their number is chance."""
        self.provider.calls.clear()
        if self.random.randrange(PROVIDER_ERRORS) == 0:
            return answer(500, headers=["Connection: close"])
        return raw(response(200, {"properties": {"n": 1}}, ["Connection: close"]))

    def write_command(self):
        path = os.path.join(self.directory, "command")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho done >&2; echo '{}'\n")
        os.chmod(path, stat.S_IRWXU)
        return path

    def config(self, workers):
        return {"services": {"dns": {"type": "http", "url": self.provider.url + "/dns"},
                             "cmd": {"type": "command", "argv": [self.command]},
                             "demo": {"type": "simulated", "failure_rate": 0.05,
                                      "latency_ms": {"min": 1, "max": 5 * workers}}},
                "cells": [{"customer": "*", "per": ["customer"], "pool": {"size": workers}}],
                "defaults": {"retry": {"backoff_ms": 10, "backoff_max_ms": 50}},
                "retention_ms": self.retention_ms, "shutdown_grace_ms": 10000}

    # --- The load --------------------------------------------------------------------------------

    def run(self, seconds):
        """Keeps the load up for this long. Returns the faults."""
        # Followers end first: they wait for changes that the other operators make.
        operators = [Operator(self.daemon, 2.0, self.follow),
                     Operator(self.daemon, 2.0, self.administer)]
        operators += [Operator(self.daemon, PER_S, self.use) for _ in range(CLIENTS)]
        time.sleep(seconds)
        return [fault for fault in [each.end() for each in operators] if fault]

    def use(self, client, number):
        """What clients do, each job another customer's: submit, look up, cancel, repeat, list."""
        index = next(self.numbers)
        job = a_job(f"e-{index}", customer=f"c-{index}",
                    services=[("dns",), ("demo",), ("dns", "demo")][index % 3],
                    labels={"n": str(index)}, parameters={"text": "x" * (37 * index % PARAMETER_BYTES_MAX)})
        kind = number % 10
        if kind == 0:
            self.expect(client.get("/v1/jobs", customer=job["customer"], limit=100), 200)
            client.close()  # The next operation reconnects.
        elif kind == 1:
            job_id = self.accept(client, dict(job, delay_ms=60_000))
            self.expect(client.get(f"/v1/jobs/{job_id}"), 200)
            self.expect(client.post(f"/v1/jobs/{job_id}/cancel", {}), 200)
        elif kind == 2:
            key = {"Idempotency-Key": f"k-{index}"}
            job_id = self.accept(client, dict(job, services=["cmd"]), **key)
            self.expect(client.post("/v1/jobs", dict(job, services=["cmd"]), **key), 200)
        else:
            self.accept(client, job)

    def administer(self, client, number):
        """What operators and their tools do: resize, reload, scrape, back up."""
        self.expect(client.get("/metrics"), 200)
        self.daemon.write_config(self.config(4 + number % 3))
        self.expect(client.post("/v1/admin/reload", {}), 200)
        if number % 8 == 0:
            self.expect(client.get("/v1/admin/backup"), 200)

    def follow(self, client, number):
        """A client that follows all jobs for a while, and resumes once."""
        position = None
        for _ in range(2):
            stream = Stream(self.daemon, "/v1/events", position)
            stream.position()
            stream.jobs(5)
            position = stream.last_event_id
            stream.close()

    def accept(self, client, job, **headers):
        self.jobs += 1
        return self.expect(client.post("/v1/jobs", job, **headers), 202).json["id"]

    @staticmethod
    def expect(answer_, status):
        assert answer_.status == status, answer_
        return answer_

    def accept_all(self, client, lines):
        """Submits `lines` jobs in one request, each of another customer and with another label."""
        numbers = [str(next(self.numbers)) for _ in range(lines)]
        jobs = [a_job("e", customer=f"c-{number}", services=["demo"], labels={"n": number})
                for number in numbers]
        self.jobs += lines
        self.expect(client.request("POST", "/v1/batches",
                                   "".join(json.dumps(job) + "\n" for job in jobs).encode(),
                                   {"Content-Type": "application/x-ndjson"}), 202)

    # --- The pause -------------------------------------------------------------------------------

    def wait_until_empty(self, deadline_s):
        wait_until(lambda: not self.client.get("/v1/jobs", limit=1).json["items"],
                   "all jobs have ended and are removed", deadline_s)
        self.client.close()
        time.sleep(SETTLE_S)

    def holdings(self):
        """What celld holds: {name: number}."""
        pid = self.daemon.process.pid
        gauge = Gauge(pid)
        gauge.end()
        found = {f"open {name}": count for name, count in descriptors(pid).items()}
        found |= {f"rows of {name}": count for name, count in self.rows()}
        found["threads"] = len(os.listdir(f"/proc/{pid}/task"))
        found["files"] = len(os.listdir(self.daemon.data))
        found["bytes of files"] = sum(entry.stat().st_size for entry in os.scandir(self.daemon.data))
        found["bytes of memory"] = gauge.peak
        return found

    def rows(self):
        path = os.path.join(self.daemon.data, "celld.db")
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            names = [name for name, in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' OR name = 'route_counts'")
                if name not in ("routes", "route_changes")]  # The view has the valid rows of both.
            return [(name, database.execute(f"SELECT count(*) FROM {name}").fetchone()[0])
                    for name in names]

    def close(self):
        """Stops celld; returns its exit code."""
        try:
            return self.daemon.stop() if self.daemon.running() else self.daemon.process.returncode
        finally:
            self.provider.close()
            shutil.rmtree(self.directory, ignore_errors=True)


class FullRate(SteadyLoad):
    """As many jobs as celld takes, each in a cell of its own."""

    LINES = 5000
    WARM_UP_S = 60.0
    # The database is as large as the largest backlog so far.
    GROWTH_MAX = {**ROWS_MAX, "bytes of memory": 16 << 20, "bytes of files": 64 << 20}

    def run(self, seconds):
        operators = [Operator(self.daemon, 1000.0, self.flood) for _ in range(2)]
        time.sleep(seconds)
        return [fault for fault in [each.end() for each in operators] if fault]

    def flood(self, client, _):
        self.accept_all(client, self.LINES)
