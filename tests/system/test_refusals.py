"""Refused requests: each gets its documented status and a problem that names the fault."""

import socket
import time
import unittest

from daemon import EndToEnd, a_job, wait_until


def without(name):
    job = a_job()
    del job[name]
    return job


BAD_FIELDS = [
    # The fault, the job, and the pointers of the problem.
    ("no customer", without("customer"), ["/customer"]),
    ("no product", without("product"), ["/product"]),
    ("no action", without("action"), ["/action"]),
    ("no entity", without("entity"), ["/entity"]),
    ("no services", without("services"), ["/services"]),
    ("no entity type", a_job(entity={"id": "x"}), ["/entity/type"]),
    ("no entity id", a_job(entity={"type": "x"}), ["/entity/id"]),
    ("unknown field", a_job(extra=1), ["/extra"]),
    ("unknown field with odd name", a_job(**{"a/b~c": 1}), ["/a~1b~0c"]),
    ("unknown entity field", a_job(entity={"type": "x", "id": "y", "z": 1}), ["/entity/z"]),
    ("unknown retry field", a_job(retry={"max_attempts": 1, "backoff_ms": 1}),
     ["/retry/backoff_ms"]),
    ("customer a number", a_job(customer=1), ["/customer"]),
    ("customer null", a_job(customer=None), ["/customer"]),
    ("customer empty", a_job(customer=""), ["/customer"]),
    ("customer too long", a_job(customer="a" * 64), ["/customer"]),
    ("customer starts with a dash", a_job(customer="-a"), ["/customer"]),
    ("customer with a slash", a_job(customer="a/b"), ["/customer"]),
    ("customer with a newline", a_job(customer="acme\n"), ["/customer"]),
    ("customer a star", a_job(customer="*"), ["/customer"]),
    ("customer not ASCII", a_job(customer="é"), ["/customer"]),
    ("product a list", a_job(product=["dns"]), ["/product"]),
    ("action empty", a_job(action=""), ["/action"]),
    ("action an object", a_job(action={}), ["/action"]),
    ("entity a string", a_job(entity="zone"), ["/entity"]),
    ("entity null", a_job(entity=None), ["/entity"]),
    ("entity id a number", a_job(entity={"type": "x", "id": 7}), ["/entity/id"]),
    ("entity id empty", a_job(entity={"type": "x", "id": ""}), ["/entity/id"]),
    ("services empty", a_job(services=[]), ["/services"]),
    ("services a string", a_job(services="dns"), ["/services"]),
    ("services too many", a_job(services=["dns"] * 17),
     ["/services"] + sorted(f"/services/{i}" for i in range(1, 16))),
    ("service unknown", a_job(services=["dns", "nope"]), ["/services/1"]),
    ("service twice", a_job(services=["dns", "billing", "dns"]), ["/services/2"]),
    ("service a number", a_job(services=[1]), ["/services/0"]),
    ("parameters a list", a_job(parameters=[]), ["/parameters"]),
    ("parameters null", a_job(parameters=None), ["/parameters"]),
    ("parameters with a huge integer", a_job(parameters={"a": [1, 2**64]}), ["/parameters/a/1"]),
    ("parameters with a huge negative", a_job(parameters={"a": -2**63 - 1}), ["/parameters/a"]),
    ("priority 0", a_job(priority=0), ["/priority"]),
    ("priority 10", a_job(priority=10), ["/priority"]),
    ("priority 5.5", a_job(priority=5.5), ["/priority"]),
    ("priority a string", a_job(priority="5"), ["/priority"]),
    ("priority true", a_job(priority=True), ["/priority"]),
    ("priority 2^32+5", a_job(priority=2**32 + 5), ["/priority"]),
    ("priority 2^64+5", a_job(priority=2**64 + 5), ["/priority"]),
    ("priority 10^400", a_job(priority=10**400), ["/priority"]),
    ("delay negative", a_job(delay_ms=-1), ["/delay_ms"]),
    ("delay a float", a_job(delay_ms=1.5), ["/delay_ms"]),
    ("delay huge", a_job(delay_ms=2**63 - 1), ["/delay_ms"]),
    ("run_at no time", a_job(run_at="tomorrow"), ["/run_at"]),
    ("run_at a number", a_job(run_at=1), ["/run_at"]),
    ("run_at not a date", a_job(run_at="2026-02-30T00:00:00.000Z"), ["/run_at"]),
    ("expires_at no time", a_job(expires_at="2026-13-01T00:00:00.000Z"), ["/expires_at"]),
    ("timeout 0", a_job(timeout_ms=0), ["/timeout_ms"]),
    ("timeout negative", a_job(timeout_ms=-5), ["/timeout_ms"]),
    ("timeout above the cell's", a_job(timeout_ms=3600001), ["/timeout_ms"]),
    ("retry a number", a_job(retry=3), ["/retry"]),
    ("no attempts", a_job(retry={"max_attempts": 0}), ["/retry/max_attempts"]),
    ("attempts a string", a_job(retry={"max_attempts": "1"}), ["/retry/max_attempts"]),
    ("labels a list", a_job(labels=[]), ["/labels"]),
    ("label a number", a_job(labels={"a": 1}), ["/labels/a"]),
    ("label too long", a_job(labels={"a": "x" * 257}), ["/labels/a"]),
    ("labels too many", a_job(labels={str(i): "" for i in range(17)}), ["/labels"]),
    ("on_failure unknown", a_job(on_failure="panic"), ["/on_failure"]),
    ("an array", [a_job()], [""]),
    ("a string", "job", [""]),
    ("null", None, [""]),
]

