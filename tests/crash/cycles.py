#!/usr/bin/env python3
"""Crash cycles: clients load a celld, which is killed or stopped at a random moment and started
again; then everything that it told is held against what it has.

    cycles.py [--from N] [--count N] [--seconds S] [--summary FILE]

A cycle is one life of celld; its number is the seed of the load and of the moment of its end. Some
cycles make a round: they share a data directory, and at its end everything drains and is audited
once more. What ends early, after S seconds or by SIGINT or SIGTERM, drains and is audited as well.
`CELLD_BINARY` names the program.
"""

import argparse
import asyncio
import collections
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

from crash_round import Round  # noqa: E402

CYCLES_OF_A_ROUND = 25
FAILED_ROUNDS_MAX = 3


class Deadline:
    """Comes after some seconds, or with the first SIGINT or SIGTERM."""

    def __init__(self, seconds):
        self.at = time.monotonic() + (seconds or float("inf"))
        for number in signal.SIGINT, signal.SIGTERM:
            asyncio.get_running_loop().add_signal_handler(number, self.come)

    def come(self):
        self.at = 0

    def passed(self):
        return time.monotonic() >= self.at


async def run_round(first, count, deadline):
    """(cycles done, its figures, whether something was wrong)."""
    directory = tempfile.mkdtemp(prefix="celld-crash-")
    this = Round(directory)
    done, wrong = 0, False
    try:
        await this.begin()
        while done < count and not this.faults.found and (done == 0 or not deadline.passed()):
            done += 1
            await this.cycle(first + done - 1)
        await this.finish()
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        wrong = True
    finally:
        this.close()
        wrong |= this.report()
        if not wrong:
            shutil.rmtree(directory, ignore_errors=True)
    if wrong:
        print(f"cycle {first + done - 1} failed; again: {sys.argv[0]} --from {first} --count {done}",
              flush=True)
    return done, this.figures, wrong


async def run(options):
    figures, failed, done = collections.Counter(), [], 0
    deadline = Deadline(options.seconds)
    while done < options.count and (done == 0 or not deadline.passed()):
        first = options.first + done
        count, more, wrong = await run_round(first, min(CYCLES_OF_A_ROUND, options.count - done),
                                             deadline)
        done += count
        figures.update(more)
        if wrong:
            failed.append({"from": first, "count": count})
            if len(failed) == FAILED_ROUNDS_MAX:
                break
    return {"units": done, "failures": len(failed), "failed": failed, "figures": dict(figures)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--summary")
    options = parser.parse_args()
    if options.count == sys.maxsize and options.seconds is None:
        parser.error("--count or --seconds is missing")
    began_at = time.monotonic()
    summary = asyncio.run(run(options))
    if options.summary:
        with open(options.summary, "w", encoding="utf-8") as file:
            json.dump(summary, file)
    print(f"{summary['units']} crash cycles in {time.monotonic() - began_at:.1f} s: " +
          ", ".join(f"{value} {name}" for name, value in summary["figures"].items()) +
          f"; {summary['failures']} failures")
    sys.exit(1 if summary["failures"] else 0)


if __name__ == "__main__":
    main()
