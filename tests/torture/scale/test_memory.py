"""Out of memory: celld refuses to start, or ends at once, and says why. It never continues with a
part of itself missing. A restart has every accepted job."""

import http.client
import resource
import signal
import subprocess
import threading
import unittest

from daemon import Daemon, EndToEnd, a_config, a_job

MIB = 1 << 20
CLIENTS = 8
JOBS_EACH = 60
REFUSED = (1, 3, -signal.SIGABRT)  # The C library aborts when it runs out of memory itself.
REASONS = "out of memory|no more threads or memory|Resource temporarily unavailable"


def memory(process, name):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith(name)).split()[1]) * 1024


class LimitedDaemon(Daemon):
    limit = 0

    def command(self):
        return ["prlimit", f"--as={self.limit}", *super().command()]

    def can_be_loaded(self):
        """Whether the memory suffices for the dynamic linker and the libraries of celld."""
        return subprocess.run([*self.command()[:3], "--version"], capture_output=True,
                              check=False).returncode == 0


class Flood(threading.Thread):
    """Submits large jobs as long as celld answers."""

    def __init__(self, daemon, number):
        super().__init__()
        self.client, self.number = daemon.client(timeout_s=20), number
        self.accepted = {}

    def run(self):
        try:
            for i in range(JOBS_EACH):
                text = f"{self.number} {i} " * 20_000
                answer = self.client.post("/v1/jobs", a_job(
                    f"e{self.number}.{i}", delay_ms=10**9, parameters={"text": text}))
                if answer.status == 202:
                    self.accepted[answer.json["id"]] = text
        except (OSError, http.client.HTTPException):
            pass
        finally:
            self.client.close()


class Memory(EndToEnd):
    def test_a_start_without_enough_memory_fails_and_says_why(self):
        self.start()
        needed = memory(self.daemon.process, "VmSize")
        self.assertEqual(self.daemon.stop(), 0)
        limited = LimitedDaemon(a_config(self.provider), self.directory)
        refused = 0
        for share in range(1, 12):
            limited.limit = needed * share // 10
            if not limited.can_be_loaded():
                continue
            limited.spawn()
            if limited.process.stdout.readline():
                self.assertEqual(limited.stop(), 0, limited.log())
                continue
            code = limited.wait()
            refused += 1
            self.assertIn(code, REFUSED, limited.log())
            self.assertRegex(limited.log(), REASONS)
        self.assertGreater(refused, 1)

    def test_a_celld_that_runs_out_of_memory_ends_and_keeps_every_accepted_job(self):
        ended = 0
        for more in (0, MIB, 8 * MIB):
            self.start()
            floods = [Flood(self.daemon, number) for number in range(CLIENTS)]
            limit = memory(self.daemon.process, "VmData") + more
            resource.prlimit(self.daemon.process.pid, resource.RLIMIT_DATA, (limit, limit))
            for flood in floods:
                flood.start()
            for flood in floods:
                flood.join()
            ended += self.has_ended()
            self.restart()
            for flood in floods:
                for job, text in flood.accepted.items():
                    self.assertEqual(self.job(job)["parameters"], {"text": text})
            self.assertEqual(self.daemon.stop(), 0)
        self.assertGreater(ended, 0)

    def has_ended(self):
        """Whether celld ran out of memory; if not, it must still work."""
        try:
            self.submit(a_job("still working", delay_ms=10**9))
        except (OSError, http.client.HTTPException):
            self.assertIn(self.daemon.wait(), REFUSED, self.daemon.log())
            self.assertRegex(self.daemon.log(), REASONS)
            return True
        self.assertEqual(self.daemon.stop(), 0)
        return False


if __name__ == "__main__":
    unittest.main()
