"""What celld keeps of customers and cells that come and go, and of large backlogs in many cells."""

import contextlib
import json
import os
import sqlite3
import unittest

from backlog import resident_bytes
from daemon import DEADLINE_S, EndToEnd, a_job, wait_until

MIB = 1 << 20
CUSTOMERS = 10_000
# Counts that changed are merged, and names forgotten, after every 2,048 changes.
ROWS_MAX = 2100
# SQLite's cache, recent jobs for clients that reconnect, and what the allocator has not returned.
KEPT_BYTES_MAX = 70 * MIB
GROWTH_BYTES_MAX = 10 * MIB
CELLS = 1000
JOBS_EACH = 60
BACKLOG_BYTES_MAX = 64 * MIB
BACKLOG_CONFIG = {
    "services": {"slow": {"type": "simulated", "latency_ms": {"min": 10**6, "max": 10**6}}},
    "cells": [{"per": ["customer"], "pool": {"size": 1}}],
    "defaults": {"timeout_ms": 10**7, "timeout_max_ms": 10**7}, "shutdown_grace_ms": 0}
COMING_AND_GOING_CONFIG = {
    "services": {"quick": {"type": "simulated"}}, "retention_ms": 1000,
    "cells": [{"per": ["customer"], "pool": {"size": 2}}]}


class Customers(EndToEnd):
    def memory(self):
        return resident_bytes(self.daemon.process)

    def post(self, jobs):
        body = "".join(json.dumps(job) + "\n" for job in jobs).encode()
        answer = self.client.request("POST", "/v1/batches", body,
                                     {"Content-Type": "application/x-ndjson"})
        self.assertEqual(answer.json["accepted"], len(jobs), answer)

    def come_and_go(self, name):
        self.post([a_job("e", customer=f"{name}-{number}", services=["quick"])
                   for number in range(CUSTOMERS)])
        # Ten thousand jobs and cells take a busy machine a long time.
        wait_until(lambda: not self.client.get("/v1/jobs", limit=1).json["items"],
                   "all jobs have ended and are removed", 10 * DEADLINE_S)
        wait_until(lambda: len(self.client.get("/v1/cells", limit=2).json["items"]) == 1,
                   "all cells are closed, but for the template", 10 * DEADLINE_S)

    def rows(self, table):
        path = os.path.join(self.daemon.data, "celld.db")
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def test_celld_forgets_ten_thousand_customers_and_their_cells(self):
        self.start(COMING_AND_GOING_CONFIG)
        idle = self.memory()
        self.come_and_go("first")
        wait_until(lambda: self.memory() - idle < KEPT_BYTES_MAX, "the memory is returned")
        kept = self.memory() - idle
        self.come_and_go("second")
        wait_until(lambda: self.memory() - idle < kept + GROWTH_BYTES_MAX,
                   "the memory is what it was")
        for table in ("cells", "origins", "routes", "route_changes"):
            self.assertLessEqual(self.rows(table), ROWS_MAX, table)
        print(f"memory +{kept / MIB:.1f} MB, then +{(self.memory() - idle) / MIB:.1f} MB")

    def test_sixty_thousand_jobs_in_a_thousand_cells_take_the_memory_of_a_few(self):
        self.start(BACKLOG_CONFIG)
        self.post([a_job("running", customer=f"c{cell}", services=["slow"])
                   for cell in range(CELLS)])
        of_cells = self.memory()
        for first in range(0, JOBS_EACH, 20):
            self.post([a_job(f"e{number}", customer=f"c{cell}", services=["slow"])
                       for number in range(first, first + 20) for cell in range(CELLS)])
        grown = self.memory() - of_cells
        print(f"memory +{grown / MIB:.1f} MB")
        self.assertLess(grown, BACKLOG_BYTES_MAX)


if __name__ == "__main__":
    unittest.main()
