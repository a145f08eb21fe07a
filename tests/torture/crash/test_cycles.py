"""Tests of the crash cycles as a whole: they detect a celld that breaks its promises."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class CyclesTest(unittest.TestCase):
    program = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-cycles-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def run_cycles(self, before_celld, count, celld=os.environ["CELLD_BINARY"]):
        """Runs cycles of a celld. A shell runs `before_celld` before each of its starts. Returns
        the output and the summary."""
        program = os.path.join(self.directory, "celld")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{before_celld}\nexec {celld} \"$@\"\n")
        os.chmod(program, stat.S_IRWXU)
        summary = os.path.join(self.directory, "summary")
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, self.program), "--count", str(count),
             "--summary", summary], check=False, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "CELLD_BINARY": program, "TMPDIR": self.directory})
        with open(summary, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(done.returncode, 1 if found["failures"] else 0, done.stdout)
        return done.stdout, found


class Cycles(CyclesTest):
    program = "cycles.py"

    def test_the_cycles_detect_a_celld_that_loses_its_last_writes(self):
        output, found = self.run_cycles("rm -f data/celld.db-wal data/celld.db-shm", 8)
        self.assertGreater(found["failures"], 0, output)
        self.assertIn("FAULT: an accepted job is lost", output)
        self.assertIn("repeat: ", output)

    def test_the_cycles_detect_a_celld_that_leaves_a_process_behind(self):
        output, found = self.run_cycles("sleep 20 >/dev/null 2>&1 &", 2)
        self.assertGreater(found["failures"], 0, output)
        self.assertIn("FAULT: a process outlived its celld", output)

    def run_faulty_cycles(self, fault):
        """Runs cycles of a celld with a fault of tests/torture/controls, until they find it: the
        fault shows only if a kill strikes at the right moment."""
        if not os.environ.get("CELLD_FAULTY"):
            self.skipTest("needs a build with CELLD_PLANTED_BUGS")
        for _ in range(8):
            output, found = self.run_cycles(f"export CELLD_FAULT={fault}", 8,
                                            os.environ["CELLD_FAULTY"])
            if found["failures"]:
                return output
        self.fail(f"64 cycles did not find the fault; the last eight: {output}")

    def test_the_cycles_detect_a_celld_that_reports_a_result_before_it_commits(self):
        output = self.run_faulty_cycles("early_result")
        # The last one: a client read that the job had failed, celld was killed, and the client
        # asked for a retry of a job that is queued again.
        self.assertRegex(output, "FAULT: (an ended job is unfinished again|a job ended twice"
                         "|an unexpected answer: .*\\n.*/retry 409 .*this one is)")

    def test_the_cycles_detect_a_cell_that_runs_one_job_more_than_its_pool_has_workers(self):
        output = self.run_faulty_cycles("large_pool")
        self.assertIn("FAULT: a pool's size was exceeded", output)

    def test_the_cycles_detect_a_celld_that_crashes_by_itself(self):
        # At startup, while serving, or at shutdown.
        output, found = self.run_cycles("(sleep 0.15; kill -ABRT $$) >/dev/null 2>&1 &", 12)
        self.assertGreater(found["failures"], 0, output)


class Services(CyclesTest):
    program = "services.py"

    def assert_found(self, before_celld, fault):
        output, found = self.run_cycles(before_celld, 8)
        self.assertGreater(found["failures"], 0, output)
        self.assertIn("FAULT: " + fault, output)

    def run_configured(self, name, value):
        """Runs cycles whose configurations have a limit that the audit does not know."""
        changed = os.path.join(self.directory, "changed.py")
        with open(changed, "w", encoding="utf-8") as file:
            file.write(f"import sys\n"
                       f"sys.path[:0] = [{HERE!r}, {os.path.join(HERE, '..', '..', 'lib')!r}]\n"
                       f"import rounds, services_round\n"
                       f"services_round.{name} = {value}\n"
                       f"rounds.main(services_round.Round, '', 15)\n")
        self.program = changed

    def test_the_cycles_of_services_detect_a_celld_that_loses_its_last_writes(self):
        self.assert_found("rm -f data/celld.db-wal data/celld.db-shm", "an accepted job is lost")

    def test_the_cycles_of_services_detect_too_many_calls_at_once(self):
        self.run_configured("CONCURRENCY", 3)
        self.assert_found("", "a limit was exceeded")

    def test_the_cycles_of_services_detect_a_rate_that_is_exceeded(self):
        self.run_configured("RATE_PER_S", 60)
        self.assert_found("", "a rate was exceeded")


if __name__ == "__main__":
    unittest.main()
