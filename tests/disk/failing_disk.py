#!/usr/bin/env python3
"""Failing disks: a celld does a bit of everything while the N-th call to its disk fails, for all N.

    failing_disk.py [--from N] [--count N] [--seconds S] [--summary FILE] [--spread] [--plan NAME]

A unit is one run. Units go through the plans in turn (what fails, from which directory it starts),
and through the calls of each; when all have failed once, that was a pass, and they begin anew.
Without --count and --seconds, a whole pass is made. --spread takes units that lie far apart, for a
sample. After a failure, nothing may be answered with success that was not on disk before; celld
ends with 3 and says why; and started again on the same directory, it has everything that it had
answered for. `CELLD_BINARY` names the program.
"""

import argparse
import calendar
import collections
import json
import os
import re
import shutil
import signal
import struct
import sys
import time

from bit_of_everything import EXIT_DEADLINE_S, RETENTION_MS, Script, prepare
from shimmed import BROKEN, DATA, ShimmedDaemon, a_config, replay, scratch_directory

SPREAD = 7919  # Prime, so that a sample goes through all units.
FAULT_RECORD = 11
RECORD = struct.Struct("<IIqqQ")

Plan = collections.namedtuple("Plan", "name prepared fault")
PLANS = [Plan(f"{start}, {kind} {error} {span}", start == "old", f"{kind}:{{}}:{error}:{span}")
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


class Run:
    """One celld with one fault, and what becomes of it; `wrong` says what should not be."""

    def __init__(self, plan, at, prepared):
        self.plan, self.at = plan, at
        self.directory = scratch_directory()
        self.daemon = ShimmedDaemon(a_config(RETENTION_MS), self.directory,
                                    FAULT=plan.fault.format(at),
                                    COUNT=os.path.join(self.directory, "count"))
        self.old_jobs = prepared[1] if plan.prepared else []
        self.base = os.path.join(self.directory, "base")
        os.mkdir(self.base)
        if plan.prepared:
            shutil.copytree(prepared[0], os.path.join(self.base, DATA))
            shutil.copytree(prepared[0], self.daemon.data)
        self.wrong = []
        self.code = None
        self.fault = None
        self.served = False
        self.calls = 0
        self.retried = set()

    def counted(self):
        with open(os.path.join(self.directory, "count"), encoding="ascii") as file:
            return int(file.read() or 0)

    def whole(self):
        try:
            self.each_step()
        except (AssertionError, *BROKEN) as error:  # It hangs, or breaks off what it should answer.
            self.wrong.append(repr(error))
            if self.daemon.running():
                self.daemon.kill()
        self.calls = self.counted()
        if not self.wrong:
            shutil.rmtree(self.directory)

    def each_step(self):
        self.served = self.daemon.try_start()
        if self.served:
            self.work()
        else:
            self.code = self.daemon.process.returncode
        faults = faults_of(self.daemon.disk_log)
        self.fault = faults[0] if faults else None
        self.check_end()
        self.check_promises()
        self.check_restart()

    def work(self):
        script = Script(self.daemon)
        script.run()
        self.retried = script.retried
        if self.daemon.running():
            self.daemon.signal(signal.SIGTERM)
        self.code = self.daemon.wait(EXIT_DEADLINE_S)
        self.wrong += [f"unexpected answer {answer}" for answer in script.unexpected]
        if self.code == 0 and self.fault is None and script.refused and not self.may_go_on():
            self.wrong.append(f"{script.refused} requests were refused, and celld went on")

    def may_go_on(self):
        """Whether celld may do without what failed: the copy of a backup, a look by a reader, the
        removal of a file, another sync of the directory after its own, or the tidying up after
        everything was stopped in good order."""
        faults = faults_of(self.daemon.disk_log)
        if not faults:
            return False
        wall_ms, text = faults[0]
        stopped_ms = stopped_at_ms(self.daemon.whole_log())
        return ("celld-backup.partial" in text
                or text.startswith(("read ", "open ", "unlink ", f"sync {DATA} "))
                or (stopped_ms is not None and wall_ms >= stopped_ms - 1))

    def check_end(self):
        log = self.daemon.whole_log()
        if self.fault is None:
            if self.code != 0:
                self.wrong.append(f"nothing failed, and the exit code is {self.code}")
            return
        if self.code == 0:
            if not self.may_go_on():
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
    def __init__(self, options):
        self.options = options
        self.directory = scratch_directory()
        self.plans = [plan for plan in PLANS if options.plan in (None, plan.name)]
        self.prepared = None
        if any(plan.prepared for plan in self.plans):
            self.prepared = prepare(os.path.join(self.directory, "old"))
        self.figures = collections.Counter()
        self.failures = self.done = 0
        self.failed = []
        self.units = self.all_units()

    def all_units(self):
        """Every (plan, N), found by a run of each plan in which nothing fails."""
        calls = {}
        for plan in self.plans:
            kind = (plan.prepared, plan.fault.split(":")[0])
            if kind not in calls:
                run = Run(plan, 1 << 60, self.prepared)
                run.whole()
                self.judge(run, -1)
                calls[kind] = run.calls
        most = {plan: calls[plan.prepared, plan.fault.split(":")[0]] for plan in self.plans}
        for plan in self.plans:
            print(f"{plan.name}: {most[plan]} calls")
        return [(plan, at) for at in range(1, max(most.values()) + 1)
                for plan in self.plans if at <= most[plan]]

    def run(self):
        ends_at = None if self.options.seconds is None else time.monotonic() + self.options.seconds
        count = self.options.count
        if count is None:
            count = len(self.units) if ends_at is None else 1 << 40
        while self.done < count:
            if ends_at is not None and time.monotonic() >= ends_at:
                break
            number = self.options.first + self.done
            place = number * SPREAD if self.options.spread else number
            plan, at = self.units[place % len(self.units)]
            run = Run(plan, at, self.prepared)
            run.whole()
            self.judge(run, number)
            self.done += 1
        shutil.rmtree(self.directory)

    def judge(self, run, number):
        self.figures["hit"] += run.fault is not None
        self.figures["exit_3"] += run.code == 3
        self.figures["exit_3_at_start"] += run.code == 3 and not run.served
        self.figures["went_on"] += run.code == 0 and run.fault is not None
        if not run.wrong:
            return
        self.failures += 1
        if number >= 0:
            self.failed.append({"from": number, "count": 1})
        failed = run.fault[1] if run.fault else "nothing"
        print(f"FAILURE: unit {number}: {run.plan.name}, call {run.at} ({failed} failed), kept in "
              f"{run.directory}; again: failing_disk.py --plan '{run.plan.name}' "
              f"--from {run.at - 1} --count 1")
        for wrong in run.wrong:
            print("   ", str(wrong)[:500], flush=True)

    def report(self):
        figures = self.figures
        print(f"{self.done} runs ({len(self.units)} make a pass): {figures['hit']} in which a call "
              f"failed; after {figures['exit_3']} of these celld ended with 3 "
              f"({figures['exit_3_at_start']} while starting), after {figures['went_on']} it could "
              f"go on; {self.failures} failures")
        if self.options.summary:
            with open(self.options.summary, "w", encoding="utf-8") as file:
                json.dump({"units": self.done, "failures": self.failures,
                           "failed": self.failed, "figures": {
                               "calls that failed": figures["hit"],
                               "ends with 3": figures["exit_3"],
                               "ends with 3 while starting": figures["exit_3_at_start"],
                               "failures that celld could do without": figures["went_on"]}}, file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--summary")
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--plan", choices=[plan.name for plan in PLANS])
    campaign = Campaign(parser.parse_args())
    campaign.run()
    campaign.report()
    return 0 if campaign.failures == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
