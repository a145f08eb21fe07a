#!/usr/bin/env python3
"""Mutants as a campaign: do the tests detect small mistakes in the product?

A unit is one mutant: one small change to one file (operators.py). The campaign runs the tests that
could detect it, the quickest first, until one fails. A mutant that no test detects has survived.
That is a failure, unless survivors.txt says why the change makes no difference. A mutant that does
not compile counts as a unit, but not towards a score.

The units take turns in three areas: cells/, src/store, and the rest of src/. Within an area their
order is shuffled once, so that the first N units are a fair sample for any N.

A copy of the tree in build-mutants/ is built once with many mutants, each behind a switch
(weaving.py). The few mutations outside of functions, where no switch can stand, are built alone.
"""

import collections
import concurrent.futures
import contextlib
import filecmp
import glob
import json
import os
import random
import re
import shutil
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
from weaving import MUTANT, VARIABLE, woven  # noqa: E402

TREE = os.path.join(ROOT, "build-mutants", "tree")
INVALID = os.path.join(ROOT, "build-mutants", "invalid.json")
GROUP = 1200  # Mutants that are built together, unless a run tries few.
FEW = 50
TURN = 60  # Mutants that are tried before those among them that are built alone.
BUILD_S, GROUP_BUILD_S, BASELINE_S = 600, 7200, 900
# A mutant may make a program slow, or use up the machine.
PATIENCE_S, PATIENCE = 60, 8  # At least this long, and this many times as long as without a mutant.
LIMITS = ("prlimit", f"--as={16 << 30}", f"--fsize={4 << 30}", "--core=0")
PROCESSORS = str(os.cpu_count() or 1)

