#!/usr/bin/env python3
"""Meetings with hostile providers that chance puts together.

    campaign.py [--from FIRST] [--count N] [--seconds S] [--summary FILE]

In one meeting a job each meets 16 hostilities at once, drawn and varied by the meeting's number:
HTTP answers, connections and commands. Each job has to end with the documented error at its
deadline at the latest, celld has to be what it was before, and jobs of three good services must not
come to harm meanwhile. `CELLD_BINARY` names the program.
"""

import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402
from ground import HOSTILITIES, Ground  # noqa: E402

AT_ONCE = 16
# Until then celld comes to have in its caches and arenas what it will keep there.
WARM_UP_MEETINGS = 10


def draw(number):
    return random.Random(f"hostilities {number}").sample(HOSTILITIES, AT_ONCE)


def tell(number, hostilities, faults):
    print(f"FAULT in meeting {number} with {', '.join(h.name for h in hostilities)}:")
    for fault in faults:
        print("   ", fault)
    print(f"  again: CELLD_BINARY={os.environ['CELLD_BINARY']} "
          f"tests/torture/hostile/campaign.py --from {number} --count 1", flush=True)


def meet(ground, hostilities, number):
    try:
        return ground.meet(hostilities, number)
    except Exception as error:  # Most likely celld is gone: that is to be told like any other.
        return [f"{error!r}; celld's log:\n{ground.daemon.log()}"]


def run(ground, options, outcome):
    until = time.monotonic() + options.seconds
    while outcome.units < options.count and time.monotonic() < until:
        number = options.first + outcome.units
        hostilities = draw(number)
        faults = meet(ground, hostilities, number)
        if faults:
            outcome.fail(number)
            tell(number, hostilities, faults)
        outcome.add(1, {"hostilities met": AT_ONCE})
        if outcome.units == WARM_UP_MEETINGS:
            ground.note_memory()
        if not ground.daemon.running():
            break


def work(options, outcome):
    ground = Ground()
    try:
        ground.settle()
        run(ground, options, outcome)
        ends = ground.end()
    finally:
        ground.close()
        outcome.add(0, {"good jobs beside them": ground.good_jobs,
                        "attempts repeated because they were late": ground.lateness.repeated})
    if ends:
        print("FAULT over all meetings:", *ends, sep="\n    ")
        outcome.fail(options.first, outcome.units)
    print(f"{outcome.units} meetings with {AT_ONCE} hostilities each, {len(outcome.failed)} with "
          f"faults; {ground.lateness}; memory grew by {ground.grown / (1 << 20):.1f} MB at most; "
          f"{ground.good_jobs} good jobs went on")


def main():
    options = program.options(__doc__)
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
