"""cellctl against a real celld: every verb, its output and its exit codes.

`CELLCTL_BINARY` is the path of the program; the default is cellctl in celld's directory.
"""

import base64
import contextlib
import hashlib
import json
import os
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time
import unittest

from cellctl import (FAILED, NOT_ENDED, NOT_FOUND, OK, OUTPUT, REFUSED, UNAVAILABLE,
                     USAGE, Canned, CellctlTest, binary)
from daemon import DEADLINE_S, SLOWDOWN, a_config, a_job, wait_until
from provider import answer, slow
from secure_daemon import Authority, SecureDaemon
from terminal import open_terminal

COMPLETION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "config",
                          "completion")


class Submitting(CellctlTest):
    def test_cellctl_submits_a_job_from_its_flags(self):
        self.start()
        job = self.cellctl_json(
            "submit", "--customer", "acme", "--product", "dns", "--action", "create", "--entity",
            "zone", "example.com", "--subtype", "primary", "--service", "dns,billing",
            "--parameter", "ttl=300", "--parameter", 'list=["a"]', "--parameter", "text=a b",
            "--priority", "9", "--delay", "1h", "--expires", "2h", "--timeout", "1.5s",
            "--max-attempts", "7", "--on-failure", "stop", "--label", "ticket=T-1")
        self.assertEqual(self.job(job["id"]), job)
        for member, value in {
                "customer": "acme", "product": "dns", "action": "create",
                "entity": {"type": "zone", "subtype": "primary", "id": "example.com"},
                "services": ["dns", "billing"], "priority": 9, "timeout_ms": 1500,
                "parameters": {"ttl": 300, "list": ["a"], "text": "a b"}, "max_attempts": 7,
                "labels": {"ticket": "T-1"}, "state": "scheduled"}.items():
            self.assertEqual(job[member], value, member)
        self.assertGreater(job["expires_at"], job["run_at"])
        at = self.cellctl_json(*self.a_submit("--at", "2031-02-03"))
        self.assertEqual(at["run_at"], "2031-02-03T00:00:00.000Z")

    def test_cellctl_submits_a_file_and_standard_input(self):
        self.start()
        path = os.path.join(self.directory, "job.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(a_job("from-file", delay_ms=60000), file)
        job = self.cellctl_json("submit", "-f", path, "--label", "a=b", "--customer", "bolt")
        self.assertEqual((job["entity"]["id"], job["customer"], job["labels"]),
                         ("from-file", "bolt", {"a": "b"}))
        text = json.dumps(a_job("from-stdin", delay_ms=60000)).encode()
        self.assertEqual(self.cellctl_json("submit", "-f", "-", stdin=text)["entity"]["id"],
                         "from-stdin")

    def test_a_closed_standard_descriptor_is_an_error_and_no_connection(self):
        self.start()
        for closed, code, *arguments in ((">&-", OUTPUT, "job", "list"),
                                         (">&-", OUTPUT, "backup", "-"),
                                         ("<&-", USAGE, "submit", "-f", "-"),
                                         ("<&-", USAGE, "submit", "--batch", "-f", "-"),
                                         ("2>&-", OK, "job", "list")):
            command = ["sh", "-c", f'exec "$@" {closed}', "sh", binary(), *arguments]
            done = subprocess.run(command, env=self.environment(), stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, code, (closed, arguments, done))

    def test_cellctl_submits_a_job_of_nearly_a_mebibyte(self):
        self.start()
        job = a_job(parameters={"text": "x" * ((1 << 20) - 300)})
        sent = self.cellctl_json("submit", "-f", "-", stdin=json.dumps(job).encode())
        self.assertEqual(sent["parameters"], job["parameters"])
        shown = self.cellctl("job", "get", sent["id"])
        self.assertIn(job["parameters"]["text"], shown)  # A pipe has no width to cut to.
        job["parameters"]["text"] += "x" * 300
        done = self.run_cellctl("submit", "-f", "-", stdin=json.dumps(job).encode(), code=REFUSED)
        self.assertIn("(413)", done.stderr)

    def test_submit_prints_the_id_or_the_state(self):
        self.start()
        self.assertRegex(self.cellctl(*self.a_submit("-q")), r"\A[0-9a-z]{13}\n\Z")
        self.assertRegex(self.cellctl(*self.a_submit()),
                         r"\Ajob [0-9a-z]{13} (is \w+|succeeded)\n\Z")
        first = self.cellctl(*self.a_submit("--key", "k-1", "-q"))
        again = self.cellctl(*self.a_submit("--key", "k-1"))
        self.assertIn(first.strip(), again)
        self.assertIn("(submitted before)", again)
        done = self.run_cellctl(*self.a_submit("--key", "k-1", "--priority", "1"), code=REFUSED)
        self.assertIn("idempotency key", done.stderr)

    def test_submit_waits_for_the_end_and_exits_as_the_job_did(self):
        self.start()
        self.assertIn("state       succeeded", self.cellctl(*self.a_submit("--wait")))
        self.provider.always("/dns", answer(400, b"no"))
        done = self.run_cellctl(*self.a_submit("--wait", "30s"), code=FAILED)
        self.assertIn("provider_rejected", done.stdout)
        self.provider.hold("/dns")
        done = self.run_cellctl(*self.a_submit("--wait", "200ms"), code=NOT_ENDED)
        self.assertRegex(done.stdout, r"job \w+ is (running|queued)")
        self.assertEqual(len({call.body["job"] for call in self.provider.calls_of()}), 3)

    def test_a_request_that_celld_holds_may_take_longer_than_others(self):
        self.start(cells=[{"customer": "*"},
                          {"customer": "slow", "queue": {"submissions_per_s": 1,
                                                         "submissions_burst": 1}}])
        self.provider.always("/dns", slow(3))
        self.assertIn("succeeded", self.cellctl(*self.a_submit("--wait", "--request-timeout", "1s")))
        jobs = "".join(json.dumps(a_job(str(number), customer="slow")) + "\n"
                       for number in range(4)).encode()
        self.cellctl("submit", "--batch", "-f", "-", "--quiet", "--request-timeout", "1s", stdin=jobs)
        self.assertEqual(len(self.client.get("/v1/jobs", customer="slow").json["items"]), 4)

    def test_a_refused_submission_shows_every_fault(self):
        self.start()
        done = self.run_cellctl("submit", "--customer", "a/b", "--product", "dns", "--service",
                                "nope,dns", "--entity", "zone/x", code=REFUSED)
        self.assertEqual(done.stdout, "")
        for part in ("The request has faults (422)", "  /customer: must match", "  /action: is req",
                     "  /services/0: is not a configured service"):
            self.assertIn(part, done.stderr)

    def test_input_that_cellctl_cannot_read_is_a_usage_error(self):
        self.start()
        for arguments, stdin in (
                (("submit", "-f", "-"), b'{"a": 1,'), (("submit", "-f", "-"), b""),
                (("submit", "-f", "/nowhere"), None), (("submit", "-f", "-"), b'{"a":1,"a":2}'),
                (("submit", "--entity", "zone"), None), (("submit", "--delay", "soon"), None),
                (("submit", "--key", ""), None), (("submit", "--key="), None),
                (("submit", "--nope"), None), (("job",), None), ((), None),
                (("cell", "get", "acme"), None), (("cell", "resize", "acme/dns"), None),
                (("cell", "resize", "acme/dns", "many"), None),
                (("cell", "resize", "acme/dns", "9" * 20), None),
                (("job", "list", "--request-timeout", "0"), None),
                (("job", "list", "--url", "ftp://x"), None),
                (("job", "list", "--url", "http://u:p@127.0.0.1"), None),
                (("job", "list", "--token-file", "/nowhere"), None),
                (("job", "list", "--cacert", "/nowhere"), None),
                (("job", "list", "--client-cert", "/nowhere"), None),
                (("job", "list", "--client-key", "/dev/null"), None)):
            with self.subTest(arguments=arguments):
                done = self.run_cellctl(*arguments, stdin=stdin, code=USAGE)
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.startswith("cellctl: "), done)


