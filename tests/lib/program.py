"""The command line and the exit of campaign programs that are written in Python."""

import argparse
import collections
import json
import signal
import sys

import workers

COUNT_MAX = 1_000_000_000  # No limit but time.


def options(description, add_more=lambda parser: None, chunk=0):
    """Parses the command line. `add_more` adds the program's own options to the parser. `chunk` is
    for a program with independent units: the number of units that one process tries at a time."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", type=int, default=0, dest="first",
                        help="number of the first unit")
    parser.add_argument("--count", type=int, help="maximum number of units")
    parser.add_argument("--seconds", type=float, help="begin no unit after this many seconds")
    parser.add_argument("--summary", help="file for the outcome, as JSON")
    if chunk:
        parser.add_argument("--workers", type=int, default=1, metavar="N",
                            help=f"processes that share the units, in chunks of {chunk}; with "
                            "--seconds, no chunk begins after that time")
    add_more(parser)
    found = parser.parse_args()
    found.chunk = chunk
    if found.count is None and found.seconds is None:
        parser.error("--count or --seconds is missing")
    found.count = COUNT_MAX if found.count is None else found.count
    found.seconds = float("inf") if found.seconds is None else found.seconds
    return found


class Outcome:
    """The results so far. The summary is written at each failure, and at the end."""

    def __init__(self, path):
        self.path = path
        self.units, self.failed, self.figures = 0, [], collections.Counter()

    def add(self, units, figures):
        """Counts units that have ended, including those that failed."""
        self.figures.update(figures)
        self.units += units

    def fail(self, first, count=1):
        """Records a failure that these units reproduce."""
        self.failed.append({"from": first, "count": max(1, count)})
        self.write()

    def write(self):
        if self.path:
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump({"units": self.units, "failures": len(self.failed),
                           "failed": self.failed, "figures": self.figures}, file)


def run(found, work):
    """Calls `work` with an Outcome to add to, and ends the program. SIGINT and SIGTERM end it
    early: the current unit is given up, and earlier results are kept."""
    outcome = Outcome(found.summary)
    shared = found.chunk and found.workers > 1
    signals = []

    def handle(handler):
        for number in signal.SIGINT, signal.SIGTERM:
            signal.signal(number, handler)

    def interrupt(number, _):
        signals.append(number)
        if not shared:
            handle(signal.SIG_IGN)  # Ignores further signals during the clean-up.
            raise KeyboardInterrupt
    try:
        handle(interrupt)
        if shared:
            workers.Shares(found, found.chunk, outcome, interrupted=lambda: signals).run()
        else:
            work(outcome)
        handle(signal.SIG_IGN)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    outcome.write()
    sys.exit(1 if outcome.failed else 0)