# The checks that could detect a mutant, by the beginning of its path: longer beginnings first, and
# quicker checks first. "system/FILES" is those files of tests/system.
PLANS = (
    ("cells/model/", ("test_model", "test_actors", "simulation", "system/test_memory_jobs")),
    ("cells/", ("test_actors", "simulation", "system/test_memory_jobs")),
    ("src/store/", ("test_store", "test_actors", "simulation")),
    ("src/config/", ("test_config", "test_http_api", "system/test_(reload|command_line)")),
    ("src/json/", ("test_json", "test_config", "test_http_api")),
    ("src/http/api/", ("test_http_api",
                       "system/test_(jobs|lists|batches|events|workers|requests|capacity)",
                       "system/test_(access|rotation|schedules|quotas|backup)")),
    ("src/http/", ("test_http", "test_http_api", "system/test_(requests|tls|stopping|events)")),
    ("src/providers/", ("test_providers",
                        "system/test_(commands|mappings|polls|provider_tls|timing)")),
    ("src/logs/", ("test_logs",)),
    ("src/metrics/", ("test_metrics",)),
    ("src/cli/", ("test_cli", "system/test_(cellctl.*|backup)")),
    ("src/explain_command", ("system/test_mappings",)),
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
        return Check(("celld", "cellctl", "celld_clock_shim"), (
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


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def plan_of(path, with_system):
    checks = next(checks for beginning, checks in PLANS if path.startswith(beginning))
    return [*checks, *["system"] * with_system]


def run(command, seconds, number=None):
    """(whether the command succeeded, its output). A timeout counts as a failure. Programs make the
    mistake with this number."""
    switch = {} if number is None else {VARIABLE: str(number)}
    process = subprocess.Popen((*LIMITS, *command), cwd=TREE, env={**os.environ, **switch},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        output = "took too long"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # A mutant may leave processes behind.
        process.wait()
    return output != "took too long" and process.returncode == 0, output


def build(checks, seconds):
    targets = sorted({target for name in checks for target in check_of(name).targets})
    return run(("cmake", "--build", "build", "--target", *targets, "--", "-k0"), seconds)


def error_in(said):
    error = re.search(r"error: .*", said)
    return error[0] if error else said[-200:]


def blamed(said):
    """{number: why} for the mutants in which a compiler found errors. An error in a template names
    the mutant in a line of its own."""
    found = {}
    for failure in said.split("FAILED: ")[1:]:
        lines = failure.split("\n")
        named = [line for line in lines if MUTANT.search(line)]
        wrong = [line for line in named if "error:" in line] or named
        for line in wrong:
            why = error_in(line if "error:" in line else failure)
            found.setdefault(int(MUTANT.search(line)[1]), why)
    return found


class Tree:
    """A copy of the tree with a build of its own."""

    def __init__(self):
        self.took_s = {}  # By check, without a mutant.
        self.woven = {}   # The text of each file that has mutants.
        self.invalid = {}  # {mutation as text: why it does not compile}, from earlier runs too.
        with contextlib.suppress(FileNotFoundError):
            self.invalid = json.loads(read(INVALID))
        os.makedirs(TREE, exist_ok=True)
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        self.names = [each for each in os.fsdecode(names).split("\0") if each]
        if not os.path.exists(os.path.join(TREE, "build", "build.ninja")):
            self.restore()
            good, said = run(("cmake", "--preset", "release", "-DCELLD_TESTS=ON",
                              "-DCMAKE_CXX_FLAGS_RELEASE=-O1"), BUILD_S)
            if not good:
                sys.exit(f"mutants: {said}")

    def restore(self):
        """Files with mutants of this group keep them. Removes files that the checkout has no more."""
        known = {os.path.join(TREE, each) for each in self.names}
        for directory, below, names in os.walk(TREE):
            if directory == TREE:
                below[:] = [each for each in below if each != "build"]
            for name in names:
                path = os.path.join(directory, name)
                if path not in known:
                    os.remove(path)
        for each in self.names:
            if each not in self.woven:
                copy_if_changed(os.path.join(ROOT, each), os.path.join(TREE, each))

    def weave(self, numbered, checks, until):
        """Builds the checks with all of these mutants ({number: mutation}). Returns ({number: why}
        for those that do not compile, the numbers of those that must be built alone); None if there
        is too little time, and the next run continues."""
        while True:
            alone = self.write({number: mutation for number, mutation in numbered.items()
                                if str(mutation) not in self.invalid})
            good, said = build(checks, min(GROUP_BUILD_S, max(1, until - time.monotonic())))
            if good:
                return {number: self.invalid[str(mutation)] for number, mutation in numbered.items()
                        if str(mutation) in self.invalid}, alone
            if time.monotonic() >= until:
                return None
            found = blamed(said)
            if not found:
                sys.exit(f"mutants: the mutants together do not compile: {said[-4000:]}")
            self.invalid.update({str(numbered[number]): why for number, why in found.items()})
            write(INVALID, json.dumps(self.invalid))

    def write(self, numbered):
        by_path = collections.defaultdict(dict)
        for number, mutation in numbered.items():
            by_path[mutation.path][number] = mutation
        alone, self.woven = set(), {}
        for path, here in by_path.items():
            self.woven[path], others = woven(path, read(os.path.join(ROOT, path)), here)
            alone |= others
        for path, text in self.woven.items():
            copy = os.path.join(TREE, path)
            if not os.path.exists(copy) or read(copy) != text:
                write(copy, text)
        self.restore()
        return alone

    def require_baseline(self, checks):
        """Each check must pass without a mutant; otherwise it would kill every one."""
        for name in checks:
            began = time.monotonic()
            good, said = run(check_of(name).command, BASELINE_S)
            if not good:
                sys.exit(f"mutants: {name} fails without a mutant: {said[-4000:]}")
            self.took_s[name] = time.monotonic() - began

    def judge(self, checks, number):
        """("killed", by which check) or ("survived", ""). `number` is that of a woven mutant, or
        None if the programs were built with the mutant alone."""
        for name in checks:
            seconds = max(PATIENCE_S, PATIENCE * self.took_s[name])
            if not run(check_of(name).command, seconds, number)[0]:
                return "killed", name
        return "survived", ""

    def judge_alone(self, mutation, checks):
        """("invalid", why) if the mutant does not compile."""
        path = os.path.join(TREE, mutation.path)
        write(path, mutation.applied_to(read(os.path.join(ROOT, mutation.path))))
        try:
            good, said = build(checks, BUILD_S)
            return self.judge(checks, None) if good else ("invalid", error_in(said))
        finally:
            write(path, self.woven[mutation.path])


class Campaign:
    def __init__(self, options, outcome):
        self.options, self.outcome = options, outcome
        self.known, self.by_area = reasons(), areas(options.only)
        self.ends_at = time.monotonic() + options.seconds
        self.lock = threading.Lock()
        self.tree = Tree()
        self.mutations, self.plans, self.verdicts = {}, {}, {}  # By unit.

    def run(self):
        """Tries the units in order; counts those before the first that was not tried, so that the
        completed range has no gaps."""
        first, last = self.options.first, self.options.first + self.options.count
        last = min(last, len(self.by_area) * max(map(len, self.by_area)))
        at = first
        while at < last:
            # The same units are built together, wherever in their group a run begins.
            group = range(at - at % GROUP, at - at % GROUP + GROUP)
            if last - first <= FEW:
                group = range(first, last)
            units = range(at, min(last, group.stop))
            try:
                self.try_units(units, group)
            finally:
                complete = self.count(units)
            if not complete:
                break
            at = units.stop

    def mutation_of(self, unit):
        turn, area = divmod(unit, len(self.by_area))
        return self.by_area[area][turn] if turn < len(self.by_area[area]) else None

    def try_units(self, units, group):
        self.mutations = {unit: mutation for unit in group if (mutation := self.mutation_of(unit))}
        self.plans = {unit: plan_of(mutation.path, self.options.system)
                      for unit, mutation in self.mutations.items()}
        self.verdicts = {unit: ("", "") for unit in units if unit not in self.mutations}
        checks = sorted({name for plan in self.plans.values() for name in plan})
        built = self.tree.weave(self.mutations, checks, self.ends_at)
        if built is None:
            print("the mutants are not built yet: the next run continues", flush=True)
            return
        invalid, alone = built
        self.tree.require_baseline(checks)
        for begin in range(units.start, units.stop, TURN):
            turn = [unit for unit in range(begin, min(begin + TURN, units.stop))
                    if unit in self.mutations]
            for unit in invalid.keys() & set(turn):
                self.found(unit, "invalid", invalid[unit])
            self.try_woven([unit for unit in turn if unit not in invalid and unit not in alone])
            self.try_alone([unit for unit in turn if unit in alone], checks)

    def try_woven(self, units):
        def judge(unit):
            if time.monotonic() < self.ends_at:
                self.found(unit, *self.tree.judge(self.plans[unit], unit))
        pool = concurrent.futures.ThreadPoolExecutor(self.options.jobs)
        try:
            list(pool.map(judge, units))
        except KeyboardInterrupt:
            self.ends_at = 0  # Begin no other unit.
            raise
        finally:
            pool.shutdown()

    def try_alone(self, units, checks):
        for unit in units:
            if time.monotonic() < self.ends_at:
                self.found(unit, *self.tree.judge_alone(self.mutations[unit], self.plans[unit]))
        if units:
            build(checks, BUILD_S)  # The programs with all the others.

    def found(self, unit, verdict, why):
        mutation = self.mutations[unit]
        reason = self.known.get(without_line(mutation))
        if verdict == "survived" and reason:
            verdict, why = "equivalent", reason
        with self.lock:
            self.verdicts[unit] = (verdict, mutation.path)
            print(f"{unit}: {verdict}: {mutation}" + f" ({why})" * bool(why), flush=True)

    def count(self, units):
        """Whether all of these units were tried."""
        for unit in units:
            if unit not in self.verdicts:
                return False
            verdict, path = self.verdicts[unit]
            if verdict == "survived":
                self.outcome.fail(unit)
            self.outcome.add(1, {f"{path} {verdict}": 1, verdict: 1} if verdict else {})
        return True


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
        parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1),
                            help="mutants to try at the same time")
    options = program.options(__doc__, add_more)
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
