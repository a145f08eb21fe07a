"""Batches: any number of jobs in one request."""

import hashlib
import http.client
import json
import re
import signal
import socket
import time
import unittest

from daemon import DEADLINE_S, SLOWDOWN, Client, EndToEnd, a_config, a_job, wait_until

NDJSON = {"Content-Type": "application/x-ndjson"}
TOKENS = {"operator": None, "portal": "acme", "shop": "acme"}


def lines(jobs):
    return "".join(json.dumps(job) + "\n" for job in jobs).encode()


def keyed(number):
    return a_job(f"e{number}", delay_ms=3600000, idempotency_key=f"k{number}")


class Sender:
    """A client that sends a batch in pieces."""

    def __init__(self, daemon):
        self.socket = socket.create_connection((daemon.host, daemon.port), DEADLINE_S)
        self.socket.sendall(b"POST /v1/batches HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                            b"Content-Type: application/x-ndjson\r\n\r\n")

    def send(self, data):
        self.socket.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self):
        self.socket.sendall(b"0\r\n\r\n")

    def answer(self):
        response = http.client.HTTPResponse(self.socket)
        response.begin()
        return response.status, json.loads(response.read())

    def close(self):
        self.socket.close()


class BatchClient(EndToEnd):
    def post(self, body, headers=None, client=None):
        return (client or self.client).request("POST", "/v1/batches", body,
                                               {**NDJSON, **(headers or {})})

    def sender(self):
        sender = Sender(self.daemon)
        self.addCleanup(sender.close)
        return sender

    def batches(self):
        return self.client.get("/v1/batches").json["items"]

    def total(self):
        return sum(batch["total"] for batch in self.batches())

    def wait_for_total(self, total):
        wait_until(lambda: self.total() == total, f"{total} jobs are accepted")

    def jobs(self, **query):
        jobs, cursor = [], {}
        while cursor is not None:
            page = self.client.get("/v1/jobs", limit=1000, **query, **cursor).json
            jobs += page["items"]
            cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
        return jobs

    def check_that_a_kill_loses_no_acknowledged_line(self):
        answer = self.post(lines(keyed(n) for n in range(500)))
        self.daemon.kill()
        self.restart()
        batch = self.client.get(answer.headers["location"]).json
        self.assertEqual(answer.json["accepted"], batch["total"], "acknowledged lines are counted")
        stored = self.jobs(batch=batch["id"])
        self.assertEqual(len(stored), batch["total"], "acknowledged lines are stored")


