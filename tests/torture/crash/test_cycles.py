"""Tests of the crash cycles as a whole: they detect a celld that breaks its promises."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CYCLES_MAX = 64  # Most faults show in the first cycles; some only if a kill strikes in time.


class CyclesTest(unittest.TestCase):
    program = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-cycles-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def find_fault(self, fault, before_celld, celld=os.environ["CELLD_BINARY"]):
        """Runs cycles of a celld until one fails and they print `fault`, a pattern; returns their
        output. A shell runs `before_celld` before each start of celld."""
        for first in range(0, CYCLES_MAX, 2):
            output, found = self.run_cycles(before_celld, celld, first, 2)
            if found["failures"] and re.search(fault, output):
                return output
        return self.fail(f"{CYCLES_MAX} cycles did not find the fault; the last ones: {output}")

    def run_cycles(self, before_celld, celld, first, count):
        """Returns the output and the summary."""
        program = os.path.join(self.directory, "celld")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{before_celld}\nexec {celld} \"$@\"\n")
        os.chmod(program, stat.S_IRWXU)
        summary = os.path.join(self.directory, "summary")
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, self.program), "--from", str(first),
             "--count", str(count), "--summary", summary],
            check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "CELLD_BINARY": program, "TMPDIR": self.directory})
        with open(summary, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(done.returncode, 1 if found["failures"] else 0, done.stdout)
        return done.stdout, found


class Cycles(CyclesTest):
    program = "cycles.py"

    def test_the_cycles_detect_a_celld_that_loses_its_last_writes(self):
        output = self.find_fault("FAULT: an accepted job is lost",
                                 "rm -f data/celld.db-wal data/celld.db-shm")
        self.assertIn("repeat: ", output)

    def test_the_cycles_detect_a_celld_that_leaves_a_process_behind(self):
        self.find_fault("FAULT: a process outlived its celld", "sleep 20 >/dev/null 2>&1 &")

    def find_planted(self, fault, planted):
        """As find_fault, for a fault of tests/torture/controls."""
        if not os.environ.get("CELLD_FAULTY"):
            self.skipTest("needs a build with CELLD_PLANTED_BUGS")
        self.find_fault(fault, f"export CELLD_FAULT={planted}", os.environ["CELLD_FAULTY"])

    def test_the_cycles_detect_a_celld_that_reports_a_result_before_it_commits(self):
        # The last one: a client read that the job had failed, celld was killed, and the client
        # asked for a retry of a job that is queued again.
        self.find_planted("FAULT: (an ended job is unfinished again|a job ended twice"
                          "|an unexpected answer: .*\\n.*/retry 409 .*this one is)", "early_result")

    def test_the_cycles_detect_a_cell_that_runs_one_job_more_than_its_pool_has_workers(self):
        self.find_planted("FAULT: a pool's size was exceeded", "large_pool")

    def test_the_cycles_detect_a_celld_that_crashes_by_itself(self):
        # At startup, while serving, or at shutdown.
        self.find_fault(r"(celld does not serve|FAULT: celld exited with an unexpected code: .*\n"
                        rf" +(kill|stop) {-signal.SIGABRT} )",
                        "(sleep 0.15; kill -ABRT $$) >/dev/null 2>&1 &")


class Services(CyclesTest):
    program = "services.py"

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
        self.find_fault("FAULT: an accepted job is lost",
                        "rm -f data/celld.db-wal data/celld.db-shm")

    def test_the_cycles_of_services_detect_too_many_calls_at_once(self):
        self.run_configured("CONCURRENCY", 3)
        self.find_fault("FAULT: a limit was exceeded", "")

    def test_the_cycles_of_services_detect_a_rate_that_is_exceeded(self):
        self.run_configured("RATE_PER_S", 60)
        self.find_fault("FAULT: a rate was exceeded", "")


if __name__ == "__main__":
    unittest.main()
