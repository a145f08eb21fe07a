"""A disk that takes its time for each sync: nobody else waits for it, and what waits is bounded."""

import json
import os
import shutil
import statistics
import threading
import time
import unittest

from daemon import DEADLINE_S, SLOWDOWN, wait_until
from shimmed import BROKEN, ShimmedDaemon, a_config, scratch_directory

CONNECTIONS_MAX = 100
CLIENTS = 120
BODY_BYTES = 50_000
LIVEZ_S = 0.05
# 100 requests of 50 kB wait, each in some copies (received, read, to be written).
MEMORY_BYTES_MAX = 64 << 20
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
                self.ends.wait(0.02)
                continue
            with self.lock:
                self.statuses.append(status)
                if status == 202:
                    self.accepted.append(document["id"])
            if status == 503:
                client.close()
                self.ends.wait(0.05)
        client.close()

    def memory_bytes(self):
        with open(f"/proc/{self.daemon.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def watch(self, seconds):
        """The median time of /livez, and the most memory."""
        client = self.daemon.quick_client()
        times, most = [], 0
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            begun = time.monotonic()
            status, _ = client.request("GET", "/livez")
            times.append(time.monotonic() - begun)
            self.assertEqual(status, 200)
            most = max(most, self.memory_bytes())
            time.sleep(0.01)
        client.close()
        return statistics.median(times), most

    def under_load(self, delay_ms, seconds):
        livez_before, memory_before = self.watch(0.3)
        # The connection of the watch is open before those of the clients.
        client = self.daemon.quick_client()
        client.request("GET", "/livez")
        client.close()
        self.delay(delay_ms)
        watched = []
        watch = threading.Thread(target=lambda: watched.append(self.watch(seconds)))
        watch.start()
        clients = [threading.Thread(target=self.submit, args=(number,))
                   for number in range(CLIENTS)]
        for thread in clients:
            thread.start()
        watch.join()
        self.ends.set()
        self.delay(0)  # Who waits has to wait for one more sync of the slow ones.
        for thread in clients:
            thread.join()
        self.assertTrue(watched, "/livez has failed")
        livez, memory = watched[0]
        self.assertLess(livez, LIVEZ_S * SLOWDOWN, f"/livez; {livez_before} s before the load")
        self.assertLess(memory - memory_before, MEMORY_BYTES_MAX)
        self.assertTrue(set(self.statuses) <= {202, 503, 429}, set(self.statuses))
        return delay_ms

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
