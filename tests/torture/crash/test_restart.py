"""A celld that starts right after another one was killed."""

import fcntl
import os
import shutil
import tempfile
import time
import unittest

from daemon import Daemon

SIMULATED = {"services": {"demo": {"type": "simulated"}}, "cells": [{}]}


class Restart(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-restart-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def test_a_start_waits_for_a_process_that_a_killed_celld_left_behind(self):
        daemon = Daemon(SIMULATED, self.directory)
        os.mkdir(daemon.data)
        with open(os.path.join(daemon.data, "celld.lock"), "w", encoding="utf-8") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            daemon.spawn()
            time.sleep(0.3)
            self.assertTrue(daemon.running(), daemon.log())
        self.assertIn(b"listening", daemon.process.stdout.readline())
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
