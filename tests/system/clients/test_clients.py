"""Widespread HTTP clients with their defaults work against celld."""

import http.client
import json
import os
import re
import subprocess
import unittest

from daemon import EndToEnd

HERE = os.path.dirname(os.path.abspath(__file__))
BODY = json.dumps({"customer": "acme", "product": "dns", "action": "create",
                   "entity": {"type": "zone", "id": "client"}, "services": ["demo"]})


class Clients(EndToEnd):
    def setUp(self):
        super().setUp()
        self.start({"services": {"demo": {"type": "simulated"}}, "cells": [{}],
                    "defaults": {"queue": {"max_jobs": 1_000_000}},
                    "shutdown_grace_ms": 10000})
        self.url = f"http://{self.daemon.host}:{self.daemon.port}"

    def run_program(self, *arguments, stdin=None):
        """Runs a program, which must succeed; returns its standard output."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.lower().endswith("_proxy") and name != "PYTHONPATH"}
        try:
            ended = subprocess.run(arguments, input=stdin, capture_output=True, timeout=500,
                                   env=environment, cwd=self.directory, check=False)
        except FileNotFoundError:
            self.fail(f"{arguments[0]} is not installed; scripts/test installs what the tests need")
        self.assertEqual(ended.returncode, 0, (arguments, ended.stdout[-2000:],
                                               ended.stderr[-2000:]))
        return ended.stdout


class Curl(Clients):
    def curl(self, *arguments, stdin=None):
        """(status, body, new connections) of each answer."""
        output = self.run_program("curl", "--silent", "--show-error", "--max-time", "30",
                                  "--write-out", r"\n%{http_code} %{num_connects}\n", *arguments,
                                  stdin=stdin).decode()
        found = re.findall(r"(?s)(.*?)\n(\d{3}) (\d+)\n", output)
        return [(int(status), body, int(connects)) for body, status, connects in found]

    def test_curl_gets(self):
        self.assertEqual(self.curl(f"{self.url}/livez"), [(200, '{"status":"ok"}', 1)])

    def test_curl_posts_with_data(self):
        [(status, body, _)] = self.curl("-H", "Content-Type: application/json", "-d", BODY,
                                        f"{self.url}/v1/jobs")
        self.assertEqual((status, json.loads(body)["entity"]["id"]), (202, "client"))

    def test_curl_posts_without_data(self):
        """`-X POST` sends neither a Content-Length nor a Transfer-Encoding."""
        [(status, body, _)] = self.curl("-X", "POST", "-H", "Content-Type: application/json",
                                        f"{self.url}/v1/jobs")
        self.assertEqual((status, json.loads(body)["type"]), (400, "/problems/malformed-json"))
        job_id = self.submit(dict(json.loads(BODY), delay_ms=60000))
        [(status, body, _)] = self.curl("-X", "POST", f"{self.url}/v1/jobs/{job_id}/cancel")
        self.assertEqual((status, json.loads(body)["state"]), (200, "cancelled"))

    def test_curl_gets_413_for_a_body_that_is_too_large(self):
        """Above 1 MiB, curl sends `Expect: 100-continue`; without that header, it sends the body at
        once."""
        body = b" " * ((1 << 20) + 1)
        for fields in ([], ["-H", "Expect:"], ["-H", "Transfer-Encoding: chunked"]):
            for _ in range(3):
                [(status, text, _)] = self.curl("-H", "Content-Type: application/json", *fields,
                                                "--data-binary", "@-", f"{self.url}/v1/jobs",
                                                stdin=body)
                self.assertEqual((status, json.loads(text)["status"]), (413, 413))

    def test_curl_sends_a_large_body_after_100_continue(self):
        body = json.dumps(dict(json.loads(BODY), parameters={"text": "x" * 1_000_000})).encode()
        [(status, _, _)] = self.curl("-H", "Content-Type: application/json", "--data-binary", "@-",
                                     "-H", "Expect: 100-continue", f"{self.url}/v1/jobs",
                                     stdin=body)
        self.assertEqual(status, 202)

    def test_curl_keeps_its_connection(self):
        answers = self.curl(*[f"{self.url}/livez"] * 5)
        self.assertEqual([(status, connects) for status, _, connects in answers],
                         [(200, 1)] + [(200, 0)] * 4)
        answers = self.curl("-d", BODY, "-H", "Content-Type: application/json",
                            *[f"{self.url}/v1/jobs"] * 3)
        self.assertEqual([(status, connects) for status, _, connects in answers],
                         [(202, 1), (202, 0), (202, 0)])

    def test_curl_speaks_http_1_0(self):
        self.assertEqual([answer[0] for answer in self.curl("--http1.0", f"{self.url}/livez")],
                         [200])
        [(status, _, _)] = self.curl("--http1.0", "-H", "Content-Type: application/json", "-d",
                                     BODY, f"{self.url}/v1/jobs")
        self.assertEqual(status, 202)

    def test_curl_requests_only_the_head(self):
        [(status, head, _)] = self.curl("--head", f"{self.url}/livez")
        self.assertEqual(status, 200)
        self.assertRegex(head, r"(?i)content-length: 15\r\n")

    def test_curl_gets_an_answer_when_it_offers_http_2(self):
        """celld ignores the offer to upgrade, like any server without HTTP/2."""
        [(status, _, _)] = self.curl("--http2", f"{self.url}/livez")
        self.assertEqual(status, 200)


class Others(Clients):
    def test_python_http_client_is_served(self):
        connection = http.client.HTTPConnection(self.daemon.host, self.daemon.port, timeout=30)
        fields = {"Content-Type": "application/json"}
        for _ in range(20):
            connection.request("POST", "/v1/jobs", BODY, fields)
            self.assertEqual(connection.getresponse().read()[:6], b'{"id":')
            kept = connection.sock
            self.assertIsNotNone(kept)
            connection.request("GET", "/livez")
            self.assertEqual(connection.getresponse().read(), b'{"status":"ok"}')
            self.assertIs(connection.sock, kept)
        for _ in range(5):
            connection.request("POST", "/v1/jobs", b" " * ((1 << 20) + 1), fields)
            refused = connection.getresponse()
            self.assertEqual(refused.status, 413)
            self.assertEqual(json.loads(refused.read())["status"], 413)
        connection.request("POST", "/v1/jobs", iter([BODY.encode()]), fields, encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 202)
        connection.close()

    def test_python_requests_is_served(self):
        # Debian's own Python, which Debian's requests package is for.
        self.run_program("/usr/bin/python3", os.path.join(HERE, "requests_client.py"), self.url)

    def test_node_fetch_is_served(self):
        self.run_program("node", os.path.join(HERE, "client.mjs"), self.url)

    def test_go_net_http_is_served(self):
        program = os.environ.get("CELLD_GO_CLIENT", "")
        if not program:
            self.fail("go was not there when this tree was configured: install golang-go (as "
                      "scripts/test does) and configure it again")
        self.run_program(program, self.url)


class Wrk(Clients):
    def wrk(self, path):
        output = self.run_program("wrk", "--threads", "2", "--connections", "32", "--duration",
                                  "2s", "--timeout", "20s", "--script",
                                  os.path.join(HERE, "wrk.lua"), self.url + path).decode()
        counts = dict(re.findall(r"(\w+)=(\d+)", output))
        requests = int(counts.pop("requests"))
        self.assertEqual(set(counts.values()), {"0"}, output)
        self.assertNotIn("Non-2xx", output)
        self.assertGreater(requests, 100, output)
        return requests

    def test_wrk_reads_without_an_error(self):
        self.wrk("/livez")

    def test_wrk_submits_without_an_error(self):
        requests = self.wrk("/v1/jobs")
        page = self.client.get("/v1/jobs", limit=1000, customer="wrk").json
        self.assertGreaterEqual(len(page["items"]), min(requests, 1000))


if __name__ == "__main__":
    unittest.main()
