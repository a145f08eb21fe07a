"""The command line of a campaign's program, and its end, for those that are written in Python."""

import argparse
import collections
import json
import signal
import sys

import workers

COUNT_MAX = 1_000_000_000  # As many as there is time for.


def options(description, add_more=lambda parser: None, chunk=0):
    """`add_more` gives the parser options of the program's own. A program whose units do not mind
    each other says how many of them are a `chunk` that a process may try alone."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", type=int, default=0, dest="first",
                        help="number of the first unit")
    parser.add_argument("--count", type=int, help="at most so many units")
    parser.add_argument("--seconds", type=float, help="begin no unit after so many seconds")
    parser.add_argument("--summary", help="file for the outcome, as JSON")
    if chunk:
        parser.add_argument("--workers", type=int, default=1, metavar="N",
                            help=f"processes that share the units, in chunks of {chunk}, of which "
                            "none is begun after so many seconds")
    add_more(parser)
    found = parser.parse_args()
    found.chunk = chunk
    if found.count is None and found.seconds is None:
        parser.error("--count or --seconds is missing")
    found.count = COUNT_MAX if found.count is None else found.count
    found.seconds = float("inf") if found.seconds is None else found.seconds
    return found


class Outcome:
    """What was done so far; the summary is written with each failure, and at the end."""

    def __init__(self, path):
        self.path = path
        self.units, self.failed, self.figures = 0, [], collections.Counter()

    def add(self, units, figures):
        """Units that have ended, those that failed included."""
        self.figures.update(figures)
        self.units += units

    def fail(self, first, count=1):
        """Something was wrong that these units repeat."""
        self.failed.append({"from": first, "count": max(1, count)})
        self.write()

    def write(self):
        if self.path:
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump({"units": self.units, "failures": len(self.failed),
                           "failed": self.failed, "figures": self.figures}, file)


def run(found, work):
    """Calls `work` with an outcome that it adds to, and ends the program. SIGINT and SIGTERM end it
    early: the unit in hand is given up, and what was found before it is kept."""
    outcome = Outcome(found.summary)
    shared = found.chunk and found.workers > 1
    signals = []

    def handle(handler):
        for number in signal.SIGINT, signal.SIGTERM:
            signal.signal(number, handler)

    def interrupt(number, _):
        signals.append(number)
        if not shared:
            handle(signal.SIG_IGN)  # Once is enough: there is something to clean up.
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
