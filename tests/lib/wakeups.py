#!/usr/bin/env python3
"""How late this machine wakes a process whose time has come: the part of a lateness that is not
celld's.

The program sleeps for a few milliseconds at a time. For each line on its standard input it writes,
as a JSON array, the sleeps that ended late since the last line: [due, woken], by the wall clock.
"""

import json
import os
import select
import subprocess
import sys
import time

SLEEP_S = 0.002
NOTED_S = 0.0005
# The wake-ups, one after the other, from the deadline of an attempt to its end in celld.
WAKE_UPS = 10


class Wakeups:
    """Measures from its construction on. `allowance_s` is for the times before the last call of
    `note`."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.late = []

    def note(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        self.late += json.loads(self.process.stdout.readline())

    def allowance_s(self, began_at, ended_at):
        """How late the end of an attempt may be because of the machine alone."""
        return WAKE_UPS * max((woken - due for due, woken in self.late
                               if due < ended_at and woken > began_at), default=0.0)

    def end(self):
        self.process.communicate()


def main():
    late = []
    while True:
        due = time.time() + SLEEP_S
        asked = select.select([sys.stdin], [], [], SLEEP_S)[0]
        woken = time.time()
        if asked:
            if not os.read(0, 1):
                return
            print(json.dumps(late), flush=True)
            late = []
        elif woken - due > NOTED_S:
            late.append((due, woken))


if __name__ == "__main__":
    main()
