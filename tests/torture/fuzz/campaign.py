#!/usr/bin/env python3
"""The fuzzers as a campaign; a unit is one second of one fuzzer. They take turns of half a minute.
With --workers N, N turns run side by side.

Each turn first repeats the inputs with which earlier runs broke a promise. Needs a build of the
fuzz preset.
"""

import dataclasses
import itertools
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402

BUILD = os.path.realpath(os.path.join(HERE, "..", "..", "..", "build-fuzz"))
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=512")  # As in run_fuzzer.
TURN_S = 30


def fuzzers():
    return sorted(name.removesuffix("_fuzz.cpp") for name in os.listdir(HERE)
                  if name.endswith("_fuzz.cpp"))


@dataclasses.dataclass(frozen=True)
class Turn:
    name: str     # Of the fuzzer.
    first: int    # Unit.
    seconds: int


def turns(first, count):
    """The turns of these units. A turn begins at each multiple of TURN_S."""
    names = fuzzers()
    end = first + count
    while first < end:
        seconds = min(TURN_S - first % TURN_S, end - first)
        yield Turn(names[first // TURN_S % len(names)], first, seconds)
        first += seconds


def still_breaks(name):
    """Whether an input that an earlier run found still breaks the fuzzer's promise."""
    finds = os.path.join(BUILD, "finds", name)
    for find in sorted(os.listdir(finds)) if os.path.isdir(finds) else []:
        command = [os.path.join(BUILD, "fuzz_" + name), *LIMITS, os.path.join(finds, find)]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode:
            print(f"{name}: found earlier, and still broken: {' '.join(command)}", flush=True)
            return True
    return False


def begin(turn):
    """Starts the turn's fuzzer, unless it is known to break its promise."""
    if still_breaks(turn.name):
        return None
    command = [os.path.join(HERE, "run_fuzzer"), "--grow", BUILD, turn.name, str(turn.seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def end(turn, process):
    """Waits for the fuzzer. Returns how many inputs it tried; None if a promise broke."""
    if process is None:
        return None
    output = process.communicate()[0]
    print(f"-- {turn.name} for {turn.seconds} s\n{output}", flush=True)
    inputs = re.search(r"stat::number_of_executed_units: *(\d+)", output)
    return int(inputs[1]) if inputs and process.returncode == 0 else None


def fuzz(batch):
    """Takes the turns side by side. Yields for each how many inputs it tried, or None."""
    processes = [begin(turn) for turn in batch]
    try:
        for turn, process in zip(batch, processes):
            yield end(turn, process)
    finally:
        for process in filter(None, processes):
            process.kill()


def work(options, outcome):
    """Runs the fuzzers in turn. A fuzzer with a broken promise does not run again. Its turn does
    not count."""
    broken = set()
    ends_at = time.monotonic() + options.seconds
    count = round(min(options.seconds * options.workers, options.count))
    waiting = (turn for turn in turns(options.first, count) if turn.name not in broken)
    while (time.monotonic() < ends_at
           and (batch := list(itertools.islice(waiting, options.workers)))):
        for turn, inputs in zip(batch, fuzz(batch)):
            if inputs is None:
                broken.add(turn.name)
                outcome.fail(turn.first, turn.seconds)
            else:
                outcome.add(turn.seconds, {f"{turn.name} inputs": inputs})
    print(f"{outcome.units} seconds of fuzzing, {len(outcome.failed)} failures")


def add_options(parser):
    parser.add_argument("--workers", type=int, default=1, metavar="N",
                        help="turns that run side by side")


def main():
    options = program.options(__doc__, add_options)
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