class Repeating(CellctlTest):
    JOB = json.dumps(a_job() | {"id": "06f3k9v2m8qzr", "state": "queued"}).encode()

    def test_cellctl_sends_the_same_job_again_when_celld_is_busy(self):
        url, requests = self.canned((503, {"Retry-After": "1"}, b""), (429, {}, b"{}"),
                                    (202, {}, self.JOB))
        done = self.run_cellctl(*self.a_submit("-q", "--url", url))
        self.assertEqual(done.stdout, "06f3k9v2m8qzr\n")
        self.assertIn("same job again in 1.0s (1 of 3)", done.stderr)
        keys = {headers["Idempotency-Key"] for _, headers, _ in requests}
        bodies = {body for _, _, body in requests}
        self.assertEqual((len(requests), len(keys), len(bodies)), (3, 1, 1))
        self.assertRegex(keys.pop(), r"\Acellctl-[0-9a-f]{32}\Z")
        self.run_cellctl(*self.a_submit("--url", url))
        self.assertNotEqual(requests[-1][1]["Idempotency-Key"], requests[0][1]["Idempotency-Key"])

    def test_the_pauses_before_a_submission_is_repeated_grow(self):
        url, _ = self.canned((503, {}, b""), (503, {}, b""), (202, {}, self.JOB))
        done = self.run_cellctl(*self.a_submit("-q", "--url", url))
        for pause in ("500ms (1 of 3)", "1.0s (2 of 3)"):
            self.assertIn(f"same job again in {pause}", done.stderr)

    def test_cellctl_pauses_although_celld_asks_for_no_pause(self):
        url, _ = self.canned((503, {"Retry-After": "0"}, b""), (202, {}, self.JOB))
        done = self.run_cellctl(*self.a_submit("-q", "--url", url))
        self.assertIn("same job again in 500ms (1 of 3)", done.stderr)

    def test_a_wait_that_fails_says_that_the_job_was_accepted(self):
        url, _ = self.canned((202, {}, self.JOB), (500, {}, b'{"title": "No"}'))
        done = self.run_cellctl(*self.a_submit("--wait", "--url", url), code=UNAVAILABLE)
        self.assertIn("job 06f3k9v2m8qzr was accepted, but its outcome is unknown", done.stderr)

    def test_cellctl_does_not_repeat_a_refused_submission_or_wait_long_for_one(self):
        for status, headers, code in ((422, {}, REFUSED), (500, {}, UNAVAILABLE),
                                      (503, {"Retry-After": "3600"}, UNAVAILABLE),
                                      (429, {"Retry-After": "3600"}, REFUSED)):
            url, requests = self.canned((status, headers, b'{"title": "No"}'))
            done = self.run_cellctl(*self.a_submit("--url", url), code=code)
            why = ("cellctl: celld asks for a pause of 60m; cellctl pauses for at most 30s.\n"
                   if headers else "")
            self.assertEqual((len(requests), done.stderr), (1, f"{why}cellctl: No ({status})\n"))

    def test_cellctl_pauses_between_requests_if_celld_does_not_hold_them(self):
        ended = json.dumps(json.loads(self.JOB) | {"state": "succeeded"}).encode()
        url, requests = self.canned(*[(202, {}, self.JOB)] * 3, (202, {}, ended))
        began = time.monotonic()
        self.cellctl(*self.a_submit("--wait", "--url", url))
        self.assertGreater(time.monotonic() - began, 0.99)  # Two pauses of 500 ms.
        self.assertEqual([headers.get("Prefer") for _, headers, _ in requests],
                         [None, "wait=60", "wait=60", "wait=60"])
        url, requests = self.canned((202, {}, self.JOB))
        self.run_cellctl(*self.a_submit("--wait", "900ms", "--url", url), code=NOT_ENDED)
        self.assertLess(len(requests), 5, "it pauses in the last second, too")
        self.assertLessEqual({headers["Prefer"] for _, headers, _ in requests[1:]}, {"wait=1"})

    def test_cellctl_gives_up_after_the_last_retry(self):
        url, requests = self.canned((503, {}, b""))
        self.run_cellctl(*self.a_submit("--url", url, "--retries", "1"), code=UNAVAILABLE)
        self.assertEqual(len(requests), 2)
        self.run_cellctl(*self.a_submit("--url", url, "--retries", "0"), code=UNAVAILABLE)
        self.assertEqual(len(requests), 3)

    def test_cellctl_uses_the_idempotency_key_of_the_file(self):
        url, requests = self.canned((202, {}, self.JOB))
        job = json.dumps(a_job() | {"idempotency_key": "mine"}).encode()
        self.cellctl("submit", "-f", "-", "--url", url, stdin=job)
        self.assertEqual((requests[0][1]["Idempotency-Key"], requests[0][2]), ("mine", job))

    def test_an_address_where_celld_does_not_listen_is_reported(self):
        nowhere = "http://127.0.0.1:1"
        for arguments in (("job", "list"), ("job", "wait", "x"), ("job", "events"),
                          ("cell", "list"), self.a_submit("--retries", "0")):
            done = self.run_cellctl(*arguments, "--url", nowhere, code=UNAVAILABLE)
            self.assertIn(f"celld does not answer at {nowhere}: cannot connect to 127.0.0.1 port 1",
                          done.stderr)
        unknown = "x" * 64  # Too long for a name, so that no name server is asked.
        done = self.run_cellctl("job", "list", "--url", f"http://{unknown}", code=UNAVAILABLE,
                                no_proxy="*")
        self.assertIn(f"cannot resolve {unknown}: ", done.stderr)

    def test_a_proxy_that_does_not_listen_is_named(self):
        done = self.run_cellctl("job", "list", "--url", "http://celld.example", code=UNAVAILABLE,
                                http_proxy="http://127.0.0.1:1")
        self.assertIn("celld does not answer at http://celld.example: cannot connect to 127.0.0.1 "
                      "port 1", done.stderr)

    def test_a_command_for_several_jobs_ends_if_celld_does_not_answer(self):
        done = self.run_cellctl("job", "get", "a", "b", "--url", "http://127.0.0.1:1",
                                code=UNAVAILABLE)
        self.assertEqual(done.stderr.count("celld does not answer"), 1, done)

    def test_json_that_is_not_of_celld_is_no_success(self):
        job = ("--customer", "a", "--product", "p", "--action", "x", "--entity", "t/1",
               "--service", "s")
        for arguments in (("submit", *job), ("job", "get", "x"), ("job", "cancel", "x"),
                          ("job", "list"), ("cell", "get", "a/b"), ("cell", "pause", "a/b"),
                          ("quota", "show", "a/b"), ("schedule", "get", "x"),
                          ("schedule", "pause", "x"), ("service", "reset", "x"), ("reload",),
                          ("batch", "show", "x"), ("batch", "cancel", "x"), ("config", "show"),
                          ("--json", "cell", "list")):
            with self.subTest(arguments=arguments):
                url, _ = self.canned((200, {}, b'{"properties": {"x": 1}}'))
                done = self.run_cellctl(*arguments, "--url", url, code=UNAVAILABLE)
                self.assertIn("unexpected response, not from celld (200)", done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_response_of_another_server_is_reported_and_harmless(self):
        url, _ = self.canned((200, {}, b"<html>\x1b[2J"))
        done = self.run_cellctl("job", "list", "--url", url, code=UNAVAILABLE)
        self.assertIn("not from celld (200)\n  <html>\N{REPLACEMENT CHARACTER}[2J", done.stderr)


class Requests(CellctlTest):
    def begin_to_send(self, start, then):
        """The URL of a server that sends the start of a response and calls `then`."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(start)
                    then(connection)
        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    def test_a_response_that_drips_ends_at_the_request_timeout(self):
        def drip(connection):
            while True:
                connection.sendall(b"1")
                time.sleep(0.01)
        head = b"HTTP/1.1 200 OK\r\n"
        for start in (head, head + b"\r\n", head + b"Content-Length: 999999999\r\n\r\n",
                      head + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n"):
            with self.subTest(start=start):
                url = self.begin_to_send(start, drip)
                done = self.run_cellctl("job", "list", "--request-timeout", "300ms", "--url", url,
                                        code=UNAVAILABLE)
                self.assertIn("no complete response within 300ms", done.stderr)

    def test_a_wait_ends_in_time_when_the_stream_is_silent(self):
        # Without its deadline, cellctl would give up on the stream after 50 s.
        stream = (b"HTTP/1.1 200 OK\r\n\r\nevent: job.state\n"
                  b'data: {"id": "06f3k9v2m8qzr", "state": "running"}\n\n')
        url = self.begin_to_send(stream, lambda connection: connection.recv(1))
        done = self.run_cellctl("job", "wait", "06f3k9v2m8qzr", "--timeout", "300ms", "--url", url,
                                code=NOT_ENDED)
        self.assertEqual(done.stdout, "job 06f3k9v2m8qzr is running\n")

    def test_a_gap_is_no_state_of_the_job_that_a_wait_is_for(self):
        stream = (b"HTTP/1.1 200 OK\r\n\r\nevent: job.state\n"
                  b'data: {"id": "06f3k9v2m8qzr", "state": "running"}\n\n'
                  b'event: gap\ndata: {"detail": "Events were lost."}\n\n')
        url = self.begin_to_send(stream, lambda connection: connection.recv(1))
        done = self.run_cellctl("job", "wait", "06f3k9v2m8qzr", "--timeout",
                                f"{int(1500 * SLOWDOWN)}ms", "--url", url, code=NOT_ENDED)
        self.assertEqual(done.stdout, "job 06f3k9v2m8qzr is running\n")

    def test_a_wait_ends_in_time_when_each_stream_ends_at_once(self):
        url, _ = self.canned((200, {"Content-Type": "text/event-stream"},
                              b'event: job.state\ndata: {"id": "06f3k9v2m8qzr", "state": "running"}'
                              b"\n\n"))
        timeout_ms = int(1500 * SLOWDOWN)
        done = self.run_cellctl("job", "wait", "06f3k9v2m8qzr", "--timeout", f"{timeout_ms}ms",
                                "--url", url, code=NOT_ENDED)
        pauses = [int(ms) for ms in re.findall(r"; reconnecting in (\d+)ms\n", done.stderr)]
        self.assertTrue(0 < sum(pauses) <= timeout_ms, pauses)

    def test_a_watch_asks_at_its_interval_but_at_most_ten_times_a_second(self):
        batch = json.dumps({"id": "0000000000001", "total": 1, "states": {}}).encode()
        for words, body in ((("cell", "list", "--watch"), b'{"items": []}'),
                            (("batch", "watch", "0000000000001", "--interval"), batch)):
            for interval, lines, least_s in (("1s", 2, 1), ("0", 4, 0.3)):
                with self.subTest(words=words, interval=interval):
                    url, _ = self.canned((200, {}, body))
                    began = time.monotonic()
                    watching = self.begin(*words, interval, "--json", "--url", url)
                    for _ in range(lines):
                        self.assertEqual(self.a_line(watching.stdout).encode(), body + b"\n")
                    self.assertGreaterEqual(time.monotonic() - began, least_s)
                    watching.kill()

    def test_a_watch_ends_when_celld_refuses_a_request(self):
        job = json.dumps(a_job() | {"id": "06f3k9v2m8qzr", "state": "running"}).encode()
        batch = json.dumps({"id": "0000000000001", "total": 1, "states": {}}).encode()
        for words, body in ((("job", "get", "06f3k9v2m8qzr", "--watch", "100ms"), job),
                            (("batch", "watch", "0000000000001", "--interval", "100ms"), batch)):
            with self.subTest(words=words):
                url, _ = self.canned((200, {}, body), (404, {}, b'{"title": "Not found"}'))
                done = self.run_cellctl(*words, "--json", "--url", url, code=NOT_FOUND)
                self.assertEqual(done.stdout.encode(), body + b"\n")

    def test_a_watch_of_several_jobs_ends_when_all_of_them_have_ended(self):
        def a_page(job_id, state):
            return 200, {}, json.dumps({"id": job_id, "state": state}).encode()
        url, requests = self.canned(a_page("a", "running"), a_page("b", "succeeded"),
                                    a_page("a", "succeeded"), a_page("b", "succeeded"))
        self.cellctl("job", "get", "a", "b", "--watch", "100ms", "--json", "--url", url)
        self.assertEqual(len(requests), 4)

    def test_no_value_adds_a_line_to_a_request(self):
        url, requests = self.canned((202, {}, Repeating.JOB))
        done = self.run_cellctl(*self.a_submit("--url", url, "--key", "k\r\nX-Y: z"), code=USAGE)
        self.assertIn("Idempotency-Key", done.stderr)
        job = json.dumps(a_job() | {"idempotency_key": "k\nX-Y: z"}).encode()
        self.run_cellctl("submit", "-f", "-", "--url", url, stdin=job, code=USAGE)
        self.assertEqual(requests, [])
        self.run_cellctl("job", "get", "a\r\nX-Y: z/../b ?c#d", "--url", url)
        self.assertEqual(requests[0][0], "/v1/jobs/a%0D%0AX-Y%3A%20z%2F..%2Fb%20%3Fc%23d")

    def test_a_list_asks_for_the_page_of_its_flags(self):
        url, requests = self.canned((200, {}, b'{"items": []}'))
        for kind, path in (("batch", "batches"), ("schedule", "schedules"), ("cell", "cells")):
            self.cellctl(kind, "list", "--limit", "2", "--cursor", "c", "--url", url)
            self.assertEqual(requests[-1][0], f"/v1/{path}?limit=2&cursor=c")

    def test_all_items_are_asked_for_in_pages_of_the_largest_size(self):
        url, requests = self.canned((200, {}, b'{"items": []}'))
        for flags, limit in (((), 1000), (("--limit", "2"), 2)):
            self.cellctl("cell", "list", "--all", *flags, "--url", url)
            self.assertEqual(requests[-1][0], f"/v1/cells?limit={limit}")

    def test_a_list_goes_on_after_pages_that_ended_early(self):
        def page(ids, cursor):
            items = [{"id": job_id} for job_id in ids]
            return 200, {}, json.dumps({"items": items, "next_cursor": cursor}).encode()
        url, requests = self.canned(page([], "a"), page(["1"], "b"), page(["2", "3"], "c"))
        done = self.run_cellctl("job", "list", "--limit", "3", "--url", url)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()[1:]],
                         ["1", "2", "3"])
        self.assertIn("there are more jobs", done.stderr)
        self.assertEqual([path for path, *_ in requests],
                         ["/v1/jobs?limit=3", "/v1/jobs?limit=3&cursor=a",
                          "/v1/jobs?limit=2&cursor=b"])
        url, requests = self.canned(page([], "a"), page(["1"], None))
        done = self.run_cellctl("job", "list", "--url", url)
        self.assertEqual(done.stdout.splitlines()[1].split()[0], "1")
        self.assertEqual(done.stderr, "")
        self.assertEqual(requests[-1][0], "/v1/jobs?limit=50&cursor=a")

    def test_a_cursor_that_points_to_its_own_page_ends_a_list(self):
        url, requests = self.canned((200, {}, b'{"items": [{"id": "1"}], "next_cursor": "c"}'))
        self.cellctl("job", "list", "--all", "--json", "--url", url)
        self.assertEqual([path for path, *_ in requests],
                         ["/v1/jobs?limit=1000", "/v1/jobs?limit=1000&cursor=c"])

    def test_each_item_of_a_long_list_is_printed_once(self):
        ids = [f"{number:013}" for number in range(30)]
        items = [{"id": job_id, "parameters": {"text": "x" * 10_000}} for job_id in ids]
        url, _ = self.canned((200, {}, json.dumps({"items": items}).encode()))
        lines = self.cellctl("job", "list", "--all", "--json", "--url", url).splitlines()
        self.assertEqual([json.loads(line)["id"] for line in lines], ids)

    def test_the_items_of_a_long_list_are_printed_before_the_next_page_arrives(self):
        items = [{"id": f"{n:013}", "parameters": {"text": "x" * 10_000}} for n in range(7)]
        page = json.dumps({"items": items, "next_cursor": "c"}).encode()
        url, _ = self.canned((200, {}, page), (503, {}, b"{}"))
        done = self.run_cellctl("job", "list", "--all", "--json", "--url", url, code=UNAVAILABLE)
        self.assertEqual([json.loads(line) for line in done.stdout.splitlines()], items)

    def test_a_path_in_the_url_prefixes_every_path_and_a_proxy_receives_the_whole_url(self):
        url, requests = self.canned((200, {}, b'{"items": []}'))
        self.cellctl("service", "list", "--url", f"{url}/below/")
        self.assertEqual(requests[-1][0], "/below/v1/services")
        self.cellctl("service", "list", "--url", "http://celld.example:81", http_proxy=url)
        self.assertEqual(requests[-1][0], "http://celld.example:81/v1/services")
        self.assertEqual(requests[-1][1]["Host"], "celld.example:81")
        self.assertNotIn("Proxy-Authorization", requests[-1][1])
        self.cellctl("service", "list", "--url", "http://celld.example:81",
                     http_proxy=url.replace("http://", "http://us%40er:pass@"))
        self.assertEqual(requests[-1][1]["Proxy-Authorization"],
                         "Basic " + base64.b64encode(b"us@er:pass").decode())
        self.cellctl("service", "list", "--url", url, http_proxy="http://celld.example")


class Jobs(CellctlTest):
    def test_cellctl_gets_jobs_for_people_and_for_scripts(self):
        self.start()
        ids = [self.submit(a_job(f"e-{i}", labels={"n": str(i)})) for i in range(2)]
        for job_id in ids:
            self.wait_for_end(job_id)
        text = self.cellctl("job", "get", ids[0])
        for line in (f"job         {ids[0]}", "entity      zone/e-0", "labels      n=0"):
            self.assertIn(line + "\n", text)
        self.assertEqual(self.cellctl_json("job", "get", ids[0]), self.job(ids[0]))
        lines = self.cellctl("job", "get", *ids, "--json").splitlines()
        self.assertEqual([json.loads(line)["id"] for line in lines], ids)

    def test_an_unknown_job_exits_with_4_and_the_others_are_shown(self):
        self.start()
        job_id = self.submit(a_job())
        done = self.run_cellctl("job", "get", "nothing", job_id, code=NOT_FOUND)
        self.assertIn(job_id, done.stdout)
        self.assertIn("nothing: Not found (404)", done.stderr)
        for verb in ("cancel", "retry", "wait", "events"):
            self.run_cellctl("job", verb, "../nothing", code=NOT_FOUND)

    def test_cellctl_lists_by_every_filter(self):
        self.start()
        mine = self.submit(a_job("a", labels={"t": "1 & 2"}))
        self.wait_for_end(mine)
        other = self.submit(a_job("b", customer="bolt", product="mail", services=["billing"],
                                  delay_ms=60000, entity={"type": "box", "id": "b/c"}))

        def listed(*arguments):
            return [job["id"] for job in self.cellctl_json("job", "list", *arguments)["items"]]
        self.assertEqual(listed(), [other, mine])
        for filters in (("--customer", "acme"), ("--product", "dns"), ("--state", "succeeded"),
                        ("--service", "dns"), ("--entity", "zone/a"), ("--entity", "zone"),
                        ("--label", "t=1 & 2")):
            self.assertEqual(listed(*filters), [mine], filters)
        self.assertEqual(listed("--entity", "box/b/c"), [other])
        self.assertEqual(listed("--since", "1h"), [other, mine])
        self.assertEqual(listed("--until", "1h"), [])
        self.assertEqual(listed("--since", "2000-01-01", "--until", "2000-01-02T00:00:00Z"), [])
        done = self.run_cellctl("job", "list", "--state", "odd", "--limit", "0", code=REFUSED)
        self.assertIn('"state" must be', done.stderr)
        self.assertIn('"limit" must be', done.stderr)

    def test_cellctl_lists_pages_or_all(self):
        self.start()
        ids = [self.submit(a_job(f"e-{i}", delay_ms=60000)) for i in range(5)][::-1]
        done = self.run_cellctl("job", "list", "--limit", "2")
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["ID", *ids[:2]])
        self.assertIn("there are more jobs", done.stderr)
        page = self.cellctl_json("job", "list", "--limit", "2")
        rest = self.cellctl_json("job", "list", "--cursor", page["next_cursor"])
        self.assertEqual([job["id"] for job in page["items"] + rest["items"]], ids)
        for limit in ((), ("--limit", "2")):
            lines = self.cellctl("job", "list", "--all", "--json", *limit).splitlines()
            self.assertEqual([json.loads(line)["id"] for line in lines], ids)
        self.assertEqual(len(self.cellctl("job", "list", "--all").splitlines()), 6)
        rest = self.cellctl("job", "list", "--all", "--json", "--limit", "1", "--cursor",
                            page["next_cursor"]).splitlines()
        self.assertEqual([json.loads(line)["id"] for line in rest], ids[2:])

    def test_wide_characters_keep_the_columns(self):
        self.start()
        names = ("日本語.example", "bücher.example", "e\u0301.example", "plain.example")
        for name in names:
            self.submit(a_job(name, delay_ms=60000))
        lines = self.cellctl("job", "list").splitlines()
        # In terminal columns: a wide character takes two, a combining one none.
        columns = {line.index("0/1") + (3 if "日" in line else 0) - (1 if "\u0301" in line else 0)
                   for line in lines[1:]}
        self.assertEqual(len(columns), 1, lines)

    def test_cellctl_cancels_and_retries(self):
        self.start()
        ids = [self.submit(a_job(f"e-{i}", delay_ms=60000)) for i in range(2)]
        out = self.cellctl("job", "cancel", *ids)
        self.assertEqual(out, "".join(f"job {job_id} was cancelled\n" for job_id in ids))
        done = self.run_cellctl("job", "cancel", ids[0], code=REFUSED)
        self.assertIn("The job cannot be cancelled (409)", done.stderr)
        for words, code in (([ids[0], "nothing"], REFUSED), (["nothing", ids[0]], NOT_FOUND)):
            self.run_cellctl("job", "cancel", *words, code=code)  # That of the first failure.
        self.assertEqual(self.cellctl_json("job", "retry", ids[0])["id"], ids[0])
        self.wait_for_end(ids[0])
        self.run_cellctl("job", "retry", ids[0], code=REFUSED)

    def test_cellctl_waits_for_jobs(self):
        self.start()
        gate = self.provider.hold("/dns")
        ids = [self.submit(a_job(f"e-{i}")) for i in range(3)]
        wait_until(lambda: len(self.provider.running()) == 3, "all jobs run")
        done = self.run_cellctl("job", "wait", ids[0], "--timeout", "100ms", code=NOT_ENDED)
        self.assertIn(f"job {ids[0]} is running", done.stdout)
        began = time.monotonic()
        done = self.run_cellctl("job", "wait", *ids, "--timeout", "1500ms", code=NOT_ENDED)
        self.assert_in_time("waiting for three jobs", time.monotonic() - began, 3 * 1.5)
        for job_id in ids:
            self.assertIn(f"job {job_id} is running", done.stdout)
        waiting = self.begin("job", "wait", *ids)
        gate.let_all()
        self.assertEqual(waiting.wait(DEADLINE_S), OK)
        self.assertEqual(waiting.stdout.read().decode(),
                         "".join(f"job {job_id} succeeded\n" for job_id in ids))
        self.provider.always("/dns", answer(400, b"no"))
        failing = self.submit(a_job("e-9"))
        self.run_cellctl("job", "wait", failing, ids[0], code=FAILED)
        done = self.run_cellctl("job", "wait", failing, "--json", code=FAILED)
        self.assertEqual(json.loads(done.stdout), self.job(failing))

    def test_cellctl_waits_across_a_restart(self):
        self.keep_port()
        self.start()
        self.provider.hold("/dns")
        job_id = self.submit(a_job())
        wait_until(lambda: self.provider.running(), "the job runs")
        following = self.begin("job", "events", job_id, "--json")
        self.assertEqual(json.loads(self.a_line(following.stdout))["state"], "running")
        waiting = self.begin("job", "wait", job_id)
        self.await_streams(2)
        self.daemon.kill()
        self.assertIn("reconnecting", self.a_line(following.stderr))
        self.provider.release_all()
        self.provider.rules.clear()
        self.restart()
        self.assertEqual(waiting.wait(DEADLINE_S), OK)
        self.assertEqual(following.wait(DEADLINE_S), OK)
        last = following.stdout.read().decode().splitlines()[-1]
        self.assertEqual(json.loads(last)["state"], "succeeded")

    def test_each_event_ends_a_row_of_failures_to_follow_the_stream(self):
        job = json.dumps(a_job() | {"id": "06f3k9v2m8qzr", "state": "running", "attempt": 1})
        url, requests = self.canned((200, {"Content-Type": "text/event-stream"},
                                     f"id: 1\nevent: job.state\ndata: {job}\n\n".encode()))
        following = self.begin("job", "events", "06f3k9v2m8qzr", "--url", url)
        for _ in range(3):
            self.assertIn("; reconnecting in 500ms\n", self.a_line(following.stderr))
        self.assertEqual([headers.get("Last-Event-ID") for _, headers, _ in requests[:3]],
                         [None, "1", "1"])

    def test_the_pauses_grow_while_celld_does_not_come_back(self):
        job = json.dumps(a_job() | {"id": "06f3k9v2m8qzr", "state": "running", "attempt": 1})
        url, _ = self.canned((200, {"Content-Type": "text/event-stream"},
                              f"id: 1\nevent: job.state\ndata: {job}\n\n".encode()),
                             (503, {}, b""))
        following = self.begin("job", "events", "06f3k9v2m8qzr", "--url", url)
        for pause in ("500ms", "1.0s"):
            self.assertIn(f"; reconnecting in {pause}\n", self.a_line(following.stderr))

    def test_a_gap_is_reported_and_the_events_behind_it_are_printed(self):
        job = a_job() | {"id": "06f3k9v2m8qzr", "state": "succeeded"}
        text = ('event: gap\ndata: {"detail": "Events were lost."}\n\n'
                f"event: job.state\ndata: {json.dumps(job)}\n\n")
        url, _ = self.canned((200, {"Content-Type": "text/event-stream"}, text.encode()))
        done = self.run_cellctl("job", "events", "06f3k9v2m8qzr", "--json", "--url", url)
        self.assertIn("Events were lost.", done.stderr)
        self.assertEqual(json.loads(done.stdout), job)

    def test_cellctl_prints_events(self):
        self.start()
        job_id = self.submit(a_job())
        self.wait_for_end(job_id)
        line = self.cellctl("job", "events", job_id)
        self.assertRegex(line, rf"\A\d{{4}}-\S+Z  {job_id}  succeeded  acme/dns  create "
                               r"zone/example.com  1/1\n\Z")
        self.run_cellctl("job", "events", job_id, "--customer", "acme", code=USAGE)
        following = self.begin("job", "events", "--customer", "bolt", "--json")
        self.await_streams(1)
        self.wait_for_end(self.submit(a_job("of-acme")))
        self.wait_for_end(self.submit(a_job("of-bolt", customer="bolt")))
        states = [json.loads(self.a_line(following.stdout)) for _ in range(3)]
        self.assertEqual([job["state"] for job in states], ["queued", "running", "succeeded"])
        self.assertEqual({job["customer"] for job in states}, {"bolt"})
        self.wait_for_end(self.submit(a_job("of-bolt-2", customer="bolt")))
        more = [json.loads(self.a_line(following.stdout)) for _ in range(3)]
        self.assertEqual({job["entity"]["id"] for job in more}, {"of-bolt-2"})

    def test_events_are_asked_for_by_customer_and_product(self):
        url, requests = self.canned((404, {}, b"{}"))
        refused = self.begin("job", "events", "--customer", "a", "--product", "b", "--url", url)
        self.assertEqual(refused.wait(DEADLINE_S), UNAVAILABLE)  # celld's 404 is a problem.
        self.assertEqual([path for path, _, _ in requests], ["/v1/events?customer=a&product=b"])

    def test_a_pipe_that_is_closed_early_ends_cellctl_silently(self):
        self.start()
        filler = {"text": "x" * 60_000}
        for i in range(20):
            self.submit(a_job(f"e-{i}", parameters=filler, delay_ms=60000))
        for arguments in (("job", "list", "--all", "--json"), ("job", "list", "--json")):
            process = self.begin(*arguments)
            process.stdout.read(10)
            process.stdout.close()
            self.assertEqual(process.wait(DEADLINE_S), -13)
            self.assertEqual(process.stderr.read(), b"")

    def test_output_that_cannot_be_written_exits_with_7(self):
        self.start()
        with open("/dev/full", "wb") as full:
            done = subprocess.run([binary(), "job", "list"], env=self.environment(), stdout=full,
                                  stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, OUTPUT, done)
        self.assertIn(b"standard output cannot be written", done.stderr)


class Cells(CellctlTest):
    def start_cells(self):
        self.start(cells=[{"customer": "acme"}, {"customer": "*", "product": "*"}])

    def test_cellctl_shows_cells(self):
        self.start_cells()
        self.assertEqual(self.cellctl_json("cell", "list"), self.client.get("/v1/cells").json)
        self.assertEqual(self.cellctl_json("cell", "get", "acme/*")["customer"], "acme")
        lines = self.cellctl("cell", "list").splitlines()
        self.assertEqual(lines[0].split()[:4], ["CELL", "STATE", "POOL", "BURST"])
        self.assertEqual({line.split()[0] for line in lines[1:]}, {"*/*", "acme/*"})
        self.assertEqual(len(self.cellctl("cell", "get", "acme/*", "*/*").splitlines()), 3)
        self.assertEqual(len(self.cellctl("cell", "list", "--all", "--json", "--limit", "1")
                             .splitlines()), 2)
        self.run_cellctl("cell", "get", "no/such", code=NOT_FOUND)

    def test_cellctl_resizes_cells(self):
        self.start_cells()
        self.assertIn("a pool of 12, burst 12, weight 1 (overridden: size);",
                      self.cellctl("cell", "resize", "acme/*", "12"))
        self.assertEqual(self.cell("acme")["pool"]["target"], 12)
        self.assertIn(" 12* ", self.cellctl("cell", "list"))
        self.assertIn("a pool of 4, burst 4, weight 1;",
                      self.cellctl("cell", "resize", "acme/*", "--reset"))
        self.cellctl("cell", "resize", "acme/*", "--burst", "9", "--weight", "3")
        self.assertEqual(self.cell("acme")["overrides"], {"pool.burst": 9, "pool.weight": 3})
        self.cellctl("cell", "resize", "acme/*", "5", "--burst", "8")
        self.assertEqual(self.cell("acme")["overrides"]["pool.size"], 5)
        self.run_cellctl("cell", "resize", "acme/*", code=USAGE)
        self.run_cellctl("cell", "resize", "acme/*", "5", "--reset", code=USAGE)
        self.cellctl("cell", "resize", "acme/*", "--reset")
        done = self.run_cellctl("cell", "resize", "acme/*", "0", code=REFUSED)
        self.assertIn("/size: ", done.stderr)
        self.run_cellctl("cell", "resize", "no/such", "1", code=NOT_FOUND)

    def quota(self, *arguments):
        """The rows that `cellctl quota` prints: for each limit its value, then what it masks."""
        titles, *rows = self.cellctl("quota", *arguments).splitlines()
        self.assertEqual(titles.split(), ["LIMIT", "VALUE", "CONFIGURED"])
        return {limit: values for limit, *values in map(str.split, rows)}

    def test_cellctl_sets_shows_and_resets_quotas(self):
        self.start(cells=[{"customer": "acme", "queue": {"max_jobs": 100},
                           "customers": {"quota": {"max_running": 5}}}])
        self.cellctl("cell", "resize", "acme/*", "12")
        configured = {"queue.max_jobs": ["100"], "queue.max_bytes": ["none"],
                      "queue.submissions_per_s": ["none"], "queue.submissions_burst": ["none"],
                      "customers.quota.max_jobs": ["none"], "customers.quota.max_bytes": ["none"],
                      "customers.quota.max_running": ["5"],
                      "customers.quota.submissions_per_s": ["none"],
                      "customers.quota.submissions_burst": ["none"]}
        self.assertEqual(self.quota("show", "acme/*"), configured)
        masked = configured | {"queue.max_jobs": ["50", "100"],
                               "customers.quota.max_running": ["none", "5"]}
        self.assertEqual(self.quota("set", "acme/*", "queue.max_jobs=50",
                                    "customers.quota.max_running=none"), masked)
        masked["queue.submissions_per_s"] = ["2.5", "none"]
        self.assertEqual(self.quota("set", "acme/*", "queue.submissions_per_s=2.5"), masked)
        self.assertEqual(self.quota("show", "acme/*"), masked)
        overrides = {"pool.size": 12, "queue.max_jobs": 50, "queue.submissions_per_s": 2.5,
                     "customers.quota.max_running": None}
        self.assertEqual(self.cellctl_json("quota", "show", "acme/*")["overrides"], overrides)
        for wrong, words in (("max_jobs=5", "'max_jobs' is not a limit"),
                             ("queue.max_jobs=5x", "'5x' is not a value of queue.max_jobs"),
                             ("queue.max_jobs=nan", "of queue.max_jobs: write a number\n"),
                             ("queue.max_bytes=1e16", "write a number, or none")):
            done = self.run_cellctl("quota", "set", "acme/*", "queue.max_bytes=70000", wrong,
                                    code=USAGE)
            self.assertIn(words, done.stderr)
        self.run_cellctl("quota", "set", "acme/*", "queue.max_jobs=5", "queue.max_jobs=6",
                         code=USAGE)
        done = self.run_cellctl("quota", "set", "acme/*", "queue.max_jobs", code=USAGE)
        self.assertIn("'queue.max_jobs' must be LIMIT=VALUE", done.stderr)
        done = self.run_cellctl("quota", "set", "acme/*", "queue.max_jobs=none", code=REFUSED)
        self.assertIn("/queue/max_jobs: ", done.stderr)
        for arguments in (("show", "no/such"), ("set", "no/such", "queue.max_jobs=5"),
                          ("reset", "no/such")):
            self.run_cellctl("quota", *arguments, code=NOT_FOUND)
        self.assertEqual(self.cell("acme")["overrides"], overrides)
        self.assertEqual(self.quota("reset", "acme/*"), configured)
        self.assertEqual(self.cell("acme")["overrides"], {"pool.size": 12})

    def test_cellctl_pauses_resumes_and_drains_cells(self):
        self.start_cells()
        for verb, state in (("pause", "paused"), ("resume", "active"), ("drain", "draining"),
                            ("resume", "active")):
            self.assertIn(f"cell acme/* is {state}", self.cellctl("cell", verb, "acme/*"))
            self.assertEqual(self.cell("acme")["state"], state)
        self.assertEqual(self.cellctl_json("cell", "pause", "acme/*")["state"], "paused")
        self.cellctl("cell", "resume", "acme/*", "*/*")
        self.run_cellctl("cell", "drain", "no/such", code=NOT_FOUND)


class Schedules(CellctlTest):
    JOB = ("--customer", "acme", "--product", "dns", "--action", "renew",
           "--entity", "zone/example.com", "--service", "dns")

    def schedule(self, name):
        return self.client.get(f"/v1/schedules/{name}").json

    def test_cellctl_sets_shows_pauses_and_deletes_schedules(self):
        self.start()
        made = self.cellctl("schedule", "set", "hourly", "--every", "1h", *self.JOB)
        self.assertTrue(made.startswith("schedule hourly: next run at 20"), made)
        path = os.path.join(self.directory, "job.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(a_job("from-file"), file)
        nightly = self.cellctl_json("schedule", "set", "nightly", "--cron", "30 2 * * *",
                                    "--time-zone", "Europe/Berlin", "--overlap", "allow",
                                    "--catch-up", "none", "--paused", "-f", path)
        self.assertEqual((nightly["cron"], nightly["time_zone"], nightly["overlap"],
                          nightly["catch_up"], nightly["paused"], nightly["job"]["entity"]["id"]),
                         ("30 2 * * *", "Europe/Berlin", "allow", "none", True, "from-file"))
        rows = self.cellctl("schedule", "list").splitlines()
        self.assertEqual([row.split()[0] for row in rows], ["SCHEDULE", "hourly", "nightly"])
        self.assertIn("renew zone/example.com of acme/dns", self.cellctl("schedule", "get", "hourly"))
        before = self.schedule("hourly")
        self.assertEqual(self.cellctl("schedule", "pause", "hourly"), "schedule hourly: paused\n")
        self.assertTrue(self.schedule("hourly")["paused"])
        self.assertIn("next run at", self.cellctl("schedule", "resume", "hourly", "nightly"))
        self.assertEqual(self.schedule("hourly")["job"], before["job"])
        self.assertFalse(self.schedule("nightly")["paused"])
        self.assertEqual(self.cellctl("schedule", "delete", "nightly"),
                         "schedule nightly: deleted\n")
        self.run_cellctl("schedule", "get", "nightly", code=NOT_FOUND)
        self.run_cellctl("schedule", "pause", "nightly", code=NOT_FOUND)

    def test_a_schedule_takes_no_number_that_would_be_lost(self):
        self.start()
        path = os.path.join(self.directory, "job.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(a_job(parameters={"n": 0})).replace("0}", "1e400}"))
        done = self.run_cellctl("schedule", "set", "x", "--every", "1h", "-f", path, code=USAGE)
        self.assertIn("a number that is out of range", done.stderr)
        self.assertEqual(self.client.get("/v1/schedules/x").status, 404)

    def test_a_schedule_with_faults_is_refused_with_all_of_them(self):
        self.start()
        done = self.run_cellctl("schedule", "set", "x", "--every", "1h", "--cron", "61 * * * *",
                                *self.JOB, "--priority", "10", code=REFUSED)
        for fault in ("/cron: minute: `61` is not in 0-59", "/job/priority: ",
                      "must have either `every_ms` or `cron`"):
            self.assertIn(fault, done.stderr)


class Slow(Canned):
    """Answers every request as if a reload had changed nothing, after a second."""

    def response(self):
        time.sleep(1)
        return 200, {"Content-Type": "application/json"}, b'{"changed": {}}'


class Configuration(CellctlTest):
    def test_cellctl_reloads_and_reports_the_changes(self):
        self.start(cells=[{"customer": "acme"}, {}])
        unchanged = "celld has reloaded its configuration; nothing changed\n"
        self.assertEqual(self.cellctl("reload"), unchanged)
        self.cellctl("cell", "resize", "*/*", "7")
        config = a_config(self.provider, cells=[{"pool": {"size": 3}}, {"customer": "bolt"}])
        config["services"]["mail"] = {"type": "simulated"}
        self.daemon.write_config(config)
        self.assertEqual(self.cellctl("reload").splitlines(), [
            "celld has reloaded its configuration",
            "  cell bolt/* added",
            "  cell */* changed",
            "  cell acme/* removed",
            "  service mail added",
            "  pool.size of cell */* stays 7 because of an override; configured: 3"])
        report = self.cellctl_json("reload")
        self.assertEqual(report["masked"][0]["in_force"], 7)

    def test_a_reload_of_a_faulty_file_exits_with_3_and_shows_every_fault(self):
        self.start()
        self.daemon.write_config(a_config(self.provider, cells=[{"x": 1}], retention_ms=1))
        done = self.run_cellctl("reload", code=REFUSED)
        self.assertEqual(done.stdout, "")
        for words in ("The configuration file has faults (422)", "/cells/0/x: is unknown",
                      "/retention_ms: "):
            self.assertIn(words, done.stderr)

    def test_a_reload_may_take_longer_than_other_requests(self):
        url, _ = self.serve(Slow)
        self.run_cellctl("reload", "--request-timeout", "300ms", "--url", url)

    def test_cellctl_shows_the_configuration_and_the_services(self):
        self.start()
        shown = self.cellctl("config", "show")
        self.assertIn('\n  "retention_ms": 604800000,\n', shown)
        self.assertEqual(json.loads(shown), self.client.get("/v1/admin/config").json)
        self.assertEqual(self.cellctl("config", "show", "--json").count("\n"), 1)
        titles, *rows = self.cellctl("service", "list").splitlines()
        self.assertRegex(titles, r"^SERVICE +TYPE +IN FLIGHT +WAITING +OUT/S +CIRCUIT$")
        self.assertEqual([row.split()[:2] for row in rows],
                         [["billing", "http"], ["dns", "http"]])
        page = self.cellctl_json("service", "list")
        self.assertEqual([each["service"] for each in page["items"]], ["billing", "dns"])


class Access(CellctlTest):
    def start_with_token(self):
        self.token = "a-token-for-tests"
        digest = hashlib.sha256(self.token.encode()).hexdigest()
        self.start(auth={"tokens": [{"name": "t", "sha256": digest, "scopes": ["submit"]}]})

    def test_a_token_comes_from_the_environment_or_a_file_and_a_wrong_one_is_reported(self):
        self.start_with_token()
        path = os.path.join(self.directory, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.token + " \r\n")
        self.cellctl(*self.a_submit(), CELLD_TOKEN=self.token)
        self.cellctl(*self.a_submit("--token-file", path), CELLD_TOKEN="wrong")
        with open(path, "a", encoding="utf-8") as file:
            file.write("its digest\n")
        done = self.run_cellctl(*self.a_submit("--token-file", path), code=USAGE)
        self.assertIn(path + " has several lines", done.stderr)
        for environment in ({}, {"CELLD_TOKEN": "wrong"}):
            done = self.run_cellctl(*self.a_submit(), code=REFUSED, **environment)
            self.assertIn("(401)", done.stderr)
            self.assertIn("CELLD_TOKEN", done.stderr)
        done = self.run_cellctl("job", "list", CELLD_TOKEN=self.token, code=REFUSED)
        self.assertIn("(403)", done.stderr)
        self.run_cellctl("job", "list", CELLD_TOKEN="a\r\nX: y", code=USAGE)
        self.run_cellctl("job", "list", "--token", self.token, code=USAGE)

    def test_a_file_without_a_token_is_a_usage_error(self):
        path = os.path.join(self.directory, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n")
        done = self.run_cellctl("job", "list", "--token-file", path, code=USAGE)
        self.assertEqual(done.stderr, f"cellctl: {path} contains no token\n")

    def test_the_scope_submit_is_enough_to_wait(self):
        self.start_with_token()
        self.cellctl(*self.a_submit("--wait"), CELLD_TOKEN=self.token)

    def test_cellctl_speaks_tls_and_presents_a_certificate(self):
        authority = Authority(self.directory, "authority")
        server, key = authority.issue("server")
        certificate, certificate_key = authority.issue("client")
        config = a_config(self.provider, listen={"tls": {
            "certificate": server, "key": key, "client_ca": authority.certificate}})
        daemon = SecureDaemon(config, self.directory)
        daemon.start()
        self.addCleanup(daemon.stop)
        url = ("--url", f"https://127.0.0.1:{daemon.port}")
        ours = ("--client-cert", certificate, "--client-key", certificate_key)
        trust = ("--cacert", authority.certificate)
        self.cellctl("cell", "list", *url, *ours, *trust)
        self.cellctl("cell", "list", *url, *ours, CELLD_CACERT=authority.certificate)
        both = self.directory + "/both.pem"
        with open(both, "w", encoding="utf-8") as file:
            for path in (certificate, certificate_key):
                with open(path, encoding="utf-8") as part:
                    file.write(part.read())
        self.cellctl("cell", "list", *url, *trust, "--client-cert", both)
        done = self.run_cellctl("cell", "list", *url, *ours, code=UNAVAILABLE)
        self.assertIn("TLS certificate error at https://", done.stderr)
        done = self.run_cellctl("cell", "list", *url, *trust, code=UNAVAILABLE)
        self.assertIn("certificate required", done.stderr)

    def test_cellctl_asks_over_a_new_tls_connection_after_a_pause(self):
        authority = Authority(self.directory, "authority")
        certificate, key = authority.issue("server")
        daemon = SecureDaemon(
            a_config(self.provider, listen={"tls": {"certificate": certificate, "key": key}},
                     limits={"idle_timeout_ms": 3000}), self.directory)
        daemon.start()
        self.addCleanup(daemon.stop)
        # celld closes an idle connection after 3 s. cellctl reuses none that was idle for over 5 s.
        watching = self.begin("cell", "list", "--json", "--watch", "5100ms", "--cacert",
                              authority.certificate, "--url", f"https://127.0.0.1:{daemon.port}")
        for _ in range(2):
            self.a_line(watching.stdout)
        watching.kill()
        self.assertEqual(watching.stderr.read(), b"")

    def test_cellctl_trusts_a_certificate_only_for_the_address_in_its_url(self):
        authority = Authority(self.directory, "authority")
        certificate, key = authority.issue("server", host="IP:::1")
        config = a_config(self.provider, listen={"tls": {"certificate": certificate, "key": key}})
        for host, code in (("[::1]", OK), ("127.0.0.1", UNAVAILABLE)):
            daemon = SecureDaemon(config, self.directory, ["--listen", f"{host}:0", "--data",
                                                           os.path.join(self.directory, "data")])
            daemon.start()
            self.addCleanup(daemon.stop)
            done = self.run_cellctl("cell", "list", "--url", f"https://{host}:{daemon.port}",
                                    "--cacert", authority.certificate, code=code)
            daemon.stop()
        self.assertRegex(done.stderr, "TLS certificate error at https://127.*IP address mismatch")


    def test_cellctl_trusts_a_certificate_only_for_the_host_in_its_url(self):
        authority = Authority(self.directory, "authority")
        for name, code in (("localhost", OK), ("other.example", UNAVAILABLE)):
            certificate, key = authority.issue("server", host=f"DNS:{name}")
            daemon = SecureDaemon(
                a_config(self.provider, listen={"tls": {"certificate": certificate, "key": key}}),
                self.directory)
            daemon.start()
            self.addCleanup(daemon.stop)
            done = self.run_cellctl("cell", "list", "--url", f"https://localhost:{daemon.port}",
                                    "--cacert", authority.certificate, code=code)
            daemon.stop()
        self.assertRegex(done.stderr, "TLS certificate error at https://localhost.*hostname mismatch")


class OnATerminal(CellctlTest):
    def on_terminal(self, *arguments, columns=60, rows=10, until=None, **environment):
        """The output on a terminal: all of it, or until it matches `until`."""
        master, slave = open_terminal()
        self.addCleanup(os.close, master)
        import fcntl
        import struct
        import termios
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        process = subprocess.Popen([binary(), *arguments], stdout=slave, stderr=slave,
                                   env=self.environment(**{"TERM": "xterm", **environment}))
        os.close(slave)
        seen = b""
        with contextlib.suppress(OSError):  # Reading a closed terminal is an error.
            while until is None or not re.search(until, seen, re.DOTALL):
                self.assertTrue(select.select([master], [], [], DEADLINE_S)[0], seen)
                piece = os.read(master, 65536)
                if not piece:
                    break
                seen += piece
        if until is not None:
            process.kill()
        process.wait(DEADLINE_S)
        return seen.decode()

    def test_lines_are_cut_and_coloured_only_on_a_terminal(self):
        self.start()
        self.wait_for_end(self.submit(a_job("x" * 200)))
        seen = self.on_terminal("job", "list")
        self.assertIn("\x1b[32msucceeded\x1b[0m", seen)
        self.assertIn("…", seen)
        for line in re.sub(r"\x1b\[[0-9;]*m", "", seen).split("\r\n"):
            self.assertLessEqual(len(line), 60)
        self.assertNotIn("\x1b", self.on_terminal("job", "list", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.cellctl("job", "list"))

    def test_an_empty_no_color_does_not_refuse_colours(self):
        self.start()
        self.wait_for_end(self.submit(a_job()))
        self.assertIn("\x1b[32msucceeded\x1b[0m", self.on_terminal("job", "list", NO_COLOR=""))

    def test_a_dumb_terminal_gets_no_colours(self):
        self.start()
        self.wait_for_end(self.submit(a_job()))
        self.assertNotIn("\x1b", self.on_terminal("job", "list", TERM="dumb"))

    def test_no_text_of_a_job_controls_the_terminal(self):
        self.start()
        evil = "\x1b[2J\x9b2J\x07\u202e\x7f"
        job_id = self.submit(a_job("e" + evil, labels={evil: evil}, parameters={"p": evil}))
        self.provider.always("/dns", answer(400, json.dumps({"detail": evil}).encode()))
        for arguments in (("job", "list"), ("job", "get", job_id), ("job", "events", job_id),
                          ("job", "get", job_id, "--json"), ("job", "wait", job_id, "--json")):
            seen = self.on_terminal(*arguments, NO_COLOR="1")
            self.assertFalse(set(evil) & set(seen) - set("[2J"), (arguments, seen))
        self.assertEqual(self.cellctl_json("job", "get", job_id)["parameters"], {"p": evil})

    def test_a_batch_shows_its_progress_until_its_report_unless_it_is_to_be_quiet(self):
        self.start(cells=[{"queue": {"submissions_per_s": 2, "submissions_burst": 1}}])
        path = os.path.join(self.directory, "jobs.ndjson")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(a_job(f"e{n}")) + "\n" for n in range(6))
        seen = self.on_terminal("submit", "-f", path)
        self.assertRegex(seen, r"\r\x1b\[K\[#{30}\] 100%  6 lines, \d+/s")
        self.assertRegex(seen, r"\r\x1b\[Kbatch \w+: 6 accepted")
        self.assertNotIn(" lines, ", self.on_terminal("submit", "-q", "-f", path))

    def test_watch_repaints_a_terminal_and_repeats_elsewhere(self):
        self.start()
        self.provider.hold("/dns")
        job_id = self.submit(a_job())
        wait_until(lambda: self.provider.running(), "the job runs")
        seen = self.on_terminal("job", "list", "--watch", "100ms", until=rb"ID.*ID.*ID")
        self.assertIn("\x1b[2A\r\x1b[J", seen)
        long = self.on_terminal("job", "get", job_id, "--watch", "0.1", until=rb"job.*\x1b\[9A")
        self.assertIn("\x1b[9A\r\x1b[J", long)  # Nine lines: one less than the screen has rows.
        watching = self.begin("job", "get", job_id, "--watch", "100ms", "--json")
        for _ in range(2):
            self.assertEqual(json.loads(self.a_line(watching.stdout))["state"], "running")
        repeating = self.begin("job", "list", "--watch", "100ms")
        for line in ("ID", job_id, "\n", "ID", job_id):
            self.assertTrue(self.a_line(repeating.stdout).startswith(line))
        self.provider.release_all()
        self.assertEqual(watching.wait(DEADLINE_S), OK)  # An ended job no longer changes.
        self.assertEqual(json.loads(watching.stdout.read().splitlines()[-1])["state"], "succeeded")

    def test_watch_reports_on_standard_error_that_celld_does_not_answer_and_keeps_trying(self):
        self.start()
        line = json.dumps(a_job(delay_ms=60000)).encode() + b"\n"
        batch = self.cellctl_json("submit", "--batch", "-f", "-", stdin=line)["id"]
        watches = [self.begin(*words) for words in (
            ("job", "list", "--watch", "100ms"), ("job", "list", "--watch", "100ms", "--json"),
            ("batch", "watch", batch, "--interval", "100ms"))]
        for watch in watches:
            self.a_line(watch.stdout)  # A watch whose first request fails ends.
        self.daemon.kill()
        for watch in watches:
            for _ in range(2):
                self.assertRegex(self.a_line(watch.stderr), r"\Acellctl: celld does not answer at ")
            self.assertIsNone(watch.poll())


class Files(CellctlTest):
    def test_cellctl_checks_a_configuration_as_celld_does(self):
        good, bad = (os.path.join(self.directory, name) for name in ("good.json", "bad.json"))
        with open(good, "w", encoding="utf-8") as file:
            json.dump(a_config(self.provider), file)
        with open(bad, "w", encoding="utf-8") as file:
            json.dump({"services": {"a/b": {}}, "cells": [{"x": 1}], "listen": {"port": -1}}, file)
        self.assertEqual(self.cellctl("config", "check", good), f"{good} is valid\n")
        done = self.run_cellctl("config", "check", good, bad, code=USAGE)
        daemon = subprocess.run([os.environ["CELLD_BINARY"], "--check", "--config", bad],
                                capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(daemon.returncode, USAGE)
        self.assertEqual(done.stderr, daemon.stderr.replace("celld: ", "cellctl: "))
        document = json.loads(self.run_cellctl("config", "check", bad, "--json", code=USAGE).stdout)
        self.assertFalse(document["valid"])
        self.assertIn("/listen/port", [error["pointer"] for error in document["errors"]])
        done = self.run_cellctl("config", "check", "/nowhere", good, "--json", code=USAGE)
        absent, valid = (json.loads(line) for line in done.stdout.splitlines())
        self.assertEqual((absent["file"], absent["valid"]), ("/nowhere", False))
        self.assertEqual(absent["errors"], [
            {"pointer": "", "detail": "cannot be read: No such file or directory"}])
        self.assertTrue(valid["valid"])
        with open(bad, "w", encoding="utf-8") as file:
            json.dump(a_config(self.provider, services={
                "make": {"type": "command", "argv": ["/no/such/program"]}}), file)
        done = self.run_cellctl("config", "check", bad, code=USAGE)
        self.assertIn("/services/make/argv/0: must name a program", done.stderr)
        self.run_cellctl("config", "check", good, CELLD_LISTEN="nonsense", code=USAGE)
        with open(bad, "w", encoding="utf-8") as file:
            json.dump(a_config(
                self.provider, listen={"tls": {"certificate": "/no.pem", "key": "/no.key"}},
                schedules={"s": {"cron": "0 3 * * *", "time_zone": "Mars/Base", "job": a_job()}}),
                file)
        done = self.run_cellctl("config", "check", bad, code=USAGE)
        for pointer in ("/listen/tls", "/schedules/s/time_zone"):
            self.assertIn(f": {pointer}: ", done.stderr)

    def test_help_and_version_need_no_celld(self):
        self.assertRegex(self.cellctl("--version"), r"\Acellctl \d+\.\d+\.\d+\n\Z")
        self.assertIn("Exit codes", self.cellctl("--help"))
        commands = re.findall(r"(?m)^  (\w+(?: \w+)?) {2,}", self.cellctl("--help"))
        self.assertGreater(len(commands), 15)
        for words in commands:
            page = self.cellctl(*words.split(), "--help")
            self.assertIn(f"cellctl {words}", page)
            self.assertIn("Example:", page)

    def complete(self, *words):
        """The completions that bash offers for the last word."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cellctl; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash",
                               os.path.join(COMPLETION, "cellctl.bash"), "cellctl", *words],
                              capture_output=True, text=True, timeout=DEADLINE_S, check=True,
                              cwd=self.directory)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_bash_completes_commands_flags_and_values(self):
        self.assertEqual(self.complete("jo"), {"job"})
        self.assertEqual(self.complete("--json", "cell", "re"), {"resize", "resume"})
        self.assertEqual(self.complete("--url", "http://x", "job", "li"), {"list"})
        self.assertEqual(self.complete("job", "list", "--st"), {"--state"})
        url = ["http", ":", "//127.0.0.1", ":", "8080"]  # As bash splits it.
        self.assertEqual(self.complete("--url", *url, "job", "li"), {"list"})
        self.assertEqual(self.complete("--url", "=", *url, "job", "li"), {"list"})
        self.assertEqual(self.complete("job", "list", "--state", "=", "fa"), {"failed"})
        self.assertEqual(self.complete("--url", *url), set())
        self.assertEqual(self.complete(":"), set())
        self.assertEqual(self.complete("job", "list", "--state", "s"), {"scheduled", "succeeded"})
        self.assertEqual(self.complete("job", "list", "--customer", ""), set())
        self.assertEqual(self.complete("submit", "--a"), {"--action", "--at"})
        with open(os.path.join(self.directory, "job.json"), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.complete("submit", "-f", "job"), {"job.json"})
        self.assertEqual(self.complete("config", "check", "job"), {"job.json"})
        with open(os.path.join(self.directory, "a:b.json"), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.complete("config", "check", "a", ":", "b"), {"b.json"})

    def test_the_completion_files_match_the_program(self):
        for shell, name in (("bash", "cellctl.bash"), ("zsh", "_cellctl"), ("fish", "cellctl.fish")):
            with open(os.path.join(COMPLETION, name), encoding="utf-8") as file:
                self.assertEqual(self.cellctl("completion", shell), file.read())


