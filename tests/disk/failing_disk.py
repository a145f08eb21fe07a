#!/usr/bin/env python3
"""Failing disks: a celld does a bit of everything while the N-th call to its disk fails, for each N.

    failing_disk.py [--from N] [--count N] [--seconds S] [--summary FILE] [--spread] [--plan NAME]

A unit is one run. Units go through the plans in turn (what fails, from which directory it starts),
and through the calls of each; when all have failed once, they begin anew. --spread takes units that
lie far apart, for a sample. After a failure, nothing may be answered with success that was not on
disk before; celld ends with 3 and says why; and started again on the same directory, it has
everything that it had answered for. `CELLD_BINARY` names the program.
"""

import argparse
import collections
import json
import os
import re
import shutil
import signal
import struct
import sys
import time

from shimmed import (BROKEN, ENDED, Daemon, ShimmedDaemon, a_config, replay, scratch_directory)

# A checkpoint is made at 4,000 pages; a frame of the log has a page and 24 bytes.
PREPARED_LOG_BYTES = 3930 * (4096 + 24)
EXIT_DEADLINE_S = 30.0
RETENTION_MS = 86_400_000
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
            import calendar
            return calendar.timegm(seconds) * 1000 + int(text[20:23])
    return None


def prepare(directory):
    """A data directory of a celld that was killed, with a write-ahead log that is nearly full."""
    os.mkdir(directory)
    daemon = Daemon(a_config(RETENTION_MS), directory)
    daemon.start()
    client = daemon.client()
    for number in range(40):
        assert client.post("/v1/jobs", a_small_job(f"old-{number}", "quick")).status == 202
    size = 0
    log = os.path.join(daemon.data, "celld.db-wal")
    while os.path.getsize(log) < PREPARED_LOG_BYTES:
        size = size % 20 + 1
        assert client.put("/v1/admin/cells/acme/*/pool", {"size": size}).status == 202
    client.close()
    daemon.kill()
    return daemon.data


def a_small_job(entity, service, **changes):
    return {"customer": "acme", "product": "dns", "action": "create",
            "entity": {"type": "zone", "id": entity}, "services": [service], **changes}


class Script:
    """What one celld is asked to do, one request after the other. What is answered with success is
    the shim's to write down; here only that no answer is one that should not be."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.client = daemon.quick_client(timeout_s=EXIT_DEADLINE_S)
        self.jobs = []
        self.unexpected = []
        self.refused = 0

    def ask(self, method, path, body=None, statuses=(200, 202)):
        """The answer's document, or nothing when there is none."""
        try:
            status, document = self.client.request(method, path, body)
        except BROKEN:
            self.refused += 1
            return None
        if status in statuses:
            return document
        if status == 503:
            self.refused += 1
        else:
            self.unexpected.append((method, path, status, document))
        return None

    def submit(self, entity, service, **changes):
        job = self.ask("POST", "/v1/jobs", a_small_job(entity, service, **changes))
        if job is not None:
            self.jobs.append(job["id"])
        return job and f"/v1/jobs/{job['id']}"

    def run(self):
        for number in range(6):
            self.submit(f"e{number}", "quick", parameters={"text": "x" * 2000})
        self.submit("later", "quick", delay_ms=20)
        failing = self.submit("failing", "flaky", retry={"max_attempts": 1})
        waiting = self.submit("waiting", "quick", delay_ms=60_000)
        if waiting:
            self.ask("POST", waiting + "/cancel")
            self.ask("POST", waiting + "/retry")
        self.ask("PUT", "/v1/admin/cells/acme/*/pool", {"size": 3})
        self.ask("POST", "/v1/admin/cells/acme/*/pause")
        self.ask("POST", "/v1/admin/cells/acme/*/resume")
        self.ask("POST", "/v1/admin/reload")
        self.ask("GET", "/v1/admin/backup", statuses=(200, 503))
        self.submit("last", "slow")
        self.wait_for_ends(failing)
        self.client.close()

    def wait_for_ends(self, failing):
        give_up_at = time.monotonic() + EXIT_DEADLINE_S
        for job in self.jobs:
            while self.daemon.running() and time.monotonic() < give_up_at:
                seen = self.ask("GET", f"/v1/jobs/{job}")
                if seen is not None and seen["state"] in ENDED:
                    break
                time.sleep(0.002)
        if failing:
            self.ask("POST", failing + "/retry", statuses=(200, 202, 409))


class Run:
    """One celld with one fault, and what becomes of it; `wrong` says what should not be."""

    def __init__(self, plan, at, prepared):
        self.plan, self.at = plan, at
        self.directory = scratch_directory()
        self.daemon = ShimmedDaemon(a_config(RETENTION_MS), self.directory,
                                    FAULT=plan.fault.format(at),
                                    COUNT=os.path.join(self.directory, "count"))
        self.base = os.path.join(self.directory, "base")
        os.mkdir(self.base)
        if plan.prepared:
            shutil.copytree(prepared, os.path.join(self.base, "data"))
            shutil.copytree(prepared, self.daemon.data)
        self.wrong = []
        self.code = None
        self.fault = None
        self.served = False

    def calls(self):
        with open(os.path.join(self.directory, "count"), encoding="ascii") as file:
            return int(file.read() or 0)

    def whole(self):
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
        if not self.wrong:
            shutil.rmtree(self.directory)

    def work(self):
        script = Script(self.daemon)
        script.run()
        if self.daemon.running():
            self.daemon.signal(signal.SIGTERM)
        self.code = self.daemon.wait(EXIT_DEADLINE_S)
        self.wrong += [f"unexpected answer {answer}" for answer in script.unexpected]
        if self.code == 0 and self.fault is None and script.refused and not self.may_go_on():
            self.wrong.append(f"{script.refused} requests were refused, and celld went on")

    def may_go_on(self):
        """Whether celld may do without what failed: the copy of a backup, a look by a reader, the
        removal of a file, or the tidying up after everything was stopped in good order."""
        faults = faults_of(self.daemon.disk_log)
        if not faults:
            return False
        wall_ms, text = faults[0]
        stopped_ms = stopped_at_ms(self.daemon.whole_log())
        return ("celld-backup.partial" in text or text.startswith(("read ", "open ", "unlink "))
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
        return {job: "" if ended == "-" else ended
                for job, ended in (line.split() for line in said.splitlines())}
