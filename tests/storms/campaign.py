#!/usr/bin/env python3
"""Storms, one after the other, each of a minute.

    campaign.py [--from FIRST] [--count N] [--seconds S] [--summary FILE] [--length S]

The number of a storm decides which it is (resizes, reloads, overload) and its chance; --length how
many seconds it lasts. `CELLD_BINARY` names the program.
"""

import argparse
import asyncio
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("e2e", "attack", "campaigns"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))

import program  # noqa: E402
from storms import STORMS  # noqa: E402


def weather(number, length_s):
    """(the storm, whether it was withstood)."""
    storm = STORMS[number % len(STORMS)](number)
    try:
        faults = asyncio.run(storm.whole(length_s))
    except Exception as error:  # The other storms are to go on.
        faults = [f"{error!r}; celld's log:\n{storm.daemon.log()}"]
    finally:
        storm.close()
    if faults:
        print(f"FAULT in storm {number}, {storm.name}: {len(faults)} of them", *faults[:10],
              f"again: CELLD_BINARY={os.environ['CELLD_BINARY']} tests/storms/campaign.py "
              f"--from {number} --count 1 --length {length_s:g}", sep="\n    ", flush=True)
    else:
        print(f"storm {number}: {storm.report()}", flush=True)
    return storm, not faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1_000_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--summary")
    parser.add_argument("--length", type=float, default=60)
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    done, failed, taken, refused = 0, [], 0, 0
    while done < options.count and time.monotonic() < until:
        number = options.first + done
        storm, withstood = weather(number, options.length)
        done += 1
        taken += len(storm.load.accepted)
        refused += storm.load.statuses[429] + storm.load.statuses[503]
        if not withstood:
            failed.append({"from": number, "count": 1})
    program.finish(options, done, failed, {"jobs taken": taken, "jobs refused": refused})


if __name__ == "__main__":
    main()
