"""Jobs that no worker asks for hold up no other, and take no memory beyond the window."""

import json
import time
import unittest

from daemon import EndToEnd, a_job
from siege import Gauge

MIB = 1 << 20
UNLEASED = 100_000
LINES_EACH = 20_000
# The window of the lane, what the store keeps of recent jobs, and what the allocator keeps. The jobs
# themselves would take several times as much.
GROWTH_BYTES_MAX = 40 * MIB


class Unleased(EndToEnd):
    def post(self, first):
        body = "".join(json.dumps(a_job(f"e{n}", services=["vm"])) + "\n"
                       for n in range(first, first + LINES_EACH)).encode()
        answer = self.client.request("POST", "/v1/batches", body,
                                     {"Content-Type": "application/x-ndjson"})
        self.assertEqual(answer.json["accepted"], LINES_EACH, answer)

    def test_a_hundred_thousand_jobs_that_no_worker_asks_for_hold_up_nothing(self):
        """All are of one customer and share one slot with the other jobs."""
        self.start({"services": {"vm": {"type": "pull"}, "demo": {"type": "simulated"}},
                    "store": {"recent_jobs": 1000},
                    "cells": [{"pool": {"size": 1}, "queue": {"max_jobs": 10 ** 6}}],
                    "shutdown_grace_ms": 1000})
        self.post(0)  # The first batch opens what stays open.
        gauge = Gauge(self.daemon.process.pid)
        for first in range(LINES_EACH, UNLEASED, LINES_EACH):
            self.post(first)
        began_at = time.monotonic()
        answer = self.client.post("/v1/jobs", a_job("inside", services=["demo"]), Prefer="wait=60")
        self.assertEqual((answer.status, answer.json["state"]), (200, "succeeded"), answer)
        self.assert_in_time("a job for a service inside", time.monotonic() - began_at, 0.5)
        gauge.end()
        cell = self.cell()
        self.assertEqual((cell["queue"]["queued"], cell["pool"]["busy"]), (UNLEASED, 0))
        leases = self.client.post("/v1/services/vm/leases", {"worker": "w", "max": 5}).json
        self.assertEqual([lease["job"]["entity"]["id"] for lease in leases["leases"]], ["e0"])
        grown = gauge.peak - gauge.first
        print(f"memory +{grown / MIB:.1f} MB")
        self.assertLessEqual(grown, GROWTH_BYTES_MAX)


if __name__ == "__main__":
    unittest.main()
