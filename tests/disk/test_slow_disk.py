"""A disk that takes its time for each sync: nobody else waits for it, and what waits is bounded."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest

from daemon import DEADLINE_S, SLOWDOWN, wait_until
from shimmed import BROKEN, ShimmedDaemon, a_config, scratch_directory

PROBE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "livez_probe.py")
CONNECTIONS_MAX = 60
CLIENTS = 80
PAUSE_S = 0.1
BODY_BYTES = 20_000
LIVEZ_S = 0.05  # Or twice the time under the same load on a fast disk, if that takes long.
FAST_S = 0.7
COMMIT_PATIENCE_S = 5.0
# 60 requests of 20 kB wait, each in some copies (received, read, to be written); and the heaps of
# the threads grow with the first load that they see.
MEMORY_BYTES_MAX = 48 << 20
RETENTION_MS = 86_400_000


class SlowDisk(unittest.TestCase):
    def setUp(self):
        self.directory = scratch_directory()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.delay_path = os.path.join(self.directory, "delay")
        self.delay(0)
        config = a_config(RETENTION_MS, limits={"max_connections": CONNECTIONS_MAX})
        self.daemon = ShimmedDaemon(config, self.directory, SYNC_MS=self.delay_path)
        self.daemon.start()
        self.addCleanup(lambda: self.daemon.running() and self.daemon.kill())
        self.accepted, self.statuses = [], []
        self.lock = threading.Lock()
        self.ends = threading.Event()

    def delay(self, ms):
        with open(self.delay_path, "w", encoding="ascii") as file:
            file.write(f"{ms}                   "[:19])

    def submit(self, number):
        """As a client that comes again with a new connection when it is refused."""
        client = self.daemon.quick_client(timeout_s=DEADLINE_S * 2)
        job = {"customer": "acme", "product": "dns", "action": "create", "services": ["quick"],
               "entity": {"type": "zone", "id": f"e{number}"},
               "parameters": {"text": "x" * BODY_BYTES}}
        while not self.ends.is_set():
            try:
                status, document = client.request("POST", "/v1/jobs", job)
            except BROKEN:
                client.close()
                self.ends.wait(PAUSE_S)
                continue
            with self.lock:
                self.statuses.append(status)
                if status == 202:
                    self.accepted.append(document["id"])
            if status == 503:
                client.close()
            self.ends.wait(PAUSE_S)
        client.close()

    def memory_bytes(self):
        with open(f"/proc/{self.daemon.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def start_probe(self):
        """Before the clients take all connections."""
        probe = subprocess.Popen([sys.executable, PROBE, str(self.daemon.port)],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(probe.communicate)
        self.assertTrue(probe.stdout.readline(), "/livez has failed")
        return probe

    def livez_s(self, probe, seconds):
        """The median time of /livez for that long."""
        probe.stdin.write(f"{seconds}\n")
        probe.stdin.flush()
        line = probe.stdout.readline()
        self.assertTrue(line, "/livez has failed")
        return float(line)

    def under_load(self, delay_ms, seconds):
        probe = self.start_probe()
        clients = [threading.Thread(target=self.submit, args=(number,))
                   for number in range(CLIENTS)]
        for thread in clients:
            thread.start()
        memory_before = self.memory_bytes()
        fast_s = self.livez_s(probe, FAST_S)
        self.delay(delay_ms)
        slow_s = self.livez_s(probe, seconds)
        memory = self.memory_bytes()
        self.ends.set()
        self.delay(0)  # Who waits has to wait for one more sync of the slow ones.
        for thread in clients:
            thread.join()
        self.assertLess(slow_s, max(LIVEZ_S * SLOWDOWN, 2 * fast_s), f"/livez; {fast_s} s before")
        self.assertLess(memory - memory_before, MEMORY_BYTES_MAX)
        self.assertLessEqual(set(self.statuses), {202, 503, 429})

    def all_there(self):
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        client = self.daemon.quick_client()
        for job in self.accepted:
            self.assertEqual(client.request("GET", f"/v1/jobs/{job}")[0], 200, job)
        client.close()
        self.assertEqual(self.daemon.stop(), 0)

    def check(self, delay_ms, seconds):
        self.under_load(delay_ms, seconds)
        self.assertTrue(self.accepted)
        self.assertIn(503, self.statuses, "more clients than connections, and none was refused")
        self.all_there()

    def test_a_sync_of_1_ms_keeps_nobody_waiting_but_its_clients(self):
        self.check(1, 1.5)

    def test_a_sync_of_100_ms_keeps_nobody_waiting_but_its_clients(self):
        self.check(100, 2.0)

    def test_a_sync_of_1_s_keeps_nobody_waiting_but_its_clients(self):
        self.check(1000, 3.0)

    def test_a_sync_of_10_s_keeps_nobody_waiting_but_its_clients(self):
        self.check(10_000, 4.0)

    def test_nobody_is_kept_waiting_behind_a_commit_that_takes_seconds(self):
        job = {"customer": "acme", "product": "dns", "action": "create", "services": ["quick"],
               "entity": {"type": "zone", "id": "e"}}
        answers = []

        def submit():
            client = self.daemon.quick_client(timeout_s=DEADLINE_S * 2)
            answers.append(client.request("POST", "/v1/jobs", job))
            client.close()
        self.delay(9000)
        first = threading.Thread(target=submit)
        first.start()
        time.sleep(COMMIT_PATIENCE_S + 0.5)
        submit()
        self.assertTrue(first.is_alive(), "the first waits for the disk")
        [(status, problem)] = answers
        self.assertEqual((status, problem["type"]), (503, "/problems/store-unavailable"))
        self.delay(0)
        first.join()
        submit()
        self.assertEqual([status for status, _ in answers], [503, 202, 202])

    def test_a_stop_on_a_slow_disk_ends_in_its_time(self):
        client = self.daemon.quick_client()
        self.delay(300)
        job = {"customer": "acme", "product": "dns", "action": "create", "services": ["slow"],
               "entity": {"type": "zone", "id": "e"}}
        status, document = client.request("POST", "/v1/jobs", job)
        self.assertEqual(status, 202)
        client.close()
        begun = time.monotonic()
        self.assertEqual(self.daemon.stop(), 0)
        grace_s = a_config()["shutdown_grace_ms"] / 1000
        self.assertLess(time.monotonic() - begun, (grace_s + 15) * SLOWDOWN)
        self.delay(0)
        self.daemon.start()
        client = self.daemon.quick_client()
        seen = wait_until(lambda: client.request("GET", f"/v1/jobs/{document['id']}"), "an answer")
        self.assertEqual(seen[0], 200, json.dumps(seen[1]))
        client.close()
        self.assertEqual(self.daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
