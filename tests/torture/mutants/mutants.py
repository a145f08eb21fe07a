#!/usr/bin/env python3
"""Mutants as a campaign: do the tests detect small mistakes in the product?

A unit is one mutant: one small change to one file (operators.py). The campaign builds the mutant
and runs the tests that could detect it, the quickest first, until one fails. A mutant that no test
detects has survived. That is a failure, unless survivors.txt says why the change makes no
difference. A mutant that does not compile counts as a unit, but not towards a score.

The units take turns in three areas: cells/, src/store, and the rest of src/. Within an area their
order is shuffled once, so that the first N units are a fair sample for any N. Each job works on a
copy of the tree of its own, in build-mutants/.
"""

import concurrent.futures
import contextlib
import filecmp
import glob
import os
import random
import re
import shutil
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

import program  # noqa: E402
from operators import mutations  # noqa: E402

TREES = os.path.join(ROOT, "build-mutants")
BUILD_S, BASELINE_BUILD_S, TEST_S = 600, 3600, 900
PROCESSORS = str(os.cpu_count() or 1)

# The checks that could detect a mutant, by the beginning of its path: longer beginnings first, and
# quicker checks first. "system/FILES" is those files of tests/system.
PLANS = (
    ("cells/model/", ("test_model", "test_actors", "simulation")),
    ("cells/", ("test_actors", "simulation")),
    ("src/store/", ("test_store", "test_actors", "simulation")),
    ("src/config/", ("test_config", "system/test_(reload|command_line)")),
    ("src/json/", ("test_json", "test_config", "test_http_api")),
    ("src/http/api/", ("test_http_api",
                       "system/test_(jobs|lists|batches|events|workers|requests|capacity)",
                       "system/test_(access|rotation|schedules|quotas|backup)")),
    ("src/http/", ("test_http", "test_http_api", "system/test_(requests|tls|stopping|events)")),
    ("src/providers/", ("test_providers",
                        "system/test_(commands|mappings|polls|provider_tls|timing)")),
    ("src/logs/", ("test_logs",)),
    ("src/metrics/", ("test_metrics",)),
    ("src/cli/", ("test_cli", "system/test_cellctl.*")),
    ("src/", ("test_daemon",
              "system/test_(command_line|stopping|backup|rotation|access|memory_jobs)")),
)
# Headers that decide something. Most others are included everywhere, and take long to build.
HEADERS = (
    "cells/actors/worker_roster.hpp", "cells/model/pool_plan.hpp", "cells/model/rate_meter.hpp",
    "cells/model/retention.hpp", "cells/model/window_budget.hpp",
    "src/http/api/pending_submissions.hpp", "src/http/body_room.hpp", "src/http/deadlines.hpp",
    "src/store/behind_index.hpp", "src/store/group_commit.hpp")


class Check(NamedTuple):
    """Programs to build, and a command that fails if the product is wrong."""
    targets: tuple
    command: tuple


def check_of(name):
    if name == "simulation":
        return Check(("celld_simulation",), ("build/celld_simulation", "--count", "500"))
    if name.startswith("system"):
        chosen = (("-R", "^(system|clients|service): ") if name == "system" else
                  ("-R", f"^system: {name.removeprefix('system/')}$"))
        return Check(("celld", "cellctl"), (
            "env", "CELLD_FAIL_FAST=1", "ctest", "--test-dir", "build", *chosen,
            "--stop-on-failure", "--no-tests=error", "-j", PROCESSORS))
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


def copy_if_changed(source, target):
    """An unchanged file keeps its modification time, so that it is not built again."""
    if os.path.exists(source) and not (os.path.exists(target) and
                                       filecmp.cmp(source, target, shallow=False)):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def plan_of(path, with_system):
    checks = next(checks for beginning, checks in PLANS if path.startswith(beginning))
    return [*checks, *["system"] * with_system]


