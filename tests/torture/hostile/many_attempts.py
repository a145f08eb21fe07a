"""Hundreds of attempts that only their deadline ends. A few late ones are a fault (P8), however
busy the machine is: what the machine adds to a lateness is measured, and allowed for."""

import subprocess
import sys
import threading
import time

from daemon import SLOWDOWN, EndToEnd, wait_until
from deaf import DeafProvider
from lateness import LATE_SHARE_MAX, MS_MAX, moment
from wakeups import Wakeups

AT_ONCE = 50
TIMEOUT_MS = 300


class ProcessStarts(threading.Thread):
    """Measures how long this machine takes to run a process that does nothing."""

    def __init__(self):
        super().__init__(daemon=True)
        self.took, self.ending = [], threading.Event()
        self.start()

    def run(self):
        while not self.ending.wait(0.1):
            began_at = time.time()
            subprocess.run(["/bin/true"], check=True)
            self.took.append((began_at, time.time()))

    def longest_s(self, began_at, ended_at):
        return max((ended - began for began, ended in self.took
                    if began < ended_at and ended > began_at), default=0.0)

    def end(self):
        self.ending.set()
        self.join()


class ManyAttempts(EndToEnd):
    def setUp(self):
        super().setUp()
        self.wakeups = Wakeups()
        self.addCleanup(self.wakeups.end)

    def start_deaf(self, service):
        self.start({"services": {"deaf": service}, "shutdown_grace_ms": 0,
                    "defaults": {"pool": {"size": AT_ONCE}, "timeout_ms": TIMEOUT_MS,
                                 "retry": {"max_attempts": 1}},
                    "cells": [{"customer": "*", "product": "*"}]})

    def spans(self, count):
        """(started at, ended at) of `count` attempts, according to celld."""
        for number in range(count):
            self.submit({"customer": "acme", "product": "dns", "action": "create",
                         "entity": {"type": "zone", "id": f"e-{number}"}, "services": ["deaf"]})
        wait_until(lambda: len(self.failed_jobs()) == count, "all jobs end")
        jobs = self.failed_jobs()
        self.assertEqual([job["error"]["code"] for job in jobs], ["timeout"] * count)
        return [(moment(job["started_at"]), moment(job["finished_at"])) for job in jobs]

    def failed_jobs(self):
        return self.client.get("/v1/jobs", state="failed", limit=1000).json["items"]

    def late_ms(self, spans, kind, allowance_s=lambda began_at, ended_at: 0.0):
        """The lateness of each late attempt; `allowance_s` is what the kind may take beyond."""
        self.wakeups.note()
        found = []
        for began_at, ended_at in spans:
            late_s = ended_at - began_at - TIMEOUT_MS / 1000
            allowed_s = self.wakeups.allowance_s(began_at, ended_at) * SLOWDOWN
            slowness = self.wakeups.slowness(began_at, ended_at)
            allowed_s += allowance_s(began_at, ended_at)
            if late_s > MS_MAX[kind] / 1000 * slowness + allowed_s:
                found.append(round(1000 * late_s))
        worst_ms = 1000 * max((woken - due for due, woken in self.wakeups.late), default=0.0)
        slowness = self.wakeups.slowness(min(began for began, _ in spans),
                                         max(ended for _, ended in spans))
        print(f"of {len(spans)} {kind} {len(found)} were late: {found} ms; the machine woke a "
              f"process up to {worst_ms:.0f} ms late, and work took {slowness:.1f} times as long",
              file=sys.stderr)
        return found

    def assert_in_time(self, spans, kind, *allowance_s):
        late = self.late_ms(spans, kind, *allowance_s)
        self.assertLessEqual(len(late), LATE_SHARE_MAX * len(spans), f"{kind} late by {late} ms")

    def check_http_attempts(self):
        provider = DeafProvider()
        self.start_deaf({"type": "http", "url": provider.url})
        spans = self.spans(400)
        self.assert_in_time(spans, "HTTP attempts")
        wait_until(lambda: len(provider.calls) == len(spans), "celld closes all connections")
        self.assert_in_time(provider.calls, "their connections")

    def check_commands(self):
        """The processes of a wave start, and end, one after the other."""
        self.start_deaf({"type": "command", "argv": ["/bin/sleep", "1000"]})
        starts = ProcessStarts()
        spans = self.spans(200)
        starts.end()
        self.assert_in_time(spans, "commands",
                            lambda *span: AT_ONCE * starts.longest_s(*span))
        print(f"a process took up to {1000 * starts.longest_s(0, time.time()):.0f} ms",
              file=sys.stderr)
