#!/usr/bin/env python3
"""Mutants as a campaign: do the tests detect small mistakes in the product?

A unit is one mutant: one small change to one file (operators.py). The campaign builds the mutant
and runs the tests that could detect it, the quickest first, until one fails. A mutant that no test
detects has survived. That is a failure, unless survivors.txt says why the change makes no
difference. A mutant that does not compile counts as a unit, but not towards a score.

The units take turns in three areas: cells/, src/store, and the rest of src/. Within an area their
order is shuffled once, so that the first N units are a fair sample for any N. The campaign works
on a copy of the tree, in build-mutants/.
"""

import contextlib
import filecmp
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

import program  # noqa: E402
from operators import mutations  # noqa: E402

TREE = os.path.join(ROOT, "build-mutants", "tree")
BUILD_S, BASELINE_BUILD_S, TEST_S = 600, 3600, 300
PROCESSORS = str(os.cpu_count() or 1)

# The checks that could detect a mutant, by the beginning of its path; the longest beginnings first,
# and the quickest checks.
PLANS = (
    ("cells/model/", ("test_model", "test_actors", "simulation")),
    ("cells/", ("test_actors", "simulation")),
    ("src/store/", ("test_store", "test_actors", "simulation")),
    ("src/config/", ("test_config",)),
    ("src/json/", ("test_json", "test_config", "test_http_api")),
    ("src/http/api/", ("test_http_api",)),
    ("src/http/", ("test_http", "test_http_api")),
    ("src/providers/", ("test_providers",)),
    ("src/logs/", ("test_logs",)),
    ("src/metrics/", ("test_metrics",)),
    ("src/cli/", ("test_cli",)),
    ("src/", ("test_daemon",)),
)
# Headers that decide something. Most others are included everywhere, and take long to build.
HEADERS = ("cells/model/pool_plan.hpp", "cells/model/rate_meter.hpp", "cells/model/retention.hpp")


class Check(NamedTuple):
    """Programs to build, and a command that fails if the product is wrong."""
    targets: tuple
    command: tuple


def check_of(name):
    if name == "simulation":
        return Check(("celld_simulation",), ("build/celld_simulation", "--count", "500"))
    if name == "system":
        return Check(("celld", "cellctl"), (
            "ctest", "--test-dir", "build", "-R", "^(system|clients|service): ",
            "--stop-on-failure", "--no-tests=error", "--timeout", "100", "-j", PROCESSORS))
    return Check((name,), (f"build/{name}", "--abort"))


def sources(*patterns):
    return sorted(os.path.relpath(path, ROOT) for pattern in patterns
                  for path in glob.glob(os.path.join(ROOT, pattern), recursive=True))


def shuffled_mutations(paths):
    """All mutations of these files, in a fixed random order."""
    found = []
    for path in paths:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            found += mutations(path, file.read())
    random.Random(1).shuffle(found)
    return found


def areas(only):
    """The mutations of each area; of one area, if `only` is the beginning of a path."""
    every = sources("cells/**/*.cpp", *HEADERS, "src/**/*.cpp")
    if only:
        return [shuffled_mutations([path for path in every if path.startswith(only)])]
    store = [path for path in every if path.startswith("src/store/")]
    engine = [path for path in every if path.startswith("cells/")]
    rest = [path for path in every if path not in (*store, *engine)]
    return [shuffled_mutations(paths) for paths in (engine, store, rest)]


