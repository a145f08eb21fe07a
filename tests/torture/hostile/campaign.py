#!/usr/bin/env python3
"""Rounds of random hostile providers.

    campaign.py [--from FIRST] [--count N] [--seconds S] [--summary FILE]

In each round, 16 jobs run at once, each against a hostile behaviour of its own: an HTTP answer or a
connection, to a service with or without a mapping, or a command. The number of the round draws and
varies them. Each job must end with the documented error, at its deadline at the latest; celld must
then be in the same state as before; and jobs of three good services must succeed meanwhile.
`CELLD_BINARY` names the program.
"""

import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402
from ground import BEHAVIOURS, TestBed  # noqa: E402

AT_ONCE = 16
# By then, celld's caches and arenas have their lasting size.
WARM_UP_ROUNDS = 10


def draw(number):
    return random.Random(f"hostilities {number}").sample(BEHAVIOURS, AT_ONCE)


def report(number, behaviours, faults):
    print(f"FAULT in round {number} with {', '.join(h.name for h in behaviours)}:")
    for fault in faults:
        print("   ", fault)
    print(f"  repeat: CELLD_BINARY={os.environ['CELLD_BINARY']} "
          f"tests/torture/hostile/campaign.py --from {number} --count 1", flush=True)


def run_round(bed, behaviours, number):
    try:
        return bed.run_round(behaviours, number)
    except Exception as error:  # Most likely celld has died: report that like any other fault.
        return [f"{error!r}; celld's log:\n{bed.daemon.log()}"]


def run(bed, options, outcome):
    until = time.monotonic() + options.seconds
    while outcome.units < options.count and time.monotonic() < until:
        number = options.first + outcome.units
        behaviours = draw(number)
        faults = run_round(bed, behaviours, number)
        if faults:
            outcome.fail(number)
            report(number, behaviours, faults)
        outcome.add(1, {"hostile behaviours": AT_ONCE})
        if outcome.units == WARM_UP_ROUNDS:
            bed.note_memory()
        if not bed.daemon.running():
            break


def work(options, outcome):
    bed = TestBed()
    try:
        bed.warm_up()
        run(bed, options, outcome)
        ends = (bed.check_permits() if bed.daemon.running() else []) + bed.end()
    finally:
        bed.close()
        outcome.add(0, {"good jobs meanwhile": bed.good_jobs,
                        "late attempts repeated": bed.lateness.repeated})
    if ends:
        print("FAULT over all rounds:", *ends, sep="\n    ")
        outcome.fail(options.first, outcome.units)
    print(f"{outcome.units} rounds with {AT_ONCE} hostile behaviours each, "
          f"{len(outcome.failed)} with faults; {bed.lateness}; memory grew by at most "
          f"{bed.grown / (1 << 20):.1f} MB; {bed.good_jobs} good jobs ran meanwhile")


def main():
    options = program.options(__doc__)
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
