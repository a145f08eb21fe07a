#!/usr/bin/env python3
"""Does a statement of celld cost more if the database has more jobs?

    statements.py [--jobs N [N]]

celld runs the same load on a database with few jobs and on one with many. A preloaded library
(statement_counter.cpp) counts the instructions that SQLite executes for each statement of the load.
A fault is a statement that takes much more for the load, unless BOUNDED says why it may, or for a
single row, because it passes over what it should skip. Counts do not depend on the machine.
`CELLD_BINARY` names the program, and `CELLD_STATEMENT_COUNTER` the library.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
import urllib.parse
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

from daemon import DEADLINE_S, Daemon, wait_until  # noqa: E402

FEW, MANY = 1_500, 30_000
RATIO_MAX = 2.0
# Differences below this do not count: commits have different sizes in each run.
INSTRUCTIONS_MIN = 20_000
CUSTOMERS = 5   # Of the jobs that are in the database before the load.
LOAD = 300      # Jobs of each kind in the load.
# By a part of a statement's text: why it may take more for the load.
BOUNDED = {
    "FROM jobs NOT INDEXED WHERE": "a page examines at most 10,000 rows",
    "FROM jobs_of_origin CROSS JOIN": "a page examines at most 10,000 rows",
    "FROM jobs_of_batch CROSS JOIN": "the load reads a list to its end",
    "FROM job_labels CROSS JOIN": "the load reads a list to its end",
    "FROM jobs_of_entity CROSS JOIN": "the load reads a list to its end",
    "AS keys ON keys.part = listed.part": "the load reads a list to its end",
    "FROM turns WHERE cell = ?1 AND origin = ?2": "reads jobs ahead of the workers",
    "SELECT jobs.id, jobs.cell, jobs.origin, jobs.state, jobs.place":
        "the load reads the jobs of those lists",
}
CONFIG = {
    # So that keys move to their tables all the time.
    "store": {"recent_jobs": 500},
    "services": {"dns": {"type": "simulated"}, "mail": {"type": "simulated"},
                 "down": {"type": "simulated", "failure_rate": 1},
                 "far": {"type": "pull"}},
    "defaults": {"queue": {"max_jobs": 10_000_000}, "retry": {"max_attempts": 2, "backoff_ms": 10}},
    "cells": [{"customer": "load", "pool": {"size": 16}}, {"pool": {"size": 16}}],
}


class Count(NamedTuple):
    steps: int = 0
    instructions: int = 0
    most: int = 0  # In one step.


class Load:
    """Requests of all kinds. They concern few jobs, and read little."""

    def __init__(self, daemon, dice):
        self.daemon, self.dice = daemon, dice
        self.client = daemon.client()

    def job(self, entity=None, **changes):
        entity = entity or f"{self.dice.getrandbits(64):x}.example"
        return {"customer": "load", "product": "dns", "action": "create", "services": ["dns"],
                "priority": self.dice.randint(1, 9),
                "labels": {"team": f"t{self.dice.randrange(9)}"},
                "entity": {"type": "zone", "id": entity}, **changes}

    def request(self, method, path, body=None, **headers):
        answer = self.client.request(method, path, body, headers)
        assert answer.status in (200, 202), (method, path, answer)
        return answer

    def post_batch(self, jobs):
        lines = "".join(json.dumps(job) + "\n" for job in jobs).encode()
        answer = self.request("POST", "/v1/batches", lines,
                              **{"Content-Type": "application/x-ndjson"}).json
        assert answer["accepted"] == len(jobs), answer
        return answer["id"]

    def post(self, document, path="/v1/jobs", **headers):
        return self.request("POST", path, json.dumps(document).encode(),
                            **{"Content-Type": "application/json"}, **headers).json

    def pages(self, most=4, **query):
        """Follows a list for some pages."""
        for _ in range(most):
            page = self.request("GET", "/v1/jobs?" + urllib.parse.urlencode({"limit": 50, **query}))
            cursor = page.json["next_cursor"]
            if cursor is None:
                return
            query["cursor"] = cursor

    def set_state(self, action, cell="*/*"):
        self.request("POST", f"/v1/admin/cells/{urllib.parse.quote(cell)}/{action}")

    def wait_for(self, batch, ended):
        """Waits until `ended` jobs of the batch have ended."""
        def done():
            states = self.request("GET", f"/v1/batches/{batch}").json["states"]
            return sum(states[name] for name in ("succeeded", "failed", "cancelled")) >= ended
        wait_until(done, f"{ended} jobs of the batch have ended", 10 * DEADLINE_S)

    # --- What is there before --------------------------------------------------------------------

    def fill(self, jobs):
        """Queued, scheduled and ended jobs of many customers, and one long line."""
        self.set_state("pause")
        later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
        self.ended = self.post_batch([self.job(customer="load", product="mail")
                                 for _ in range(jobs // 10)])
        for _ in range(10):
            lines = []
            for number in range(jobs // 10):
                changes = {"customer": f"c{self.dice.randrange(CUSTOMERS)}",
                           "product": self.dice.choice(["dns", "mail"])}
                if number % 10 == 0:
                    changes["run_at"] = later
                if number % 10 == 1:
                    changes["services"] = ["far"]
                if number % 10 == 2:
                    changes |= {"entity": "long.example", "customer": "c0", "product": "dns"}
                if number % 10 == 3:
                    changes["expires_at"] = later
                lines.append(self.job(**changes))
            self.post_batch(lines)
        self.wait_for(self.ended, jobs // 10)

    # --- What is counted -------------------------------------------------------------------------

    def run(self):
        self.submit()
        self.end()
        self.read()
        self.cancel()
        self.lease()
        self.reload()
        self.submit_to_the_backlog()

    def submit(self):
        self.batch = self.post_batch([self.job() for _ in range(LOAD)])
        self.line = self.post_batch([self.job("line.example") for _ in range(LOAD // 10)])
        for number in range(LOAD):
            key = {"Idempotency-Key": f"key-{number % (LOAD // 2)}"}
            self.post(self.job(f"{number % (LOAD // 2)}.example", priority=5, labels={}), **key)

    def end(self):
        self.wait_for(self.batch, LOAD)
        self.wait_for(self.line, LOAD // 10)
        failed = self.post_batch([self.job(services=["dns", "down"]) for _ in range(LOAD // 10)])
        self.wait_for(failed, LOAD // 10)
        page = self.request("GET", f"/v1/jobs?batch={failed}&limit=50").json
        for job in page["items"]:
            self.request("POST", f"/v1/jobs/{job['id']}/retry")

    def read(self):
        for state in ("queued", "running", "succeeded", "failed", "scheduled", "cancelled"):
            self.pages(state=state)
            self.pages(state=state, customer="load")
            self.pages(state=state, customer="nosuch")
        for query in ({}, {"customer": "c1"}, {"customer": "load"}, {"product": "mail"},
                      {"batch": self.batch}, {"entity_id": "line.example"},
                      {"entity_id": "long.example"}, {"entity_id": "none.example"},
                      {"label.team": "t1"}, {"label.team": "nosuch"}, {"service": "mail"}):
            self.pages(**query)
        for query in ({"batch": self.ended}, {"customer": "c1"}, {"entity_id": "long.example"},
                      {"label.team": "t1"}):
            self.pages(most=1000, **query, limit=1000)
        for path in ("/v1/cells", "/v1/cells/load/*", "/v1/services", "/v1/batches", "/metrics",
                     f"/v1/batches/{self.batch}", "/v1/schedules"):
            self.request("GET", urllib.parse.quote(path))

    def cancel(self):
        self.set_state("pause", "load/*")
        jobs = [self.post(self.job())["id"] for _ in range(LOAD // 10)]
        for job in jobs:
            self.request("POST", f"/v1/jobs/{job}/cancel")
        batch = self.post_batch([self.job() for _ in range(LOAD)])
        self.request("POST", f"/v1/batches/{batch}/cancel")
        self.wait_for(batch, LOAD)
        self.set_state("resume", "load/*")

    def lease(self):
        self.post_batch([self.job(services=["far"]) for _ in range(LOAD // 10)])
        left = LOAD // 10
        while left > 0:
            order = {"worker": "w", "max": 10, "wait_ms": 1000}
            answer = self.post(order, path="/v1/services/far/leases")
            for lease in answer["leases"]:
                self.post({}, path=f"/v1/leases/{lease['lease']}/complete")
                left -= 1

    def reload(self):
        """A new cell takes the jobs of a customer, and gives them back."""
        self.post_batch([self.job(customer="moves", run_at="2100-01-01T00:00:00Z")
                         for _ in range(LOAD)])
        for cells in ([{"customer": "moves"}], []):
            self.daemon.write_config({**CONFIG, "cells": [*cells, *CONFIG["cells"]]})
            self.request("POST", "/v1/admin/reload")

    def submit_to_the_backlog(self):
        """Jobs that wait behind all the others. None of them runs: how many would is a matter of
        time."""
        self.post_batch([self.job(customer=f"c{self.dice.randrange(CUSTOMERS)}")
                         for _ in range(LOAD)])
        self.post_batch([self.job("long.example", customer="c0") for _ in range(LOAD // 10)])


def count(jobs, directory):
    """The Counts of the load, by statement, on a database that already has `jobs` jobs."""
    flag = os.path.join(directory, "counts")
    with open(flag, "w", encoding="ascii") as file:
        file.write("0")
    daemon = Daemon(CONFIG, directory, environment={
        "LD_PRELOAD": os.environ["CELLD_STATEMENT_COUNTER"], "STATEMENT_COUNTER": flag})
    daemon.start()
    try:
        load = Load(daemon, random.Random(1))
        load.fill(jobs)
        with open(flag, "r+", encoding="ascii") as file:
            file.write("1")
        load.run()
        code = daemon.stop()
        assert code == 0, daemon.log()
    finally:
        daemon.kill_if_running()
    with open(flag, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if "\t" in line]
    return {text: Count(*map(int, numbers)) for *numbers, text in lines}


def is_much_more(few, many):
    return many - few > INSTRUCTIONS_MIN and many > RATIO_MAX * few


def is_bounded(text):
    return any(part in text for part in BOUNDED)


def faults(few, many):
    """(statement, Count with few jobs, Count with many) of those that take too much more."""
    for text, large in many.items():
        small = few.get(text, Count())
        if is_much_more(small.most, large.most) or (
                is_much_more(small.instructions, large.instructions) and not is_bounded(text)):
            yield text, small, large


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs=2, default=(FEW, MANY))
    options = parser.parse_args()
    found = []
    for jobs in options.jobs:
        directory = tempfile.mkdtemp(prefix="celld-statements-")
        try:
            found.append(count(jobs, directory))
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        print(f"{jobs} jobs: {len(found[-1])} statements, "
              f"{sum(each.instructions for each in found[-1].values())} instructions")
    bad = list(faults(*found))
    for text, small, large in bad:
        print(f"FAULT: {small} becomes {large}: {text}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