class Batches(BatchClient):
    def test_an_acknowledged_line_survives_a_kill(self):
        self.start()
        self.check_that_a_kill_loses_no_acknowledged_line()

    def test_a_batch_runs_and_is_shown_with_its_jobs(self):
        self.start()
        answer = self.post(lines(a_job(f"e{n}") for n in range(50)) + b"{}\n", {"Prefer": "wait=60"})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual((answer.json["accepted"], answer.json["rejected"]), (50, 1))
        batch = self.client.get(answer.headers["location"]).json
        self.assertEqual((batch["total"], batch["states"]["succeeded"], batch["progress"]), (50, 50, 1))
        self.assertIsNotNone(batch["finished_at"])
        jobs = self.client.get("/v1/jobs", batch=batch["id"], limit=100).json["items"]
        self.assertEqual({job["entity"]["id"] for job in jobs}, {f"e{n}" for n in range(50)})
        self.assertEqual({job["batch"] for job in jobs}, {batch["id"]})
        self.assertEqual(self.client.get("/v1/jobs", batch="nonsense").json["items"], [])

    def test_lines_are_accepted_as_they_come_and_a_broken_connection_keeps_them(self):
        self.start()
        sender = self.sender()
        sender.send(lines(keyed(n) for n in range(3)) + b'{"customer"')
        self.wait_for_total(3)
        self.assertIsNone(self.batches()[0]["finished_at"])
        sender.close()
        again = self.post(lines(keyed(n) for n in range(5)))
        self.assertEqual((again.json["accepted"], again.json["replayed"]), (2, 3))
        self.assertEqual([batch["total"] for batch in self.batches()], [2, 3])

    def test_a_kill_loses_no_acknowledged_line_and_a_resend_repeats_nothing(self):
        self.start()
        sender = self.sender()
        sender.send(lines(keyed(n) for n in range(500)))
        self.wait_for_total(500)
        self.daemon.kill()
        self.restart()
        self.assertEqual(self.total(), 500)
        again = self.post(lines(keyed(n) for n in range(600)))
        self.assertEqual((again.json["accepted"], again.json["replayed"]), (100, 500))
        counted = re.findall(r'\ncelld_batch_lines_total{outcome="(\w+)"} (\d+)',
                             self.client.get("/metrics").body.decode())
        self.assertEqual(dict(counted), {"accepted": "100", "replayed": "500", "rejected": "0"})
        self.assertIn(b"\ncelld_batches_reading 0\n", self.client.get("/metrics").body)
        jobs = self.jobs()
        self.assertEqual(len({job["entity"]["id"] for job in jobs}), 600)
        self.assertEqual(len(jobs), 600)

    def test_other_customers_keep_their_turns_while_a_batch_runs(self):
        """Alone, the batch takes ten seconds."""
        self.start(services={"demo": {"type": "simulated", "latency_ms": {"min": 20, "max": 20}}},
                   defaults={"pool": {"size": 4}})
        flood = self.post(lines(a_job(f"e{n}", customer="flood", services=["demo"])
                                for n in range(2000)))
        began_at = time.monotonic()
        for n in range(10):
            answer = self.client.post("/v1/jobs", a_job(f"e{n}", services=["demo"]),
                                      Prefer="wait=60")
            self.assertEqual((answer.status, answer.json["state"]), (200, "succeeded"), answer)
        took_s = time.monotonic() - began_at
        self.assert_in_time("ten jobs of another customer", took_s, 3)
        batch = self.client.get(flood.headers["location"]).json
        if took_s < 3:
            self.assertGreater(batch["states"]["queued"], 0, "the batch still runs")
        self.client.request("POST", flood.headers["location"] + "/cancel")

    def test_a_resend_into_a_full_queue_passes_the_lines_that_it_holds(self):
        self.start(cells=[{"queue": {"max_jobs": 500}}])
        first = self.post(lines(keyed(n) for n in range(500)))
        self.assertEqual(first.json["accepted"], 500)
        again = self.post(lines(keyed(n) for n in range(2000)))
        self.assertEqual((again.json["replayed"], again.json["accepted"], again.json["rejected"]),
                         (500, 0, 0))
        self.assertEqual(again.json["stopped_at_line"], 501)
        self.assertEqual(again.json["errors"][-1]["status"], 429)

    def test_a_shutdown_ends_the_reading_at_the_line_that_follows(self):
        self.start()
        sender = self.sender()
        sender.send(lines(keyed(n) for n in range(3)) + b"\n")
        self.wait_for_total(3)
        self.daemon.signal(signal.SIGTERM)
        status, report = sender.answer()
        self.assertEqual((status, report["accepted"], report["stopped_at_line"]), (202, 3, 5))
        self.assertEqual(report["errors"][-1]["type"], "/problems/draining")
        self.assertEqual(self.daemon.wait(), 0)
        self.restart()
        self.assertEqual(self.total(), 3)

    def test_a_full_queue_ends_the_batch_and_says_what_to_do(self):
        self.start(cells=[{"queue": {"max_jobs": 10}}])
        answer = self.post(lines(keyed(n) for n in range(5000)))
        self.assertEqual((answer.status, answer.json["accepted"]), (202, 10))
        self.assertEqual((answer.json["stopped_at_line"], answer.json["rejected"]), (11, 0))
        [error] = answer.json["errors"]
        self.assertEqual((error["line"], error["status"], error["limit"]), (11, 429, 10))
        self.assertIn("queue.max_jobs", error["detail"])
        self.assertIn("retry-after", answer.headers)

    def test_an_element_that_is_not_json_ends_an_array_after_all_before_it(self):
        self.start()
        for count in (2, 1000):
            elements = ",".join(json.dumps(a_job(f"{count}.{n}")) for n in range(count))
            answer = self.post(f'[{elements},{{"a" 1}},{elements}]'.encode(),
                               {"Content-Type": "application/json"})
            self.assertEqual((answer.json["accepted"], answer.json["rejected"]), (count, 0))
            self.assertEqual(answer.json["stopped_at_line"], count + 1)
            [error] = answer.json["errors"]
            self.assertEqual((error["line"], error["status"]), (count + 1, 400))

    def test_a_pause_ends_a_batch_with_its_report(self):
        self.start(limits={"body_timeout_ms": int(1000 * SLOWDOWN)})
        sender = self.sender()
        sender.send(lines(keyed(n) for n in range(3)) + b'{}\n{"customer"')
        status, report = sender.answer()
        self.assertEqual((status, report["accepted"], report["rejected"]), (202, 3, 1))
        self.assertEqual(report["stopped_at_line"], 5)
        error = report["errors"][-1]
        self.assertEqual((error["line"], error["status"], error["type"]),
                         (5, 408, "/problems/request-timeout"))
        self.assertIn("Send the rest, from this line on", error["detail"])
        self.assertEqual([batch["id"] for batch in self.batches()], [report["id"]])
        self.assertIsNone(self.batches()[0]["finished_at"])
        self.assertEqual(self.sender().answer()[0], 408, "a body that never begins")

    def test_a_cancelled_batch_ends_also_across_a_restart(self):
        self.start()
        answer = self.post(lines(keyed(n) for n in range(2000)))
        path = answer.headers["location"]
        self.assertEqual(self.client.request("POST", f"{path}/cancel").status, 202)
        self.daemon.kill()
        self.restart()
        wait_until(lambda: self.client.get(path).json["states"]["cancelled"] == 2000,
                   "all jobs are cancelled")
        self.assertEqual(self.client.get(path).json["progress"], 1)

    def test_a_batch_that_is_being_read_ends_when_it_is_cancelled(self):
        self.start()
        sender = self.sender()
        sender.send(lines(keyed(n) for n in range(3)))
        self.wait_for_total(3)
        [batch] = self.batches()
        path = f"/v1/batches/{batch['id']}"
        self.assertEqual(self.client.request("POST", f"{path}/cancel").status, 202)
        status, report = sender.answer()
        self.assertEqual((status, report["stopped_at_line"]), (202, 4))
        self.assertEqual(report["errors"][-1]["type"], "/problems/batch-cancelled")
        wait_until(lambda: self.client.get(path).json["states"]["cancelled"] == 3,
                   "all jobs are cancelled")

    def test_a_token_of_a_customer_sees_its_own_batches_and_submits_for_it_alone(self):
        tokens = [{"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(),
                   "scopes": ["submit", "read"]} | ({"customer": customer} if customer else {})
                  for name, customer in TOKENS.items()]
        self.start(a_config(self.provider, auth={"tokens": tokens}))

        def of(name):
            client = Client(self.daemon.host, self.daemon.port)
            self.addCleanup(client.close)
            bearer = {"Authorization": f"Bearer {name}"}
            send = client.request
            client.request = lambda method, path, body=None, headers=None: send(
                method, path, body, {**bearer, **(headers or {})})
            return client

        mixed = lines([a_job("a"), a_job("b", customer="bolt")])
        own = self.post(mixed, client=of("portal"))
        self.assertEqual((own.json["accepted"], own.json["rejected"]), (1, 1))
        self.assertEqual(own.json["errors"][0]["status"], 404)
        every = self.post(mixed, client=of("operator"))
        self.assertEqual(every.json["accepted"], 2)
        self.assertEqual(of("portal").get(own.headers["location"]).json["customer"], "acme")
        seen = {name: [batch["id"] for batch in of(name).get("/v1/batches").json["items"]]
                for name in TOKENS}
        self.assertEqual(seen, {"operator": [every.json["id"], own.json["id"]],
                                "portal": [own.json["id"]], "shop": []})
        for name, status in (("operator", 200), ("portal", 200), ("shop", 404)):
            self.assertEqual(of(name).get(own.headers["location"]).status, status)
        for name in ("portal", "shop"):
            foreign = of(name).request("POST", f"{every.headers['location']}/cancel")
            self.assert_problem(foreign, 404, "not-found")


if __name__ == "__main__":
    unittest.main()
