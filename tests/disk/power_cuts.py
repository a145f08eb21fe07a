#!/usr/bin/env python3
"""Power cuts: a celld works under a shim that logs what it does to its disk; the replayer makes up
disks that a cut may leave behind, opens the store on each, and looks for every job that was
answered with 202. On some of them, the whole celld is started.

    power_cuts.py [--from N] [--count N] [--seconds S] [--summary FILE] [--lost-syncs N]

A unit is a disk. A load gives a log, from which a thousand disks are made. --lost-syncs is the
control: each N-th sync has not happened (1: none has, as with `synchronous=OFF`), and it is a
failure when no job is lost.
`CELLD_BINARY` names the program.
"""

import argparse
import json
import os
import shutil
import sys
import time

from shimmed import DATA, Daemon, ShimmedDaemon, a_config, replay, scratch_directory
from workload import Workload

DISKS_OF_A_LOAD = 1000
LOAD_S = 2.0
RETENTION_MS = 1000
BLOCK = 200  # Disks that are made at once; on one of them the whole celld is started.


def make_log(directory, seed, lost_syncs=0):
    """A celld under load, stopped and started again in the middle."""
    settings = {"SYNC_LOST": lost_syncs} if lost_syncs else {}
    daemon = ShimmedDaemon(a_config(retention_ms=RETENTION_MS), directory, **settings)
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
    return daemon, accepted, faults


def start_on(directory, daemon, number):
    """Starts the whole celld on a disk, and asks it for every job that it owes; what is wrong."""
    disk = os.path.join(directory, "whole")
    shutil.rmtree(disk, ignore_errors=True)
    code, owed = replay(daemon.disk_log, disk, "--export", number,
                        "--retention-ms", RETENTION_MS)
    if code != 0:
        return [owed]
    # Nothing is removed while we look.
    os.makedirs(disk, exist_ok=True)
    started = Daemon(a_config(retention_ms=86_400_000), disk)
    started.data = os.path.join(disk, DATA)
    try:
        started.start()
    except AssertionError as error:
        return [f"the whole celld does not start on disk {number}: {error}"]
    client = started.client()
    faults = []
    for line in owed.splitlines():
        job, ended = line.split()
        answer = client.get(f"/v1/jobs/{job}")
        if answer.status != 200:
            faults.append(f"the whole celld has no job {job}: {answer.status}")
        elif ended not in ("-", answer.json["state"]):
            faults.append(f"job {job} is {answer.json['state']} and was told to be {ended}")
    client.close()
    code = started.stop()
    return faults if code == 0 else [*faults, f"exit code {code}: {started.log()[-500:]}"]


class Campaign:
    def __init__(self, options):
        self.options = options
        self.done = self.failures = self.loads = self.accepted = self.starts = self.looked_for = 0
        self.ends_at = None if options.seconds is None else time.monotonic() + options.seconds

    def goes_on(self):
        if self.ends_at is not None and time.monotonic() >= self.ends_at:
            return False
        return self.done < self.options.count

    def load(self):
        """One load, and the disks that are made from it, as long as there is time."""
        number = (self.options.first + self.done) // DISKS_OF_A_LOAD
        directory = scratch_directory()
        daemon, accepted, faults = make_log(directory, number, self.options.lost_syncs)
        self.loads += 1
        self.accepted += accepted
        failures = self.tell(faults)
        begun = False
        while not begun or (self.goes_on() and self.next_disk() // DISKS_OF_A_LOAD == number):
            begun = True
            failures += self.block(directory, daemon)
        if failures and not self.options.lost_syncs:
            print(f"the log of this load is kept in {directory}")
        else:
            shutil.rmtree(directory)

    def next_disk(self):
        return self.options.first + self.done

    def block(self, directory, daemon):
        """Some of the disks of a load; how many failed."""
        first = self.next_disk()
        count = min(BLOCK - first % BLOCK, self.options.count - self.done)
        summary = os.path.join(directory, "summary.json")
        code, said = replay(daemon.disk_log, os.path.join(directory, "cut"), "--from", first,
                            "--count", count, "--retention-ms", RETENTION_MS, "--summary", summary)
        print(said, end="", flush=True)
        if code not in (0, 1):
            raise SystemExit(code)
        with open(summary, encoding="utf-8") as file:
            figures = json.load(file)
        failures = figures["failures"]
        if not self.options.lost_syncs:
            failures += self.tell(start_on(directory, daemon, first + 1))
            self.starts += 1
        self.looked_for += figures["figures"]["jobs_looked_for"]
        self.failures += figures["failures"]
        self.done += count
        return failures

    def tell(self, faults):
        for fault in faults:
            print(f"FAILURE: {fault}")
        self.failures += len(faults)
        return len(faults)

    def report(self):
        print(f"{self.done} disks after {self.loads} loads with {self.accepted} accepted jobs: "
              f"{self.looked_for} times a job was looked for, {self.starts} times the whole celld "
              f"was started, {self.failures} failures")
        if self.options.summary:
            with open(self.options.summary, "w", encoding="utf-8") as file:
                json.dump({"units": self.done, "failures": self.failures,
                           "figures": {"loads": self.loads, "jobs accepted": self.accepted,
                                       "times a job was looked for": self.looked_for,
                                       "starts of a whole celld": self.starts}}, file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int, default=1 << 40)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--summary")
    parser.add_argument("--lost-syncs", type=int, default=0, metavar="N")
    options = parser.parse_args()
    campaign = Campaign(options)
    while campaign.goes_on():
        campaign.load()
    campaign.report()
    if options.lost_syncs:
        found = campaign.failures > 0
        print("the control has found lost jobs, as it must" if found
              else "FAILURE: the control has found nothing")
        return 0 if found else 1
    return 0 if campaign.failures == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