def reasons():
    """{mutation as text, without its line number: why it changes nothing}."""
    found = {}
    with open(os.path.join(HERE, "survivors.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                mutation, _, reason = line.rstrip("\n").partition(" | ")
                found[mutation] = reason
    return found


def without_line(mutation):
    return re.sub(r":\d+: ", ": ", " ".join(str(mutation).split()), count=1)


def run(command, seconds):
    """(whether the command succeeded, its output). A timeout counts as a failure."""
    process = subprocess.Popen(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        output = "took too long"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # A mutant may leave processes behind.
        process.wait()
    return output != "took too long" and process.returncode == 0, output


def copy_if_changed(source, target):
    """An unchanged file keeps its modification time, so that it is not built again."""
    if os.path.exists(source) and not (os.path.exists(target) and
                                       filecmp.cmp(source, target, shallow=False)):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)


def prepare():
    """Copies the tree, and builds what the plans need."""
    os.makedirs(TREE, exist_ok=True)
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    for name in filter(None, os.fsdecode(names).split("\0")):
        copy_if_changed(os.path.join(ROOT, name), os.path.join(TREE, name))
    if not os.path.exists(os.path.join(TREE, "build", "build.ninja")):
        good, said = run(("cmake", "--preset", "release", "-DCELLD_TESTS=ON",
                          "-DCMAKE_CXX_FLAGS_RELEASE=-O1"), BUILD_S)
        if not good:
            sys.exit(f"mutants: {said}")


def plan_of(path, with_system):
    checks = next(checks for beginning, checks in PLANS if path.startswith(beginning))
    return [*checks, *["system"] * with_system]


def build(check, seconds):
    return run(("cmake", "--build", "build", "--target", *check.targets), seconds)


def require_baseline(name):
    """The check must pass without a mutant; otherwise it would kill every one."""
    check = check_of(name)
    for seconds, act in ((BASELINE_BUILD_S, lambda limit: build(check, limit)),
                         (TEST_S, lambda limit: run(check.command, limit))):
        good, said = act(seconds)
        if not good:
            sys.exit(f"mutants: {name} fails without a mutant: {said[-4000:]}")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def judge(mutation, with_system, tried):
    """("killed", by which check), ("invalid", why) or ("survived", ""). `tried` are the checks that
    passed without a mutant."""
    path = os.path.join(TREE, mutation.path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        for name in plan_of(mutation.path, with_system):
            if name not in tried:
                write(path, text)
                require_baseline(name)
                tried.add(name)
            write(path, mutation.applied_to(text))
            good, said = build(check_of(name), BUILD_S)
            if not good:
                error = re.search(r"error: .*", said)
                return "invalid", error[0] if error else said[-200:]
            good, said = run(check_of(name).command, TEST_S)
            if not good:
                return "killed", name
        return "survived", ""
    finally:
        write(path, text)


def work(options, outcome):
    known = reasons()
    ends_at = time.monotonic() + options.seconds
    prepare()
    by_area, tried = areas(options.only), set()
    for unit in range(options.first, options.first + options.count):
        turn, area = unit // len(by_area), by_area[unit % len(by_area)]
        if time.monotonic() > ends_at or turn >= max(map(len, by_area)):
            break
        mutation = area[turn] if turn < len(area) else None
        figures = {}
        if mutation:
            verdict, why = judge(mutation, options.system, tried)
            reason = known.get(without_line(mutation))
            if verdict == "survived" and reason:
                verdict, why = "equivalent", reason
            print(f"{unit}: {verdict}: {mutation}" + f" ({why})" * bool(why), flush=True)
            figures = {f"{mutation.path} {verdict}": 1, verdict: 1}
            if verdict == "survived":
                outcome.fail(unit)
        outcome.add(1, figures)
    report(outcome)


def report(outcome):
    """Prints the score of each file: the share of killed mutants among those that compile and make
    a difference."""
    for path in sorted({name.rpartition(" ")[0] for name in outcome.figures if "/" in name}):
        killed, survived = (outcome.figures[f"{path} {verdict}"]
                            for verdict in ("killed", "survived"))
        if killed + survived:
            print(f"{100 * killed // (killed + survived):3} %  {killed} of {killed + survived}  {path}")


def main():
    def add_more(parser):
        parser.add_argument("--system", action="store_true",
                            help="also run the tests of the whole daemon")
        parser.add_argument("--only", metavar="PATH", help="only files whose path begins so")
    options = program.options(__doc__, add_more)
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
