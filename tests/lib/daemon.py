"""The daemon under test, a client for it, and the base class of the end-to-end tests.

The tests know only celld's program, its API documentation and its database file. `CELLD_BINARY`
names the program.
"""

import contextlib
import http.client
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import openapi_document
from machine import Machine
from provider import Provider

# The factor by which everything may be slower than usual; set for sanitizer builds.
SLOWDOWN = float(os.environ.get("CELLD_TEST_SLOWDOWN", "1"))
DEADLINE_S = 30.0 * SLOWDOWN  # For events that must happen; generous, as the machine may be busy.
PAUSE_S_MAX = 0.05
ENDED = ("succeeded", "failed", "cancelled")


def wait_until(condition, what, deadline_s=DEADLINE_S):
    """Polls until `condition()` is true, and returns its result. Polls less often with time, so that
    tests that wait for long leave the processors to others."""
    give_up_at = time.monotonic() + deadline_s
    pause_s = 0.005
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > give_up_at:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        time.sleep(pause_s)
        pause_s = min(1.2 * pause_s, PAUSE_S_MAX)


def stays(condition, what, seconds=0.3):
    """Checks for a while, and at its end, that `condition()` stays true: for events that must not
    happen."""
    until = time.monotonic() + seconds
    is_last = False
    while not is_last:
        is_last = time.monotonic() >= until
        if not condition():
            raise AssertionError(f"did not stay: {what}")
        time.sleep(0.01)


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def pointers(self):
        return sorted(error["pointer"] for error in self.json.get("errors", []))

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:2000]!r}"


class Client:
    """One keep-alive connection, for one thread. Checks every answer against openapi.json."""

    def __init__(self, host, port, timeout_s=70.0):
        self.connection = http.client.HTTPConnection(host, port, timeout=timeout_s)

    def request(self, method, path, body=None, headers=None):
        """Sends `body` as it is if it is bytes, otherwise as JSON."""
        headers = dict(headers or {})
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        try:
            self.connection.request(method, path, body=body, headers=headers)
            response = self.connection.getresponse()
            answer = Answer(response, response.read())
        except Exception:
            self.connection.close()
            raise
        openapi_document.check(method, path, answer)
        return answer

    def get(self, path, **query):
        if query:
            path += "?" + urllib.parse.urlencode(query)
        return self.request("GET", path)

    def post(self, path, body, **headers):
        return self.request("POST", path, body, headers)

    def put(self, path, body):
        return self.request("PUT", path, body)

    def delete(self, path):
        return self.request("DELETE", path)

    def close(self):
        self.connection.close()


