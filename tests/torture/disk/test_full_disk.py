"""A disk that fills up: celld ends with 3 and reports why. With space again, it has everything that
it acknowledged."""

import os
import resource
import shutil
import subprocess
import unittest

from shimmed import BROKEN, ShimmedDaemon, a_config, end, scratch_directory

RETENTION_MS = 86_400_000
ROOM_BYTES = 6 << 20


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.directory = scratch_directory()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def fill(self, daemon):
        """Submits jobs until celld ends. Returns the ids of those answered with 202."""
        daemon.start()
        self.addCleanup(lambda: daemon.running() and daemon.kill())
        client = daemon.quick_client()
        accepted, refused = [], 0
        try:
            while refused < 1000:
                job = {"customer": "acme", "product": "dns", "action": "create",
                       "entity": {"type": "zone", "id": f"e{len(accepted)}"},
                       "services": ["quick"], "parameters": {"text": "x" * 20_000}}
                status, document = client.request("POST", "/v1/jobs", job)
                if status == 202:
                    self.assertEqual(refused, 0, "a job was accepted after one was refused")
                    accepted.append(document["id"])
                else:
                    self.assertEqual(status, 503, document)
                    refused += 1
        except BROKEN:
            pass  # celld has ended.
        client.close()
        self.assertEqual(daemon.wait(), 3)
        self.assertIn("the store failed; celld accepts nothing more", daemon.log())
        self.assertRegex(daemon.log(), "full|disk I/O error")
        self.assertTrue(accepted)
        return accepted

    def check(self, daemon, accepted):
        daemon.start()
        client = daemon.quick_client()
        for job in accepted:
            self.assertEqual(client.request("GET", f"/v1/jobs/{job}")[0], 200, job)
        client.close()
        self.assertEqual(daemon.stop(), 0)

    def test_a_full_disk_ends_celld_and_loses_nothing(self):
        daemon = ShimmedDaemon(a_config(RETENTION_MS), self.directory, BYTES_MAX=ROOM_BYTES)
        accepted = self.fill(daemon)
        daemon.environment = {}
        self.check(daemon, accepted)

    def test_a_limit_on_the_size_of_files_ends_celld_and_loses_nothing(self):
        daemon = ShimmedDaemon(a_config(RETENTION_MS), self.directory)
        daemon.environment = {}
        start = daemon.start

        def start_with_limit():
            start()
            resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE,
                             (ROOM_BYTES, resource.RLIM_INFINITY))
        daemon.start = start_with_limit
        accepted = self.fill(daemon)
        daemon.start = start
        self.check(daemon, accepted)

    def test_a_full_file_system_ends_celld_and_loses_nothing(self):
        if shutil.which("mount") is None:
            self.skipTest("the mount command is not there")
        mounted = os.path.join(self.directory, "small")
        os.mkdir(mounted)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES}", "celld-test", mounted]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest("this user cannot mount a file system: " + done.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", "-l", mounted], check=True)
        daemon = ShimmedDaemon(a_config(RETENTION_MS), self.directory)
        daemon.environment = {}
        daemon.data = os.path.join(mounted, "data")
        accepted = self.fill(daemon)
        # The rolled-back transaction may have left enough space to start.
        code = end(daemon) if daemon.try_start() else daemon.process.returncode
        self.assertIn(code, (0, 3), daemon.log())
        subprocess.run(["mount", "-o", "remount,size=200m", mounted], check=True)
        self.check(daemon, accepted)


if __name__ == "__main__":
    unittest.main()
