#!/usr/bin/env python3
"""Storms, one after the other, each of ten minutes or the time that is left.

    campaign.py [--from FIRST] [--count N] [--seconds S] [--summary FILE] [--length S]

A unit is one second of a storm. The number of a storm's first second selects its kind (resizes,
reloads, overload) and seeds its random choices. --length limits a storm, rounded up so that the
next one is of another kind. A storm on a machine too busy to judge it does not count, and ends the
run. `CELLD_BINARY` names the program.
"""

import asyncio
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402
from storms import STORMS, length  # noqa: E402

LENGTH_S = 600
LOG_LINES = 20
SECONDS_MIN = 10  # A shorter storm shows nothing.


def withstand(number, seconds):
    """(the storm, whether celld withstood it)."""
    storm = STORMS[number % len(STORMS)](number)
    try:
        faults = asyncio.run(storm.whole(seconds))
    except Exception as error:  # The other storms continue.
        log = storm.daemon.log().splitlines()[-LOG_LINES:]
        faults = [f"{error!r}; the end of celld's log:", *log]
    finally:
        storm.close()
    if faults:
        print(f"FAULT in storm {number}, {storm.name}:", *faults[:LOG_LINES + 1],
              f"repeat: CELLD_BINARY={os.environ['CELLD_BINARY']} tests/torture/storms/campaign.py "
              f"--from {number} --count {seconds}", sep="\n    ", flush=True)
    else:
        print(f"storm {number}, {seconds} s: {storm.report()}", flush=True)
    return storm, not faults


def figures_of(storm, seconds, judged):
    return {f"{storm.name} storms": judged, "storms of ten minutes": judged * (seconds >= LENGTH_S),
            "storms not judged": not judged, "jobs accepted": len(storm.load.accepted),
            "jobs refused": storm.load.statuses[429] + storm.load.statuses[503]}


def work(options, outcome):
    until = time.monotonic() + options.seconds
    judged = True
    while outcome.units < options.count and judged:
        left_s = until - time.monotonic()
        if outcome.units and left_s < SECONDS_MIN:
            break
        number = options.first + outcome.units
        seconds = length(max(1, min(options.length, options.count - outcome.units, left_s)))
        storm, withstood = withstand(number, seconds)
        judged = not withstood or storm.judged
        if not withstood:
            outcome.fail(number, seconds)
        figures = figures_of(storm, seconds, judged)
        outcome.add(seconds * judged, {name: int(count) for name, count in figures.items()})


def main():
    options = program.options(__doc__, lambda parser: parser.add_argument(
        "--length", type=int, default=LENGTH_S, help="longest storm, in seconds"))
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
