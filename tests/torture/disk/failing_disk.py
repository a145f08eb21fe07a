#!/usr/bin/env python3
"""Failing disks: a celld does a bit of everything while the N-th call to its disk fails, for all N.

    failing_disk.py [--from N] [--count N] [--seconds S] [--summary FILE] [--plan NAME]

A unit is one run: a plan (what fails, from which directory celld starts) and the number of the call
that fails. The plans take turns, and even a few units come from all that celld does; when each was
tried once, that was a pass, and they begin anew. With --plan, unit N is call N + 1 of that plan.

After a failure, nothing may be answered with success that was not on disk before; celld ends with 3
and says why; and started again on the same directory, it has everything that it had answered for.
`CELLD_BINARY` names the program.
"""

import calendar
import collections
import itertools
import json
import math
import os
import re
import shutil
import signal
import struct
import sys
import time

from bit_of_everything import EXIT_DEADLINE_S, RETENTION_MS, Script, prepare
from shimmed import BROKEN, DATA, HERE, ShimmedDaemon, a_config, replay, scratch_directory

sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402

CHUNK = 50  # Runs that begin with the same old directory.
FAULT_RECORD = 11
RECORD = struct.Struct("<IIqqQ")

# More calls than a celld makes in which nothing fails, from a new directory and from an old one, so
# that the last units of each plan are beyond the last call, and the whole passes without a fault.
CALLS = {"new": {"write": 560, "sync": 54, "any": 650, "read": 120},
         "old": {"write": 490, "sync": 42, "any": 560, "read": 4200}}
Plan = collections.namedtuple("Plan", "name prepared fault calls")
PLANS = [Plan(f"{start}, {kind} {error} {span}", start == "old", f"{kind}:{{}}:{error}:{span}",
              CALLS[start][kind])
         for start in ("new", "old")
         for kind, error, span in (("write", "EIO", "once"), ("write", "ENOSPC", "on"),
                                   ("write", "SHORT", "on"), ("write", "SHORT", "once"),
                                   ("sync", "EIO", "once"), ("sync", "EIO", "on"),
                                   ("any", "EIO", "on"), ("any", "ENOSPC", "once"),
                                   ("read", "EIO", "once"))]
# What may go wrong with the store before it is open, or in it, is told in one of these ways.
REASONS = re.compile(r"disk I/O error|database or disk is full|unable to open database file|"
                     r"attempt to write a readonly database|database disk image is malformed|"
                     r"Input/output error|No space left on device|locking protocol|"
                     r"file is not a database|does not support a write-ahead log")


def spread(size):
    """The numbers below `size`, in an order in which any few that follow each other are from
    everywhere: that of the multiples of the golden section, without their whole parts."""
    golden = (math.sqrt(5) - 1) / 2
    turns = sorted(range(size), key=lambda turn: (turn + 1) * golden % 1)
    return sorted(range(size), key=turns.__getitem__)


def all_units():
    """Every (plan, N), the plans in turn."""
    calls = {plan: [(plan, place + 1) for place in spread(plan.calls)] for plan in PLANS}
    turns = itertools.zip_longest(*calls.values())
    return [unit for turn in turns for unit in turn if unit is not None]


def faults_of(log):
    """What the shim has let fail: (time in ms, text)."""
    with open(log, "rb") as file:
        data = file.read()
    at, found = 0, []
    while at < len(data):
        kind, _, _, wall_ms, size = RECORD.unpack_from(data, at)
        at += RECORD.size
        if kind == FAULT_RECORD:
            found.append((wall_ms, data[at:at + size].decode()))
        at += size
    return found


def stopped_at_ms(log):
    """When celld had stopped in good order and was about to close its store."""
    for line in log.splitlines():
        if '"stopped"' in line:
            text = json.loads(line)["time"]
            seconds = time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")
            return calendar.timegm(seconds) * 1000 + int(text[20:23])
    return None


def may_go_on(faults, stopped_ms):
    """Whether celld may do without all that failed: the copy of a backup, a look by a reader, the
    removal of a file, another sync of the directory after its own, or the tidying up after
    everything was stopped in good order."""
    return all("celld-backup.partial" in text
               or text.startswith(("read ", "open ", "unlink ", f"sync {DATA} "))
               or (stopped_ms is not None and wall_ms >= stopped_ms - 1)
               for wall_ms, text in faults)


