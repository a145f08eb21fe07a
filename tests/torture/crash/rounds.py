"""Programs of crash cycles.

A cycle is one life of celld, from its start to its end. The cycle's number seeds the load and the
moment of the end. Several cycles form a round: they share a data directory, and at the end of the
round all jobs finish and a last audit follows, even when the time limit or a signal (SIGINT,
SIGTERM) ends the round early.
"""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback

import program

FAILED_ROUNDS_MAX = 3


class Deadline:
    """Passes after the given time, or at the first SIGINT or SIGTERM."""

    def __init__(self, seconds):
        self.at = time.monotonic() + seconds
        self.interrupted = False
        for number in signal.SIGINT, signal.SIGTERM:
            asyncio.get_running_loop().add_signal_handler(number, self.interrupt)

    def interrupt(self):
        self.at, self.interrupted = 0, True

    def passed(self):
        return time.monotonic() >= self.at


async def run_round(kind, first, count, deadline, outcome):
    directory = tempfile.mkdtemp(prefix="celld-crash-")
    this = kind(directory)
    done, wrong, given_up = 0, False, False
    try:
        await this.begin()
        while done < count and not this.faults.found and (done == 0 or not deadline.passed()):
            done += 1
            await this.cycle(first + done - 1)
        if not this.faults.found:
            await this.finish()
    except Exception:  # pylint: disable=broad-except
        # Ctrl-C in a terminal interrupts celld too.
        given_up = deadline.interrupted
        wrong = not given_up
        if wrong:
            traceback.print_exc()
    finally:
        this.close()
        wrong |= this.faults.report()
        if not wrong:
            shutil.rmtree(directory, ignore_errors=True)
    if wrong:
        outcome.fail(first, done)
        print(f"cycle {first + done - 1} failed; repeat: {sys.argv[0]} --from {first} "
              f"--count {done}\n"
              f"its files, celld's log among them: {directory}", flush=True)
    outcome.add(0 if given_up else done, this.figures)


async def run(kind, options, outcome):
    deadline = Deadline(options.seconds)
    while outcome.units < options.count and (outcome.units == 0 or not deadline.passed()):
        left = options.count - outcome.units
        await run_round(kind, options.first + outcome.units, min(options.chunk, left), deadline,
                        outcome)
        if len(outcome.failed) == FAILED_ROUNDS_MAX or deadline.interrupted:
            break


def work(kind, options, outcome):
    began_at = time.monotonic()
    asyncio.run(run(kind, options, outcome))
    print(f"{outcome.units} crash cycles in {time.monotonic() - began_at:.1f} s: " +
          ", ".join(f"{value} {name}" for name, value in outcome.figures.items()) +
          f"; {len(outcome.failed)} failures")


def main(kind, description, cycles_of_a_round):
    """`kind`: the class of a round. It is created with a directory, and has `begin`, `cycle(seed)`,
    `finish`, `close`, `faults` and `figures`."""
    options = program.options(description, chunk=cycles_of_a_round)
    if "CELLD_BINARY" not in os.environ:
        sys.exit("CELLD_BINARY must name the program")
    program.run(options, lambda outcome: work(kind, options, outcome))