NOT_JSON = [
    b"", b" ", b"{", b"}", b"nul", b"{'a': 1}", b'{"a": 1,}', b'{"a" 1}', b'{"a": 01}',
    b'{"a": +1}', b'{"a": NaN}', b'{"a": .5}', b'{"a": "\x01"}', b'{"a": "\\x"}',
    b'{"a": "\\ud800"}', b"{} {}", b"{}\0", b'{"a": "\0"}', b'{"a": "\\u0000"}',
    b'{"\\u0000": 1}', b'{"a": "\xff"}',
    b'{"a": "\xc0\x80"}', b'{"a": "\xed\xa0\x80"}', b'{"customer": "a", "customer": "b"}',
    b'{"parameters": {"x": {"a": 1, "b": 2, "a": 1}}}', b'{"a": 1, "\\u0061": 2}',
    b'{"parameters": ' + b"[" * 64 + b"]" * 64 + b"}", b"[" * 65 + b"]" * 65,
    b"[" * 500_000, b'{"a":' * 100_000, b"// comment\n{}", b'\xff\xfe{\0}\0',
]


class Submissions(EndToEnd):
    def setUp(self):
        super().setUp()
        self.start()

    def tearDown(self):
        self.assertEqual(self.client.get("/v1/jobs").json["items"], [], "no job was accepted")
        self.assertEqual(self.provider.calls_of(), [])

    def test_a_bad_field_is_422_with_its_pointer(self):
        for what, job, pointers in BAD_FIELDS:
            with self.subTest(what=what):
                body = b"null" if job is None else job
                refused = self.client.post("/v1/jobs", body)
                self.assert_problem(refused, 422, "invalid-request")
                self.assertEqual(refused.pointers, pointers)

    def test_all_faults_of_a_request_are_reported_at_once(self):
        refused = self.client.post("/v1/jobs", {
            "customer": "", "action": 7, "entity": {"type": 1, "x": 2}, "services": ["a", "b"],
            "priority": 99, "delay_ms": 1, "run_at": "2026-11-20T22:42:56.123Z", "what": 0,
            "parameters": {"n": 2**70}})
        self.assert_problem(refused, 422, "invalid-request")
        expected = {"/customer", "/product", "/action", "/entity/type", "/entity/id", "/entity/x",
                    "/services/0", "/services/1", "/priority", "/what", "/parameters/n"}
        self.assertEqual(expected - set(refused.pointers), set())
        self.assertTrue({"/run_at", "/delay_ms"} & set(refused.pointers), "one of the two")

    def test_a_body_that_is_not_strict_json_is_400(self):
        for body in NOT_JSON:
            with self.subTest(body=body[:60], length=len(body)):
                self.assert_problem(self.client.post("/v1/jobs", body), 400)

    def test_nesting_up_to_64_levels_is_accepted(self):
        nested = {"a": 1}
        for _ in range(62):
            nested = {"a": nested}
        too_deep = self.client.post("/v1/jobs", a_job(parameters={"a": nested}))
        self.assert_problem(too_deep, 400)
        # The deepest nesting allowed is refused for the unknown field, not for its depth.
        fine = self.client.post("/v1/jobs", a_job(parameters=nested, unknown=1))
        self.assert_problem(fine, 422)

    def test_a_body_with_too_many_values_is_413_and_not_400(self):
        many = a_job(parameters={"a": [0] * 60_000})
        self.assert_problem(self.client.post("/v1/jobs", many), 413, "content-too-large")

    def test_a_body_must_be_declared_as_json(self):
        for content_type in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx",
                             "multipart/form-data; boundary=x", ""):
            with self.subTest(content_type=content_type):
                refused = self.client.post("/v1/jobs", a_job(), **{"Content-Type": content_type})
                self.assert_problem(refused, 415)

    def test_unknown_query_parameters_are_422(self):
        for method, path in (("POST", "/v1/jobs?x=1"), ("GET", "/v1/jobs?x=1"),
                             ("GET", "/v1/jobs?limit=1&Limit=1"), ("GET", "/v1/cells?customer=a"),
                             ("GET", "/v1/cells/*/*?x"), ("GET", "/livez?x=1"),
                             ("GET", "/v1/jobs/abc?x=1")):
            with self.subTest(path=path):
                body = a_job() if method == "POST" else None
                self.assert_problem(self.client.request(method, path, body), 422)

    def test_bad_query_parameter_values_are_422(self):
        for query in ("limit=0", "limit=1001", "limit=-1", "limit=x", "limit=", "limit=1.5",
                      "limit=1&limit=2", "limit=99999999999999999999", "state=done", "state=",
                      "cursor=%01", "cursor=nope!", "cursor=", "created_after=yesterday",
                      "created_before=2026-99-01T00:00:00Z", "customer=a%2Fb", "label.=x"):
            with self.subTest(query=query):
                self.assert_problem(self.client.get(f"/v1/jobs?{query}"), 422)

    def test_an_unknown_path_or_job_is_404(self):
        for path in ("/v1/jobs/abc", "/v1/jobs/1m7y89v8p0000", "/v1/jobs/" + "9" * 300,
                     "/v1/jobs/%00", "/v1/jobs/..%2F..", "/v1/nope", "/nope", "/v1/jobs/a/b/c/d",
                     "/v2/jobs", "/v1/jobs/%F0%9F%92%A9"):
            with self.subTest(path=path):
                answer = self.client.get(path)
                # A target that is not valid at all may be a bad request.
                if "%00" in path and answer.status == 400:
                    continue
                self.assert_problem(answer, 404)

    def test_a_wrong_method_is_405_and_lists_the_allowed_ones(self):
        for method, path, allowed in (("DELETE", "/v1/jobs", {"GET", "POST"}),
                                      ("PUT", "/v1/jobs/abc", {"GET"}),
                                      ("POST", "/v1/cells", {"GET"}),
                                      ("POST", "/livez", {"GET"}),
                                      ("GET", "/v1/admin/cells/*/*/pool", {"PUT", "DELETE"})):
            with self.subTest(method=method, path=path):
                body = {} if method in ("POST", "PUT") else None
                refused = self.client.request(method, path, body)
                self.assert_problem(refused, 405)
                listed = {name.strip() for name in refused.headers["allow"].split(",")}
                self.assertEqual(allowed - listed, set())
                self.assertNotIn(method, listed)

    def test_a_foreign_origin_is_403(self):
        refused = self.client.post("/v1/jobs", a_job(), Origin="https://evil.example")
        self.assert_problem(refused, 403)

    def test_a_body_over_a_megabyte_is_413(self):
        refused = self.client.post("/v1/jobs", b"{" + b" " * (1 << 20) + b"}")
        self.assert_problem(refused, 413)