class ResettingServer:
    """Resets the connection of the first batch after some bytes, and accepts the others whole."""

    def __init__(self, bytes_max):
        self.bytes_max, self.resets_left, self.requests = bytes_max, 1, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with connection:
                    self.requests += 1
                    self.answer(connection)

    def answer(self, connection):
        resets = self.resets_left > 0
        self.resets_left -= resets
        received, tail = 0, b""
        while not tail.endswith(b"\r\n0\r\n\r\n"):
            piece = connection.recv(1 << 16)
            received += len(piece)
            tail = (tail + piece)[-16:]
            if resets and received > self.bytes_max:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
        body = json.dumps({"id": "0000000000001", "accepted": 5000, "replayed": 0, "rejected": 0,
                           "stopped_at_line": None, "errors": []})
        connection.sendall((f"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\n"
                            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                            f"{body}").encode())


class EarlyServer:
    """Answers a batch after its first bytes, and reads no further."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.has_ended = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        self.has_ended.set()
        self.listener.close()
        self.thread.join()

    def serve(self):
        connection, _ = self.listener.accept()
        with connection:
            connection.recv(1 << 12)
            time.sleep(0.5)  # Until the buffers of both sides are full.
            body = json.dumps({"id": "0000000000001", "accepted": 10, "replayed": 0, "rejected": 0,
                               "stopped_at_line": 11, "errors": [
                                   {"line": 11, "status": 429, "detail": "full"}]})
            connection.sendall((f"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\n"
                                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                                f"{body}").encode())
            self.has_ended.wait(DEADLINE_S)


class Batches(CellctlTest):
    def write(self, jobs, name="jobs.ndjson"):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(job) + "\n" for job in jobs)
        return name

    def test_cellctl_submits_a_file_of_jobs_and_follows_the_batch(self):
        self.start()
        name = self.write(a_job(f"e{n}") for n in range(40))
        report = self.cellctl_json("submit", "--file", name)
        self.assertEqual(report["accepted"], 40)
        watched = self.cellctl("batch", "watch", report["id"], "--interval", "50ms")
        self.assertIn("100%", watched.splitlines()[-1])
        self.assertEqual(self.cellctl_json("batch", "show", report["id"])["states"]["succeeded"], 40)
        self.assertIn(report["id"], self.cellctl("batch", "list"))
        other = self.write((a_job(f"f{n}") for n in range(2)), "jobs.jsonl")
        self.assertEqual(self.cellctl_json("submit", "--file", other)["accepted"], 2)
        self.submit(a_job("other"))
        listed = self.cellctl_json("job", "list", "--batch", report["id"], "--limit", "100")
        self.assertEqual({job["entity"]["id"] for job in listed["items"]},
                         {f"e{n}" for n in range(40)})
        self.run_cellctl("batch", "show", "0000000000001", code=NOT_FOUND)

    def test_cellctl_reads_a_batch_from_standard_input_and_names_rejected_lines(self):
        self.start()
        text = (json.dumps(a_job()) + "\n\n{}\n").encode()
        told = self.run_cellctl("submit", "--batch", "-f", "-", stdin=text, code=REFUSED)
        self.assertIn("1 accepted, 0 submitted before, 1 rejected", told.stdout)
        self.assertIn("line 3: 422", told.stdout)
        self.assertIn("/customer is required", told.stdout)
        for flag in (("--customer", "acme"), ("--product", "dns"), ("--action", "x"),
                     ("--entity", "t/1"), ("--subtype", "s"), ("--service", "dns"),
                     ("--parameter", "a=1"), ("--priority", "1"), ("--delay", "1s"),
                     ("--at", "2031-02-03"), ("--expires", "1h"), ("--timeout", "1s"),
                     ("--max-attempts", "1"), ("--on-failure", "stop"), ("--label", "a=b"),
                     ("--key", "k"), ("--wait",)):
            told = self.run_cellctl("submit", "--batch", "-f", "-", *flag, code=USAGE)
            self.assertIn(f"{flag[0]} does not apply", told.stderr)
        self.run_cellctl("submit", "--batch", "-f", "-", "--from-line", "0", code=USAGE)
        self.run_cellctl("submit", "--batch", code=USAGE)
        lone = self.run_cellctl("submit", "-f", "-", "--from-line", "2", stdin=b"{}", code=USAGE)
        self.assertIn("--from-line applies only to", lone.stderr)
        self.run_cellctl("submit", "-f", "absent.ndjson", code=USAGE)
        told = self.run_cellctl("submit", "-f", "-", stdin=text, code=USAGE)
        self.assertIn("If it has one job a line, add --batch.", told.stderr)

    def test_an_interrupted_batch_says_what_stays(self):
        self.start()
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([binary(), "submit", "--batch", "-f", "-"],
                                       env=self.environment(), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdin.write(json.dumps(a_job(f"e-{number}")).encode() + b"\n")
            process.stdin.flush()
            wait_until(lambda: self.client.get("/v1/jobs", entity_id=f"e-{number}").json["items"],
                       "celld has the first line")
            process.send_signal(number)
            said = process.communicate(timeout=DEADLINE_S)[1].decode()
            self.assertEqual(process.returncode, -number)
            self.assertIn("cellctl: interrupted\n", said)
            self.assertIn("stay accepted: cellctl batch list", said)

    def test_cellctl_goes_on_where_a_batch_ended_or_says_what_to_do(self):
        self.start(cells=[{"queue": {"max_jobs": 10}}])
        name = self.write(a_job(f"e{n}", delay_ms=3600000) for n in range(25))
        full = self.run_cellctl("submit", "-f", name, "--retries", "0", code=REFUSED)
        self.assertIn("10 accepted", full.stdout)
        self.assertIn("queue.max_jobs", full.stdout)
        self.assertIn("--from-line 11", full.stderr)
        [batch] = self.client.get("/v1/batches").json["items"]
        self.cellctl("batch", "cancel", batch["id"])
        self.run_cellctl("batch", "watch", batch["id"], "--interval", "50ms", code=FAILED)
        self.assertIn("all its jobs have ended", self.cellctl("batch", "cancel", batch["id"]))
        rest = self.run_cellctl("submit", "-f", name, "--from-line", "11", "--retries", "0",
                                code=REFUSED)
        self.assertIn("10 accepted", rest.stdout)
        self.assertIn("line 21: 429", rest.stdout)
        ids = {job["entity"]["id"] for job in self.client.get("/v1/jobs", limit=100).json["items"]}
        self.assertEqual(ids, {f"e{n}" for n in range(20)})
        self.run_cellctl("submit", "-f", name, "--from-line", "27", code=USAGE)

    def test_lines_that_were_rejected_before_cellctl_went_on_make_it_exit_with_3(self):
        first = {"id": "0000000000001", "accepted": 1, "replayed": 0, "rejected": 1,
                 "stopped_at_line": 3, "errors": [{"line": 2, "status": 422},
                                                  {"line": 3, "status": 429}]}
        second = first | {"rejected": 0, "stopped_at_line": None, "errors": []}
        url, requests = self.canned((202, {"Retry-After": "0"}, json.dumps(first).encode()),
                                    (202, {}, json.dumps(second).encode()))
        name = self.write([a_job("a"), {}, a_job("b")])
        done = self.run_cellctl("submit", "-f", name, "--url", url, code=REFUSED)
        self.assertIn("Continuing with line 3 in 0ms", done.stderr)
        self.assertEqual([body.count(b"\n") for _, _, body in requests], [3, 1])

    def test_a_watch_of_a_batch_ends_if_its_first_request_fails(self):
        batch = {"id": "0000000000001", "total": 1, "progress": 1, "states": {"succeeded": 1},
                 "finished_at": "2026-11-20T22:42:56.123Z"}
        url, _ = self.canned((503, {}, b"{}"), (200, {}, json.dumps(batch).encode()))
        self.run_cellctl("batch", "watch", batch["id"], "--interval", "50ms", "--url", url,
                         code=UNAVAILABLE)

    def test_the_jobs_of_all_batches_of_a_file_are_counted_at_the_end(self):
        first = {"id": "0000000000001", "accepted": 1, "replayed": 0, "rejected": 0,
                 "stopped_at_line": 2, "errors": [{"line": 2, "status": 429}]}
        second = first | {"accepted": 0, "replayed": 1, "stopped_at_line": None, "errors": []}
        url, _ = self.canned((202, {"Retry-After": "0"}, json.dumps(first).encode()),
                             (202, {}, json.dumps(second).encode()))
        done = self.run_cellctl("submit", "-f", self.write([a_job("a"), a_job("b")]), "--url", url)
        self.assertTrue(done.stdout.endswith(
            "\n2 batches: 1 accepted, 1 submitted before, 0 rejected\n"), done.stdout)

    def test_a_quiet_submission_of_a_file_prints_the_ids_of_its_batches_alone(self):
        first = {"id": "0000000000001", "accepted": 1, "replayed": 0, "rejected": 0,
                 "stopped_at_line": 2, "errors": [{"line": 2, "status": 429}]}
        second = first | {"id": "0000000000002", "stopped_at_line": None, "errors": []}
        url, _ = self.canned((202, {"Retry-After": "0"}, json.dumps(first).encode()),
                             (202, {}, json.dumps(second).encode()))
        name = self.write([a_job("a"), a_job("b")])
        done = self.run_cellctl("submit", "-q", "-f", name, "--url", url)
        self.assertEqual(done.stdout, "0000000000001\n0000000000002\n")

    def test_cellctl_does_not_wait_long_for_room(self):
        full = {"id": "0000000000001", "accepted": 1, "replayed": 0, "rejected": 0,
                "stopped_at_line": 2, "errors": [{"line": 2, "status": 429}]}
        url, requests = self.canned((202, {"Retry-After": "3600"}, json.dumps(full).encode()))
        done = self.run_cellctl("submit", "-f", self.write([a_job("a"), a_job("b")]), "--url", url,
                                code=REFUSED)
        self.assertIn("--from-line 2", done.stderr)
        self.assertEqual(len(requests), 1)

    def test_cellctl_sends_lines_again_that_were_refused_before_an_accepted_one(self):
        name = self.write(a_job(name) for name in "abcdef")
        lines = [json.dumps(a_job(name)).encode() + b"\n" for name in "abcdef"]
        base = {"id": "0000000000001", "accepted": 2, "replayed": 0}
        full = {"status": 429, "detail": "full"}
        reports = [base | {"rejected": 2, "stopped_at_line": 5, "refused_lines": [1, 3],
                           "errors": [{"line": line} | full for line in (1, 3, 5)]},
                   base | {"rejected": 1, "stopped_at_line": 4, "refused_lines": [2],
                           "errors": [{"line": line} | full for line in (2, 4)]},
                   base | {"rejected": 0, "stopped_at_line": None, "errors": []}]
        url, requests = self.canned(*((202, {"Retry-After": "0"}, json.dumps(report).encode())
                                      for report in reports))
        done = self.run_cellctl("submit", "-f", name, "--url", url)
        self.assertEqual([body for _, _, body in requests],
                         [b"".join(lines), lines[0] + lines[2] + lines[4] + lines[5],
                          lines[2] + lines[5]])
        self.assertIn("line 3: 429 full", done.stdout)
        self.assertIn("before line 5 were processed, except 2 for which there was no room",
                      done.stdout)
        refused = json.dumps(reports[0]).encode()
        url, _ = self.canned((202, {"Retry-After": "0"}, refused))
        told = self.run_cellctl("submit", "-f", name, "--url", url, "--retries", "0", code=REFUSED)
        self.assertIn("lines 1, 3, and any lines from line 5 on (--from-line 5).", told.stderr)

    def test_the_pauses_between_the_batches_of_a_long_file_grow(self):
        full = {"id": "0000000000001", "accepted": 1, "replayed": 0, "rejected": 0,
                "stopped_at_line": 2, "errors": [{"line": 2, "status": 429}]}
        rest = full | {"stopped_at_line": None, "errors": []}
        url, _ = self.canned(*[(202, {"Retry-After": "1"}, json.dumps(full).encode())] * 2,
                             (202, {}, json.dumps(rest).encode()))
        done = self.run_cellctl("submit", "-f", self.write(a_job(name) for name in "abc"),
                                "--url", url)
        self.assertIn("Continuing with line 2 in 1.0s", done.stderr)
        self.assertIn("Continuing with line 3 in 2.0s", done.stderr)

    def test_each_accepted_line_resets_the_count_of_retries(self):
        full = {"id": "0000000000001", "accepted": 1, "replayed": 0, "rejected": 0,
                "stopped_at_line": 2, "errors": [{"line": 2, "status": 429, "detail": "full"}]}
        rest = full | {"stopped_at_line": None, "errors": []}
        url, requests = self.canned(*[(202, {"Retry-After": "0"}, json.dumps(full).encode())] * 3,
                                    (202, {}, json.dumps(rest).encode()))
        done = self.run_cellctl("submit", "-f", self.write(a_job(name) for name in "abcd"),
                                "--retries", "1", "--url", url)
        self.assertEqual(done.stderr.count("(1 of 1)"), 3)
        self.assertEqual([body.count(b"\n") for _, _, body in requests], [4, 3, 2, 1])

    def test_cellctl_leaves_out_no_line_if_a_customer_has_no_room(self):
        self.start(services={"dns": {"type": "simulated"}},
                   cells=[{"customers": {"quota": {"max_jobs": 15}}}])
        for n in range(10):  # So that celld knows how fast the customer's jobs end.
            self.client.post("/v1/jobs", a_job(f"first{n}", customer="c0"), Prefer="wait=30")
        name = self.write(a_job(f"e{n}", customer=f"c{n * (n % 2)}") for n in range(120))
        self.run_cellctl("submit", "-f", name, "--retries", "100")
        jobs = self.client.get("/v1/jobs", limit=1000).json["items"]
        self.assertEqual(sorted(job["entity"]["id"] for job in jobs[:-10]),
                         sorted(f"e{n}" for n in range(120)))

    def test_a_file_whose_lines_have_keys_is_sent_again_while_celld_is_away(self):
        silent = socket.socket()  # Bound, so that no other program listens at its port.
        self.addCleanup(silent.close)
        silent.bind(("127.0.0.1", 0))
        environment = {"CELLD_URL": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        keyed = self.write([a_job("a", idempotency_key="k")], "keyed.ndjson")
        told = self.run_cellctl("submit", "-f", keyed, "--retries", "2", code=UNAVAILABLE,
                                **environment)
        for pause in ("500ms (1 of 2)", "1.0s (2 of 2)"):
            self.assertIn(f"Continuing with line 1 in {pause}", told.stderr)
        self.assertIn("No line was sent this time. Still to be sent: all lines", told.stderr)

    def test_an_upload_that_breaks_in_the_middle_is_sent_again(self):
        server = ResettingServer(300_000)
        self.addCleanup(server.close)
        environment = {"CELLD_URL": server.url}
        line = a_job("e", parameters={"text": "x" * 300})
        keyed = self.write([{**line, "idempotency_key": f"k{n}"} for n in range(5000)])
        done = self.run_cellctl("submit", "-f", keyed, **environment)
        self.assertIn("connection broke", done.stderr)
        self.assertIn("5000 accepted", done.stdout)
        self.assertEqual(server.requests, 2)
        server.resets_left = 1
        told = self.run_cellctl("submit", "-f", self.write([line] * 5000), code=UNAVAILABLE,
                                **environment)
        self.assertIn("could repeat jobs", told.stderr)
        self.assertEqual(server.requests, 3)

    def test_an_answer_that_comes_before_the_end_is_reported_although_celld_reads_no_more(self):
        server = EarlyServer()
        self.addCleanup(server.close)
        name = self.write([a_job("e", parameters={"text": "x" * 1000})] * 10_000)
        done = self.run_cellctl("submit", "-f", name, "--retries", "0", "--url", server.url,
                                code=REFUSED)
        self.assertIn("10 accepted", done.stdout)
        self.assertIn("line 11: 429 full", done.stdout)
        self.assertIn("--from-line 11", done.stderr)


class PipedBatches(CellctlTest):
    """Batches whose lines come slowly, through a pipe."""

    def pipe(self, *more, **environment):
        return self.begin("submit", "--batch", "--file", "-", *more, stdin=subprocess.PIPE,
                          **environment)

    def send(self, process, numbers, **members):
        for n in numbers:
            process.stdin.write(json.dumps(a_job(f"e{n}", **members)).encode() + b"\n")

    def ended(self, process, code):
        """What it printed on standard output and standard error."""
        self.assertEqual(process.wait(DEADLINE_S), code)
        return process.stdout.read().decode(), process.stderr.read().decode()

    def total(self):
        return sum(batch["total"] for batch in self.client.get("/v1/batches").json["items"])

    def test_lines_are_sent_as_they_come(self):
        self.start()
        process = self.pipe()
        for n in range(3):
            self.send(process, [n])
            wait_until(lambda n=n: self.total() == n + 1, "the line is accepted")
        process.stdin.close()
        self.assertIn("3 accepted", self.ended(process, OK)[0])

    def test_a_pause_between_lines_or_within_one_does_not_end_a_batch(self):
        self.start(limits={"body_timeout_ms": 7000})
        process = self.pipe()
        line = json.dumps(a_job("e1")).encode() + b"\n"
        for n, text in enumerate((line + line[:20], line[20:] + b"\n{}\n")):
            process.stdin.write(text)
            wait_until(lambda n=n: self.total() == n + 1, "the line is accepted")
            time.sleep(9)
        process.stdin.close()
        out, err = self.ended(process, REFUSED)
        self.assertIn("2 accepted, 0 submitted before, 1 rejected", out)
        self.assertIn("line 4: 422", out)
        self.assertNotIn("ended early", out + err)
        [batch] = self.client.get("/v1/batches").json["items"]
        self.assertEqual(batch["total"], 2)

    def test_a_full_queue_is_reported_while_the_sender_still_sends(self):
        self.start(cells=[{"queue": {"max_jobs": 10}}])
        process = self.pipe("--retries", "0")
        self.send(process, range(12), delay_ms=3600000)
        out, err = self.ended(process, REFUSED)
        self.assertIn("10 accepted", out)
        self.assertIn("line 11: 429", out)
        self.assertIn("queue.max_jobs", out)
        self.assertIn("--from-line 11", err)

    def test_cellctl_goes_on_with_the_lines_of_a_pipe_that_were_not_accepted(self):
        for status, detail, reason in ((408, None, "line 3\n"),
                                       (429, "the queue is full", "line 3: the queue is full\n"),
                                       (503, "celld shuts down", "line 3: celld shuts down\n")):
            with self.subTest(status=status):
                first = {"id": "0000000000001", "accepted": 2, "replayed": 0, "rejected": 0,
                         "stopped_at_line": 3,
                         "errors": [{"line": 3, "status": status, "detail": detail}]}
                second = first | {"accepted": 1, "stopped_at_line": None, "errors": []}
                url, requests = self.canned((202, {"Retry-After": "0"}, json.dumps(first).encode()),
                                            (202, {}, json.dumps(second).encode()))
                lines = [json.dumps(a_job(name)).encode() + b"\n" for name in "abc"]
                done = self.run_cellctl("submit", "--batch", "-f", "-", "--url", url,
                                        stdin=b"".join(lines))
                self.assertIn("celld did not take " + reason, done.stderr)
                self.assertIn("Continuing with line 3 in 0ms", done.stderr)
                self.assertEqual([body for _, _, body in requests], [b"".join(lines), lines[2]])

    def test_a_batch_that_celld_refuses_for_a_while_is_sent_again(self):
        first = {"id": "0000000000001", "accepted": 1, "replayed": 0, "rejected": 0,
                 "stopped_at_line": 2,
                 "errors": [{"line": 2, "status": 503, "detail": "celld shuts down"}]}
        second = first | {"stopped_at_line": None, "errors": []}
        url, requests = self.canned((503, {"Retry-After": "0"}, b'{"title": "no"}'),
                                    (202, {"Retry-After": "0"}, json.dumps(first).encode()),
                                    (503, {"Retry-After": "0"}, b'{"title": "no"}'),
                                    (202, {}, json.dumps(second).encode()))
        lines = [json.dumps(a_job(name)).encode() + b"\n" for name in "ab"]
        self.run_cellctl("submit", "--batch", "-f", "-", "--url", url, stdin=b"".join(lines))
        self.assertEqual([body for _, _, body in requests],
                         [b"".join(lines), b"".join(lines), lines[1], lines[1]])

    def test_lines_that_a_proxy_may_have_passed_on_are_sent_again_only_with_keys(self):
        report = {"id": "0000000000001", "accepted": 1, "replayed": 1, "rejected": 0,
                  "stopped_at_line": None, "errors": []}
        for status, key, code, count in ((503, None, UNAVAILABLE, 1), (502, None, UNAVAILABLE, 1),
                                         (413, "k", UNAVAILABLE, 1), (503, "k", OK, 2)):
            with self.subTest(status=status, key=key):
                url, requests = self.canned((status, {}, b"upstream connect error"),
                                            (202, {}, json.dumps(report).encode()))
                more = {"idempotency_key": key} if key else {}
                lines = json.dumps(a_job("a", **more)).encode() + b"\n"
                done = self.run_cellctl("submit", "--batch", "-f", "-", "--url", url, stdin=lines,
                                        code=code)
                self.assertIn("upstream connect error", done.stderr)
                self.assertEqual("could repeat jobs" in done.stderr, key is None, done.stderr)
                self.assertEqual(len(requests), count)

    def test_a_batch_that_celld_refuses_later_tells_what_is_left(self):
        report = {"id": "0000000000001", "accepted": 1, "replayed": 0, "rejected": 0,
                  "stopped_at_line": 2, "errors": [{"line": 2, "status": 503}]}
        for status, headers, code in ((422, {}, REFUSED),
                                      (503, {"Retry-After": "3600"}, UNAVAILABLE)):
            with self.subTest(status=status):
                url, _ = self.canned((202, {"Retry-After": "0"}, json.dumps(report).encode()),
                                     (status, headers, b'{"title": "no"}'))
                lines = [json.dumps(a_job(name)).encode() + b"\n" for name in "ab"]
                done = self.run_cellctl("submit", "--batch", "-f", "-", "--url", url,
                                        stdin=b"".join(lines), code=code)
                self.assertIn("--from-line 2", done.stderr)

    def test_a_batch_that_ended_behind_the_last_line_of_a_pipe_is_complete(self):
        report = {"id": "0000000000001", "accepted": 1, "replayed": 0, "rejected": 0,
                  "stopped_at_line": 2, "errors": [{"line": 2, "status": 408}]}
        url, requests = self.canned((202, {"Retry-After": "0"}, json.dumps(report).encode()))
        self.run_cellctl("submit", "--batch", "-f", "-", "--url", url,
                         stdin=json.dumps(a_job()).encode() + b"\n")
        self.assertEqual(len(requests), 1)

    def test_a_shutdown_is_reported_while_the_sender_still_sends(self):
        self.start()
        self.check_that_a_shutdown_is_reported(self.daemon)
        self.restart()

    def test_a_shutdown_is_reported_over_tls_while_the_sender_still_sends(self):
        authority = Authority(self.directory, "authority")
        certificate, key = authority.issue("server")
        self.daemon = SecureDaemon(
            a_config(self.provider, listen={"tls": {"certificate": certificate, "key": key}}),
            self.directory)
        SecureDaemon.context = ssl.create_default_context(cafile=authority.certificate)
        self.daemon.start()
        self.addCleanup(self.daemon.stop)
        self.client = self.daemon.client()
        self.addCleanup(self.client.close)
        self.check_that_a_shutdown_is_reported(
            self.daemon, "--cacert", authority.certificate, "--url",
            f"https://127.0.0.1:{self.daemon.port}")

    def check_that_a_shutdown_is_reported(self, daemon, *more):
        process = self.pipe("--retries", "0", *more)
        self.send(process, range(3))
        wait_until(lambda: self.total() == 3, "the lines are accepted")
        daemon.signal(signal.SIGTERM)
        out, err = self.ended(process, REFUSED)
        self.assertIn("3 accepted", out)
        self.assertIn("line 4: 503", out)
        self.assertIn("--from-line 4", err)
        self.assertEqual(daemon.wait(), 0)


if __name__ == "__main__":
    unittest.main()
