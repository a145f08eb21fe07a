"""Smuggled requests, pipelined requests, and forged headers."""

import hashlib
import json
import unittest

import wire
from daemon import wait_until
from siege import Siege
from wire import JSON, request, submission

LIVENESS = request("GET", "/livez")
SMUGGLED = submission("smuggled")


class Pipelining(Siege):
    def test_a_hundred_requests_in_one_segment_are_answered_in_order(self):
        self.start_siege()
        targets = ["/livez", "/nothing", "/v1/jobs?limit=x", "/readyz"] * 25
        data = b"".join(request("GET", target) for target in targets)
        outcome = wire.talk(self.daemon, data, half_close=True)
        self.assertEqual((outcome.statuses, outcome.end), ([200, 404, 422, 200] * 25, wire.CLOSED))
        self.assertIn(b"ready", outcome.answers[99].body)

    def test_pipelined_submissions_are_each_executed_once(self):
        self.start_siege()
        data = b"".join(submission(f"e-{i}") for i in range(100))
        outcome = wire.talk(self.daemon, data, half_close=True)
        self.assertEqual(outcome.statuses, [202] * 100)
        self.assertEqual([answer.json["entity"]["id"] for answer in outcome.answers],
                         [f"e-{i}" for i in range(100)])
        self.assertEqual(len(self.client.get("/v1/jobs", limit=1000).json["items"]), 100)

    def test_pipelined_requests_may_be_split_anywhere(self):
        self.start_siege()
        data = LIVENESS + submission("cut") + LIVENESS
        for size in (1, 7, 64):
            pieces = [data[at:at + size] for at in range(0, len(data), size)]
            outcome = wire.talk(self.daemon, *pieces, half_close=True)
            self.assertEqual(outcome.statuses, [200, 202, 200], f"pieces of {size}")

    def test_nothing_after_a_close_is_executed(self):
        self.start_siege()
        for first, status in (
                (request("GET", "/livez", b"", "Connection: close"), 200),
                (request("GET", "/livez", b"", "Connection: keep-alive, close"), 200),
                (request("GET", "/livez", version="HTTP/1.0"), 200)):
            outcome = wire.talk(self.daemon, first + SMUGGLED, half_close=True)
            self.assertEqual((outcome.statuses, outcome.end), ([status], wire.CLOSED), first)
        self.assert_no_jobs()

    def test_a_client_that_pipelines_without_reading_is_held_back(self):
        """The client gets its answers when it reads; what it sends meanwhile takes no memory."""
        self.start_siege(write_timeout_ms=2000)
        with self.siege():
            outcome = wire.talk(self.daemon, LIVENESS * 20_000, half_close=True)
            self.assertEqual(outcome.statuses.count(200), 20_000)
            greedy = wire.connect(self.daemon, receive_buffer=4096)
            greedy.settimeout(4)
            try:
                for _ in range(200):  # 6 MB of requests.
                    greedy.sendall(LIVENESS * 1000)
            except OSError:
                pass  # celld has stopped reading, or the connection is closed.
            greedy.close()

    def test_a_client_that_is_always_in_the_middle_of_its_next_request_takes_one_buffer(self):
        self.start_siege()
        long_one = request("GET", "/livez", b"", "X-Padding: " + 15_000 * "p")
        batch = long_one[2:] + 3 * long_one + long_one[:2]
        with self.siege(), wire.connect(self.daemon) as connection:
            connection.settimeout(30)
            connection.sendall(long_one[:2])
            answers = connection.makefile("rb")
            for _ in range(1000):  # 60 MB of requests.
                connection.sendall(batch)
                for _ in range(4):
                    self.assertEqual(self.read_answer(answers), 200)

    def read_answer(self, file):
        """Reads an answer that has a Content-Length; returns its status."""
        status = int(file.readline().split()[1])
        length = 0
        while (line := file.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        self.assertEqual(len(file.read(length)), length)
        return status


class Smuggling(Siege):
    def test_a_body_is_never_parsed_as_a_request(self):
        self.start_siege()
        for method, target, status in (
                ("GET", "/livez", 200), ("HEAD", "/livez", 200), ("GET", "/nothing", 404),
                ("DELETE", "/livez", 405), ("POST", "/v1/cells", 405), ("OPTIONS", "/livez", 405),
                ("GET", "/v1/jobs?x=1", 422), ("POST", "/v1/jobs", 415)):
            head = request(method, target, b"", f"Content-Length: {len(SMUGGLED)}")
            chunks = (request(method, target, b"", "Transfer-Encoding: chunked") +
                      b"%x\r\n%b\r\n0\r\n\r\n" % (len(SMUGGLED), SMUGGLED))
            for pieces in ((head + SMUGGLED, LIVENESS), (head, SMUGGLED, LIVENESS),
                           (head + SMUGGLED[:9], SMUGGLED[9:] + LIVENESS), (chunks, LIVENESS)):
                with self.subTest(f"{method} {target}", pieces=len(pieces)):
                    outcome = wire.talk(self.daemon, *pieces, half_close=True)
                    self.assertEqual(outcome.statuses, [status, 200], outcome)
        self.assert_no_jobs()

    def test_nothing_after_a_refusal_is_ever_executed(self):
        self.start_siege()
        for refused in (with_both_framings(), request("GET", "/livez", b"", "Host: y"),
                        b"GET /livez\r\n\r\n",
                        request("POST", "/v1/jobs", b"", JSON, "Content-Length: 9999999")):
            with wire.connect(self.daemon) as connection:
                connection.sendall(refused)
                received = b""
                while b"}" not in received:
                    received += connection.recv(65536)
                for _ in range(20):  # celld has closed only its own side of the connection.
                    connection.sendall(SMUGGLED)
                self.assertEqual(connection.recv(65536), b"")
        self.assert_no_jobs()

    def test_the_body_of_a_request_answered_early_is_never_executed(self):
        """celld answers 413 before the body has arrived, and still reads it as a body."""
        self.start_siege()
        head = request("POST", "/v1/jobs", b"", JSON, "Content-Length: 3000000")
        outcome = wire.talk(self.daemon, head, *[SMUGGLED * 50] * 100, half_close=True)
        self.assert_refused(outcome, 413)
        self.assert_no_jobs()

    def test_no_answer_reaches_another_connection(self):
        """A thousand pipelined requests over twenty connections each get their own answer."""
        self.start_siege()
        for i in range(20):
            data = b"".join(request("GET", f"/v1/jobs?customer=c-{i}&x-{i}-{j}=1")
                            for j in range(50))
            outcome = wire.talk(self.daemon, data, half_close=True)
            pointers = [answer.body.count(f"x-{i}-{j}".encode())
                        for j, answer in enumerate(outcome.answers)]
            self.assertEqual(len(pointers), 50)
            self.assertNotIn(0, pointers)


def with_both_framings():
    return request("POST", "/v1/jobs", b"", JSON, "Content-Length: 5",
                   "Transfer-Encoding: chunked") + b"0\r\n\r\n"


class ForgedHeaders(Siege):
    def test_headers_that_name_addresses_are_ignored(self):
        self.start_siege()
        forged = [f"{name}: 203.0.113.77" for name in (
            "REMOTE_ADDR", "REMOTE_PORT", "LOCAL_ADDR", "LOCAL_PORT", "X-Forwarded-For",
            "X-Real-IP", "X-Forwarded-Host", "Forwarded", "X-Original-URL", "X-Rewrite-URL",
            "X-HTTP-Method-Override", "EXCEPTION_WHAT")]
        outcome = wire.talk(self.daemon, submission("honest", *forged) + request(
            "GET", "/v1/jobs", b"", *forged), half_close=True)
        self.assertEqual(outcome.statuses, [202, 200])
        for answer in outcome.answers:
            self.assertNotIn(b"203.0.113.77", answer.body)
            self.assertNotIn("203.0.113.77", "".join(answer.headers.values()))
        self.assertNotIn("203.0.113.77", self.daemon.log())

    def test_an_escape_in_a_header_is_never_decoded(self):
        self.start_siege()
        for key in ("a%41", "%61", "a%0d%0aX-Injected: 1", "a%00"):
            outcome = wire.talk(self.daemon, submission("e", f"Idempotency-Key: {key}"),
                                half_close=True)
            self.assertEqual(outcome.statuses, [422], key)
            self.assertNotIn("x-injected", outcome.answers[0].headers)
        outcome = wire.talk(self.daemon, submission("e", "Idempotency-Key: aA"), half_close=True)
        self.assertEqual(outcome.statuses, [202])
        for field in ("Content-Type: application%2fjson", "Origin: http://x%0d%0aX-Injected: 1",
                      "Content-Length: %35", "Transfer-Encoding: %63hunked", "Host: x%2fy"):
            outcome = wire.talk(self.daemon, request("POST", "/v1/jobs", b"", field),
                                half_close=True)
            self.assertIn(outcome.statuses, ([400], [403], [415]), field)

    def test_an_escape_in_a_token_is_never_decoded(self):
        token = "t-" + "a" * 30
        digest = hashlib.sha256(token.encode()).hexdigest()
        self.start({"services": {"demo": {"type": "simulated"}}, "cells": [{}],
                    "auth": {"tokens": [{"name": "portal", "sha256": digest, "scopes": ["read"]}]}})
        for shown, status in ((token, 200), (token.replace("a", "%61"), 401), (token + "%00", 401),
                              (token + "%0d%0aX: 1", 401), (token + "\xff", 401)):
            outcome = wire.talk(self.daemon, request(
                "GET", "/v1/jobs", b"", f"Authorization: Bearer {shown}"), half_close=True)
            self.assertEqual(outcome.statuses, [status], shown)
        twice = request("GET", "/v1/jobs", b"", *[f"Authorization: Bearer {token}"] * 2)
        self.assertEqual(wire.talk(self.daemon, twice, half_close=True).statuses, [401])

    def test_quoted_text_of_a_request_is_escaped(self):
        """A problem or a job quotes unusual text from its request."""
        self.start_siege()
        odd = '"}\r\nX-Injected: 1\r\n\r\n\u2028<script>\x7f'
        refused = self.client.post("/v1/jobs", {odd: 1})
        self.assert_problem(refused, 422)
        self.assertIn("/" + odd.replace("~", "~0").replace("/", "~1"), refused.pointers)
        outcome = wire.talk(self.daemon, submission("x", parameters={"a": odd}), half_close=True)
        self.assertEqual(outcome.answers[0].json["parameters"], {"a": odd})
        self.assertNotIn("x-injected", outcome.answers[0].headers)


class Halves(Siege):
    def test_a_client_that_closes_its_sending_side_gets_its_answer(self):
        self.start_siege()
        slow = json.dumps({"customer": "acme", "product": "dns", "action": "create",
                           "entity": {"type": "zone", "id": "h"}, "services": ["demo"],
                           "delay_ms": 300}).encode()
        for data, statuses in (
                (LIVENESS, [200]), (submission("half"), [202]),
                (request("POST", "/v1/jobs", slow, JSON, "Prefer: wait=20"), [200]),
                (LIVENESS + LIVENESS, [200, 200])):
            outcome = wire.talk(self.daemon, data, half_close=True)
            self.assertEqual((outcome.statuses, outcome.end), (statuses, wire.CLOSED), outcome)

    def test_resets_in_the_middle_of_an_exchange_leave_nothing_behind(self):
        self.start_siege()
        with self.siege():
            for i in self.waves():
                connection = wire.connect(self.daemon)
                data = submission(f"r-{i}", "Prefer: wait=30")
                connection.sendall(data[:len(data) * (i % 5 + 1) // 5])
                if i % 5 == 4 and i % 2 == 0:  # In the middle of the answer.
                    connection.recv(20)
                wire.reset(connection)

    def test_a_reset_connection_frees_its_waiting_answer(self):
        self.start_siege()
        before = self.descriptors()
        body = json.dumps({"customer": "acme", "product": "dns", "action": "create",
                           "entity": {"type": "zone", "id": "w"}, "services": ["demo"],
                           "delay_ms": 60000}).encode()
        waiting = [wire.connect(self.daemon) for _ in range(100)]
        for connection in waiting:
            connection.sendall(request("POST", "/v1/jobs", body, JSON, "Prefer: wait=60"))
        wait_until(lambda: len(self.client.get("/v1/jobs", limit=200).json["items"]) == 100,
                   "all are submitted")
        for connection in waiting:
            wire.reset(connection)
        wait_until(lambda: self.descriptors() <= before, "the descriptors come back")


if __name__ == "__main__":
    unittest.main()
