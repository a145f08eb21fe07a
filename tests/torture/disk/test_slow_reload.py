"""A stop during a reload that a slow disk makes long."""

import os
import shutil
import signal
import threading
import unittest

from daemon import DEADLINE_S, wait_until
from shimmed import ShimmedDaemon, a_config, scratch_directory

JOBS = 2500  # Three moves of at most 1,000 jobs each.
SYNC_MS = 4000
OWN_CELL = {"customer": "acme", "product": "dns"}


class SlowReload(unittest.TestCase):
    def setUp(self):
        self.directory = scratch_directory()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.delay_path = os.path.join(self.directory, "delay")
        self.delay(0)
        self.daemon = ShimmedDaemon(a_config(cells=[{"customer": "acme"}]), self.directory,
                                    SYNC_MS=self.delay_path)
        self.daemon.start()
        self.addCleanup(self.daemon.kill_if_running)

    def delay(self, ms):
        with open(self.delay_path, "w", encoding="ascii") as file:
            file.write(f"{ms}                   "[:19])

    def jobs_of(self, client, cell):
        status, document = client.request("GET", f"/v1/cells/acme/{cell}")
        return document["queue"]["scheduled"] if status == 200 else None

    def test_a_stop_does_not_wait_for_the_moves_of_a_reload(self):
        client = self.daemon.quick_client()
        jobs = [{"customer": "acme", "product": "dns", "action": "create", "services": ["quick"],
                 "entity": {"type": "zone", "id": f"e{number}"}, "delay_ms": 3_600_000}
                for number in range(JOBS)]
        status, batch = client.request("POST", "/v1/batches", jobs)
        self.assertEqual((status, batch["accepted"]), (202, JOBS), batch)
        self.daemon.write_config(a_config(cells=[{"customer": "acme"}, OWN_CELL]))
        self.delay(SYNC_MS)
        answers = []
        reload = threading.Thread(target=lambda: answers.append(
            self.daemon.quick_client(DEADLINE_S * 2).request("POST", "/v1/admin/reload")))
        reload.start()
        wait_until(lambda: self.jobs_of(client, "dns") is not None, "the reload begins to move jobs")
        self.daemon.signal(signal.SIGTERM)
        reload.join()
        self.assertEqual([(status, document["type"]) for status, document in answers],
                         [(503, "/problems/draining")])
        self.delay(0)
        self.assertEqual(self.daemon.wait(), 0)
        self.assertIn("the reload was interrupted by the shutdown", self.daemon.whole_log())

        self.daemon.start()
        client = self.daemon.quick_client()
        wait_until(lambda: self.jobs_of(client, "dns") == JOBS,
                   "the next celld has moved the other jobs")
        self.assertEqual(self.daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
