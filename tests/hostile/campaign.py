#!/usr/bin/env python3
"""Meetings with hostile providers that chance puts together.

    campaign.py [--from FIRST] [--count N] [--seconds S] [--summary FILE]

In one meeting a job each meets 16 hostilities at once, drawn and varied by the meeting's number:
HTTP answers, connections and commands. Each job has to end with the documented error at its
deadline at the latest, celld has to be what it was before, and jobs of three good services must not
come to harm meanwhile. `CELLD_BINARY` names the program.
"""

import argparse
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("e2e", "attack", "campaigns"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))

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
          f"tests/hostile/campaign.py --from {number} --count 1", flush=True)


def meet(ground, hostilities, number):
    try:
        return ground.meet(hostilities, number)
    except Exception as error:  # Most likely celld is gone: that is to be told like any other.
        return [f"{error!r}; celld's log:\n{ground.daemon.log()}"]


def run(ground, options):
    """(meetings, the numbers of those with a fault)."""
    until = time.monotonic() + options.seconds
    done, failed = 0, []
    while done < options.count and time.monotonic() < until:
        number = options.first + done
        hostilities = draw(number)
        faults = meet(ground, hostilities, number)
        if faults:
            tell(number, hostilities, faults)
            failed.append({"from": number, "count": 1})
        done += 1
        if done == WARM_UP_MEETINGS:
            ground.note_memory()
        if not ground.daemon.running():
            break
    return done, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1_000_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--summary")
    options = parser.parse_args()
    ground = Ground()
    try:
        ground.settle()
        done, failed = run(ground, options)
        ends = ground.end()
    finally:
        ground.close()
    if ends:
        print("FAULT over all meetings:", *ends, sep="\n    ")
        failed.append({"from": options.first, "count": done})
    print(f"{done} meetings with {AT_ONCE} hostilities each, {len(failed)} with faults; most "
          f"{ground.lateness}; memory grew by {ground.grown / (1 << 20):.1f} MB at most; "
          f"{ground.good_jobs} good jobs went on")
    program.finish(options, done, failed, {"hostilities met": done * AT_ONCE,
                                           "good jobs beside them": ground.good_jobs})


if __name__ == "__main__":
    main()