class Run:
    """One celld with one fault, and what becomes of it; `wrong` says what should not be."""

    def __init__(self, plan, at, prepared):
        self.plan, self.at = plan, at
        self.directory = scratch_directory()
        self.daemon = ShimmedDaemon(a_config(RETENTION_MS), self.directory,
                                    FAULT=plan.fault.format(at))
        self.old_jobs = prepared[1] if plan.prepared else []
        self.base = os.path.join(self.directory, "base")
        os.mkdir(self.base)
        if plan.prepared:
            shutil.copytree(prepared[0], os.path.join(self.base, DATA))
            shutil.copytree(prepared[0], self.daemon.data)
        self.wrong = []
        self.code = None
        self.faults = []  # What has failed.
        self.served = False
        self.retried, self.refused = set(), 0

    def whole(self):
        try:
            self.each_step()
        except (AssertionError, *BROKEN) as error:  # It hangs, or breaks off what it should answer.
            self.wrong.append(repr(error))
        finally:
            if self.daemon.running():
                self.daemon.kill()
            if not self.wrong:
                shutil.rmtree(self.directory)

    def each_step(self):
        self.served = self.daemon.try_start()
        if self.served:
            self.work()
        else:
            self.code = self.daemon.process.returncode
        self.faults = faults_of(self.daemon.disk_log)
        self.check_end()
        self.check_promises()
        self.check_restart()

    def work(self):
        script = Script(self.daemon)
        script.run()
        self.retried, self.refused = script.retried, script.refused
        if self.daemon.running():
            self.daemon.signal(signal.SIGTERM)
        self.code = self.daemon.wait(EXIT_DEADLINE_S)
        self.wrong += [f"unexpected answer {answer}" for answer in script.unexpected]

    def check_end(self):
        log = self.daemon.whole_log()
        if not self.faults:
            if self.code != 0:
                self.wrong.append(f"nothing failed, and the exit code is {self.code}")
            elif self.refused:
                self.wrong.append(f"nothing failed, and {self.refused} requests were refused")
            return
        if self.code == 0:
            if not may_go_on(self.faults, stopped_at_ms(log)):
                self.wrong.append("celld went on, and ended with 0")
            return
        if self.code != 3:
            self.wrong.append(f"the exit code is {self.code}")
        if '"critical"' not in log and "did not complete" not in log:
            self.wrong.append("no critical line says that celld ends")
        if not REASONS.search(log):
            self.wrong.append("standard error does not name what failed")

    def check_promises(self):
        """What was answered is on disk even if all is lost that was not synced; what was answered
        after the failure was on disk before it."""
        where = "--at-end" if self.code == 0 else "--at-fault"
        code, said = replay(self.daemon.disk_log, os.path.join(self.directory, "worst"), where,
                            "--base", self.base)
        if code != 0:
            self.wrong.append(said)

    def check_restart(self):
        owed = self.owed()
        self.daemon.environment = {}
        if not self.daemon.try_start():
            self.wrong.append("it does not start again")
            return
        client = self.daemon.quick_client()
        for job, ended in owed.items():
            status, document = client.request("GET", f"/v1/jobs/{job}")
            if status != 200:
                self.wrong.append(f"job {job} is lost: {status}")
            elif ended and document["state"] != ended:
                self.wrong.append(f"job {job} was {ended} and is {document['state']}")
        client.close()
        code = self.daemon.stop()
        if code != 0:
            self.wrong.append(f"started again, it ends with {code}")

    def owed(self):
        code, said = replay(self.daemon.disk_log, os.path.join(self.directory, "worst"), "--owed")
        if code != 0:
            self.wrong.append(said)
            return {}
        owed = {job: "" for job in self.old_jobs}
        owed.update({job: "" if ended == "-" or job in self.retried else ended
                     for job, ended in (line.split() for line in said.splitlines())})
        return owed


class Campaign:
    def __init__(self, options, outcome):
        self.options, self.outcome = options, outcome
        self.units = all_units()
        if options.plan is not None:
            self.units = sorted(unit for unit in self.units if unit[0].name == options.plan)

    def run(self):
        ends_at = time.monotonic() + self.options.seconds
        directory = scratch_directory()
        try:
            prepared = None
            if any(plan.prepared for plan, _ in self.units):
                prepared = prepare(os.path.join(directory, "old"))
            while self.outcome.units < self.options.count and time.monotonic() < ends_at:
                number = self.options.first + self.outcome.units
                run = Run(*self.units[number % len(self.units)], prepared)
                run.whole()
                self.judge(run, number)
        finally:
            shutil.rmtree(directory)
        print(f"{self.outcome.units} runs ({len(self.units)} are a pass): " +
              ", ".join(f"{value} {name}" for name, value in self.outcome.figures.items()) +
              f"; {len(self.outcome.failed)} failures")

    def judge(self, run, number):
        if run.wrong:
            self.outcome.fail(number)
            self.tell(run, number)
        self.outcome.add(1, {
            "calls that failed": int(bool(run.faults)),
            "runs beyond the last call": int(not run.faults),
            "ends with 3": int(run.code == 3),
            "ends with 3 while starting": int(run.code == 3 and not run.served),
            "failures that celld could do without": int(run.code == 0 and bool(run.faults))})

    def tell(self, run, number):
        failed = run.faults[0][1] if run.faults else "nothing"
        print(f"FAILURE: unit {number}: {run.plan.name}, call {run.at} ({failed} failed), kept in "
              f"{run.directory}; again: failing_disk.py --plan '{run.plan.name}' "
              f"--from {run.at - 1} --count 1")
        for wrong in run.wrong:
            print("   ", str(wrong)[:500], flush=True)


def add_options(parser):
    parser.add_argument("--plan", choices=[plan.name for plan in PLANS],
                        help="only this, its calls in their order")


def main():
    options = program.options(__doc__, add_options, chunk=CHUNK)
    program.run(options, lambda outcome: Campaign(options, outcome).run())


if __name__ == "__main__":
    main()
