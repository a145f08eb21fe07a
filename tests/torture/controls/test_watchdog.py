"""A celld whose engine or HTTP server does not answer does not report itself alive, so its service
manager kills it."""

import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "system", "service"))

from daemon import a_config  # noqa: E402
from provider import Provider  # noqa: E402
from service import Service  # noqa: E402

INTERVAL_S = 1.5


class Watchdog(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-service-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.provider = Provider()
        self.addCleanup(self.provider.close)

    def service(self, fault):
        environment = {"WATCHDOG_USEC": str(int(INTERVAL_S * 1e6)), "CELLD_FAULT": fault}
        service = Service(a_config(self.provider), self.directory, environment=environment)
        self.addCleanup(service.forget)
        service.start()
        self.addCleanup(lambda: service.running() and service.kill())
        service.receive("READY=1")
        return service

    def test_a_hung_engine_is_not_reported_alive(self):
        service = self.service("hung_engine")
        self.assertEqual(service.client().get("/livez").status, 200, "the HTTP server answers")
        with self.assertRaises(AssertionError):
            service.receive("WATCHDOG=1", 2 * INTERVAL_S)
        self.assertEqual(service.client().get("/livez").status, 200, "and still does")

    def test_a_hung_http_server_is_not_reported_alive(self):
        service = self.service("hung_server")
        with self.assertRaises(OSError):
            service.client(INTERVAL_S).get("/livez")
        with self.assertRaises(AssertionError):
            for _ in range(10):  # The first ones may have come before the request.
                service.receive("WATCHDOG=1", 2 * INTERVAL_S)
        self.assertTrue(service.running())

    def test_a_healthy_celld_is_reported_alive(self):
        self.service("").receive("WATCHDOG=1")
