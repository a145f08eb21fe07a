"""A celld that is killed while it brings the database of the first release up to date."""

import contextlib
import os
import random
import select
import shutil
import sqlite3
import sys
import time
import unittest

from daemon import EndToEnd, a_job, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
OLD_VERSION = 1
GOLDEN = os.path.join(HERE, "..", "unit", "src", "store", "golden", f"version_{OLD_VERSION}.sql")
# How many copies each job in these states gets, and the number of pairs of queued jobs.
ENDED_COPIES, SCHEDULED_COPIES, QUEUED_PAIRS = 3000, 300, 300
SCHEDULED, QUEUED, RETRYING, SUCCEEDED, FAILED = 0, 1, 3, 5, 6  # As in cells/model/job.hpp.
A_WEEK_MS = 7 * 86_400_000
ROUNDS = 3
ROUNDS_MAX = 20  # If no kill of the first falls into the migration.
KILLS_IN_A_ROW = 4

# The cells are those of golden/make.
CONFIG = {"services": {name: {"type": "simulated", "latency_ms": {"min": 0, "max": 0}}
                       for name in ("works", "works2", "refuses", "waits", "hangs")},
          "cells": [{"customer": "acme"}, {"product": "mail", "per": ["customer"]},
                    {"customer": "*", "product": "*"}],
          "retention_ms": 3_155_760_000_000}


def copy_jobs(database, state, numbers, **changes):
    """Adds copies of the jobs in this state; in `changes`, `n` is the number of a copy. An entity
    has the jobs of two numbers."""
    changes = {"id": "id + n", "entity_id": "entity_id || '-' || n / 2", **changes}
    columns = [row[1] for row in database.execute("PRAGMA table_info(jobs)")]
    database.execute(
        "INSERT INTO jobs WITH RECURSIVE copies (n) AS"
        f" (VALUES (2) UNION ALL SELECT n + 1 FROM copies WHERE n <= {numbers})"
        f" SELECT {', '.join(changes.get(column, column) for column in columns)}"
        f" FROM jobs CROSS JOIN copies WHERE state = {state}")


def make_old_database(path):
    now_ms = int(time.time() * 1000)
    due_at = now_ms + A_WEEK_MS
    with open(GOLDEN, encoding="utf-8") as golden, \
            contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(golden.read())
        for state in (SUCCEEDED, FAILED):
            copy_jobs(database, state, ENDED_COPIES)
        copy_jobs(database, SCHEDULED, SCHEDULED_COPIES)
        # The first of each two heads their line, and is runnable.
        copy_jobs(database, QUEUED, 2 * QUEUED_PAIRS, place="id + n", marks="1 - n % 2",
                  turn="iif(n % 2, 10 + state, 10 - priority)")
        database.execute(f"UPDATE jobs SET due_at = {due_at}, run_at = {due_at}, expires_at = NULL"
                         f" WHERE state = {SCHEDULED}")
        database.execute(f"UPDATE jobs SET due_at = {now_ms}, next_attempt_at = {now_ms}"
                         f" WHERE state = {RETRYING}")
        for name, which in (("scheduled", f"state = {SCHEDULED}"), ("queued", f"state = {QUEUED}"),
                            ("runnable", "turn < 10")):
            database.execute(f"UPDATE routes SET {name} = (SELECT count(*) FROM jobs WHERE {which}"
                             " AND cell = routes.cell AND origin = routes.origin)")
        database.commit()


def query(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute(sql).fetchall()


class Migration(EndToEnd):
    def setUp(self):
        super().setUp()
        self.old = os.path.join(self.directory, "old.db")
        make_old_database(self.old)
        names = [row[1] for row in query(self.old, "PRAGMA table_info(jobs)")]
        self.all_jobs = f"SELECT {', '.join(names)} FROM jobs"
        self.state_at = names.index("state")
        self.jobs = query(self.old, self.all_jobs)
        self.data = os.path.join(self.directory, "data")
        self.path = os.path.join(self.data, "celld.db")
        self.restore()

    def restore(self):
        shutil.rmtree(self.data, ignore_errors=True)
        os.mkdir(self.data)
        shutil.copy(self.old, self.path)

    @staticmethod
    def version_of(path):
        return query(path, "PRAGMA user_version")[0][0]

    def version_after_kill(self):
        """Reads a copy: SQLite would tidy up what the kill has left."""
        copy = os.path.join(self.directory, "copy")
        shutil.copytree(self.data, copy)
        version = self.version_of(os.path.join(copy, "celld.db"))
        shutil.rmtree(copy)
        return version

    def check(self):
        """celld, which has just started, has every job, runs those that waited, and a new one."""
        def counts(*names):
            cells = self.client.get("/v1/cells").json["items"]
            return sum(cell["queue"][name] for cell in cells for name in names)
        self.assertEqual(self.wait_for_end(self.submit(a_job(services=["works"])))["state"],
                         "succeeded")
        wait_until(lambda: counts("queued", "running", "retrying") == 0, "the queued jobs have run")
        states = [job[self.state_at] for job in self.jobs]
        self.assertEqual(counts("scheduled"), states.count(SCHEDULED))
        self.client.close()
        self.assertEqual(self.daemon.stop(), 0, self.daemon.log())
        after = {job[0]: job for job in query(self.path, self.all_jobs)}
        self.assertEqual(len(after), len(self.jobs) + 1)
        for job in self.jobs:
            if job[self.state_at] in (SCHEDULED, SUCCEEDED, FAILED):
                self.assertEqual(after[job[0]], job)
            else:
                self.assertEqual(after[job[0]][self.state_at], SUCCEEDED, job)

    def kill_after(self, seconds):
        """Starts celld, and kills it. Returns the schema version that the database has then, and
        after how long celld served, if it did."""
        began_at = time.monotonic()
        self.daemon.spawn()
        served = select.select([self.daemon.process.stdout], [], [], seconds)[0]
        served_s = time.monotonic() - began_at if served else None
        self.daemon.kill()
        return self.version_after_kill(), served_s

    def test_a_celld_that_is_killed_while_it_migrates_an_old_database_loses_no_job(self):
        began_at = time.monotonic()
        self.start(CONFIG)
        start_s = time.monotonic() - began_at
        self.check()
        new_version = self.version_of(self.path)
        dice = random.Random(1)
        reached = []
        for number in range(ROUNDS_MAX):
            if number >= ROUNDS and any(OLD_VERSION < version < new_version for version in reached):
                break
            self.restore()
            for kill in range(KILLS_IN_A_ROW):
                # A start migrates in its first half, and then rewrites the database.
                share = 0.1 + 0.6 * (kill + dice.random()) / KILLS_IN_A_ROW
                version, served_s = self.kill_after(share * start_s)
                reached.append(version)
                if served_s and kill == 0:
                    start_s = served_s  # The machine is less busy now.
                if version == new_version:
                    break  # Jobs may have run, and the third interruption would fail them.
            self.restart()
            self.check()
        print(f"killed at the versions {reached}", file=sys.stderr)
        self.assertTrue(any(OLD_VERSION < version < new_version for version in reached), reached)


if __name__ == "__main__":
    unittest.main()
