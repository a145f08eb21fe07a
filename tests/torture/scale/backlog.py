#!/usr/bin/env python3
"""Starts of celld with a large backlog. A start reads what runs and what is due, and the number of
jobs of each pair of customer and product, but no backlog: what it reads from the database and the
memory that it takes are compared with a start on an empty database. A unit is a start.

--jobs sets the size of the backlog, --pairs the number of pairs of customer and product in it. The
time of a start is printed, but not judged. `CELLD_BINARY` names the program.
"""

import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import big_database  # noqa: E402
import program  # noqa: E402
from daemon import Daemon, wait_until  # noqa: E402
from siege import MEASURED  # noqa: E402

POOL_SIZE = 4
CONFIG = {"services": {"slow": {"type": "simulated", "latency_ms": {"min": 10**6, "max": 10**6}}},
          "defaults": {"pool": {"size": POOL_SIZE}, "timeout_max_ms": 10**7},
          "cells": [{"customer": "*", "product": "*", "queue": {"max_jobs": 10**8}}],
          "shutdown_grace_ms": 0}
MIB = 1 << 20
# The dispatcher's window of runnable jobs, whose rows and index entries lie on pages of their own.
READ_BYTES_MAX = 8 * MIB
MEMORY_BYTES_MAX = 16 * MIB
# A pair has a row in the database, and is held in memory.
PAIR_READ_BYTES_MAX = 200
PAIR_MEMORY_BYTES_MAX = 1500


def read_bytes(process):
    """What the process has read from files so far, from the page cache or from the disk."""
    with open(f"/proc/{process.pid}/io", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("rchar")).split()[1])


def resident_bytes(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1]) * 1024


class Start:
    """A start of celld, from its beginning until its workers are busy."""

    def __init__(self, daemon, busy):
        began_at = time.monotonic()
        daemon.start()
        self.took_s = time.monotonic() - began_at
        self.client = daemon.client()
        # These requests read no database.
        wait_until(lambda: self.calls() == busy, "the workers run jobs")
        self.read_bytes = read_bytes(daemon.process)
        self.memory_bytes = resident_bytes(daemon.process)

    def calls(self):
        return self.client.get("/v1/services").json["items"][0]["in_flight"]

    def __str__(self):
        return (f"ready after {self.took_s:.3f} s, {self.read_bytes / MIB:.1f} MiB read, "
                f"{self.memory_bytes / MIB:.1f} MiB of memory")


class Backlog:
    def __init__(self, daemon, jobs, pairs):
        self.jobs, self.pairs = jobs, pairs
        self.daemon = daemon
        self.empty = Start(self.daemon, busy=0)
        self.end()
        # Leaves no write-ahead log.
        subprocess.run([*self.daemon.command(), "--compact"], check=True)
        path = os.path.join(self.daemon.data, "celld.db")
        big_database.make(path, jobs, pairs)
        self.daemon.start()  # Adds the checksums.
        self.end()
        print(f"{jobs} jobs, {pairs} pairs, {os.path.getsize(path) / MIB:.0f} MiB")
        print(f"empty: {self.empty}", flush=True)

    def end(self):
        assert self.daemon.stop() == 0

    def faults(self):
        """Starts celld. Yields what is wrong."""
        full = Start(self.daemon, busy=POOL_SIZE)
        print(f"full:  {full}", flush=True)
        more_read = full.read_bytes - self.empty.read_bytes
        if more_read > READ_BYTES_MAX + self.pairs * PAIR_READ_BYTES_MAX:
            yield f"the start read {more_read} bytes more than an empty one"
        more_memory = full.memory_bytes - self.empty.memory_bytes
        most = MEMORY_BYTES_MAX + self.pairs * PAIR_MEMORY_BYTES_MAX
        if MEASURED and more_memory > most:
            yield f"the start took {more_memory} bytes more than an empty one"
        queued = self.jobs // len(big_database.GROUP) * big_database.QUEUED_IN_GROUP
        found = full.client.get("/v1/cells/*/*").json["queue"]["queued"] + POOL_SIZE
        if found != queued:
            yield f"{found} queued jobs were found, not {queued}"
        yield from self.wrong_lists(full.client)
        self.end()

    def wrong_lists(self, client):
        number = self.jobs // 2
        found = client.get("/v1/jobs", **{"label.ticket": f"T-{number}"}).json["items"]
        if [job["labels"]["ticket"] for job in found] != [f"T-{number}"]:
            yield f"the list of a label is {found}"
        customer = f"c{self.pairs // 2 // big_database.PRODUCTS}"
        found = client.get("/v1/jobs", customer=customer, limit=10).json["items"]
        if [job["customer"] for job in found] != [customer] * 10:
            yield f"the list of a customer is {found}"


def work(options, outcome):
    until = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="celld-scale-") as directory:
        daemon = Daemon(CONFIG, directory)
        try:
            backlog = Backlog(daemon, options.jobs, options.pairs)
            while outcome.units < options.count and time.monotonic() < until:
                faults = list(backlog.faults())
                for fault in faults:
                    print("FAULT:", fault, flush=True)
                if faults:
                    outcome.fail(options.first + outcome.units)
                outcome.add(1, {"jobs": options.jobs})
        finally:
            daemon.kill_if_running()


def add_options(parser):
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=1000)


def main():
    options = program.options(__doc__, add_options)
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
