"""Tests of failing_disk.py itself."""

import os
import shutil
import unittest

from bit_of_everything import RETENTION_MS, Script, prepare
from failing_disk import Fault, all_units, may_continue
from failing_plans import CALLS, PLANS
from shimmed import DATA, HERE, ShimmedDaemon, a_config, scratch_directory

STOPPED_MS = 5000
READ = Fault(100, f"read {DATA}/celld.db Input/output error", False)
SYNC = Fault(200, f"sync {DATA}/celld.db-wal Input/output error", True)


class Units(unittest.TestCase):
    def test_a_pass_has_each_call_of_each_plan_once(self):
        units = all_units()
        self.assertEqual(len(units), sum(plan.calls for plan in PLANS))
        self.assertEqual(len(set(units)), len(units))
        self.assertEqual({at for plan, at in units if plan == PLANS[0]},
                         set(range(1, PLANS[0].calls + 1)))

    def test_the_evidence_names_the_runs_of_a_whole_pass(self):
        evidence = os.path.join(HERE, "..", "..", "..", "docs", "evidence.md")
        with open(evidence, encoding="utf-8") as page:
            text = page.read()
        runs = len(all_units())
        self.assertIn(f"failing_disk.py --count {runs}`", text)
        self.assertIn(f" of the {runs:,} runs |", text)

    def test_a_few_units_sample_every_plan_from_start_to_end(self):
        for first in (0, 360):
            few = all_units()[first:first + 10 * len(PLANS)]
            for plan in PLANS:
                places = [at / plan.calls for each, at in few if each == plan]
                self.assertEqual(len(places), 10, plan.name)
                for tenths in range(0, 10, 2):
                    self.assertTrue(any(tenths <= 10 * place <= tenths + 2 for place in places),
                                    f"{plan.name}: none at {tenths} tenths, {places}")


class Calls(unittest.TestCase):
    """The plans cover about as many calls as celld makes, which depends on the machine."""

    def setUp(self):
        self.directory = scratch_directory()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def calls(self, kind, prepared=None):
        directory = os.path.join(self.directory, kind)
        os.mkdir(directory)
        count = os.path.join(directory, "count")
        daemon = ShimmedDaemon(a_config(RETENTION_MS), directory, COUNT=count,
                               FAULT=f"{kind}:{1 << 60}:EIO:once")
        if prepared is not None:
            shutil.copytree(prepared, daemon.data)
        daemon.start()
        self.addCleanup(lambda: daemon.running() and daemon.kill())
        script = Script(daemon)
        script.run()
        self.assertEqual((daemon.stop(), script.refused), (0, 0), daemon.log())
        with open(count, encoding="ascii") as file:
            return int(file.read())

    def compare(self, start, prepared=None):
        made = {kind: self.calls(kind, prepared) for kind in CALLS[start]}
        for kind, tried in CALLS[start].items():
            self.assertTrue(0.4 * tried <= made[kind] < tried, f"{kind}: {made}")

    def test_the_plans_reach_beyond_the_last_call_of_a_new_celld(self):
        self.compare("new")

    def test_the_plans_reach_beyond_the_last_call_of_an_old_celld(self):
        self.compare("old", prepare(os.path.join(self.directory, "prepared"))[0])


class Continuing(unittest.TestCase):
    def test_celld_may_continue_after_a_failed_read_backup_or_removal(self):
        for text in (READ[1], f"open {DATA}/celld.db EIO", f"unlink {DATA}/celld.db-wal EIO",
                     f"write {DATA}/celld-backup.partial EIO", f"sync {DATA} EIO"):
            self.assertTrue(may_continue([Fault(100, text, False)], None), text)

    def test_celld_may_not_continue_after_the_writer_failed_to_read_or_open(self):
        for text in READ.text, f"open {DATA}/celld.db-wal EIO":
            self.assertFalse(may_continue([Fault(100, text, True)], None), text)

    def test_celld_may_not_continue_after_a_failed_sync_of_its_store(self):
        self.assertFalse(may_continue([SYNC], None))
        self.assertFalse(may_continue([SYNC], STOPPED_MS))

    def test_a_sync_may_fail_once_celld_has_stopped(self):
        self.assertTrue(may_continue([SYNC], SYNC.wall_ms))

    def test_celld_may_not_continue_after_a_serious_fault_among_harmless_ones(self):
        self.assertFalse(may_continue([READ, SYNC], None))
        self.assertFalse(may_continue([READ, SYNC, READ], STOPPED_MS))


if __name__ == "__main__":
    unittest.main()
