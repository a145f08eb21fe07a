#!/usr/bin/env python3
"""The fuzzers as a campaign: a unit is a second of one of them, which take turns of half a minute.

First of all, what earlier runs have found is tried again. Needs the fuzz preset built.
"""

import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "campaigns"))

import program  # noqa: E402

BUILD = os.path.realpath(os.path.join(HERE, "..", "..", "build-fuzz"))
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=512")  # As in run_fuzzer.
TURN_S = 30


def fuzzers():
    return sorted(name.removesuffix("_fuzz.cpp") for name in os.listdir(HERE)
                  if name.endswith("_fuzz.cpp"))


def still_broken(name):
    """The inputs, found earlier, that break the fuzzer's promise even now."""
    finds = os.path.join(BUILD, "finds", name)
    names = sorted(os.listdir(finds)) if os.path.isdir(finds) else []
    return [path for path in (os.path.join(finds, each) for each in names)
            if subprocess.run([os.path.join(BUILD, "fuzz_" + name), *LIMITS, path], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode]


def fuzz(name, seconds):
    """(inputs tried, whether all went well)"""
    for path in still_broken(name):
        print(f"{name}: found earlier, and still broken: {BUILD}/fuzz_{name} {path}", flush=True)
        return 0, False
    done = subprocess.run([os.path.join(HERE, "run_fuzzer"), "--grow", BUILD, name, str(seconds)],
                          stdout=subprocess.PIPE, text=True, check=False)
    print(f"-- {name} for {seconds} s\n{done.stdout}", flush=True)
    inputs = re.search(r"stat::number_of_executed_units: *(\d+)", done.stdout)
    return int(inputs[1]) if inputs else 0, done.returncode == 0


def main():
    found = program.options(__doc__)
    ends_at = time.monotonic() + (found.seconds or float("inf"))
    count = found.count if found.seconds is None else min(found.count or sys.maxsize,
                                                          round(found.seconds))
    names, done, failed, figures = fuzzers(), 0, [], {}
    while done < count and (done == 0 or time.monotonic() < ends_at):
        first = found.first + done
        name = names[first // TURN_S % len(names)]
        seconds = min(TURN_S - first % TURN_S, count - done)
        inputs, well = fuzz(name, seconds)
        figures[f"{name} inputs"] = figures.get(f"{name} inputs", 0) + inputs
        if not well:
            failed.append({"from": first, "count": seconds})
        done += seconds
    print(f"{done} seconds of fuzzing, {len(failed)} failures")
    program.finish(found, done, failed, figures)


if __name__ == "__main__":
    main()
