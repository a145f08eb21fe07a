#!/usr/bin/env python3
"""Damaged databases: celld starts on a database in which bytes have changed. It must refuse to
start, or end, with exit code 3 and a log that calls the database damaged; or answer a request with
an error; or give the answers that it gave before. A unit is a damaged database.

The damage is a flipped bit, a torn or emptied page, a page in the place of another, or a cut-off
end of the database; or a flipped bit in its write-ahead log. celld cannot tell damage to the last
two commits of the log from a power cut, so the questions avoid them. A backup reads every page,
and must fail when one of them is damaged.

A control, --unnoticed, gives each damaged page the checksum of its new content: it must find wrong
answers. `CELLD_BINARY` names the program.
"""

import http.client
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402
from daemon import Daemon, wait_until  # noqa: E402

PAGE_BYTES = 4096
CHECKSUM_BYTES = 8
JOBS = 40
JOBS_IN_LOG = 10
DAMAGED = "the database is damaged"
BROKEN = (OSError, http.client.HTTPException)
CONFIG = {
    "services": {"quick": {"type": "simulated"},
                 "fails": {"type": "simulated", "failure_rate": 1}},
    "defaults": {"pool": {"size": 4}, "retry": {"max_attempts": 1}},
    "cells": [{"customer": "*", "product": "*"}, {"customer": "bolt", "product": "*"}],
}
# An address of this process alone: after a celld has ended, its port may go to the celld of another
# test, which would answer in its place.
HOST = f"127.{random.randint(1, 254)}.{random.randint(1, 254)}.{random.randint(1, 254)}"


def a_job(number):
    """Some jobs fill pages of their own. Those of bolt stay queued, because its cell is paused."""
    job = {"customer": ("acme", "bolt")[number % 2], "product": "dns", "action": "create",
           "entity": {"type": "zone", "id": f"e{number // 3}"},
           "services": [("quick", "fails")[number % 5 == 0]],
           "labels": {"ticket": f"T-{number}"},
           "parameters": {"text": f"{number} " * (number % 7) ** 4}}
    return {**job, "delay_ms": 10**9} if number % 9 == 0 else job


def submit(client, numbers):
    """The ids of the new jobs, once those of acme have ended."""
    ids = {}
    for number in numbers:
        answer = client.post("/v1/jobs", a_job(number), **{"Idempotency-Key": f"key-{number}"})
        assert answer.status == 202, answer
        ids[number] = answer.json["id"]
    unfinished = ("queued", "running", "retrying")
    wait_until(lambda: not any(client.get("/v1/jobs", customer="acme", state=state).json["items"]
                               for state in unfinished), "acme's jobs end")
    return ids


def content(answer):
    """What does not depend on the time of the answer."""
    found = answer.json
    if "queue" in found:
        del found["queue"]["oldest_queued_ms"]
    return found


class Original:
    """A database without a write-ahead log, and as a crash left it."""

    def __init__(self, directory):
        daemon = Daemon(CONFIG, directory)
        try:
            self.make(daemon, directory)
        finally:
            daemon.kill_if_running()

    def make(self, daemon, directory):
        self.closed, self.crashed = (os.path.join(directory, name) for name in ("closed", "crashed"))
        client = daemon.start().client()
        assert client.post("/v1/admin/cells/bolt/*/pause", {}).status == 200
        ids = submit(client, range(JOBS))
        assert daemon.stop() == 0
        # Leaves no write-ahead log.
        subprocess.run([*daemon.command(), "--compact"], check=True)
        shutil.copytree(daemon.data, self.closed)
        self.asked = {self.closed: self.questions(ids)}
        client = daemon.start().client()
        ids.update(submit(client, range(JOBS, JOBS + JOBS_IN_LOG)))
        for size in (7, 8, 9):  # The last commits.
            assert client.put("/v1/admin/cells/*/*/pool", {"size": size}).status == 202
        daemon.kill()
        shutil.copytree(daemon.data, self.crashed)
        self.asked[self.crashed] = self.questions(ids)
        self.answers = {data: self.answers_of_whole(daemon, data) for data in self.asked}

    @staticmethod
    def questions(ids):
        """(method, path, body, headers) of each."""
        for_all = [("GET", f"/v1/jobs?{query}", None, None) for query in
                   ("limit=100", "customer=bolt", "state=failed", "entity_id=e3")]
        return for_all + [("GET", "/v1/cells/bolt/*", None, None)] + [
            question for number, job in ids.items() for question in (
                ("GET", f"/v1/jobs/{job}", None, None),
                ("GET", f"/v1/jobs?label.ticket=T-{number}", None, None),
                ("POST", "/v1/jobs", a_job(number), {"Idempotency-Key": f"key-{number}"}))]

    def answers_of_whole(self, daemon, data):
        shutil.rmtree(daemon.data)
        shutil.copytree(data, daemon.data)
        client = daemon.start().client()
        answers = [client.request(*question) for question in self.asked[data]]
        assert {answer.status for answer in answers} == {200}
        assert daemon.stop() == 0
        return [content(answer) for answer in answers]


def with_checksum(content, page):
    """The database, with the right checksum in a page: see src/store/page_checksums.cpp."""
    begin, end = page * PAGE_BYTES, (page + 1) * PAGE_BYTES - CHECKSUM_BYTES
    first = second = page + 1
    words = struct.iter_unpack("<II", content[begin:end])
    for even, odd in words:
        first = (first + even + second) % 2**32
        second = (second + odd + first) % 2**32
    return content[:end] + struct.pack("<II", second, first) + content[end + CHECKSUM_BYTES:]


