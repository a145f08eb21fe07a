"""A disk with slow syncs delays only the clients that wait for a commit, and memory stays
bounded."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

from daemon import DEADLINE_S, SLOWDOWN, Daemon, wait_until
from machine import Machine, Quiet
from shimmed import BROKEN, RUNTIMES, ShimmedDaemon, a_config, scratch_directory

PROBE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "livez_probe.py")
CONNECTIONS_MAX = 60
CLIENTS = 80
PAUSE_S = 0.4
BODY_BYTES = 20_000
LIVEZ_S_MAX = 0.05 * SLOWDOWN
LIVEZ_TRIES = 3  # A single late answer may have waited for the processor.
FAST_S = 0.7
COMMIT_PATIENCE_S = 5.0
# 60 requests of 20 kB wait, each in several copies (received, parsed, to be written), and the heaps
# of the threads grow under their first load.
MEMORY_BYTES_MAX = 48 << 20
RETENTION_MS = 86_400_000


def is_in_time(longest_s, elsewhere_s):
    """`elsewhere_s` is the time of an idle celld, which waits only for the machine. Which of the
    two waits longer for the machine is chance, hence the factor."""
    return longest_s < max(LIVEZ_S_MAX, 4 * elsewhere_s)


class SlowDisk(unittest.TestCase):
    def setUp(self):
        self.directory = scratch_directory()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.idle_daemon = Daemon(a_config(), self.directory)
        self.idle_daemon.start()
        self.addCleanup(self.idle_daemon.kill)
        self.delay_path = os.path.join(self.directory, "delay")
        self.delay(0)
        config = a_config(RETENTION_MS, limits={"max_connections": CONNECTIONS_MAX},
                          cells=[{"customer": "acme"},
                                 {"customer": "brief", "durability": "memory"}])
        config["services"]["pulled"] = {"type": "pull"}
        self.daemon = ShimmedDaemon(config, self.directory, SYNC_MS=self.delay_path)
        self.daemon.start()
        self.addCleanup(lambda: self.daemon.running() and self.daemon.kill())
        self.accepted, self.statuses, self.problems = [], [], set()
        self.quiet, self.machine = Quiet(), Machine()
        self.lock = threading.Lock()
        self.second_half, self.ends = threading.Event(), threading.Event()

    def delay(self, ms):
        with open(self.delay_path, "w", encoding="ascii") as file:
            file.write(f"{ms}                   "[:19])

    def submit(self, number):
        """A client that opens a new connection after each refusal. Half of the clients start
        late."""
        if number % 2:
            self.second_half.wait()
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
                else:
                    self.problems.add(document["type"])
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
        """Connects; call this before the clients use up all connections."""
        ports = [str(daemon.port) for daemon in (self.daemon, self.idle_daemon)]
        probe = subprocess.Popen([sys.executable, PROBE, *ports],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(probe.communicate)
        self.assertTrue(probe.stdout.readline(), "/livez failed")
        return probe

    def livez_s(self, probe, seconds):
        """The longest time of /livez during this many seconds, for the daemon and the idle one."""
        probe.stdin.write(f"{seconds}\n")
        probe.stdin.flush()
        line = probe.stdout.readline()
        self.assertTrue(line, "/livez failed")
        return [float(text) for text in line.split()]

    def late_livez(self, probe, seconds):
        """The longest /livez of each try, for the daemon and the idle one, if all were late."""
        seen = []
        while len(seen) < LIVEZ_TRIES:
            seen.append(self.livez_s(probe, seconds))
            if is_in_time(*seen[-1]):
                return []
        return seen

    def check_livez(self, probe, seconds):
        late = self.late_livez(probe, seconds)
        if late and not self.quiet.explains("the longest /livez"):
            self.fail(f"the longest /livez, and that of an idle celld: {late} s")

    def under_load(self, delay_ms, seconds):
        probe = self.start_probe()
        clients = [threading.Thread(target=self.submit, args=(number,))
                   for number in range(CLIENTS)]
        for thread in clients:
            thread.start()
        # Clients that arrive while another has waited for COMMIT_PATIENCE_S are refused with 503.
        second_half = threading.Timer(min(delay_ms / 1000, COMMIT_PATIENCE_S + 1.5),
                                      self.second_half.set)
        memory_before = self.memory_bytes()
        try:
            self.livez_s(probe, FAST_S)
            self.problems.clear()
            self.delay(delay_ms)
            second_half.start()
            self.check_livez(probe, seconds)
            memory = self.memory_bytes()
        finally:
            self.ends.set()
            self.second_half.set()
            second_half.cancel()
            self.delay(0)  # Waiting clients still have to wait for one more slow sync.
            for thread in clients:
                thread.join()
        if not RUNTIMES:  # Instrumented programs need several times the memory.
            self.assertLess(memory - memory_before, MEMORY_BYTES_MAX)
        self.assertLessEqual(set(self.statuses), {202, 503, 429})

    def check_accepted(self):
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
        self.assertIn(503, self.statuses, "more clients than connections, but none was refused")
        self.check_accepted()

    def test_a_sync_of_1_ms_delays_only_clients_that_wait_for_it(self):
        self.check(1, 1.5)

    def test_a_sync_of_100_ms_delays_only_clients_that_wait_for_it(self):
        self.check(100, 2.0)

    def test_a_sync_of_1_s_delays_only_clients_that_wait_for_it(self):
        self.check(1000, 3.0)

    def test_a_sync_of_10_s_delays_only_clients_that_wait_for_it(self):
        self.check(10_000, COMMIT_PATIENCE_S + 3.5)
        self.assertIn("/problems/store-unavailable", self.problems)

    def test_a_client_behind_a_commit_that_takes_seconds_is_refused_at_once(self):
        """Unless its job is only in memory. Such a job also runs meanwhile."""
        answers = []

        def ask(method, path, body=None):
            client = self.daemon.quick_client(timeout_s=DEADLINE_S * 2)
            answer = client.request(method, path, body)
            client.close()
            return answer

        def submit(customer="acme", service="quick"):
            answers.append(ask("POST", "/v1/jobs", {
                "customer": customer, "product": "dns", "action": "create", "services": [service],
                "entity": {"type": "zone", "id": service}}))
        self.delay(15_000)
        first = threading.Thread(target=submit)
        first.start()
        time.sleep(COMMIT_PATIENCE_S + 1.5)
        submit()
        submit("brief")
        called = answers[1][1]["id"]
        wait_until(lambda: ask("GET", f"/v1/jobs/{called}")[1]["state"] == "succeeded",
                   "the job in memory ends")
        submit("brief", "pulled")
        status, leased = ask("POST", "/v1/services/pulled/leases",
                             {"worker": "w", "wait_ms": 4000})
        self.assertEqual((status, len(leased["leases"])), (200, 1))
        submit()
        self.assertTrue(first.is_alive(), "the first waits for the disk")
        self.assertEqual(answers[0][1]["type"], "/problems/store-unavailable")
        self.delay(0)
        first.join()
        submit()
        self.assertEqual([status for status, _ in answers], [503, 202, 202, 503, 202, 202])

    def test_the_probe_detects_occasional_late_answers(self):
        probe = self.start_probe()
        ends = threading.Event()

        def stop_now_and_then():
            while not ends.wait(0.3):
                self.daemon.signal(signal.SIGSTOP)
                time.sleep(20 * LIVEZ_S_MAX)
                self.daemon.signal(signal.SIGCONT)
        thread = threading.Thread(target=stop_now_and_then)
        thread.start()
        try:
            self.assertTrue(self.late_livez(probe, 1.0))
        finally:
            ends.set()
            thread.join()

    def test_a_shutdown_on_a_slow_disk_ends_in_time(self):
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
        self.assertTrue(self.machine.is_in_time("the stop", time.monotonic() - begun,
                                                (grace_s + 15) * SLOWDOWN))
        self.delay(0)
        self.daemon.start()
        client = self.daemon.quick_client()
        seen = wait_until(lambda: client.request("GET", f"/v1/jobs/{document['id']}"), "an answer")
        self.assertEqual(seen[0], 200, json.dumps(seen[1]))
        client.close()
        self.assertEqual(self.daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
