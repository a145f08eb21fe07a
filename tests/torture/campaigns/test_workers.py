"""Tests of processes that share units, with a fake program of a few lines of Python."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from daemon import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))

PROGRAM = f"""
import os, sys, time
import program
options = program.options("a fake", chunk=5)
def work(outcome):
    for number in range(options.first, options.first + options.count):
        if number == 12:
            UNIT_12
        print("tried", number, flush=True)
        outcome.add(1, {{"sum": number}})
program.run(options, work)
"""


class Workers(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-workers-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.program = PROGRAM
        self.summary = os.path.join(self.directory, "summary")

    def begin(self, unit_12, *arguments):
        path = os.path.join(self.directory, "fake.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.program.replace("UNIT_12", unit_12))
        return subprocess.Popen(
            [sys.executable, "-X", "faulthandler", path, "--from", "3", "--summary", self.summary,
             *arguments],
            cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self, process):
        """(exit code, output, summary)."""
        try:
            output, _ = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # faulthandler prints its stack.
            self.fail("does not end:\n" + process.communicate(timeout=5)[0])
        with open(self.summary, encoding="utf-8") as file:
            return process.returncode, output, json.load(file)

    def run_to_its_end(self, unit_12, *arguments):
        return self.end(self.begin(unit_12, *arguments))

    def test_each_unit_is_tried_once(self):
        for workers in "1", "2", "3", "9":
            code, output, found = self.run_to_its_end("pass", "--count", "20", "--workers", workers)
            self.assertEqual((code, found["units"], found["failed"]), (0, 20, []))
            self.assertEqual(found["figures"], {"sum": sum(range(3, 23))})
            self.assertEqual(sorted(int(line.split()[1]) for line in output.splitlines()),
                             list(range(3, 23)))

    def test_a_failure_is_reported_as_by_a_single_process(self):
        for workers in "1", "3":
            code, _, found = self.run_to_its_end("outcome.fail(number)", "--count", "20",
                                                 "--workers", workers)
            self.assertEqual((code, found["units"], found["failed"]),
                             (1, 20, [{"from": 12, "count": 1}]))

    def test_all_units_of_a_process_that_dies_fail(self):
        code, output, found = self.run_to_its_end("os._exit(7)", "--count", "20", "--workers", "2")
        self.assertEqual((code, found["units"], found["failed"]),
                         (1, 20, [{"from": 10, "count": 5}]))
        self.assertIn("units 10 to 14: their process ended with 7", output)

    def test_units_tried_behind_a_gap_are_not_counted(self):
        code, output, found = self.run_to_its_end("break", "--count", "20", "--workers", "2")
        self.assertEqual((code, found["units"], found["failed"]), (0, 9, []))
        self.assertEqual(found["figures"], {"sum": sum(range(3, 12))})
        self.assertIn("tried 22", output)

    def test_no_chunk_starts_after_the_time_limit_and_a_started_one_is_completed(self):
        code, _, found = self.run_to_its_end("time.sleep(6)", "--seconds", "5", "--workers", "2")
        self.assertEqual((code, found["units"] % 5), (0, 2))  # From unit 3 to a multiple of 5.
        self.assertGreater(found["units"], 11)

    def interrupt(self, unit_12):
        """Interrupts the program within unit 12. Returns the failed units."""
        process = self.begin(unit_12 + "; open('ready', 'w').close(); time.sleep(600)",
                             "--from", "10", "--count", "5", "--workers", "2")
        ready = os.path.join(self.directory, "ready")
        wait_until(lambda: os.path.exists(ready), "a process tries unit 12")
        process.send_signal(signal.SIGINT)
        code, output, found = self.end(process)
        self.assertIn("interrupted", output)
        self.assertEqual((code, found["units"]), (1 if found["failed"] else 0, 2))
        return found["failed"]

    def test_units_tried_before_an_interruption_are_counted(self):
        self.assertEqual(self.interrupt("pass"), [])

    def test_a_failure_before_an_interruption_is_kept(self):
        self.assertEqual(self.interrupt("outcome.fail(number)"), [{"from": 12, "count": 1}])

    def test_a_failure_is_kept_when_an_interrupted_process_has_to_be_killed(self):
        self.program = self.program.replace("import program", "import program, workers\n"
                                            "workers.GIVE_UP_S = 1")
        self.assertEqual(self.interrupt(
            "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); outcome.fail(number)"),
            [{"from": 12, "count": 1}])


if __name__ == "__main__":
    unittest.main()
