#!/usr/bin/env python3
"""Failing disks: celld does a bit of everything while the N-th call to its disk fails, for every N.

    failing_disk.py [--from N] [--count N] [--seconds S] [--summary FILE] [--plan NAME]

A unit is one run: a plan (what fails, and the directory that celld starts with) and the number of
the call that fails. The plans take turns, and even a few units sample every phase of celld's work.
Once each unit has run, the pass is complete and the next one begins. With --plan, unit N is call
N + 1 of that plan.

After a failure, celld must not answer with success unless the result was on disk before; it must
exit with 3 and name the reason; and after a restart on the same directory, it must have everything
that it acknowledged. `CELLD_BINARY` names the program.
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
from failing_plans import PLANS
from shimmed import BROKEN, DATA, HERE, ShimmedDaemon, a_config, replay, scratch_directory

sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402

CHUNK = 50  # Runs that start with the same old directory.
FAULT_RECORD, WRITER_RECORD = 11, 12
RECORD = struct.Struct("<IIqqQ")

# A failure while opening or using the store must be reported in one of these ways.
REASONS = re.compile(r"disk I/O error|database or disk is full|unable to open database file|"
                     r"attempt to write a readonly database|database disk image is malformed|"
                     r"Input/output error|No space left on device|locking protocol|"
                     r"file is not a database|does not support a write-ahead log")


def spread(size):
    """The numbers below `size`, ordered by the fractional parts of multiples of the golden ratio.
    Any few consecutive ones are spread evenly over the whole range."""
    golden = (math.sqrt(5) - 1) / 2
    turns = sorted(range(size), key=lambda turn: (turn + 1) * golden % 1)
    return sorted(range(size), key=turns.__getitem__)


def all_units():
    """Every (plan, N), taking turns between the plans."""
    calls = {plan: [(plan, place + 1) for place in spread(plan.calls)] for plan in PLANS}
    turns = itertools.zip_longest(*calls.values())
    return [unit for turn in turns for unit in turn if unit is not None]


Fault = collections.namedtuple("Fault", "wall_ms text by_writer")


def faults_of(log):
    """The faults that the shim injected. `by_writer`: the thread, in its life, writes to the
    database."""
    with open(log, "rb") as file:
        data = file.read()
    at, found, writers = 0, [], set()
    while at < len(data):
        kind, _, thread, wall_ms, size = RECORD.unpack_from(data, at)
        at += RECORD.size
        if kind == FAULT_RECORD:
            found.append((wall_ms, data[at:at + size].decode(), thread))
        elif kind == WRITER_RECORD:
            writers.add(thread)
        at += size
    return [Fault(wall_ms, text, thread in writers) for wall_ms, text, thread in found]


def stopped_at_ms(log):
    """The time at which celld had stopped cleanly and was about to close its store."""
    for line in log.splitlines():
        if '"shut down"' in line:
            text = json.loads(line)["time"]
            seconds = time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")
            return calendar.timegm(seconds) * 1000 + int(text[20:23])
    return None


def may_continue(faults, stopped_ms):
    """Whether celld may continue despite these faults. It may for a write to a backup, a read or an
    open by a thread that never writes to the database, the removal of a file, SQLite's own sync of
    the directory (celld repeats it), and anything after a clean stop."""
    return all("celld-backup.partial" in fault.text
               or fault.text.startswith(("unlink ", f"sync {DATA} "))
               or fault.text.startswith(("read ", "open ")) and not fault.by_writer
               or (stopped_ms is not None and fault.wall_ms >= stopped_ms - 1)
               for fault in faults)


class Run:
    """One celld with one fault. `wrong` lists the broken expectations."""

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
        self.faults = []
        self.served = False
        self.retried, self.refused = set(), 0

    def whole(self):
        try:
            self.each_step()
        except (AssertionError, *BROKEN) as error:  # celld hangs or breaks off an answer.
            self.wrong.append(repr(error))
        finally:
            self.daemon.kill_if_running()
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
                self.wrong.append(f"nothing failed, but the exit code is {self.code}")
            elif self.refused:
                self.wrong.append(f"nothing failed, but {self.refused} requests were refused")
            return
        if self.code == 0:
            if not may_continue(self.faults, stopped_at_ms(log)):
                self.wrong.append("celld continued, and ended with 0")
            return
        if self.code != 3:
            self.wrong.append(f"the exit code is {self.code}")
        if '"critical"' not in log and "did not complete" not in log:
            self.wrong.append("no critical log line reports that celld ends")
        if not REASONS.search(log):
            self.wrong.append("standard error does not name what failed")

    def check_promises(self):
        """Every acknowledged result is on disk, even if everything unsynced is lost. What celld
        acknowledged after the failure was on disk before it."""
        where = "--at-end" if self.code == 0 else "--at-fault"
        retried = [word for job in self.retried for word in ("--retried", job)]
        code, output = replay(self.daemon.disk_log, os.path.join(self.directory, "worst"), where,
                              "--base", self.base, *retried)
        if code != 0:
            self.wrong.append(output)

    def check_restart(self):
        owed = self.owed()
        self.daemon.environment = {}
        if not self.daemon.try_start():
            self.wrong.append("celld does not start again")
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
            self.wrong.append(f"after a restart, celld ends with {code}")

    def owed(self):
        """The jobs that celld must have: id to final state, or to "" if any state will do."""
        code, output = replay(self.daemon.disk_log, os.path.join(self.directory, "worst"), "--owed")
        if code != 0:
            self.wrong.append(output)
            return {}
        owed = {job: "" for job in self.old_jobs}
        owed.update({job: "" if ended == "-" or job in self.retried else ended
                     for job, ended in (line.split() for line in output.splitlines())})
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
        print(f"{self.outcome.units} runs ({len(self.units)} make a pass): " +
              ", ".join(f"{value} {name}" for name, value in self.outcome.figures.items()) +
              f"; {len(self.outcome.failed)} failures")

    def judge(self, run, number):
        if run.wrong:
            self.outcome.fail(number)
            self.report(run, number)
        self.outcome.add(1, {
            "calls that failed": int(bool(run.faults)),
            "runs beyond the last call": int(not run.faults),
            "ends with 3": int(run.code == 3),
            "ends with 3 while starting": int(run.code == 3 and not run.served),
            "failures that celld could do without": int(run.code == 0 and bool(run.faults))})

    def report(self, run, number):
        failed = run.faults[0].text if run.faults else "nothing"
        print(f"FAILURE: unit {number}: {run.plan.name}, call {run.at} ({failed} failed), kept in "
              f"{run.directory}; again: failing_disk.py --plan '{run.plan.name}' "
              f"--from {run.at - 1} --count 1")
        for wrong in run.wrong:
            print("   ", str(wrong)[:500], flush=True)


def add_options(parser):
    parser.add_argument("--plan", choices=[plan.name for plan in PLANS],
                        help="run only this plan, with its calls in order")


def main():
    options = program.options(__doc__, add_options, chunk=CHUNK)
    program.run(options, lambda outcome: Campaign(options, outcome).run())


if __name__ == "__main__":
    main()
