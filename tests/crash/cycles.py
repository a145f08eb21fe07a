#!/usr/bin/env python3
"""Crash cycles: clients load a celld, which is killed or stopped at a random moment and started
again; then everything that it told is held against what it has.

A cycle is one life of celld; its number is the seed of the load and of the moment of its end. Some
cycles make a round: they share a data directory, and at its end everything drains and is audited
once more. What ends early, after S seconds or by SIGINT or SIGTERM, drains and is audited as well.
`CELLD_BINARY` names the program.
"""

import asyncio
import collections
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "campaigns")]

import program  # noqa: E402
from crash_round import Round  # noqa: E402

CYCLES_OF_A_ROUND = 25
FAILED_ROUNDS_MAX = 3


class Deadline:
    """Comes after some seconds, or with the first SIGINT or SIGTERM."""

    def __init__(self, seconds):
        self.at = time.monotonic() + (seconds or float("inf"))
        self.interrupted = False
        for number in signal.SIGINT, signal.SIGTERM:
            asyncio.get_running_loop().add_signal_handler(number, self.come)

    def come(self):
        self.at, self.interrupted = 0, True

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
        if not this.faults.found:
            await this.finish()
    except Exception:  # pylint: disable=broad-except
        # From a terminal, SIGINT reaches celld, too.
        wrong, done = not deadline.interrupted, 0 if deadline.interrupted else done
        if wrong:
            traceback.print_exc()
    finally:
        this.close()
        wrong |= this.faults.report()
        if not wrong:
            shutil.rmtree(directory, ignore_errors=True)
    if wrong:
        print(f"cycle {first + done - 1} failed; again: {sys.argv[0]} --from {first} "
              f"--count {done}\n"
              f"its journal, its data and celld's log are in {directory}", flush=True)
    return done, this.figures, wrong


async def run(options):
    figures, failed, done = collections.Counter(), [], 0
    deadline = Deadline(options.seconds)
    wanted = options.count or sys.maxsize
    while done < wanted and (done == 0 or not deadline.passed()):
        first = options.first + done
        count, more, wrong = await run_round(first, min(CYCLES_OF_A_ROUND, wanted - done),
                                             deadline)
        done += count
        figures.update(more)
        if wrong:
            failed.append({"from": first, "count": count})
            if len(failed) == FAILED_ROUNDS_MAX:
                break
    return done, failed, figures


def main():
    found = program.options(__doc__)
    if "CELLD_BINARY" not in os.environ:
        sys.exit("CELLD_BINARY has to name the program")
    began_at = time.monotonic()
    done, failed, figures = asyncio.run(run(found))
    print(f"{done} crash cycles in {time.monotonic() - began_at:.1f} s: " +
          ", ".join(f"{value} {name}" for name, value in figures.items()) +
          f"; {len(failed)} failures")
    program.finish(found, done, failed, figures)


if __name__ == "__main__":
    main()