class Damage:
    """Drawn by the number of the unit."""

    def __init__(self, number, original, unnoticed):
        draw = random.Random(f"damage {number}")
        self.data = original.closed if unnoticed else draw.choice(
            [original.closed, original.crashed])
        self.in_log = self.data == original.crashed and draw.random() < 0.7
        self.file = "celld.db-wal" if self.in_log else "celld.db"
        with open(os.path.join(self.data, self.file), "rb") as file:
            whole = file.read()
        self.kind = "flip" if self.in_log or unnoticed else draw.choice(["flip"] * 4 + [
            "torn", "empty", "displaced", "cut off"])
        self.bytes = whole
        while self.bytes == whole:
            self.at = draw.randrange(len(whole))
            self.bytes = bytes(self.apply(draw, bytearray(whole)))
        # After a crash, a page in the log may replace the damaged one.
        self.is_seen_by_backup = self.data == original.closed and not unnoticed
        if unnoticed:
            self.bytes = with_checksum(self.bytes, self.at // PAGE_BYTES)

    def apply(self, draw, content):
        page = self.at // PAGE_BYTES * PAGE_BYTES
        other = draw.randrange(len(content) // PAGE_BYTES) * PAGE_BYTES
        half = PAGE_BYTES // 2
        if self.kind == "flip":
            content[self.at] ^= 1 << draw.randrange(8)
        elif self.kind == "torn":
            content[page:page + half] = content[other:other + half]
        elif self.kind == "empty":
            content[page:page + PAGE_BYTES] = bytes(PAGE_BYTES)
        elif self.kind == "displaced":
            content[page:page + PAGE_BYTES] = content[other:other + PAGE_BYTES]
        else:
            del content[self.at:]
        return content

    def __str__(self):
        state = os.path.basename(self.data)
        return f"{self.kind} at byte {self.at} of {self.file}, {state}"


class Trial:
    """One start on a damaged database."""

    def __init__(self, directory, original, damage):
        self.original, self.damage = original, damage
        self.daemon = Daemon(CONFIG, directory, ["--listen", f"{HOST}:0", "--data",
                                                 os.path.join(directory, "data")])
        shutil.rmtree(self.daemon.data, ignore_errors=True)
        shutil.copytree(damage.data, self.daemon.data)
        with open(os.path.join(self.daemon.data, damage.file), "wb") as file:
            file.write(damage.bytes)
        if os.path.exists(self.daemon.stderr_path):
            os.unlink(self.daemon.stderr_path)
        self.faults = []

    def run(self):
        """What celld did, in a word."""
        if not self.start():
            return self.end("refused")
        client, refused = self.daemon.client(), 0
        try:
            refused = self.ask(client)
            self.back_up(client)
        except BROKEN:
            return self.end("ended")
        except (AssertionError, ValueError) as error:  # Not what openapi.json allows.
            self.faults.append(repr(error))
        if self.daemon.stop() not in (0, 3):
            self.faults.append(f"exit code {self.daemon.process.returncode}")
        return "refused some requests" if refused else "answered"

    def start(self):
        self.daemon.spawn()
        line = self.daemon.process.stdout.readline().decode()
        self.daemon.host, _, port = line.rpartition("//")[2].strip().rpartition(":")
        self.daemon.port = int(port or 0)
        return bool(line)

    def end(self, how):
        """celld ended by itself: it must say why."""
        code = self.daemon.wait()
        if code != 3 or DAMAGED not in self.daemon.log():
            self.faults.append(f"celld {how} with exit code {code}")
        return how

    def ask(self, client):
        """Compares the answers with those of the whole database. Returns the number of errors."""
        refused = 0
        questions = self.original.asked[self.damage.data]
        for question, expected in zip(questions, self.original.answers[self.damage.data]):
            answer = client.request(*question)
            if answer.status >= 500:
                refused += 1
            elif answer.status != 200 or content(answer) != expected:
                self.faults.append(f"{question}: {answer}, not {expected}")
        return refused

    def back_up(self, client):
        answer = client.get("/v1/admin/backup")
        if answer.status == 200 and self.damage.is_seen_by_backup:
            self.faults.append("a backup of a damaged database was made")


def work(options, outcome):
    until = time.monotonic() + options.seconds
    found = 0
    with tempfile.TemporaryDirectory(prefix="celld-damage-") as directory:
        original = Original(directory)
        while outcome.units < options.count and time.monotonic() < until:
            number = options.first + outcome.units
            damage = Damage(number, original, options.unnoticed)
            trial = Trial(directory, original, damage)
            try:
                did = trial.run()
            finally:
                trial.daemon.kill_if_running()
            outcome.add(1, {did: 1})
            found += bool(trial.faults)
            if trial.faults and not options.unnoticed:
                print(f"FAULT in unit {number}, {damage}: celld {did}", *trial.faults[:5],
                      trial.daemon.log()[-2000:], sep="\n  ", flush=True)
                outcome.fail(number)
    print(f"{outcome.units} damaged databases: {dict(outcome.figures)}, {found} with faults")
    if options.unnoticed and not found:
        print("FAULT: the control found no wrong answer")
        outcome.fail(options.first, outcome.units)


def main():
    options = program.options(__doc__, lambda parser: parser.add_argument(
        "--unnoticed", action="store_true", help="the control"))
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