class RawRequests(EndToEnd):
    """Requests that an HTTP library would not send."""

    def send(self, *pieces):
        """The status and the answer to these bytes; the connection must not be reset."""
        with socket.create_connection((self.daemon.host, self.daemon.port), timeout=30) as s:
            for piece in pieces:
                try:
                    s.sendall(piece)
                except (BrokenPipeError, ConnectionResetError):
                    break
            received = b""
            while b"\r\n\r\n" not in received or b"}" not in received:
                piece = s.recv(65536)
                if not piece:
                    break
                received += piece
        self.assertTrue(received.startswith(b"HTTP/1.1 "), received[:200])
        return int(received[9:12]), received

    def assert_refused(self, status, *pieces):
        got, received = self.send(*pieces)
        self.assertEqual(got, status, received[:500])
        self.assertIn(b"application/problem+json", received)
        self.assertEqual(self.client.get("/livez").status, 200)

    def test_invalid_framing_is_refused_with_a_problem(self):
        self.start()
        head = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        for status, request in (
                (414, b"GET /v1/jobs?" + b"x" * 10_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"),
                (431, b"GET /livez HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 100_000 + b"\r\n\r\n"),
                (431, b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 5000 + b"\r\n"),
                (413, head + b"Content-Length: 1048577\r\n\r\n"),
                (413, head + b"Content-Length: 9223372036854775807\r\n\r\n"),
                (413, head + b"Transfer-Encoding: chunked\r\n\r\n" +
                 (b"10000\r\n" + b" " * 65536 + b"\r\n") * 20 + b"0\r\n\r\n"),
                (400, head + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n"),
                (400, head + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}"),
                (400, head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
                (400, head + b"Content-Length: -1\r\n\r\n"),
                (400, head + b"Content-Length: 2x\r\n\r\n{}"),
                (400, b"GET /livez HTTP/1.1\r\nHost: x\r\nA\0: b\r\n\r\n"),
                (400, b"GET /livez HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n"),
                (400, b"GET /livez\r\n\r\n"),
                (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")):
            with self.subTest(status=status, request=request[:120]):
                self.assert_refused(status, request)

    def test_a_refused_body_is_read_so_that_the_client_gets_the_answer(self):
        self.start()
        head = (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: 4000000\r\n\r\n")
        self.assert_refused(413, head, *([b"x" * 100_000] * 40))

    def test_expect_100_continue_is_answered(self):
        self.start()
        body = b'{"customer": 1}'
        with socket.create_connection((self.daemon.host, self.daemon.port), timeout=30) as s:
            s.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                      b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
            self.assertTrue(s.recv(4096).startswith(b"HTTP/1.1 100 "))
            s.sendall(body)
            self.assertTrue(s.recv(65536).startswith(b"HTTP/1.1 422 "))

    def test_a_post_without_length_has_an_empty_body(self):
        self.start()
        self.assert_refused(400, b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\n"
                                 b"Content-Type: application/json\r\n\r\n")

    def test_an_unfinished_request_delays_no_other_client(self):
        self.start()
        slow = [socket.create_connection((self.daemon.host, self.daemon.port)) for _ in range(200)]
        for s in slow:
            self.addCleanup(s.close)
            s.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Le")
        began = time.monotonic()
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual(job["state"], "succeeded")
        self.assert_in_time("a job of another client", time.monotonic() - began, 5)
        slow[0].settimeout(30)
        self.assertTrue(slow[0].recv(65536).startswith(b"HTTP/1.1 408 "))

    def test_a_head_may_take_no_longer_than_configured(self):
        self.start(limits={"head_timeout_ms": 300})
        with socket.create_connection((self.daemon.host, self.daemon.port), timeout=30) as s:
            s.sendall(b"GET /livez HTTP/1.1\r\n")
            self.assertIn(b"took longer than 300 ms", s.makefile("rb").read())

    def test_requests_may_be_pipelined(self):
        self.start()
        with socket.create_connection((self.daemon.host, self.daemon.port), timeout=30) as s:
            s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 5)
            received = b""

            def all_answered():
                nonlocal received
                received += s.recv(65536)
                return received.count(b"HTTP/1.1 200 ") == 5
            wait_until(all_answered, "five answers")


if __name__ == "__main__":
    unittest.main()
