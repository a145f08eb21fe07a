#!/usr/bin/env python3
"""Power cuts: celld runs under a shim that logs what it does to its disk. The replayer constructs
disks that a power cut may leave behind, opens the store on each, and looks for every job that was
answered with 202. On some of the disks, the whole celld is started.

A unit is a disk. Each load produces a log, from which five hundred disks are made. Two controls
make celld wrong: --synchronous makes SQLite use another value than FULL, and --early-answers counts
each answer as sent N records of the log earlier, as if celld had not waited for the end of the
commit. Such a run fails unless it finds the losses that --expect names. `CELLD_BINARY` names the
program.
"""

import collections
import json
import os
import shutil
import sys
import time

from shimmed import DATA, HERE, Daemon, ShimmedDaemon, a_config, replay, scratch_directory
from workload import Workload

sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402

DISKS_OF_A_LOAD = 500
# A busy celld may do little in a load. A control ends with the load in which it finds the last loss.
DISKS_OF_A_LOAD_OF_A_CONTROL = 50
LOAD_S = 1.4
RETENTION_MS = 1000
BLOCK = 250  # Disks per call of the replayer; the whole celld is started on one of them.


def make_log(daemon, seed):
    """Puts celld under load and restarts it halfway. Returns (accepted jobs, faults)."""
    accepted, faults = 0, []
    for half in range(2):
        daemon.start()
        load = Workload(daemon, seed * 2 + half)
        load.run(LOAD_S / 2)
        accepted += load.accepted
        faults += load.unexpected[:3]
        code = daemon.stop()
        if code != 0:
            faults.append(f"exit code {code}: {daemon.log()[-500:]}")
    return accepted, faults


def start_on(directory, daemon, number):
    """Starts the whole celld on a disk and requests every job that must be there. Returns the
    faults."""
    disk = os.path.join(directory, "whole")
    shutil.rmtree(disk, ignore_errors=True)
    code, owed = replay(daemon.disk_log, disk, "--export", number,
                        "--retention-ms", RETENTION_MS)
    if code != 0:
        return [owed]
    # A long retention, so that celld removes no job during the check.
    os.makedirs(disk, exist_ok=True)
    started = Daemon(a_config(retention_ms=86_400_000), disk)
    started.data = os.path.join(disk, DATA)
    try:
        return check_jobs(started, owed)
    except AssertionError as error:
        return [f"the whole celld fails on disk {number}: {error}"]
    finally:
        started.kill_if_running()


def check_jobs(started, owed):
    started.start()
    client = started.client()
    faults = []
    for line in owed.splitlines():
        job, ended = line.split()
        answer = client.get(f"/v1/jobs/{job}")
        if answer.status != 200:
            faults.append(f"the whole celld has no job {job}: {answer.status}")
        elif ended not in ("-", answer.json["state"]):
            faults.append(f"job {job} is {answer.json['state']} but was reported as {ended}")
    client.close()
    code = started.stop()
    return faults if code == 0 else [*faults, f"exit code {code}: {started.log()[-500:]}"]


class Campaign:
    def __init__(self, options, outcome):
        self.options, self.outcome = options, outcome
        self.ends_at = time.monotonic() + options.seconds
        # By kind of loss: the number of disks.
        self.losers = collections.Counter()
        self.control = is_control(options)
        self.disks_of_a_load = DISKS_OF_A_LOAD_OF_A_CONTROL if self.control else DISKS_OF_A_LOAD

    def next_disk(self):
        return self.options.first + self.outcome.units

    def continues(self):
        return (self.outcome.units < self.options.count and time.monotonic() < self.ends_at
                and not (self.control and self.found_all()))

    def found_all(self):
        """Whether each loss that a control expects was found."""
        return all(any(self.losers[loss] for loss in self.losers if loss.startswith(expected))
                   for expected in self.options.expect)

    def run(self):
        while self.continues():
            self.load(self.next_disk() // self.disks_of_a_load)
        if self.control:
            self.judge_control()
        figures = self.outcome.figures
        print(f"{self.outcome.units} disks after {figures['loads']} loads with "
              f"{figures['jobs accepted']} accepted jobs: {figures['times a job was looked for']} "
              f"checks of a job, {figures['starts of a whole celld']} starts of the whole celld, "
              f"{len(self.outcome.failed)} failures")

    def load(self, number):
        """Runs one load and checks the disks made from it, until the time is up."""
        directory = scratch_directory()
        daemon = ShimmedDaemon(a_config(RETENTION_MS), directory,
                               SYNCHRONOUS=self.options.synchronous)
        failed_before = len(self.outcome.failed)
        try:
            accepted, faults = make_log(daemon, number)
            self.outcome.figures.update({"loads": 1, "jobs accepted": accepted})
            self.block(directory, daemon, faults)
            while self.continues() and self.next_disk() // self.disks_of_a_load == number:
                self.block(directory, daemon, [])
        finally:
            daemon.kill_if_running()
            if len(self.outcome.failed) == failed_before:
                shutil.rmtree(directory)
            else:
                print(f"the log of this load is kept in {directory}")

    def block(self, directory, daemon, faults):
        """Checks the next disks of a load. `faults` are those of the load itself."""
        first = self.next_disk()
        size = min(BLOCK, self.disks_of_a_load)
        count = min(size - first % size, self.options.count - self.outcome.units)
        summary = os.path.join(directory, "summary.json")
        code, output = replay(daemon.disk_log, os.path.join(directory, "cut"), "--from", first,
                              "--count", count, "--retention-ms", RETENTION_MS,
                              "--early-answers", self.options.early_answers,
                              "--summary", summary)
        print(output, end="", flush=True)
        if code not in (0, 1):
            raise SystemExit(code)
        with open(summary, encoding="utf-8") as file:
            found = json.load(file)
        self.losers.update(found["losers"])
        figures = {"times a job was looked for": found["figures"]["jobs_looked_for"]}
        if not self.control:
            faults += start_on(directory, daemon, first + 1)
            figures["starts of a whole celld"] = 1
            for fault in faults:
                print(f"FAILURE: {fault}")
            if faults or found["failures"]:
                self.outcome.fail(first, count)
        self.outcome.add(count, figures)

    def judge_control(self):
        for loss, disks in self.losers.items():
            print(f"on {disks} of {self.outcome.units} disks: {loss}...")
        for beginning in self.options.expect:
            if not any(disks > 0 for loss, disks in self.losers.items()
                       if loss.startswith(beginning)):
                print(f"FAILURE: celld is wrong, but nothing was found: {beginning}...")
                self.outcome.fail(self.options.first, self.outcome.units)


def is_control(options):
    return bool(options.synchronous or options.early_answers)


def add_options(parser):
    parser.add_argument("--synchronous", default="", metavar="VALUE",
                        help="control: SQLite's setting of that name")
    parser.add_argument("--early-answers", type=int, default=0, metavar="N",
                        help="control: answers count as sent N records earlier")
    parser.add_argument("--expect", nargs="+", default=["lost: job "], metavar="LOSS",
                        help="the beginnings of the losses that a control must find")


def main():
    options = program.options(__doc__, add_options, chunk=DISKS_OF_A_LOAD)
    if is_control(options):
        options.workers = 1  # One process has to see all the disks to judge the control.
    program.run(options, lambda outcome: Campaign(options, outcome).run())


if __name__ == "__main__":
    main()
