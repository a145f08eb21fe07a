"""Each suite that measures a celld reports a celld with a fault: see faults.py."""

import asyncio
import contextlib
import functools
import http.client
import os
import sys
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("attack", "hostile", "soak", "storms", "../system"):
    sys.path.append(os.path.join(HERE, "..", folder))

import field  # noqa: E402
import ground  # noqa: E402
import machine  # noqa: E402
import siege  # noqa: E402
from answers import ANSWERS  # noqa: E402
from crowd import Crowd  # noqa: E402
from daemon import EndToEnd, wait_until  # noqa: E402
from ground import TestBed  # noqa: E402
from many_attempts import ManyAttempts, ProcessStarts  # noqa: E402
from siege import Siege  # noqa: E402
from soak import Soak  # noqa: E402
from storms import Overload, Reloads, Resizes  # noqa: E402
from test_batches import BatchClient  # noqa: E402
from wakeups import Wakeups  # noqa: E402
from wire import request  # noqa: E402

LIVENESS = request("GET", "/livez")
SHORT_S = 2.0


def with_fault(*names):
    return {"CELLD_FAULT": ",".join(names)}


def is_quiet(_):
    """In place of Quiet.explains: the fault is far above the bound, so the machine explains nothing."""
    return False


class Attack(Siege):
    def assert_reported(self, fault, message):
        """The siege fails, although the attack is mild. The bystander's latency is no excuse: on a
        busy machine, ten times that latency may be longer than the fault lasts."""
        self.variables = with_fault(fault)
        self.start_siege()
        short_wait = functools.partial(wait_until, deadline_s=SHORT_S)
        with mock.patch.object(siege, "wait_until", short_wait), \
                mock.patch.object(machine.Machine, "waited_s", lambda _: 0.0), \
                mock.patch.object(siege, "BYSTANDER_FACTOR_MAX", 0.0), \
                mock.patch.object(machine.Quiet, "explains", lambda *_: False), \
                self.assertRaisesRegex(AssertionError, message), self.siege():
            for _ in self.waves():
                with Crowd(self.daemon) as crowd:
                    crowd.join(50).send(LIVENESS * 5)
                    crowd.receive(patience_s=0.2)

    def test_the_attack_suite_reports_a_celld_that_leaks_memory(self):
        self.assert_reported("leaked_request", "memory")

    def test_the_attack_suite_reports_a_celld_that_loses_one_descriptor_in_a_hundred(self):
        self.assert_reported("lost_descriptor", "the descriptors are closed")

    def test_the_attack_suite_reports_a_celld_that_stalls(self):
        self.assert_reported("stalled_poller", "p99")


class Hostile(unittest.TestCase):
    def test_the_hostile_suite_reports_leaked_memory_and_lost_descriptors(self):
        behaviours = [each for each in ANSWERS if each.name.startswith(("hangs", "stalls", "close"))]
        bed = TestBed(behaviours, with_fault("leaked_call", "lost_call_descriptor"))
        self.addCleanup(bed.close)
        bed.quiet.explains = is_quiet
        bed.warm_up()
        faults = "\n".join(bed.run_round(behaviours, "control"))
        self.assertRegex(faults, "memory grew")
        self.assertRegex(faults, "descriptors are left")

    def test_the_hostile_suite_reports_attempts_that_keep_their_permits(self):
        behaviours = [each for each in ANSWERS if each.name.startswith(("stalls", "close"))]
        bed = TestBed(behaviours, with_fault("kept_permit"))
        self.addCleanup(bed.close)
        bed.warm_up()
        bed.run_round(behaviours, "control")
        short_wait = functools.partial(wait_until, deadline_s=SHORT_S)
        with mock.patch.object(ground, "wait_until", short_wait):
            self.assertRegex("\n".join(bed.check_permits()), "waits for a permit")


class PhantomLines(BatchClient):
    variables = with_fault("phantom_line")

    def test_a_batch_that_acknowledges_a_line_that_it_has_not_committed_is_reported(self):
        self.start()
        with self.assertRaisesRegex(AssertionError, "acknowledged lines"):
            self.check_that_a_kill_loses_no_acknowledged_line()


