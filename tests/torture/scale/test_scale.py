"""celld with ten thousand cells, and with a pool of a hundred thousand workers."""

import unittest

from backlog import resident_bytes
from daemon import EndToEnd, a_job, wait_until

CELLS = 10_000
POOL_SIZE = 100_000
MIB = 1 << 20
# A cell is a dispatcher, a pool and its workers, each an actor.
CELL_BYTES_MAX = 25_000
WORKER_BYTES_MAX = 4_000
SERVICES = {"quick": {"type": "simulated"},
            "slow": {"type": "simulated", "latency_ms": {"min": 10**6, "max": 10**6}}}


def a_config(cells, pool_size):
    return {"services": SERVICES, "shutdown_grace_ms": 0,
            "defaults": {"pool": {"size": pool_size}, "timeout_ms": 10**7, "timeout_max_ms": 10**7},
            "cells": [{"customer": f"c{number}", "product": "*"} for number in range(cells)]}


class Scale(EndToEnd):
    def memory(self):
        return resident_bytes(self.daemon.process)

    def all_cells(self):
        """The sizes of the pools, by customer."""
        sizes, query = {}, {"limit": 1000}
        while True:
            page = self.client.get("/v1/cells", **query).json
            sizes.update((cell["customer"], cell["pool"]["target"]) for cell in page["items"])
            if page["next_cursor"] is None:
                return sizes
            query["cursor"] = page["next_cursor"]

    def run_jobs(self, customers):
        jobs = [self.submit(a_job(customer=f"c{number}", services=["quick"]))
                for number in customers]
        for job in jobs:
            self.assertEqual(self.wait_for_end(job)["state"], "succeeded")

    def test_ten_thousand_cells_start_run_jobs_reload_and_stop(self):
        self.start(a_config(1, 2))
        memory_of_one = self.memory()
        self.assertEqual(self.daemon.stop(), 0)
        self.restart(a_config(CELLS, 2))
        each = (self.memory() - memory_of_one) / CELLS
        print(f"{each:.0f} bytes of memory for each cell")
        self.assertLess(each, CELL_BYTES_MAX)
        self.assertEqual(self.all_cells(), {f"c{number}": 2 for number in range(CELLS)})
        self.run_jobs(range(0, CELLS, 97))
        self.daemon.write_config(a_config(CELLS, 3))
        self.assertEqual(self.client.post("/v1/admin/reload", {}).status, 200)
        self.assertEqual(self.all_cells(), {f"c{number}": 3 for number in range(CELLS)})
        self.run_jobs(range(50, CELLS, 997))

    def test_a_pool_grows_to_a_hundred_thousand_workers_and_shrinks_again(self):
        self.start(a_config(1, 1))
        memory_of_one = self.memory()
        pool = "/v1/admin/cells/c0/*/pool"

        def workers():
            found = self.client.get("/v1/cells/c0/*").json["pool"]
            return found["ready"], found["busy"], found["retiring"]
        self.assertEqual(self.client.put(pool, {"size": POOL_SIZE}).status, 202)
        wait_until(lambda: workers() == (POOL_SIZE, 0, 0), "all workers are ready")
        each = (self.memory() - memory_of_one) / POOL_SIZE
        print(f"{each:.0f} bytes of memory for each worker")
        self.assertLess(each, WORKER_BYTES_MAX)
        for number in range(3):
            self.submit(a_job(f"slow{number}", customer="c0", services=["slow"]))
        wait_until(lambda: workers() == (POOL_SIZE - 3, 3, 0), "the jobs run")
        self.assertEqual(self.client.put(pool, {"size": 1}).status, 202)
        wait_until(lambda: workers() == (0, 1, 2), "only busy workers are left")


if __name__ == "__main__":
    unittest.main()
