"""The log: one JSON object per line, the job and its cell in each line about a job, and no
secrets."""

import contextlib
import hashlib
import http.client
import json
import os
import re
import subprocess
import unittest

from daemon import DEADLINE_S, Client, Daemon, EndToEnd, a_config, a_job, wait_until
from provider import answer, hang
from terminal import open_terminal

TOKEN = "planted-token-of-root"
READER = "planted-token-of-reader"
BOUND = "planted-token-of-acme"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"


def a_token(name, token, *scopes):
    return {"name": name, "sha256": hashlib.sha256(token.encode()).hexdigest(),
            "scopes": list(scopes)}


def the_auth():
    return {"tokens": [a_token("root", TOKEN, "submit", "read", "admin"),
                       a_token("reader", READER, "read")]}


class TokenClient(Client):
    def __init__(self, daemon, token=TOKEN):
        super().__init__(daemon.host, daemon.port)
        self.token = token

    def request(self, method, path, body=None, headers=None):
        return super().request(method, path, body,
                               {"Authorization": f"Bearer {self.token}", **(headers or {})})


class Logs(EndToEnd):
    def begin(self, config=None, level="info", **environment):
        config = config or a_config(self.provider)
        self.daemon = Daemon(config, self.directory, environment={
            "CELLD_LOG_LEVEL": level, **environment}).start()
        self.client = self.daemon.client()
        self.addCleanup(self.end)
        return self.client

    def text(self):
        with open(self.daemon.stderr_path, encoding="utf-8") as file:
            return file.read()

    def lines(self, **fields):
        """The complete lines that have these fields."""
        whole = self.text().rpartition("\n")[0].splitlines()
        return [line for line in map(json.loads, whole)
                if all(line.get(name) == value for name, value in fields.items())]

    def line(self, **fields):
        [line] = wait_until(lambda: self.lines(**fields), f"a line with {fields}")
        self.assertRegex(line["time"], TIME)
        return line

    def status_of(self, method, path, body):
        connection = http.client.HTTPConnection(self.daemon.host, self.daemon.port, DEADLINE_S)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Authorization": f"Bearer {TOKEN}",
                                "Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            return response.status

    def fail_job(self, **changes):
        return self.wait_for_end(self.submit(a_job(**changes)))

    def test_each_line_is_an_object_and_lines_about_a_job_name_it(self):
        self.begin(level="debug")
        self.provider.on("/dns", [answer(503), answer(422, {"code": "zone-gone"})])
        job = self.submit(a_job(), traceparent=TRACEPARENT)
        self.wait_for_end(job)
        failed = self.line(job=job, message="a job failed")
        self.assertEqual({name: failed[name] for name in failed if name not in ("time", "lease")}, {
            "level": "info", "message": "a job failed", "job": job, "cell": "*/*", "trace": TRACE,
            "state": "failed", "service": "dns", "attempt": 2, "code": "zone-gone"})
        about = self.lines(job=job)
        self.assertEqual([line["message"] for line in about], [
            "a job was accepted", "an attempt began", "an attempt ended",
            "the job waits for its next attempt or poll", "an attempt began", "an attempt ended",
            "a job failed"])
        for line in about:
            self.assertEqual((line["cell"], line["trace"]), ("*/*", TRACE), line)
            self.assertRegex(line["time"], TIME)
        self.assertNotIn("lease", about[0])
        leases = [line["lease"] for line in about[1:]]
        for lease in leases:
            self.assertRegex(lease, r"^\d+-\d+$")
        self.assertEqual((len(set(leases[:3])), len(set(leases[3:]))), (1, 1))
        self.assertNotEqual(leases[0], leases[3])
        self.assertEqual([line["outcome"] for line in about if "outcome" in line],
                         ["retryable", "rejected"])

    def test_a_timeout_is_logged_as_a_warning_and_a_successful_job_is_not_logged(self):
        self.begin()
        good = self.submit(a_job("good.example"))
        self.wait_for_end(good)
        self.provider.always("/dns", hang())
        late = self.fail_job(timeout_ms=100, retry={"max_attempts": 1})
        warned = self.line(job=late["id"], message="an attempt timed out")
        self.assertEqual((warned["level"], warned["service"], warned["outcome"]),
                         ("warning", "dns", "timeout"), warned)
        self.assertIn("lease", warned)
        self.assertNotIn("trace", warned)
        self.line(job=late["id"], message="a job failed")
        self.assertEqual(self.lines(job=good), [])

    def test_a_refused_job_is_logged_as_a_warning(self):
        self.begin(a_config(self.provider, cells=[{"queue": {"max_jobs": 1}}]))
        self.provider.hold("/dns")
        self.submit(a_job())
        refused = self.client.post("/v1/jobs", a_job("other.example"))
        self.assertEqual(refused.status, 429, refused)
        line = self.line(message="a job was refused")
        self.assertEqual((line["level"], line["cell"], line["reason"], line["limit"]),
                         ("warning", "*/*", "queue-full", 1))

    def test_a_start_says_what_is_served_and_from_where(self):
        self.begin()
        line = self.line(message=f"serving at http://127.0.0.1:{self.daemon.port}")
        self.assertRegex(line["version"], r"^\d+\.\d+\.\d+$")
        self.assertTrue(os.path.isfile(line["config"]), line)
        self.assertTrue(os.path.isfile(os.path.join(line["data"], "celld.db")), line)

    def test_a_job_that_no_cell_takes_is_logged_and_counted(self):
        self.begin(a_config(self.provider, cells=[{"customer": "acme"}]))
        refused = self.client.post("/v1/jobs", a_job(customer="made-up"))
        self.assert_problem(refused, 422, "no-cell")
        line = self.line(message="a job was refused")
        self.assertEqual((line["customer"], line["reason"]), ("made-up", "no-cell"))
        self.assertIn('celld_refusals_total{customer="(others)",product="(others)",'
                      'reason="no_cell"} 1\n', self.client.get("/metrics").body.decode())

    def test_the_removal_of_all_tokens_is_a_warning(self):
        self.begin({**a_config(self.provider), "auth": the_auth()})
        self.daemon.write_config(a_config(self.provider))
        self.assertEqual(self.status_of("POST", "/v1/admin/reload", None), 200)
        line = self.line(level="warning")
        self.assertIn("every client that can connect may do everything", line["message"])

    def test_no_payload_and_no_secret_is_logged(self):
        services = {"dns": {"type": "http", "url": self.provider.url + "/dns?key=planted-in-url",
                            "headers": {"X-API-Key": "env:DNS_KEY"}}}
        self.begin(a_config(self.provider, services=services, auth=the_auth()), "debug",
                   DNS_KEY="planted-in-environment")
        client = TokenClient(self.daemon)
        self.addCleanup(client.close)
        self.provider.on("/dns?key=planted-in-url", [
            answer(503, {"code": "busy", "message": "planted-in-message"}),
            answer(422, {"code": "bad", "detail": "planted-in-detail planted-in-environment"},
                   ["X-Answer: planted-in-answer-header"])])
        job = a_job("planted-in-entity", parameters={"planted-in-name": "planted-in-parameters"},
                    labels={"ticket": "planted-in-label"})
        done = client.post("/v1/jobs", job, **{"Idempotency-Key": "planted-in-idempotency-key",
                                               "X-Other": "planted-in-header", "Prefer": "wait=20",
                                               "Cookie": "planted-in-cookie"})
        self.assertEqual(done.json["state"], "failed", done)
        self.assertEqual(len(self.provider.calls_of()), 2)
        faulty = client.post("/v1/jobs", b'{"planted-in-faulty-body": planted')
        self.assertEqual(faulty.status, 400, faulty)
        put = client.put("/v1/admin/cells/*/*/pool?planted-in-query=1", {"planted-in-body": 1})
        self.assertEqual(put.status, 422, put)
        stranger = TokenClient(self.daemon, "planted-token-unknown")
        self.addCleanup(stranger.close)
        self.assertEqual(stranger.delete("/v1/admin/cells/*/*/pool").status, 401)
        self.line(job=done.json["id"], message="a job failed")
        wait_until(lambda: len(self.lines(audit=True)) == 2, "two audit lines")
        self.assertEqual(re.findall(r"planted[-\w]*", self.text()), [])

    def test_each_administrative_request_is_logged(self):
        self.begin(a_config(self.provider, auth=the_auth()))
        cell = "/v1/admin/cells/*/*"
        calls = [("PUT", cell + "/pool", {"size": 7, "burst": 9, "weight": 2}, 202),
                 ("DELETE", cell + "/pool", None, 202),
                 ("PUT", cell + "/pool", {"size": 0}, 422), ("POST", cell + "/pause", None, 200),
                 ("POST", cell + "/drain", None, 200), ("POST", cell + "/resume", None, 200),
                 ("POST", "/v1/admin/cells/no/where/pause", None, 404),
                 ("GET", "/v1/admin/config", None, 200), ("POST", "/v1/admin/reload", None, 200),
                 ("GET", "/v1/admin/backup", None, 200)]
        for method, path, body, status in calls:
            self.assertEqual(self.status_of(method, path, body), status, (method, path))
        lines = wait_until(lambda: len(found := self.lines(audit=True)) == len(calls) and found,
                           "a line for each call")
        self.assertEqual([(line["method"], line["path"], line["status"]) for line in lines],
                         [(method, path, status) for method, path, _, status in calls])
        for name, value in (("size", 7), ("burst", 9), ("weight", 2)):
            self.assertEqual([line.get(name) for line in lines], [value] + [None] * 9, name)
        for line in lines:
            self.assertEqual((line["level"], line["token"]), ("info", "root"), line)
            self.assertIn("127.0.0.1", line["remote"])

    def test_an_administrator_of_one_customer_is_refused_requests_about_all(self):
        auth = the_auth()
        auth["tokens"].append(a_token("of-acme", BOUND, "admin") | {"customer": "acme"})
        self.begin(a_config(self.provider, auth=auth))
        bound = TokenClient(self.daemon, BOUND)
        self.addCleanup(bound.close)
        refused = [("GET", "/v1/admin/config"), ("POST", "/v1/admin/reload"),
                   ("GET", "/v1/admin/backup")]
        for method, path in refused:
            self.assertEqual(bound.request(method, path).status, 403, path)
        lines = wait_until(lambda: len(found := self.lines(audit=True)) == len(refused) and found,
                           "a line for each call")
        for line in lines:
            self.assertEqual((line["level"], line["token"]), ("warning", "of-acme"), line)

    def test_a_refused_administrative_request_is_logged_and_a_flood_is_suppressed(self):
        self.begin(a_config(self.provider, auth=the_auth()))
        reader = TokenClient(self.daemon, READER)
        self.addCleanup(reader.close)
        self.assertEqual(reader.delete("/v1/admin/cells/*/*/pool").status, 403)
        line = self.line(audit=True)
        self.assertEqual((line["level"], line["token"], line["status"]), ("warning", "reader", 403))
        for _ in range(400):
            self.assertEqual(self.client.delete("/v1/admin/cells/*/*/pool").status, 401)
        self.assertEqual(self.daemon.stop(), 0)
        written = self.lines(audit=True)
        held = sum(line["count"] for line in self.lines() if "like" in line)
        self.assertEqual(len(written) + held, 401)
        self.assertGreater(held, 0)
        self.assertNotIn("token", written[-1])

    def test_a_flood_of_failing_jobs_stays_small_and_is_counted(self):
        config = a_config(self.provider)
        config["services"]["dns"] = {"type": "simulated", "failure_rate": 1}
        config["defaults"]["retry"]["max_attempts"] = 1
        self.begin(config)
        self.assertEqual(self.client.post("/v1/admin/cells/*/*/pause", {}).status, 200)
        jobs = [self.submit(a_job(f"{i}.example")) for i in range(600)]
        self.assertEqual(self.client.post("/v1/admin/cells/*/*/resume", {}).status, 200)
        for job in jobs:
            self.wait_for_end(job)
        self.assertEqual(self.daemon.stop(), 0)
        written = self.lines(message="a job failed")
        held = [line for line in self.lines() if line.get("like") == "a job failed"]
        self.assertGreaterEqual(len(written), 50)
        self.assertTrue(held)
        self.assertEqual(len(written) + sum(line["count"] for line in held), len(jobs))
        self.assertTrue(all(line["about"] == "*/*" for line in held), held)
        first, last = written[0]["time"], written[-1]["time"]
        seconds = int(last[17:19]) - int(first[17:19]) + 60 * (int(last[14:16]) - int(first[14:16]))
        self.assertLessEqual(len(written), 50 + 10 * (seconds % 3600 + 1))

    def test_a_log_without_a_reader_delays_nothing(self):
        daemon = Daemon(a_config(self.provider), self.directory,
                        environment={"CELLD_LOG_LEVEL": "debug"})
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        while True:  # Full from the start.
            try:
                os.write(writer, b"x" * 4096)
            except BlockingIOError:
                break
        os.set_blocking(writer, True)
        daemon.stderr_path = f"/dev/fd/{writer}"
        self.addCleanup(os.close, reader)
        daemon.start()
        os.close(writer)
        self.addCleanup(daemon.kill)
        client = daemon.client()
        self.addCleanup(client.close)
        for i in range(50):
            done = client.post("/v1/jobs", a_job(f"{i}.example"), Prefer="wait=20")
            self.assertEqual(done.json["state"], "succeeded", done)
        self.assertEqual(daemon.stop(), 0)

    def test_a_terminal_gets_text_and_each_format_can_be_requested(self):
        for format_, wanted in (({}, "text"), ({"CELLD_LOG_FORMAT": "json"}, "json")):
            with self.subTest(wanted):
                terminal, slave = open_terminal()
                daemon = Daemon(a_config(self.provider), self.directory, environment=format_)
                daemon.stderr_path = os.ttyname(slave)
                daemon.start()
                self.assertEqual(daemon.stop(), 0)
                text = os.read(terminal, 65536).decode()
                os.close(slave)
                os.close(terminal)
                pattern = r'(?m)^\{"time":.*"shutting down"' if wanted == "json" else \
                    r"(?m)^\d{4}-\d\d-\d\dT\S+Z info shutting down\r\n"
                self.assertRegex(text, pattern)

    def test_flags_override_the_environment_and_an_invalid_name_is_refused(self):
        daemon = Daemon(a_config(self.provider), self.directory,
                        environment={"CELLD_LOG_FORMAT": "json", "CELLD_LOG_LEVEL": "error"},
                        arguments=["--listen", "127.0.0.1:0", "--data", "data", "--log-format",
                                   "text", "--log-level", "info"]).start()
        self.assertEqual(daemon.stop(), 0)
        self.assertRegex(daemon.log(), r" info shutting down\n.* info shut down\n$")
        for flag in ("--log-format", "--log-level"):
            done = subprocess.run([*daemon.command(), flag, "loud"], capture_output=True,
                                  text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(flag, done.stderr)

    def test_lines_below_the_level_are_not_written(self):
        self.begin(level="error")
        self.provider.always("/dns", answer(422))
        self.fail_job()
        self.assertEqual(self.daemon.stop(), 0)
        self.assertEqual(self.text(), "")


if __name__ == "__main__":
    unittest.main()
