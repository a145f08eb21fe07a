"""celld's notifications to its service manager.

In tests/torture/controls, test_watchdog.py has the tests with a celld that hangs, and
test_controls.py those with an engine that ends.
"""

import os
import shutil
import signal
import socket
import tempfile
import time
import unittest

from daemon import SLOWDOWN, a_config, a_job, wait_until
from machine import Machine
from provider import Provider
from service import Service


class Notify(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-service-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.provider = Provider()
        self.addCleanup(self.provider.close)
        self.machine = Machine()

    def service(self, environment=None, **changes):
        return self.started(Service(a_config(self.provider, **changes), self.directory,
                                    environment=environment))

    def started(self, service):
        self.addCleanup(service.forget)
        service.start()
        self.addCleanup(lambda: service.running() and service.kill())
        return service

    def test_it_is_ready_once_it_serves(self):
        service = self.service()
        message = service.receive("READY=1")
        self.assertEqual(message["STATUS"], f"serving at http://{service.host}:{service.port}")
        self.assertEqual(service.client().get("/readyz").status, 200)
        self.assertEqual(service.stop(), 0)

    def test_its_manager_may_have_an_abstract_address(self):
        service = Service(a_config(self.provider), self.directory)
        service.manager.close()
        service.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"celld-{os.getpid()}"
        service.manager.bind("\0" + name)
        service.environment["NOTIFY_SOCKET"] = "@" + name
        self.started(service).receive("READY=1")
        self.assertEqual(service.stop(), 0)

    def test_the_start_and_the_end_of_a_reload_are_reported(self):
        service = self.service()
        service.receive("READY=1")
        before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        service.signal(signal.SIGHUP)
        reloading_us = int(service.receive("RELOADING=1")["MONOTONIC_USEC"])
        after_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.assertTrue(before_us <= reloading_us <= after_us, reloading_us)
        service.receive("READY=1")
        self.assertEqual(service.stop(), 0)

    def test_a_refused_reload_ends_too(self):
        service = self.service()
        status = service.receive("READY=1")["STATUS"]
        for _ in range(2):
            service.write_config({"cells": "none"})
            service.signal(signal.SIGHUP)
            service.receive("RELOADING=1")
            self.assertEqual(service.receive("READY=1")["STATUS"], status)
        self.assertEqual(service.stop(), 0)

    def test_a_shutdown_reports_how_long_it_may_take(self):
        service = self.service(shutdown_grace_ms=200_000)
        gate = self.provider.hold("/dns")
        self.assertEqual(service.client().post("/v1/jobs", a_job()).status, 202)
        wait_until(self.provider.running, "the call runs")
        service.signal(signal.SIGTERM)
        stopping = service.receive("STOPPING=1")
        # The grace period, and the time for what may follow it: handing over the connections (1 s),
        # confirmations of aborted calls (5 s), the last answers (2 s), jobs in memory (10 s), and a
        # margin (15 s).
        longest_us = int(stopping["EXTEND_TIMEOUT_USEC"])
        self.assertTrue(233_000_000 <= longest_us < 300_000_000, longest_us)
        self.assertTrue(service.running())
        gate.let_all()
        self.assertEqual(service.wait(), 0)

    def receive_in_time(self, service):
        """The next notification of a watchdog of three seconds."""
        began = time.monotonic()
        service.receive("WATCHDOG=1")
        took_s = time.monotonic() - began
        self.assertTrue(self.machine.is_in_time("a notification", took_s, 3), took_s)

    def test_the_watchdog_is_notified_during_a_shutdown_too(self):
        service = self.service({"WATCHDOG_USEC": "3000000"})
        gate = self.provider.hold("/dns")
        for _ in range(3):
            self.receive_in_time(service)
        self.assertEqual(service.client().post("/v1/jobs", a_job()).status, 202)
        wait_until(self.provider.running, "the call runs")
        service.signal(signal.SIGTERM)
        service.receive("STOPPING=1")
        for _ in range(3):
            self.receive_in_time(service)
        gate.let_all()
        self.assertEqual(service.wait(), 0)

    def test_a_manager_that_reads_nothing_holds_up_no_reload_and_no_stop(self):
        service = self.service()
        self.fill_queue(service.environment["NOTIFY_SOCKET"])
        service.signal(signal.SIGHUP)
        wait_until(lambda: "configuration was reloaded" in service.log(),
                   "the configuration is reloaded")
        self.assertEqual(service.stop(), 0)

    def fill_queue(self, path):
        """Each sender has room for a few messages only."""
        while True:
            sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(sender.close)
            sender.setblocking(False)
            try:
                sender.sendto(b"X=1", path)
            except BlockingIOError:
                return

    def test_without_a_watchdog_there_are_no_watchdog_notifications(self):
        """A watchdog of any interval gets its first notification as soon as celld serves."""
        service = self.service()
        service.receive("READY=1")
        with self.assertRaises(AssertionError):
            service.receive("WATCHDOG=1", 0.5 * SLOWDOWN)
        self.assertEqual(service.stop(), 0)


if __name__ == "__main__":
    unittest.main()
