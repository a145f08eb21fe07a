"""Jobs from submission to end: the document, the calls to services, and their answers."""

import re
import unittest

from daemon import Daemon, EndToEnd, a_config, a_job, wait_until
from provider import answer, raw, succeed

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Jobs(EndToEnd):
    def test_a_provider_receives_the_documented_request(self):
        client = self.start()
        job = a_job(parameters={"ttl": 300, "big": 2**63 - 1, "text": "é\n"},
                    entity={"type": "zone", "subtype": "primary", "id": "example.com"})
        job_id = self.submit(job, traceparent=TRACEPARENT)
        self.wait_for_end(job_id)
        [call] = self.provider.calls_of()
        self.assertEqual((call.method, call.path), ("POST", "/dns"))
        self.assertEqual(call.headers["idempotency-key"], f"{job_id}.dns")
        self.assertEqual(call.headers["traceparent"], TRACEPARENT)
        self.assertTrue(call.headers["content-type"].startswith("application/json"))
        self.assertEqual(call.body, {
            "job": job_id, "attempt": 1, "customer": "acme", "product": "dns", "action": "create",
            "entity": job["entity"], "service": "dns", "parameters": job["parameters"],
            "properties": {}})

    def test_a_provider_receives_the_configured_headers(self):
        config_headers = {"X-API-Key": "env:DNS_KEY", "X-Plain": "plain"}
        services = {"dns": {"type": "http", "url": self.provider.url + "/dns?a=b",
                            "headers": config_headers}}
        daemon = Daemon(a_config(self.provider, services=services), self.directory,
                        environment={"DNS_KEY": "s3cret"}).start()
        self.addCleanup(daemon.kill)
        client = daemon.client()
        done = client.post("/v1/jobs", a_job(), Prefer="wait=20")
        self.assertEqual((done.status, done.json["state"]), (200, "succeeded"), done)
        [call] = self.provider.calls_of()
        self.assertEqual(call.path, "/dns?a=b")
        self.assertEqual((call.headers["x-api-key"], call.headers["x-plain"]), ("s3cret", "plain"))
        self.assertNotIn(b"s3cret", done.body)
        self.assertNotIn("s3cret", daemon.log())

    def test_celld_calls_a_provider_without_the_proxy_of_its_environment(self):
        proxy = "http://127.0.0.1:1"
        self.variables = {"http_proxy": proxy, "all_proxy": proxy, "no_proxy": "", "NO_PROXY": ""}
        self.start()
        self.assertEqual(self.wait_for_end(self.submit(a_job()))["state"], "succeeded")

    def test_the_answer_to_a_submission_has_the_whole_job(self):
        client = self.start()
        self.provider.hold("/dns")
        job = a_job(labels={"ticket": "T-1"}, priority=7, timeout_ms=1234,
                    retry={"max_attempts": 9}, parameters={"a": [1, {"b": None}]},
                    services=["dns", "billing"])
        answer_ = client.post("/v1/jobs", job)
        self.assertEqual(answer_.status, 202, answer_)
        shown = answer_.json
        self.assertEqual(answer_.headers["location"], "/v1/jobs/" + shown["id"])
        self.assertEqual(answer_.headers["content-type"], "application/json")
        for name in ("customer", "product", "action", "entity", "services", "labels", "priority",
                     "timeout_ms", "parameters"):
            self.assertEqual(shown[name], job[name], name)
        self.assertIn(shown["state"], ("queued", "running"))
        self.assertEqual(shown["max_attempts"], 9)
        self.assertEqual(shown["cell"], {"customer": "*", "product": "*"})
        self.assertEqual((shown["on_failure"], shown["durability"]), ("stop", "disk"))
        self.assertRegex(shown["created_at"], TIME)
        self.assertRegex(shown["run_at"], TIME)
        for name in ("expires_at", "finished_at", "error", "batch"):
            self.assertIsNone(shown[name], name)
        self.assertIs(shown["cancel_requested"], False)
        self.assertEqual([step["service"] for step in shown["steps"]], ["dns", "billing"])
        self.assertEqual((shown["properties"], shown["messages"]), ({}, []))

    def test_omitted_fields_get_their_defaults(self):
        self.start()
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual((job["priority"], job["timeout_ms"], job["max_attempts"]), (5, 20000, 3))
        self.assertEqual((job["parameters"], job["labels"]), ({}, {}))

    def test_services_run_in_order_and_properties_accumulate(self):
        self.start()
        self.provider.always("/dns", succeed({"zone": "z1", "both": "dns"}, [
            {"severity": "warning", "text": "almost full"}]))
        self.provider.always("/billing", succeed({"invoice": 7, "both": {"x": 1}}))
        job = self.wait_for_end(self.submit(a_job(services=["dns", "billing"])))
        self.assertEqual(job["state"], "succeeded")
        self.assertEqual(job["properties"], {"zone": "z1", "invoice": 7, "both": {"x": 1}})
        self.assertEqual([s["state"] for s in job["steps"]], ["succeeded", "succeeded"])
        dns, billing = self.provider.calls_of()
        self.assertEqual([dns.path, billing.path], ["/dns", "/billing"])
        self.assertEqual(billing.body["properties"], {"zone": "z1", "both": "dns"})
        self.assertEqual(billing.body["service"], "billing")
        [message] = job["messages"]
        self.assertEqual((message["severity"], message["service"], message["text"]),
                         ("warning", "dns", "almost full"))
        self.assertRegex(message["time"], TIME)

    def test_a_retry_resumes_at_the_failed_step(self):
        self.start()
        self.provider.always("/dns", succeed({"zone": "z1"}))
        self.provider.on("/billing", [answer(500), answer(503), succeed()])
        job = self.wait_for_end(self.submit(a_job(services=["dns", "billing"])))
        self.assertEqual(job["state"], "succeeded")
        self.assertEqual([step["attempts"] for step in job["steps"]], [1, 3])
        self.assertEqual(job["attempt"], 3)
        self.assertEqual(len(self.provider.calls_of("/dns")), 1)
        calls = self.provider.calls_of("/billing")
        self.assertEqual([call.body["attempt"] for call in calls], [1, 2, 3])
        self.assertEqual({call.key for call in calls}, {job["id"] + ".billing"})
        self.assertEqual([call.body["properties"] for call in calls], [{"zone": "z1"}] * 3)

    def test_a_job_is_retrying_between_its_attempts(self):
        self.start()
        self.provider.on("/dns", [answer(503, headers=["Retry-After: 1"]), succeed()])
        job_id = self.submit(a_job())
        waiting = self.wait_for_state(job_id, "retrying")
        self.assertEqual((waiting["attempt"], waiting["steps"][0]["state"]), (1, "retrying"))
        self.assertEqual(self.cell()["queue"]["retrying"], 1)
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        first, second = self.provider.calls_of()
        self.assertGreaterEqual(second.started_at - first.ended_at, 0.98)

    def test_a_job_fails_after_max_attempts(self):
        self.start()
        self.provider.always("/dns", answer(500, b"boom"))
        job = self.wait_for_end(self.submit(a_job(services=["dns", "billing"])))
        self.assertEqual((job["state"], job["attempt"]), ("failed", 3))
        self.assertEqual((job["error"]["code"], job["error"]["service"]), ("provider_error", "dns"))
        self.assertEqual([s["state"] for s in job["steps"]], ["failed", "skipped"])
        self.assertEqual(len(self.provider.calls_of()), 3)
        self.assertRegex(job["finished_at"], TIME)
        self.assertTrue(any(m["severity"] == "error" for m in job["messages"]), job["messages"])

    def test_a_429_does_not_count_as_an_attempt(self):
        self.start()
        self.provider.on("/dns", [answer(429)] * 5 + [succeed()])
        job = self.wait_for_end(self.submit(a_job(retry={"max_attempts": 1})))
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1))
        self.assertEqual([call.body["attempt"] for call in self.provider.calls_of()], [1] * 6)

    def test_retry_after_is_honoured(self):
        self.start()
        self.provider.on("/dns", [answer(429, headers=["Retry-After: 1"]),
                                  answer(503, headers=["Retry-After: 1"]), succeed()])
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 2))
        calls = self.provider.calls_of()
        for first, second in zip(calls, calls[1:]):
            self.assertGreaterEqual(second.started_at - first.ended_at, 0.98)

    def test_retry_after_is_honoured_up_to_ten_times_the_longest_backoff(self):
        self.start(defaults={"retry": {"backoff_ms": 20, "backoff_max_ms": 50}})
        self.provider.on("/dns", [answer(429, headers=["Retry-After: 3600"]), succeed()])
        self.wait_for_end(self.submit(a_job()))
        first, second = self.provider.calls_of()
        self.assertGreaterEqual(second.started_at - first.ended_at, 0.45)

    def test_each_retryable_status_is_retried(self):
        self.start()
        statuses = (408, 423, 425, 500, 502, 503, 504, 599, 401, 403)
        self.provider.rules["/dns"] = lambda call: (
            answer(int(call.body["entity"]["id"])) if call.index == 0 else succeed())
        jobs = {status: self.submit(a_job(str(status))) for status in statuses}
        for status, job_id in jobs.items():
            with self.subTest(status=status):
                job = self.wait_for_end(job_id)
                self.assertEqual((job["state"], job["attempt"]), ("succeeded", 2), job)

    def test_any_other_4xx_is_a_rejection_and_not_retried(self):
        self.start()
        statuses = (400, 402, 404, 405, 409, 410, 413, 422, 451)
        self.provider.rules["/dns"] = lambda call: answer(int(call.body["entity"]["id"]))
        jobs = {status: self.submit(a_job(str(status))) for status in statuses}
        for status, job_id in jobs.items():
            with self.subTest(status=status):
                job = self.wait_for_end(job_id)
                self.assertEqual((job["state"], job["attempt"]), ("failed", 1), job)
                self.assertEqual(job["error"]["code"], "provider_rejected")
                self.assertEqual(len(self.provider.calls_of(job=job_id)), 1)

    def test_each_valid_2xx_answer_is_a_success(self):
        self.start()
        answers = [answer(200), answer(200, {}), answer(201, {"properties": {}}),
                   raw(b"HTTP/1.1 204 No Content\r\n\r\n", keep=True),
                   answer(200, {"other": 1, "messages": []}),
                   raw(b"HTTP/1.0 200 OK\r\n\r\n{}"),
                   raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                       keep=True)]
        self.provider.rules["/dns"] = lambda call: answers[int(call.body["entity"]["id"])]
        for index in range(len(answers)):
            with self.subTest(index=index):
                job = self.wait_for_end(self.submit(a_job(str(index))))
                self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)

    def test_any_other_answer_is_an_invalid_response_and_retried(self):
        self.start()
        bodies = [b"<html>", b"[]", b"null", b"{", b'{"properties": []}', b'{"properties": 1}',
                  b'{"messages": {}}', b'{"a": 1, "a": 2}', b'{"properties": {"a": "\xff"}}',
                  b'{"properties": {"a": "\\u0000"}}',
                  b'{"properties": {"a": 18446744073709551617}}',
                  b"[" * 100 + b"]" * 100, b'{"properties":' + b'{"a":' * 70 + b"1" + b"}" * 71,
                  b'{"properties": {"a": "%s"}}' % (b"x" * (1 << 20)),
                  b'{"properties": {"a": "%s"}}' % (b"x" * (300 << 10))]
        answers = [answer(200, body) for body in bodies] + [
            answer(301, headers=["Location: /elsewhere"]), answer(304), answer(600)]
        self.provider.rules["/dns"] = lambda call: answers[int(call.body["entity"]["id"])]
        jobs = [self.submit(a_job(str(index))) for index in range(len(answers))]
        for index, job_id in enumerate(jobs):
            with self.subTest(index=index, body=(bodies + ["301", "304", "600"])[index][:60]):
                job = self.wait_for_end(job_id)
                self.assertEqual((job["state"], job["error"] and job["error"]["code"]),
                                 ("failed", "invalid_response"))
                self.assertEqual(job["attempt"], 3)

    def test_broken_http_is_retried(self):
        self.start()
        garbage = [raw(b"garbage\r\n\r\n"), raw(b"\0" * 100), raw(b""),
                   raw(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}"),
                   raw(b"HTTP/1.1 200 " + b"x" * 200_000 + b"\r\n\r\n{}"),
                   raw(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 100_000 + b"\r\n{}")]
        self.provider.rules["/dns"] = lambda call: (
            garbage[int(call.body["entity"]["id"])] if call.index < 2 else succeed())
        jobs = [self.submit(a_job(str(index))) for index in range(len(garbage))]
        for index, job_id in enumerate(jobs):
            with self.subTest(index=index):
                job = self.wait_for_end(job_id)
                self.assertEqual((job["state"], job["attempt"]), ("succeeded", 3), job)

    def test_only_the_last_hundred_messages_of_four_kilobytes_are_kept(self):
        self.start()
        self.provider.always("/dns", succeed({}, [
            {"severity": "info", "text": f"{i} " + "é" * 2500} for i in range(40)]))
        self.provider.always("/billing", succeed({}, [
            {"severity": "info", "text": str(i)} for i in range(80)]))
        job = self.wait_for_end(self.submit(a_job(services=["dns", "billing"])))
        self.assertEqual((job["state"], len(job["messages"])), ("succeeded", 100))
        self.assertEqual(job["messages"][-1]["text"], "79")
        self.assertEqual(job["messages"][0]["text"][:3], "20 ")
        self.assertLessEqual(max(len(m["text"].encode()) for m in job["messages"]), 4096)

    def test_prefer_wait_holds_the_answer_until_the_job_ends(self):
        client = self.start()
        done = client.post("/v1/jobs", a_job(), Prefer="wait=30")
        self.assertEqual((done.status, done.json["state"]), (200, "succeeded"), done)
        self.assertIsNotNone(done.json["finished_at"])
        self.provider.always("/dns", answer(400))
        failed = client.post("/v1/jobs", a_job(), Prefer="wait=30")
        self.assertEqual((failed.status, failed.json["state"]), (200, "failed"), failed)

    def test_prefer_wait_answers_202_when_the_job_has_not_ended(self):
        client = self.start()
        self.provider.hold("/dns")
        pending = client.post("/v1/jobs", a_job(), Prefer="wait=1")
        self.assertEqual((pending.status, pending.json["state"]), (202, "running"), pending)
        self.assertEqual(pending.headers["location"], "/v1/jobs/" + pending.json["id"])

    def test_a_job_goes_to_the_most_specific_cell(self):
        self.start(cells=[{"customer": "acme", "product": "dns"}, {"customer": "acme"},
                          {"product": "dns"}, {}])
        for customer, product, cell in (("acme", "dns", ("acme", "dns")),
                                        ("acme", "mail", ("acme", "*")),
                                        ("bolt", "dns", ("*", "dns")),
                                        ("bolt", "mail", ("*", "*"))):
            job = self.job(self.submit(a_job(customer=customer, product=product)))
            self.assertEqual((job["cell"]["customer"], job["cell"]["product"]), cell)

    def test_jobs_without_a_configured_cell_are_refused(self):
        client = self.start(cells=[{"customer": "acme"}])
        refused = client.post("/v1/jobs", a_job(customer="bolt"))
        self.assert_problem(refused, 422, "no-cell")

    def test_ids_sort_by_creation_time(self):
        self.start()
        ids = [self.submit(a_job(str(i))) for i in range(50)]
        self.assertEqual(ids, sorted(ids))
        wait_until(lambda: self.cell()["queue"]["running"] == 0, "all jobs have run")


if __name__ == "__main__":
    unittest.main()
