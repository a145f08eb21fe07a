#!/usr/bin/env python3
"""Runs the tests of one file in the current directory; or of one class in it, or one test alone.

    run_tests.py MODULE[.CLASS[.METHOD]]

Prints a line for each test when it ends: how, after how many seconds, and the sentence that it
proves. What the test prints and its tracebacks come before that line. With CELLD_FAIL_FAST in the
environment, the first failure ends the run.
"""

import faulthandler
import os
import signal
import sys
import time
import unittest

STACKS_EVERY_S = 280  # A test that hangs shows where before ctest ends it.


class Report(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.begun = 0.0
        self.outcome = ""

    def startTest(self, test):
        super().startTest(test)
        watch()
        self.begun, self.outcome = time.monotonic(), "passed"

    def stopTest(self, test):
        super().stopTest(test)
        seconds = time.monotonic() - self.begun
        print(f"{self.outcome} {seconds:.2f} s: {sentence(test)}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if self.outcome != "FAILED":
            self.outcome = "skipped"
        print(f"not judged: {reason}")

    def addError(self, test, err):
        super().addError(test, err)
        self.show_failure(self.errors[-1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.show_failure(self.failures[-1])

    def addSubTest(self, test, subtest, err):
        before = len(self.errors), len(self.failures)
        super().addSubTest(test, subtest, err)
        for failure in self.errors[before[0]:] + self.failures[before[1]:]:
            self.show_failure(failure)

    def show_failure(self, failure):
        test, traceback = failure
        self.outcome = "FAILED"
        print(f"{test}\n{traceback}")


def watch():
    """Lets a test that hangs from now on show where."""
    faulthandler.dump_traceback_later(STACKS_EVERY_S, repeat=True)


def sentence(test):
    return test.id().rpartition(".")[2].removeprefix("test_").replace("_", " ")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    # A shell starts its background processes without these two signals.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    sys.stdout.reconfigure(line_buffering=True)
    watch()
    sys.path.insert(0, os.getcwd())
    report = Report()
    report.failfast = "CELLD_FAIL_FAST" in os.environ
    unittest.defaultTestLoader.loadTestsFromName(sys.argv[1]).run(report)
    if not report.testsRun and not report.skipped:
        print(f"{sys.argv[1]} has no tests")
    elif report.wasSuccessful():
        return
    sys.exit(1)


if __name__ == "__main__":
    main()