class LateAborts(ManyAttempts):
    variables = with_fault("late_abort")

    def test_one_late_abort_in_a_hundred_is_reported(self):
        """The test allows for what the machine adds; on a busy machine, that would hide them."""
        with mock.patch.multiple(Wakeups, slowness=lambda *_: 1.0, allowance_s=lambda *_: 0.0), \
                self.assertRaisesRegex(AssertionError, "late by"):
            self.check_http_attempts()


class LateKills(ManyAttempts):
    variables = with_fault("late_kill")

    def test_one_late_kill_of_a_command_in_a_hundred_is_reported(self):
        """As above."""
        with mock.patch.multiple(Wakeups, slowness=lambda *_: 1.0, allowance_s=lambda *_: 0.0), \
                mock.patch.object(ProcessStarts, "longest_s", lambda *_: 0.0), \
                self.assertRaisesRegex(AssertionError, "commands late by"):
            self.check_commands()


class Shrinking(Resizes):
    variables = with_fault("ignored_shrink", "leaked_request")

    def size(self):
        return field.POOL // 3


class Stalled(Resizes):
    variables = with_fault("stalled_engine")


class Enlarged(Reloads):
    variables = with_fault("large_reload")


class Discouraging(Overload):
    variables = with_fault("long_retry_after")

    async def aftermath(self):
        """Without the clients that return when Retry-After says."""


class Storms(unittest.TestCase):
    def faults(self, kind):
        with mock.patch.multiple(field, PEAK_S=1.5, NORMAL_S_MAX=1.0):
            storm = kind(0)
            self.addCleanup(storm.close)
            storm.quiet.explains = is_quiet
            return "\n".join(asyncio.run(storm.whole(3)))

    def test_the_storms_report_a_leak_and_a_pool_that_does_not_shrink(self):
        faults = self.faults(Shrinking)
        self.assertRegex(faults, "memory grew")
        self.assertRegex(faults, "a pool's size was exceeded")

    def test_the_storms_report_pools_that_are_larger_than_a_reload_says(self):
        self.assertRegex(self.faults(Enlarged), "the pools' sizes were exceeded")

    def test_the_storms_report_a_retry_after_that_is_too_long(self):
        faults = self.faults(Discouraging)
        # Without the usual load before the storm, the storm itself refuses hardly any job.
        if "these values of Retry-After" not in faults and "before the storm instead" in faults:
            machine.not_judged("Retry-After", "the machine is too slow for a storm")
            return
        self.assertRegex(faults, "these values of Retry-After")

    def test_the_storms_report_an_engine_that_stalls(self):
        try:
            faults = self.faults(Stalled)
        except AssertionError as late:
            faults = str(late)
        self.assertRegex(
            faults, "jobs/s (before the storm instead of|in the storm, )|submissions unanswered")


class Engines(EndToEnd):
    def assert_ends(self, fault, path, words):
        """So that the service manager starts celld again."""
        self.variables = with_fault(fault)
        self.start()
        with contextlib.suppress(ConnectionError, http.client.HTTPException):
            self.client.get(path)
        self.assertEqual(self.daemon.wait(), 1)
        self.assertIn(f"the engine failed: {words} ended", self.daemon.log())

    def test_celld_exits_with_1_when_the_cell_dispatcher_ends(self):
        self.assert_ends("dead_dispatcher", "/v1/cells", "the cell dispatcher")

    def test_celld_exits_with_1_when_the_schedule_desk_ends(self):
        self.assert_ends("dead_schedule_desk", "/v1/schedules", "the schedule desk")


class Soaks(unittest.TestCase):
    UNITS_MAX = 10  # On a busy machine, clients close few connections in one.

    def test_the_soak_reports_leaked_memory_and_lost_descriptors(self):
        soak = Soak(0, environment=with_fault("leaked_job", "lost_descriptor"))
        self.addCleanup(soak.load.close)
        soak.warm_up(2.0)
        for _ in range(self.UNITS_MAX):
            faults = "\n".join(soak.unit(6.0, patience_s=3 * SHORT_S))
            if "bytes of memory" in faults and "open socket" in faults:
                return
        self.fail(f"after {self.UNITS_MAX} units the soak reports only: {faults}")



if __name__ == "__main__":
    unittest.main()
