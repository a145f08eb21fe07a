#!/usr/bin/env python3
"""The fuzzers as a campaign; a unit is one second of one fuzzer. They take turns of half a minute.

Each turn first repeats the inputs with which earlier runs broke a promise. Needs a build of the
fuzz preset.
"""

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


def still_broken(name):
    """The inputs found by earlier runs that still break the fuzzer's promise."""
    finds = os.path.join(BUILD, "finds", name)
    names = sorted(os.listdir(finds)) if os.path.isdir(finds) else []
    return [path for path in (os.path.join(finds, each) for each in names)
            if subprocess.run([os.path.join(BUILD, "fuzz_" + name), *LIMITS, path], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode]


def fuzz(name, seconds):
    """Runs a fuzzer; returns (seconds, inputs tried, whether no promise broke)."""
    for path in still_broken(name):
        print(f"{name}: found earlier, and still broken: {BUILD}/fuzz_{name} {path}", flush=True)
        return 0, 0, False
    began_at = time.monotonic()
    done = subprocess.run([os.path.join(HERE, "run_fuzzer"), "--grow", BUILD, name, str(seconds)],
                          stdout=subprocess.PIPE, text=True, check=False)
    took_s = int(time.monotonic() - began_at)
    print(f"-- {name} for {took_s} of {seconds} s\n{done.stdout}", flush=True)
    inputs = re.search(r"stat::number_of_executed_units: *(\d+)", done.stdout)
    return min(took_s, seconds), int(inputs[1]) if inputs else 0, done.returncode == 0


def work(options, outcome):
    """Runs the fuzzers in turn. A fuzzer with a broken promise does not run again."""
    names, broken = fuzzers(), set()
    ends_at, first = time.monotonic() + options.seconds, options.first
    left = min(options.count, round(min(options.seconds, options.count)))
    while left > 0 and len(broken) < len(names) and time.monotonic() < ends_at:
        name = names[first // TURN_S % len(names)]
        seconds = min(TURN_S - first % TURN_S, left)
        if name not in broken:
            took_s, inputs, well = fuzz(name, seconds)
            if not well:
                broken.add(name)
                outcome.fail(first, seconds)
            outcome.add(took_s, {f"{name} inputs": inputs})
            left -= took_s
        first += seconds
    print(f"{outcome.units} seconds of fuzzing, {len(outcome.failed)} failures")


def main():
    options = program.options(__doc__)
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
