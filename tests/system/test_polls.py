"""Operations that a REST API carries out later: celld polls until they have ended."""

import json
import time

from daemon import EndToEnd, a_config, a_job, stays, wait_until
from rest_api import RestApi

OPERATION = {
    "method": "POST", "path": "/zones", "body": {"name": "{{entity.id}}"},
    "answer": {"done": [202], "already_done": [409], "properties": {"operation": "/operation"}},
    "poll": {"path": "/operations/{{properties.operation}}", "interval_ms": 100,
             "until": {"value": "/status", "done": ["ready"], "failed": ["broken"]},
             "answer": {"properties": {"ip": "/ip"}, "error": {"message": "/why"}}}}


AT_A_URL = {
    "method": "POST", "path": "/zones", "body": {"name": "{{entity.id}}"},
    "answer": {"done": [202]},
    "poll": {"url": {"header": "Location"}, "interval_ms": 100,
             "until": {"value": "/status", "done": ["ready"]}}}


class Polls(EndToEnd):
    def setUp(self):
        super().setUp()
        self.status = "busy"
        self.api = RestApi()
        self.addCleanup(self.api.close)
        self.api.answer = self.answer

    def answer(self, method, _path, _count):
        if method == "POST":
            return 202, b'{"operation": "o/1"}'
        if isinstance(self.status, int):
            return self.status, b""
        return 200, json.dumps({"status": self.status, "ip": "192.0.2.1", "why": "no room"}).encode()

    def config(self, **changes):
        service = {"type": "http", "url": self.api.url,
                   "mapping": {"actions": {"create": changes.pop("requests", OPERATION)}}}
        return a_config(self.provider, services={"dns": service}, **changes)

    def count(self, method):
        return sum(1 for each in self.api.lines() if each.startswith(method))

    def wait_for_polls(self, count):
        wait_until(lambda: self.count("GET") >= count, f"{count} polls")

    def begin(self, **changes):
        """A job whose operation goes on."""
        job_id = self.submit(a_job(**changes))
        self.wait_for_polls(2)
        return job_id

    def end_of(self, job_id):
        job = self.wait_for_end(job_id)
        return job["state"], (job["error"] or {}).get("code"), job["steps"][0]["attempts"]

    def test_a_job_ends_when_its_operation_has_ended(self):
        self.start(self.config())
        job_id = self.begin()
        job = self.wait_for_state(job_id, "retrying")
        step = job["steps"][0]
        self.assertEqual((step["state"], step["attempts"], job["messages"]), ("running", 1, []), job)
        self.status = "ready"
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)
        self.assertEqual(job["properties"], {"operation": "o/1", "ip": "192.0.2.1"})
        self.assertEqual(self.api.lines()[:2], ["POST /api/zones", "GET /api/operations/o%2F1"])
        self.assertEqual(self.count("POST"), 1)
        self.assertNotIn("idempotency-key", self.api.requests[1][2])

    def test_polls_come_in_their_interval(self):
        slow = {**OPERATION, "poll": {**OPERATION["poll"], "interval_ms": 600}}
        self.start(self.config(requests=slow))
        began = time.monotonic()
        job_id = self.begin()
        self.assertGreater(time.monotonic() - began, 1.1)
        self.status = "ready"
        self.assertEqual(self.end_of(job_id)[0], "succeeded")

    def kill_and_poll_on(self):
        self.daemon.kill()
        polls = self.count("GET")
        self.restart()
        self.wait_for_polls(polls + 2)

    def test_a_killed_celld_polls_on_instead_of_acting_again(self):
        self.start(self.config())
        job_id = self.begin()
        for _ in range(4):
            self.kill_and_poll_on()
        self.status = "ready"
        self.assertEqual(self.end_of(job_id), ("succeeded", None, 1))
        self.assertEqual(self.count("POST"), 1)

    def test_a_killed_celld_polls_on_at_the_url_that_the_api_gave(self):
        self.api.answer = lambda method, path, _: (
            (202, b"", ("Location", "../ops/7?full=yes#now")) if method == "POST"
            else self.answer(method, path, 0))
        self.start(self.config(requests=AT_A_URL))
        job_id = self.begin()
        self.kill_and_poll_on()
        self.status = "ready"
        self.assertEqual(self.end_of(job_id), ("succeeded", None, 1))
        self.assertEqual(set(self.api.lines()), {"POST /api/zones", "GET /ops/7?full=yes"})
        self.assertEqual(self.count("POST"), 1)

    def test_celld_sends_its_credentials_to_no_other_server(self):
        other = RestApi()
        self.addCleanup(other.close)
        self.api.answer = lambda *_: (202, b"", ("Location", other.url + "/ops/7"))
        config = self.config(requests=AT_A_URL)
        config["services"]["dns"]["headers"] = {"Authorization": "sesame"}
        self.start(config)
        job = self.wait_for_end(self.submit(a_job(retry={"max_attempts": 2})))
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "invalid_response"), job)
        self.assertIn(f"a URL of its operation at {other.url[:-len('/api')]} instead of "
                      f"{self.api.url[:-len('/api')]}", job["error"]["message"])
        self.assertEqual(other.requests, [])

    def test_a_celld_that_stops_leaves_the_operation_to_the_next_one(self):
        self.start(self.config())
        job_id = self.begin()
        self.client.close()
        self.assertEqual(self.daemon.stop(), 0)
        polls = self.count("GET")
        self.status = "ready"
        self.restart()
        self.assertEqual(self.end_of(job_id), ("succeeded", None, 1))
        self.assertEqual((self.count("POST"), self.count("GET")), (1, polls + 1))

    def test_an_operation_that_failed_fails_the_job_and_a_retry_begins_another(self):
        self.start(self.config())
        job_id = self.begin()
        self.status = "broken"
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["error"]["code"], job["error"]["message"]),
                         ("failed", "provider_rejected", "no room"), job)
        self.status = "ready"
        self.client.post(f"/v1/jobs/{job_id}/retry", {})
        self.assertEqual(self.end_of(job_id)[0], "succeeded")
        self.assertEqual(self.count("POST"), 2)

    def test_an_operation_whose_poll_is_rejected_is_undone(self):
        config = self.config()
        config["services"]["dns"]["mapping"]["undo"] = {
            "create": {"method": "DELETE", "path": "/zones/{{entity.id}}",
                       "answer": {"already_done": [404]}}}
        self.start(config)
        job_id = self.begin(on_failure="compensate")
        self.status = 404
        job = self.wait_for_end(job_id)
        self.assertEqual((job["error"]["code"], job["steps"][0]["state"]),
                         ("provider_rejected", "undone"), job)
        self.assertEqual(self.count("DELETE"), 1)

    def test_an_operation_that_does_not_end_in_time_uses_up_attempts_and_is_polled_on(self):
        self.start(self.config())
        job_id = self.submit(a_job(timeout_ms=500, retry={"max_attempts": 2}))
        self.assertEqual(self.end_of(job_id), ("failed", "timeout", 2))
        self.assertEqual(self.count("POST"), 1)
        self.status = "ready"
        self.client.post(f"/v1/jobs/{job_id}/retry", {})
        self.assertEqual(self.end_of(job_id)[0], "succeeded")
        self.assertEqual(self.count("POST"), 1)

    def test_a_poll_that_comes_after_the_timeout_is_the_last(self):
        self.start(self.config())
        job_id = self.begin(timeout_ms=1500, retry={"max_attempts": 1})
        self.client.post("/v1/admin/cells/*/*/pause", {})
        time.sleep(2)
        polls = self.count("GET")
        self.client.post("/v1/admin/cells/*/*/resume", {})
        self.assertEqual(self.end_of(job_id), ("failed", "timeout", 1))
        self.assertEqual(self.count("GET"), polls + 1)

    def test_a_poll_that_comes_after_the_timeout_may_find_that_the_operation_has_ended(self):
        self.start(self.config())
        job_id = self.begin(timeout_ms=1500, retry={"max_attempts": 1})
        self.client.post("/v1/admin/cells/*/*/pause", {})
        time.sleep(2)
        self.status = "ready"
        self.client.post("/v1/admin/cells/*/*/resume", {})
        self.assertEqual(self.end_of(job_id), ("succeeded", None, 1))

    def test_time_during_which_celld_is_down_does_not_count_towards_the_timeout(self):
        self.start(self.config())
        job_id = self.begin(timeout_ms=4000, retry={"max_attempts": 1})
        self.daemon.kill()
        time.sleep(4)
        polls = self.count("GET")
        self.restart()
        self.wait_for_polls(polls + 5)
        self.status = "ready"
        self.assertEqual(self.end_of(job_id), ("succeeded", None, 1))

    def test_a_poll_that_fails_uses_up_an_attempt_and_the_next_one_polls(self):
        self.start(self.config())
        job_id = self.begin(retry={"max_attempts": 100})
        self.status = 503
        wait_until(lambda: self.job(job_id)["steps"][0]["attempts"] >= 2, "a second attempt")
        self.status = "ready"
        self.assertEqual(self.end_of(job_id)[0], "succeeded")
        self.assertEqual(self.count("POST"), 1)

    def test_jobs_that_wait_for_operations_take_no_slots(self):
        slow = {**OPERATION, "poll": {**OPERATION["poll"], "interval_ms": 500}}
        self.start(self.config(requests=slow, cells=[{"pool": {"size": 1}}]))
        jobs = [self.submit(a_job(f"{i}.example")) for i in range(5)]
        wait_until(lambda: self.count("POST") == 5, "all operations have begun")
        self.status = "ready"
        for job_id in jobs:
            self.assertEqual(self.end_of(job_id)[0], "succeeded")

    def test_a_job_that_waits_for_its_operation_keeps_its_entity(self):
        self.start(self.config())
        first = self.begin()
        second = self.submit(a_job())
        stays(lambda: self.count("POST") == 1, "one operation for the entity")
        self.status = "ready"
        self.assertEqual(self.end_of(first)[0], "succeeded")
        self.assertEqual(self.end_of(second)[0], "succeeded")
        self.assertEqual(self.count("POST"), 2)

    def test_a_job_that_waits_for_its_operation_can_be_cancelled(self):
        self.start(self.config())
        job_id = self.begin()
        self.client.post(f"/v1/jobs/{job_id}/cancel", {})
        self.assertEqual(self.end_of(job_id)[:2], ("cancelled", "cancelled"))
        time.sleep(0.3)  # A poll that was under way.
        polls = self.count("GET")
        stays(lambda: self.count("GET") == polls, "no poll of a cancelled job")

    def test_statuses_alone_can_end_an_operation(self):
        requests = {"method": "PUT", "path": "/zones/{{entity.id}}",
                    "poll": {"path": "/zones/{{entity.id}}", "interval_ms": 100,
                             "answer": {"pending": [202, 404]}}}
        self.api.answer = lambda method, path, count: (
            (202, b"") if method == "PUT" else ((404, 202, 200)[min(count, 2)], b""))
        self.start(self.config(requests=requests))
        self.assertEqual(self.end_of(self.submit(a_job()))[0], "succeeded")
        self.assertEqual(self.api.lines(), ["PUT /api/zones/example.com"] +
                         ["GET /api/zones/example.com"] * 3)

    def test_no_answer_to_a_poll_makes_celld_act_again(self):
        def late():
            time.sleep(1)
            return 200, b'{"status": "busy"}'
        answers = [
            lambda: (200, b""), lambda: (200, b"<html>"), lambda: (200, b"\0\xff"),
            lambda: (200, b"{}"), lambda: (200, b"[" * 5000), lambda: (200, b'{"status": 1e999}'),
            lambda: (200, b'{"status": "busy", "x": "' + b"a" * (2 << 20) + b'"}'),
            lambda: (200, b'{"status": {"ready": "ready"}}'),
            lambda: (200, b'{"status": "ready"}'), lambda: (204, b""), lambda: (302, b""),
            lambda: (401, b""), lambda: (429, b""), lambda: (503, b"", ("Retry-After", "0")),
            lambda: (200, b'{"status": "busy"}', ("Retry-After", "99999999999")), late]
        self.start(self.config(defaults={
            "timeout_ms": 700, "retry": {"max_attempts": 20, "backoff_ms": 1, "backoff_max_ms": 5}}))

        def answer(method, _path, _count):
            if method == "POST":
                return 202, b'{"operation": "o/1"}'
            polls = self.count("GET")
            if polls > len(answers):
                return 200, b'{"status": "ready", "ip": "192.0.2.1"}'
            return answers[polls - 1]()
        self.api.answer = answer
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.count("POST"), 1)
        self.assertEqual(self.count("GET"), len(answers) + 1)