class Daemon:
    """A celld with one data directory. It can be killed and started again."""

    def __init__(self, config, directory, arguments=None, environment=None):
        self.directory = directory
        self.data = os.path.join(directory, "data")
        self.config_path = os.path.join(directory, "celld.json")
        self.stderr_path = os.path.join(directory, "celld.log")
        self.write_config(config)
        self.arguments = arguments
        self.environment = environment or {}
        self.pass_fds = ()
        self.process = None
        self.host = self.port = None

    def write_config(self, config):
        with open(self.config_path, "w", encoding="utf-8") as file:
            json.dump(config, file)

    def command(self):
        arguments = self.arguments
        if arguments is None:
            arguments = ["--listen", "127.0.0.1:0", "--data", self.data]
        return [os.environ["CELLD_BINARY"], "--config", self.config_path, *arguments]

    def spawn(self):
        """Starts celld without waiting until it serves."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CELLD_")}
        environment.update(self.environment)
        with open(self.stderr_path, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=log,
                                            stdin=subprocess.DEVNULL, env=environment,
                                            cwd=self.directory, pass_fds=self.pass_fds)

    def start(self):
        self.spawn()
        readable, _, _ = select.select([self.process.stdout], [], [], DEADLINE_S)
        line = self.process.stdout.readline().decode() if readable else ""
        prefix = "celld listening on http://"
        if not line.startswith(prefix):
            self.kill()
            raise AssertionError(f"celld does not serve; it wrote {line!r}\n{self.log()}")
        self.host, _, port = line[len(prefix):].strip().rpartition(":")
        self.port = int(port)
        return self

    def client(self, timeout_s=70.0):
        return Client(self.host.strip("[]"), self.port, timeout_s)

    def log(self):
        with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
            return file.read()[-60000:]

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, deadline_s=DEADLINE_S):
        """Waits for celld to end; returns its exit code."""
        try:
            code = self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"celld still runs after {deadline_s} s\n{self.log()}") from None
        self.process.stdout.close()
        return code

    def stop(self, deadline_s=DEADLINE_S):
        self.signal(signal.SIGTERM)
        return self.wait(deadline_s)

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE_S)
        self.process.stdout.close()

    def running(self):
        return self.process is not None and self.process.poll() is None

    def kill_if_running(self):
        if self.running():
            self.kill()


def a_config(provider, **changes):
    """Two services at `provider`, one cell for all jobs, and fast retries."""
    config = {
        "services": {"dns": {"type": "http", "url": provider.url + "/dns"},
                     "billing": {"type": "http", "url": provider.url + "/billing"}},
        "defaults": {"pool": {"size": 4}, "timeout_ms": 20000,
                     "retry": {"max_attempts": 3, "backoff_ms": 20, "backoff_max_ms": 100}},
        "cells": [{"customer": "*", "product": "*"}],
        "shutdown_grace_ms": 10000,
    }
    config.update(changes)
    return config


def a_job(entity_id="example.com", **changes):
    job = {"customer": "acme", "product": "dns", "action": "create",
           "entity": {"type": "zone", "id": entity_id}, "services": ["dns"]}
    job.update(changes)
    return job


class EndToEnd(unittest.TestCase):
    """A fake provider and, once a test has called `start`, a daemon and a client."""

    variables = None  # More variables of the daemon's environment.
    arguments = None  # The daemon's arguments, in place of the usual ones.

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="celld-e2e-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.provider = Provider()
        self.addCleanup(self.provider.close)
        self.daemon = self.client = None
        self.machine = Machine()

    def assert_in_time(self, what, took_s, most_s):
        """`took_s` is below `most_s`, unless the machine was too busy to tell."""
        self.assertTrue(self.machine.is_in_time(what, took_s, most_s),
                        f"{what} took {took_s:.2f} s, not {most_s:.2f}")

    def start(self, config=None, **changes):
        self.daemon = Daemon(config or a_config(self.provider, **changes), self.directory,
                             self.arguments, self.variables)
        self.daemon.start()
        self.client = self.daemon.client()
        self.addCleanup(self.end)
        return self.client

    def end(self):
        """Checks that celld still runs at the end of a test, and stops with exit code 0."""
        self.client.close()
        with contextlib.suppress(ConnectionError):
            self.provider.release_all()
        if self.daemon.process.returncode is not None:
            return  # The test stopped it, and checked the exit code.
        code = self.daemon.stop()
        if code != 0:
            print(self.daemon.log(), file=sys.stderr)
        self.assertEqual(code, 0, "celld's exit code")

    def restart(self, config=None):
        self.client.close()
        if config is not None:
            self.daemon.write_config(config)
        self.daemon.start()
        self.client = self.daemon.client()
        return self.client

    def submit(self, job, **headers):
        answer = self.client.post("/v1/jobs", job, **headers)
        self.assertEqual(answer.status, 202, answer)
        return answer.json["id"]

    def job(self, job_id):
        answer = self.client.get(f"/v1/jobs/{job_id}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def wait_for_state(self, job_id, *states, deadline_s=DEADLINE_S):
        def reached():
            job = self.job(job_id)
            return job if job["state"] in states else None
        return wait_until(reached, f"job {job_id} is {' or '.join(states)}", deadline_s)

    def wait_for_end(self, job_id, deadline_s=DEADLINE_S):
        return self.wait_for_state(job_id, *ENDED, deadline_s=deadline_s)

    def cell(self, customer="*", product="*"):
        answer = self.client.get(f"/v1/cells/{customer}/{product}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def assert_problem(self, answer, status, slug=None):
        """Checks that `answer` is a complete RFC 9457 problem with this status."""
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers.get("content-type"), "application/problem+json", answer)
        problem = answer.json
        self.assertEqual(problem["status"], status, answer)
        self.assertRegex(problem["type"], r"^/problems/[a-z-]+$", answer)
        for member in ("title", "detail"):
            self.assertIsInstance(problem[member], str, answer)
            self.assertTrue(problem[member], answer)
        if slug is not None:
            self.assertEqual(problem["type"], "/problems/" + slug, answer)
