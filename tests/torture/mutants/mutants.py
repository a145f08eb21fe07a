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

import filecmp
import functools
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

import program  # noqa: E402
from operators import mutations  # noqa: E402

TREE = os.path.join(ROOT, "build-mutants", "tree")
BUILD = os.path.join(TREE, "build")
BUILD_S, TEST_S = 900, 300
PROCESSORS = str(os.cpu_count() or 1)

# The tests that could detect a mutant, as ctest names them, by the beginning of its path. Longer
# beginnings come first.
SIMULATION = ["simulation: every promise holds for seeds 0 "]
SYSTEM = ["(system|clients|service|docs): "]
PLANS = (
    ("cells/model/", ["test_model: ", "test_actors: ", *SIMULATION]),
    ("cells/", ["test_actors: ", *SIMULATION]),
    ("src/store/", ["test_store: ", "test_actors: ", *SIMULATION]),
    ("src/config/", ["test_config: "]),
    ("src/json/", ["test_json: ", "test_config: ", "test_http_api: "]),
    ("src/http/api/", ["test_http_api: "]),
    ("src/http/", ["test_http: ", "test_http_api: "]),
    ("src/providers/", ["test_providers: "]),
    ("src/logs/", ["test_logs: "]),
    ("src/metrics/", ["test_metrics: "]),
    ("src/cli/", ["test_cli: "]),
    ("src/", ["test_daemon: "]),
)
# Headers that make decisions. Most others are included everywhere, so that a change to one of them
# takes long to build.
HEADERS = ("cells/model/pool_plan.hpp", "cells/model/rate_meter.hpp", "cells/model/retention.hpp")


def sources(*patterns):
    return sorted(os.path.relpath(path, ROOT) for pattern in patterns
                  for path in glob.glob(os.path.join(ROOT, pattern), recursive=True))


@functools.cache
def areas():
    """The mutations of each area, in a fixed random order."""
    store = sources("src/store/*.cpp")
    found = []
    for paths in (sources("cells/**/*.cpp", *HEADERS), store,
                  [path for path in sources("src/**/*.cpp") if path not in store]):
        every = []
        for path in paths:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                every += mutations(path, file.read())
        random.Random(1).shuffle(every)
        found.append(every)
    return found


def mutation_of(unit):
    """The mutation of a unit; None when its area has no more."""
    area = areas()[unit % 3]
    return area[unit // 3] if unit // 3 < len(area) else None


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
    try:
        done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False, "took too long"
    return done.returncode == 0, done.stdout


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
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        good, said = run(["cmake", "--preset", "release", "-DCELLD_TESTS=ON",
                          "-DCMAKE_CXX_FLAGS_RELEASE=-O1"], BUILD_S)
        if not good:
            sys.exit(f"mutants: {said}")
    good, said = run(["cmake", "--build", "build"], 4 * BUILD_S)
    if not good:
        sys.exit(f"mutants: the tree itself does not build: {said[-4000:]}")


def plan_of(path, with_system):
    tests = next(tests for beginning, tests in PLANS if path.startswith(beginning))
    return [*tests, *SYSTEM * with_system]


def targets_of(tests):
    found = []
    for test in tests:
        if test.startswith("test_"):
            found.append(test.partition(":")[0])
        else:
            found += ["celld_simulation"] if test.startswith("simulation") else ["celld", "cellctl"]
    return found


def judge(mutation, with_system):
    """("killed", by which tests), ("invalid", why) or ("survived", "")."""
    path = os.path.join(TREE, mutation.path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    tests = plan_of(mutation.path, with_system)
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(mutation.applied_to(text))
        good, said = run(["cmake", "--build", "build", "--target", *targets_of(tests)], BUILD_S)
        if not good:
            error = re.search(r"error: .*", said)
            return "invalid", error[0] if error else said[-200:]
        for test in tests:
            good, said = run(["ctest", "--test-dir", "build", "-R", f"^{test}", "--stop-on-failure",
                              "--no-tests=error", "--timeout", "100", "-j", PROCESSORS], TEST_S)
            if not good:
                failed = re.findall(r"^\s*\d+ - (.*) \(", said, re.MULTILINE)
                return "killed", (failed or [test])[0]
        return "survived", ""
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def work(options, outcome):
    known = reasons()
    ends_at = time.monotonic() + options.seconds
    prepare()
    for unit in range(options.first, options.first + options.count):
        mutation = mutation_of(unit)
        if time.monotonic() > ends_at or all(unit // 3 >= len(area) for area in areas()):
            break
        figures = {}
        if mutation:
            verdict, why = judge(mutation, options.system)
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
    options = program.options(__doc__, lambda parser: parser.add_argument(
        "--system", action="store_true", help="run the tests of the whole daemon, too"))
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
