#!/usr/bin/env python3
"""A celld under a steady load with retention, for as long as it may.

    soak.py [--from FIRST] [--count N] [--seconds S] [--summary FILE] [--full-rate]

A unit is a minute. After each, the load pauses until retention has removed every job. Then celld's
descriptors, threads, files and rows must be what they were after the first pause, and its memory,
the size of its files and the names of customers without jobs must have grown no more than their
fixed bounds, however long it runs. Each job is another customer's, with a cell of its own.
--full-rate submits as many jobs as celld takes, and does nothing else.
`CELLD_BINARY` names the program.
"""

import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402
from daemon import DEADLINE_S  # noqa: E402
from siege import MEASURED  # noqa: E402
from steady_load import FullRate, SteadyLoad  # noqa: E402

LATE_S = 10.0
UNIT_S = 60.0


class Soak:
    def __init__(self, seed, load=SteadyLoad, **options):
        self.load = load(seed, **options)
        self.grown = 0

    def warm_up(self, seconds=None):
        faults = self.load.run(seconds or self.load.WARM_UP_S)
        self.load.wait_until_empty(DEADLINE_S)
        self.before = self.load.holdings()
        return faults

    def growth(self, after):
        """What celld holds now and did not hold before: {name: how many more}."""
        return {name: count - self.before.get(name, 0) for name, count in after.items()
                if count - self.before.get(name, 0) > self.load.GROWTH_MAX.get(name, 0)}

    def unit(self, seconds=UNIT_S, patience_s=DEADLINE_S):
        """Returns the faults of one more period of load."""
        faults = self.load.run(seconds)
        try:
            self.load.wait_until_empty(patience_s)
        except AssertionError as error:
            return [*faults, str(error)]
        # A connection may end late, and a leak stays.
        until = time.monotonic() + LATE_S
        after = self.load.holdings()
        while self.growth(after) and time.monotonic() < until:
            time.sleep(0.5)
            after = self.load.holdings()
        self.grown = after["bytes of memory"] - self.before["bytes of memory"]
        return faults + [f"{name}: {more} more than at first" for name, more in
                         self.growth(after).items() if MEASURED or "memory" not in name]


def work(options, outcome):
    until = time.monotonic() + options.seconds
    soak = Soak(options.first, FullRate if options.full_rate else SteadyLoad)
    try:
        faults = soak.warm_up()
        while not faults and outcome.units < options.count and time.monotonic() < until:
            faults = soak.unit()
            outcome.add(1, {"jobs": soak.load.jobs})
            soak.load.jobs = 0
    except Exception as error:  # Most likely celld has died: report that like any other fault.
        faults = [f"{error!r}; celld's log:\n{soak.load.daemon.log()}"]
    except BaseException:
        soak.load.close()
        raise
    code = soak.load.close()
    faults += [f"celld ended with {code}"] if code != 0 else []
    if faults:
        print(f"FAULT after {outcome.units} minutes:", *faults, sep="\n    ")
        outcome.fail(options.first, outcome.units)
    print(f"{outcome.units} minutes, {outcome.figures['jobs']} jobs; memory "
          f"{soak.grown / (1 << 20):+.1f} MB")


def main():
    options = program.options(__doc__, lambda parser: parser.add_argument(
        "--full-rate", action="store_true"))
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
