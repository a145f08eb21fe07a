"""celld under the disk shim, and a fast client that checks nothing.

`CELLD_BINARY` names the program, `CELLD_DISK_SHIM` the shim and `CELLD_POWER_CUTS` the replayer.
The last two default to the directory of the first.
"""

import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

from daemon import Daemon  # noqa: E402

BESIDE = os.path.dirname(os.environ["CELLD_BINARY"])
SHIM = os.environ.get("CELLD_DISK_SHIM", os.path.join(BESIDE, "celld_disk_shim.so"))
POWER_CUTS = os.environ.get("CELLD_POWER_CUTS", os.path.join(BESIDE, "celld_power_cuts"))
# A sanitizer's runtime must be the first preloaded library.
RUNTIMES = re.findall(r"=> (\S*/lib[at]san\S*)", subprocess.run(
    ["ldd", os.environ["CELLD_BINARY"]], check=True, capture_output=True, text=True).stdout)
# Below the watched directory. celld has to create two directories for it.
DATA = os.path.join("var", "data")
BROKEN = (OSError, http.client.HTTPException)
TEXT_BYTES = (0, 10, 10, 10, 100, 100, 100, 500, 500, 6000)
ENDED = ("succeeded", "failed", "cancelled")


def scratch_directory():
    """In memory if there is room: these tests simulate the disk anyway."""
    memory = "/dev/shm"
    roomy = os.path.isdir(memory) and shutil.disk_usage(memory).free > 2 << 30
    return os.path.realpath(tempfile.mkdtemp(prefix="celld-disk-", dir=memory if roomy else None))


class ShimmedDaemon(Daemon):
    """celld under the shim. `settings` are variables of the shim without their prefix. The shim's
    log and the log of celld lie beside the watched directory."""

    def __init__(self, config, directory, **settings):
        self.watched = os.path.join(directory, "disk")
        os.mkdir(self.watched)
        super().__init__(config, self.watched)
        self.data = os.path.join(self.watched, DATA)
        self.stderr_path = os.path.join(directory, "celld.log")
        self.disk_log = os.path.join(directory, "disk.log")
        self.shim(**settings)

    def shim(self, **settings):
        """Sets the variables for the next start."""
        self.environment = {"LD_PRELOAD": ":".join([*RUNTIMES, SHIM]),
                            "CELLD_DISK_ROOT": self.watched, "CELLD_DISK_LOG": self.disk_log}
        self.environment.update({f"CELLD_DISK_{name}": str(value)
                                 for name, value in settings.items()})

    def try_start(self):
        """True if celld serves, False if it has ended."""
        try:
            self.start()
        except AssertionError:
            return False
        return True

    def quick_client(self, timeout_s=60.0):
        return QuickClient(self.port, timeout_s)

    def whole_log(self):
        with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
            return file.read()


class QuickClient:
    """One keep-alive connection; answers are (status, document)."""

    def __init__(self, port, timeout_s):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)

    def request(self, method, path, body=None, headers=None):
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body),
                                    {"Content-Type": "application/json", **(headers or {})})
            response = self.connection.getresponse()
            text = response.read()
        except Exception:
            self.connection.close()
            raise
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, None

    def close(self):
        self.connection.close()


def replay(log, scratch, *arguments):
    """Runs the replayer. Returns (exit code, output)."""
    done = subprocess.run([POWER_CUTS, "--log", log, "--scratch", scratch, *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def a_config(retention_ms=1000, **changes):
    """Three cells and simulated services, one of which often fails."""
    config = {
        "store": {"recent_jobs": 100},  # So that celld writes its indexes behind all the time.
        "services": {"quick": {"type": "simulated", "latency_ms": {"min": 0, "max": 5}},
                     "slow": {"type": "simulated", "latency_ms": {"min": 20, "max": 300}},
                     "flaky": {"type": "simulated", "latency_ms": {"min": 0, "max": 10},
                               "failure_rate": 0.6}},
        "defaults": {"pool": {"size": 8}, "timeout_ms": 20000,
                     "retry": {"max_attempts": 2, "backoff_ms": 20, "backoff_max_ms": 50}},
        "cells": [{"customer": "acme"}, {"customer": "evil", "product": "dns"},
                  {"customer": "*", "product": "*"}],
        "retention_ms": retention_ms, "shutdown_grace_ms": 5000,
    }
    config.update(changes)
    return config


def a_job(chance: random.Random):
    services = chance.choice((["quick"], ["quick"], ["slow"], ["flaky"], ["quick", "flaky"],
                              ["slow", "quick"]))
    job = {"customer": chance.choice(("acme", "evil", "other")),
           "product": chance.choice(("dns", "mail")), "action": "create",
           "entity": {"type": "zone", "id": f"e{chance.randrange(200)}"}, "services": services,
           "parameters": {"text": "x" * chance.choice(TEXT_BYTES)},
           "priority": chance.randint(1, 9)}
    if chance.random() < 0.2:
        job["labels"] = {"ticket": f"T-{chance.randrange(50)}"}
    if chance.random() < 0.1:
        job["delay_ms"] = chance.randint(1, 1500)
    return job


def add_key(job, key):
    """Gives a submission an idempotency key, which is also a label so that answers show it."""
    job["idempotency_key"] = key
    job.setdefault("labels", {})["key"] = key


def end(daemon):
    """Ends celld unless it has ended already. Returns its exit code."""
    if daemon.running():
        daemon.signal(signal.SIGTERM)
    return daemon.wait()
