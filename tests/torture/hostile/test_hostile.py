"""Each hostile behaviour once (campaign.py draws and varies them), and tests of the tests' own
measurements."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import unittest

import leftovers
from answers import ANSWERS
from commands import COMMANDS
from connections import CONNECTIONS
from daemon import wait_until
from ground import KINDS, TestBed
from lateness import (BUSY_LATE_SHARE_MAX, LATE_SHARE_MAX, MANY, MS_MAX, REPEATS, Lateness, moment,
                      of_attempt)
from mapped import OF_MAPPINGS

AT_ONCE = 12


class Hostile(unittest.TestCase):
    def assert_survives(self, behaviours):
        bed = TestBed(behaviours)
        self.addCleanup(bed.close)
        bed.warm_up()
        faults = []
        for first in range(0, len(behaviours), AT_ONCE):
            faults += bed.run_round(behaviours[first:first + AT_ONCE], "each once")
        faults += bed.check_permits() + bed.end()
        print(f"{bed.lateness}; memory +{bed.grown / (1 << 20):.1f} MB, "
              f"{bed.good_jobs} good jobs ran meanwhile", file=sys.stderr)
        self.assertEqual(faults, [])

    def test_no_answer_of_an_http_provider_outlasts_its_deadline_or_harms_other_jobs(self):
        self.assert_survives(ANSWERS + OF_MAPPINGS)

    def test_no_connection_to_a_provider_outlasts_its_deadline_or_harms_other_jobs(self):
        self.assert_survives(CONNECTIONS)

    def test_no_command_outlasts_its_deadline_leaves_processes_or_harms_other_jobs(self):
        self.assert_survives(COMMANDS)


class LatenessTest(unittest.TestCase):
    STEP = {"started_at": "2026-01-01T00:00:00.000Z", "finished_at": "2026-01-01T00:00:00.650Z"}
    ENDED_AT = moment(STEP["finished_at"])
    LATE = {"HTTP attempts": MS_MAX["HTTP attempts"] + 1}
    IN_TIME = {"HTTP attempts": MS_MAX["HTTP attempts"] - 1}

    def judge(self, first, *again):
        """(faults, number of repeats)."""
        lateness, tries = Lateness(), iter(again)
        return lateness.judge(first, lambda: ([], next(tries))), lateness.repeated

    def assert_ms(self, found, **expected):
        self.assertEqual({kind.replace(" ", "_"): round(ms) for kind, ms in found.items()},
                         expected)

    def test_an_attempt_is_late_after_its_deadline_and_what_it_holds_after_its_end(self):
        self.assert_ms(of_attempt(self.STEP, 600, KINDS[False], self.ENDED_AT),
                       HTTP_attempts=50, their_connections=50)
        self.assert_ms(of_attempt(self.STEP, 20_000, KINDS[True], self.ENDED_AT + 2),
                       commands=0, their_processes=2000)
        self.assert_ms(of_attempt(self.STEP, 600, KINDS[False], None), HTTP_attempts=50)

    def test_an_attempt_that_is_late_every_time_is_a_fault(self):
        faults, repeated = self.judge(self.LATE, *[self.LATE] * REPEATS)
        self.assertIn("HTTP attempts are late each time", faults[0])
        self.assertEqual(repeated, REPEATS)

    def test_an_attempt_that_is_late_by_chance_is_repeated_and_is_no_fault(self):
        self.assertEqual(self.judge(self.LATE, self.LATE, self.IN_TIME), ([], 2))
        self.assertEqual(self.judge(self.IN_TIME), ([], 0))
        self.assertEqual(self.judge(self.LATE, {}), ([], 1))

    def faults(self, late, is_explained):
        """Of MANY attempts of which `late` were late beside others, and in time when alone."""
        lateness = Lateness(is_explained=lambda what: is_explained)
        for number in range(MANY):
            lateness.judge(self.LATE if number < late else self.IN_TIME,
                           lambda: ([], self.IN_TIME))
        return lateness.faults()

    def test_attempts_that_are_late_only_beside_others_are_a_fault_if_more_than_a_few_are(self):
        few, most = int(LATE_SHARE_MAX * MANY), int(BUSY_LATE_SHARE_MAX * MANY)
        fault = f"of {MANY} HTTP attempts {{}} were late"
        self.assertEqual(self.faults(few, False), [])
        self.assertEqual(self.faults(few + 1, False), [fault.format(few + 1)])
        self.assertEqual(self.faults(most, True), [])
        self.assertEqual(self.faults(most + 1, True), [fault.format(most + 1)])


class LeftoversTest(unittest.TestCase):
    def test_a_connection_is_seen_until_it_is_closed_even_if_its_peer_does_not_know(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            ports = {server.getsockname()[1]: "it"}
            self.assertEqual(leftovers.connected(ports), set())
            client = socket.create_connection(server.getsockname())
            with server.accept()[0]:
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        client.send(b"x" * 65536)
                self.assertEqual(leftovers.connected(ports), {"it"})
                client.close()
                self.assertEqual(leftovers.connected(ports), set())

    def test_a_command_is_seen_until_it_is_reaped(self):
        with tempfile.TemporaryDirectory() as directory:
            groups = {}
            process = subprocess.Popen(["sleep", "1000"], process_group=0, env={
                **os.environ, leftovers.MARK: os.path.join(directory, "it")})
            wait_until(lambda: leftovers.at_work(directory, groups) == {"it"}, "it is seen")
            process.kill()
            wait_until(lambda: leftovers.stat(process.pid)[0] == "Z", "it has ended")
            self.assertEqual(leftovers.at_work(directory, groups), {"it"})
            process.wait()
            self.assertEqual(leftovers.at_work(directory, groups), set())


if __name__ == "__main__":
    unittest.main()
