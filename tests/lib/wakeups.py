#!/usr/bin/env python3
"""How late this machine wakes a process whose time has come, and how long it takes for two
milliseconds of work: the part of a lateness that is not celld's.

The program sleeps for a few milliseconds at a time, and now and then computes. For each line on its
standard input it writes, as a JSON array, what it has noted since the last line, by the wall clock:
the sleeps that ended late, as [due, woken], and the computations, as [began, ended].
"""

import itertools
import json
import os
import select
import subprocess
import sys
import time

SLEEP_S = 0.002
NOTED_S = 0.0005
SLEEPS_PER_WORK = 20
WORK_S = 0.002  # Of processor time.
# The wake-ups, one after the other, from the deadline of an attempt to its end in celld.
WAKE_UPS = 10


class Wakeups:
    """Measures from its construction on. The answers are about the times before the last call of
    `note`."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.late, self.work = [], []

    def note(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        late, work = json.loads(self.process.stdout.readline())
        self.late += late
        self.work += work

    def allowance_s(self, began_at, ended_at):
        """How late the end of an attempt may be because of the machine alone."""
        return WAKE_UPS * max((woken - due for due, woken in self.late
                               if due < ended_at and woken > began_at), default=0.0)

    def slowness(self, began_at, ended_at):
        """How many times as long as alone the same work takes; at least 1."""
        took = [ended - began for began, ended in self.work
                if began < ended_at and ended > began_at]
        return max(1.0, sum(took) / (len(took) * WORK_S)) if took else 1.0

    def end(self):
        self.process.communicate()


def compute():
    """Uses the processor for WORK_S; returns [began, ended]."""
    began, until = time.time(), time.process_time() + WORK_S
    while time.process_time() < until:
        pass
    return began, time.time()


def main():
    late, work = [], []
    for number in itertools.count():
        if number % SLEEPS_PER_WORK == 0:
            work.append(compute())
        due = time.time() + SLEEP_S
        asked = select.select([sys.stdin], [], [], SLEEP_S)[0]
        woken = time.time()
        if asked:
            if not os.read(0, 1):
                return
            print(json.dumps([late, work]), flush=True)
            late, work = [], []
        elif woken - due > NOTED_S:
            late.append((due, woken))


if __name__ == "__main__":
    main()