class Tree:
    """A copy of the tree with a build of its own."""

    def __init__(self, name):
        self.root = os.path.join(TREES, name)
        self.tried = set()  # The checks that passed without a mutant.
        os.makedirs(self.root, exist_ok=True)
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        for each in filter(None, os.fsdecode(names).split("\0")):
            copy_if_changed(os.path.join(ROOT, each), os.path.join(self.root, each))
        if not os.path.exists(os.path.join(self.root, "build", "build.ninja")):
            good, said = self.run(("cmake", "--preset", "release", "-DCELLD_TESTS=ON",
                                   "-DCMAKE_CXX_FLAGS_RELEASE=-O1"), BUILD_S)
            if not good:
                sys.exit(f"mutants: {said}")

    def run(self, command, seconds):
        """(whether the command succeeded, its output). A timeout counts as a failure."""
        process = subprocess.Popen(command, cwd=self.root, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace",
                                   start_new_session=True)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            output = "took too long"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # A mutant may leave processes behind.
            process.wait()
        return output != "took too long" and process.returncode == 0, output

    def build(self, check, seconds):
        return self.run(("cmake", "--build", "build", "--target", *check.targets), seconds)

    def require_baseline(self, name):
        """The check must pass without a mutant; otherwise it would kill every one."""
        check = check_of(name)
        good, said = self.build(check, BASELINE_BUILD_S)
        if good:
            good, said = self.run(check.command, TEST_S)
        if not good:
            sys.exit(f"mutants: {name} fails without a mutant: {said[-4000:]}")
        self.tried.add(name)

    def judge(self, mutation, with_system):
        """("killed", by which check), ("invalid", why) or ("survived", "")."""
        path = os.path.join(self.root, mutation.path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            for name in plan_of(mutation.path, with_system):
                if name not in self.tried:
                    write(path, text)
                    self.require_baseline(name)
                write(path, mutation.applied_to(text))
                good, said = self.build(check_of(name), BUILD_S)
                if not good:
                    error = re.search(r"error: .*", said)
                    return "invalid", error[0] if error else said[-200:]
                good, said = self.run(check_of(name).command, TEST_S)
                if not good:
                    return "killed", name
            return "survived", ""
        finally:
            write(path, text)


class Campaign:
    def __init__(self, options, outcome):
        self.options, self.outcome = options, outcome
        self.known, self.by_area = reasons(), areas(options.only)
        self.ends_at = time.monotonic() + options.seconds
        self.lock = threading.Lock()
        self.trees = queue.SimpleQueue()
        for number in range(options.jobs):
            self.trees.put(Tree(f"tree-{number + 1}"))

    def run(self):
        """Tries the units in order; counts those before the first that was not tried, so that the
        completed range has no gaps."""
        units = range(self.options.first, self.options.first + self.options.count)
        units = units[:len(self.by_area) * max(map(len, self.by_area)) - self.options.first]
        pool = concurrent.futures.ThreadPoolExecutor(self.options.jobs)
        try:
            for unit, figures in zip(units, pool.map(self.unit, units)):
                if figures is None:
                    break
                if "survived" in figures:
                    self.outcome.fail(unit)
                self.outcome.add(1, figures)
        finally:
            self.ends_at = 0  # Begin no other unit.
            pool.shutdown()

    def unit(self, unit):
        """The figures of one unit; None if it is too late to begin it."""
        if time.monotonic() > self.ends_at:
            return None
        turn, area = unit // len(self.by_area), self.by_area[unit % len(self.by_area)]
        if turn >= len(area):
            return {}
        mutation, tree = area[turn], self.trees.get()
        try:
            verdict, why = tree.judge(mutation, self.options.system)
        finally:
            self.trees.put(tree)
        reason = self.known.get(without_line(mutation))
        if verdict == "survived" and reason:
            verdict, why = "equivalent", reason
        with self.lock:
            print(f"{unit}: {verdict}: {mutation}" + f" ({why})" * bool(why), flush=True)
        return {f"{mutation.path} {verdict}": 1, verdict: 1}


def work(options, outcome):
    Campaign(options, outcome).run()
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
        parser.add_argument("--only", metavar="PATH", help="only files whose path begins with PATH")
        parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                            help="mutants to try at the same time")
    options = program.options(__doc__, add_more)
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
