"""Tokens: what each scope allows, and what a token bound to a customer sees."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import unittest

from daemon import DEADLINE_S, Client, Daemon, EndToEnd, a_config, a_job, wait_until
from stream import Stream
from tokens import SCOPES, TOKENS, bearer, sha256, the_auth

NO_SUCH_JOB = "There is no such job."
NO_SUCH_CELL = "There is no such cell."

# Endpoints, each with the scope that it needs.
ENDPOINTS = [
    ("POST", "/v1/jobs", "submit"),
    ("GET", "/v1/jobs", "read"),
    ("HEAD", "/v1/jobs", "read"),
    ("GET", "/v1/jobs/{job}", "read"),
    ("POST", "/v1/jobs/{job}/cancel", "submit"),
    ("POST", "/v1/jobs/{job}/retry", "submit"),
    ("GET", "/v1/jobs/{job}/events", "read"),
    ("HEAD", "/v1/events", "read"),
    ("POST", "/v1/batches", "submit"),
    ("GET", "/v1/batches", "read"),
    ("GET", "/v1/batches/{batch}", "read"),
    ("POST", "/v1/batches/{batch}/cancel", "submit"),
    ("PUT", "/v1/schedules/nightly", "submit"),
    ("GET", "/v1/schedules", "read"),
    ("GET", "/v1/schedules/nightly", "read"),
    ("DELETE", "/v1/schedules/nightly", "submit"),
    ("GET", "/v1/cells", "read"),
    ("GET", "/metrics", "read"),
    ("GET", "/v1/cells/acme/*", "read"),
    ("PUT", "/v1/admin/cells/acme/*/pool", "admin"),
    ("DELETE", "/v1/admin/cells/acme/*/pool", "admin"),
    ("PUT", "/v1/admin/cells/acme/*/quota", "admin"),
    ("DELETE", "/v1/admin/cells/acme/*/quota", "admin"),
    ("POST", "/v1/admin/cells/acme/*/pause", "admin"),
    ("POST", "/v1/admin/cells/acme/*/drain", "admin"),
    ("POST", "/v1/admin/cells/acme/*/resume", "admin"),
    ("GET", "/v1/services", "read"),
    ("GET", "/v1/services/dns", "read"),
    ("POST", "/v1/admin/services/dns/reset", "admin"),
    ("GET", "/v1/admin/config", "admin"),
    ("POST", "/v1/admin/reload", "admin"),
    ("GET", "/v1/admin/backup", "admin"),
]
OPEN_ENDPOINTS = ("/livez", "/readyz")


class TokenClient(Client):
    """A client that sends its token with every request."""

    def __init__(self, host, port, token):
        super().__init__(host, port)
        self.token = token

    def request(self, method, path, body=None, headers=None):
        headers = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        return super().request(method, path, body, headers)


class Access(EndToEnd):
    CELLS = [{"customer": "acme"}, {"customer": "acme", "product": "mail"},
             {"customer": "bolt", "product": "dns"}, {"product": "mail", "per": ["customer"]}, {}]

    def setUp(self):
        super().setUp()
        self.addCleanup(self.check_that_no_token_was_logged)
        self.start(a_config(self.provider, cells=self.CELLS, auth=the_auth()))

    def check_that_no_token_was_logged(self):
        with open(self.daemon.stderr_path, encoding="utf-8", errors="replace") as file:
            self.assertNotIn("secret-token", file.read())

    def of(self, name):
        client = TokenClient(self.daemon.host, self.daemon.port, TOKENS[name])
        self.addCleanup(client.close)
        return client

    def request(self, method, path, headers, customer="acme"):
        body = None
        if (method, path) == ("POST", "/v1/jobs"):
            body = a_job(customer=customer)
        elif (method, path) == ("POST", "/v1/batches"):
            body = [a_job(customer=customer)]
        elif (method, path) == ("PUT", "/v1/schedules/nightly"):
            body = {"cron": "0 3 * * *", "job": a_job(customer=customer)}
        elif method == "PUT" and path.endswith("/quota"):
            body = {"queue": {"max_jobs": 1000}}
        elif method == "PUT":
            body = {"size": 2}
        return self.client.request(method, path, body, headers)

    def raw(self, *headers, path="/v1/jobs"):
        """The answer to a GET with exactly these header lines."""
        head = [f"GET {path} HTTP/1.1".encode(), b"Host: celld", b"Connection: close", *headers]
        with socket.create_connection((self.daemon.host, self.daemon.port), DEADLINE_S) as s:
            s.sendall(b"\r\n".join(head) + b"\r\n\r\n")
            response = http.client.HTTPResponse(s)
            response.begin()
            return response.status, response.getheader("WWW-Authenticate"), response.read()

    def submit_as(self, name, **changes):
        answer = self.of(name).post("/v1/jobs", a_job(**changes))
        self.assertEqual(answer.status, 202, answer)
        return answer.json["id"]

    # --- Scopes ----------------------------------------------------------------------------------

    def test_an_endpoint_accepts_its_own_scope_and_no_other(self):
        job = self.submit_as("submit")
        batch = self.of("submit").post("/v1/batches", [a_job()]).json["id"]
        for method, path, wanted in ENDPOINTS:
            for scope in SCOPES:
                with self.subTest(endpoint=f"{method} {path}", scope=scope):
                    path = path.format(job=job, batch=batch)
                    answer = self.request(method, path, bearer(scope))
                    if scope == wanted:
                        self.assertIn(answer.status, (200, 201, 202, 409), answer)
                        continue
                    self.assertEqual(answer.status, 403, answer)
                    if method == "HEAD":
                        continue
                    self.assert_problem(answer, 403, "missing-scope")
                    self.assertIn(f"`{wanted}`", answer.json["detail"])

    def test_an_endpoint_with_a_scope_refuses_requests_without_a_token(self):
        for method, path, _ in ENDPOINTS:
            for headers in ({}, bearer("unknown")):
                with self.subTest(endpoint=f"{method} {path}", headers=headers):
                    answer = self.request(method, path.format(job="x", batch="x"), headers)
                    self.assertEqual(answer.status, 401, answer)
                    self.assertEqual(answer.headers["www-authenticate"], 'Bearer realm="celld"')
                    if method != "HEAD":
                        self.assert_problem(answer, 401, "unauthorized")
        self.assertEqual(self.of("read").get("/v1/jobs").json["items"], [])

    def test_health_needs_no_token(self):
        for path in OPEN_ENDPOINTS:
            for headers in ({}, bearer("unknown"), bearer("acme"), {"Authorization": "Basic eDp5"}):
                with self.subTest(path=path, headers=headers):
                    answer = self.client.request("GET", path, None, headers)
                    self.assertEqual(answer.status, 200, answer)

    def test_a_refused_request_changes_nothing(self):
        before = self.of("read").get("/v1/cells/acme/*").json["pool"]["target"]
        self.assertEqual(self.request("PUT", "/v1/admin/cells/acme/*/pool", bearer("submit")).status,
                         403)
        self.assertEqual(self.request("POST", "/v1/jobs", bearer("read")).status, 403)
        cell = self.of("read").get("/v1/cells/acme/*").json
        self.assertEqual((cell["pool"]["target"], cell["overrides"]), (before, {}))
        self.assertEqual(self.of("read").get("/v1/jobs").json["items"], [])

    def test_the_token_is_checked_before_the_request(self):
        for headers, status in (({}, 401), (bearer("read"), 403), (bearer("submit"), 400)):
            answer = self.client.request("POST", "/v1/jobs", b"{", headers)
            self.assert_problem(answer, status)
        self.assert_problem(self.client.get("/v1/jobs?what=1"), 401)
        self.assert_problem(self.client.get("/v1/jobs/nonsense"), 401)

    def test_the_origin_is_checked_before_the_token(self):
        origin = {"Origin": "http://evil.example"}
        for headers in ({}, bearer("read"), bearer("unknown"), bearer("submit")):
            with self.subTest(headers=headers):
                answer = self.client.request("GET", "/v1/jobs", None, headers | origin)
                self.assert_problem(answer, 403, "foreign-origin")
        own = {"Origin": f"http://{self.daemon.host}:{self.daemon.port}"}
        self.assertEqual(self.client.request("GET", "/v1/jobs", None, bearer("read") | own).status,
                         200)
        self.assert_problem(self.client.request("GET", "/v1/jobs", None, own), 401)

    # --- Headers ---------------------------------------------------------------------------------

    def test_the_scheme_may_have_any_case_and_spaces(self):
        token = TOKENS["read"].encode()
        for value in (b"Bearer " + token, b"bearer " + token, b"BEARER   " + token,
                      b"bEaReR " + token + b"   ", b"\t Bearer " + token):
            with self.subTest(value=value):
                self.assertEqual(self.raw(b"Authorization: " + value)[0], 200)
                self.assertEqual(self.raw(b"aUTHORIZATION:" + value)[0], 200)

    def test_every_other_header_value_gets_the_same_401(self):
        token = TOKENS["read"].encode()
        good = b"Authorization: Bearer " + token
        odd = [[b"Authorization:"], [b"Authorization:  "], [b"Authorization: Bearer"],
               [b"Authorization: Bearer "], [b"Authorization: Bearer" + token],
               [b"Authorization: Bearer\t" + token], [b"Authorization: " + token],
               [b"Authorization: Basic " + token], [b"Authorization: Digest " + token],
               [b"Authorization: Bearer " + token + b" x"], [b"Authorization: Bearer x " + token],
               [b"Authorization: Bearer " + token + b","], [b'Authorization: Bearer "' + token + b'"'],
               [b"Authorization: Bearer " + token + b"="], [b"Authorization: Bearer =" + token],
               [b"Authorization: Bearer ="], [b"Authorization: Bearer " + token[:-1]],
               [b"Authorization: Bearer " + token.upper()],
               [b"Authorization: Bearer " + token.replace(b"s", b"%73")],
               [b"Authorization: Bearer " + token + b"\xc3\xa9"],
               [b"Authorization: Bearer \xff\xfe"], [b"Authorization: Bearer " + b"x" * 10_000],
               [b"Authorization: Bearer " + token * 300],
               [b"Authorization: Bearer " + sha256(TOKENS["read"]).encode()],
               [good, good], [good, b"Authorization: Basic eDp5"], [good, b"Authorization:"],
               [b"Proxy-Authorization: Bearer " + token], [b"X-Authorization: Bearer " + token]]
        expected = self.raw()
        self.assertEqual(expected[:2], (401, 'Bearer realm="celld"'))
        for headers in odd:
            with self.subTest(headers=headers):
                self.assertEqual(self.raw(*headers), expected)
        for path in ("/v1/jobs?access_token=" + TOKENS["read"],
                     "/v1/jobs?authorization=Bearer%20" + TOKENS["read"]):
            with self.subTest(path=path):
                self.assertEqual(self.raw(path=path), expected)

    def test_the_refusal_of_a_malformed_header_does_not_quote_it(self):
        for header in (b"Authorization: Bearer " + b"secret-token" * 2_000,
                       b"Authorization: Bearer secret-token\x00", b"Authorization: secret-token\x7f",
                       b"Authorization : Bearer secret-token"):
            with self.subTest(header=header[:60]):
                status, _, body = self.raw(header)
                self.assertIn(status, (400, 431))
                self.assertNotIn(b"secret-token", body)

    # --- Tokens bound to a customer --------------------------------------------------------------

    def test_a_bound_token_does_not_get_the_metrics_of_all_customers(self):
        answer = self.of("acme").get("/metrics")
        self.assert_problem(answer, 403, "missing-scope")
        self.assertIn("bound to a customer", answer.json["detail"])
        self.assert_problem(self.of("bolt").get("/metrics?x=1"), 403, "missing-scope")

    def test_a_bound_token_submits_for_its_customer_only(self):
        self.submit_as("acme")
        unknown = self.of("acme").post("/v1/jobs", a_job(customer="unknown"))
        self.assert_problem(unknown, 404, "not-found")
        # The answer depends neither on whether the customer has a cell nor on faults of the job.
        for changes in ({}, {"product": "mail"}, {"timeout_ms": 500_000_000}, {"services": ["x"]},
                        {"priority": 99}):
            with self.subTest(changes=changes):
                answer = self.of("acme").post("/v1/jobs", a_job(customer="bolt", **changes))
                self.assertEqual((answer.status, answer.body), (404, unknown.body))
        self.assertEqual(len(self.of("read").get("/v1/jobs").json["items"]), 1)
        for customer in (None, 7, "", "a b", "*"):
            with self.subTest(customer=customer):
                self.assert_problem(self.of("acme").post("/v1/jobs", a_job(customer=customer)), 422)

    def test_a_bound_token_finds_its_customers_jobs_only(self):
        own, other = self.submit_as("acme"), self.submit_as("submit", customer="bolt")
        self.assertEqual(self.of("acme").get(f"/v1/jobs/{own}").status, 200)
        self.assertEqual(self.of("bolt").get(f"/v1/jobs/{other}").status, 200)
        missing = self.of("acme").get(f"/v1/jobs/{'0' * len(own)}")
        self.assert_problem(missing, 404, "not-found")
        self.assertEqual(missing.json["detail"], NO_SUCH_JOB)
        answer = self.of("acme").get(f"/v1/jobs/{other}")
        self.assertEqual((answer.status, answer.body), (404, missing.body))
        self.assertEqual(answer.headers.keys(), missing.headers.keys())

    def test_a_bound_token_cancels_retries_and_follows_its_customers_jobs_only(self):
        self.provider.hold("/dns")
        own, other = self.submit_as("acme"), self.submit_as("submit", customer="bolt")
        endpoints = (("POST", "cancel"), ("POST", "retry"), ("GET", "events"))
        for method, action in endpoints:
            with self.subTest(action=action):
                missing = self.of("acme").request(method, f"/v1/jobs/{'0' * len(own)}/{action}")
                self.assert_problem(missing, 404, "not-found")
                answer = self.of("acme").request(method, f"/v1/jobs/{other}/{action}")
                self.assertEqual((answer.status, answer.body), (404, missing.body))
                self.assertEqual(answer.headers.keys(), missing.headers.keys())
        self.assertFalse(self.of("read").get(f"/v1/jobs/{other}").json["cancel_requested"])
        answer = self.of("acme").request("POST", f"/v1/jobs/{own}/cancel")
        self.assertEqual((answer.status, answer.json["id"]), (200, own), answer)
        events = self.of("acme").get(f"/v1/jobs/{own}/events")  # Until the job has ended.
        self.assertEqual(events.status, 200, events)
        self.assertIn(b'"state":"cancelled"', events.body)
        answer = self.of("acme").request("POST", f"/v1/jobs/{own}/retry")
        self.assertEqual((answer.status, answer.json["id"]), (202, own), answer)

    def test_a_bound_token_sees_and_changes_its_customers_schedules_only(self):
        def put(name, schedule, customer="acme"):
            body = {"cron": "0 0 1 1 *", "job": a_job(customer=customer)}
            return self.of(name).put(f"/v1/schedules/{schedule}", body)
        self.assertEqual(put("submit", "of-bolt", "bolt").status, 201)
        self.assertEqual(put("acme", "of-acme").status, 201)
        acme = self.of("acme")
        listed = acme.get("/v1/schedules").json["items"]
        self.assertEqual([item["name"] for item in listed], ["of-acme"])
        missing = acme.get("/v1/schedules/missing")
        self.assert_problem(missing, 404, "not-found")
        for method in ("GET", "DELETE"):
            answer = acme.request(method, "/v1/schedules/of-bolt")
            self.assertEqual((answer.status, answer.body), (404, missing.body))
        taken = put("acme", "of-bolt")
        self.assertEqual(taken.status, 404, taken)
        self.assertIn("Choose another name", taken.json["detail"])
        for customer in ("bolt", "unknown"):
            self.assert_problem(put("acme", "new", customer), 404, "not-found")
        self.assertEqual(len(self.of("read").get("/v1/schedules").json["items"]), 2)
        self.assertEqual(acme.delete("/v1/schedules/of-acme").status, 200)

    def test_a_bound_token_receives_events_of_its_customers_jobs_only(self):
        connections = [http.client.HTTPConnection(self.daemon.host, self.daemon.port,
                                                  timeout=DEADLINE_S) for _ in range(2)]
        for connection in connections:
            self.addCleanup(connection.close)
        streams = []
        for connection, query in zip(connections, ("", "?customer=acme"), strict=True):
            connection.request("GET", "/v1/events" + query, headers=bearer("acme"))
            streams.append(connection.getresponse())
            self.assertEqual(streams[-1].status, 200)
        before = Stream(self.daemon, "/v1/events", token=TOKENS["acme"])
        before.position()
        before.close()
        other = self.submit_as("submit", customer="bolt")
        self.assertEqual(self.of("bolt").get(f"/v1/jobs/{other}/events").status, 200)
        own = self.submit_as("acme")
        for stream in streams:
            received = b""
            while b'"state":"succeeded"' not in received:
                line = stream.readline()
                self.assertTrue(line, "the stream continues")
                received += line
            self.assertIn(own.encode(), received)
            self.assertNotIn(other.encode(), received)
            self.assertNotIn(b"bolt", received)
        back = Stream(self.daemon, "/v1/events", before.last_event_id, token=TOKENS["acme"])
        self.addCleanup(back.close)
        self.assertEqual({job["id"] for job in back.jobs(3)}, {own})

    def test_a_key_of_one_customer_is_unknown_to_another(self):
        first = self.of("bolt").post("/v1/jobs", a_job(customer="bolt"), **{"Idempotency-Key": "k"})
        self.assertEqual(first.status, 202, first)
        answer = self.of("acme").post("/v1/jobs", a_job(customer="bolt"), **{"Idempotency-Key": "k"})
        self.assert_problem(answer, 404, "not-found")
        answer = self.of("acme").post("/v1/jobs", a_job(), **{"Idempotency-Key": "k"})
        self.assertEqual((answer.status, answer.json["customer"]), (202, "acme"), answer)

    def test_a_bound_token_lists_its_customers_jobs_only(self):
        acme = [self.submit_as("submit", entity_id=str(i), customer="acme") for i in range(3)]
        bolt = [self.submit_as("submit", entity_id=str(i), customer="bolt") for i in range(3)]

        def listed(name, **query):
            answer = self.of(name).get("/v1/jobs", **query)
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(list(answer.json), ["items", "next_cursor"])
            return [job["id"] for job in answer.json["items"]], answer.json["next_cursor"]
        self.assertEqual(listed("acme"), (acme[::-1], None))
        self.assertEqual(listed("acme", customer="acme"), (acme[::-1], None))
        self.assertEqual(listed("acme", customer="bolt"), ([], None))
        self.assertEqual(listed("acme", customer="unknown"), ([], None))
        self.assertEqual(listed("bolt", product="dns"), (bolt[::-1], None))
        self.assertEqual(listed("read"), ((acme + bolt)[::-1], None))
        first, cursor = listed("acme", limit=2)
        self.assertEqual(first + listed("acme", cursor=cursor)[0], acme[::-1])
        self.assertEqual(listed("acme", cursor=bolt[1])[0], acme[::-1])
        self.assert_problem(self.of("acme").get("/v1/jobs", customer="a b"), 422)

    def test_a_bound_token_waits_for_the_end_of_its_job(self):
        answer = self.of("acme").post("/v1/jobs", a_job(), Prefer="wait=30")
        self.assertEqual((answer.status, answer.json["state"]), (200, "succeeded"), answer)

    def test_a_bound_token_sees_the_cells_of_its_customer_only(self):
        # bolt gets an instance of the template; acme has its own cell for the same product.
        self.provider.hold("/dns")
        self.submit_as("submit", customer="bolt", product="mail")
        self.submit_as("submit", customer="acme", product="mail")

        def keys(name, **query):
            answer = self.of(name).get("/v1/cells", **query)
            self.assertEqual(answer.status, 200, answer)
            return [(cell["customer"], cell["product"]) for cell in answer.json["items"]]
        self.assertEqual(keys("acme"), [("acme", "*"), ("acme", "mail")])
        self.assertEqual(keys("bolt"), [("bolt", "dns"), ("bolt", "mail")])
        self.assertEqual(keys("read"), [("*", "*"), ("*", "mail"), ("acme", "*"), ("acme", "mail"),
                                        ("bolt", "dns"), ("bolt", "mail")])
        missing = self.of("acme").get("/v1/cells/unknown/*")
        self.assert_problem(missing, 404, "not-found")
        self.assertEqual(missing.json["detail"], NO_SUCH_CELL)
        for name, key, status in (("acme", "acme/*", 200), ("acme", "acme/mail", 200),
                                  ("acme", "acme/none", 404), ("acme", "bolt/dns", 404),
                                  ("acme", "bolt/mail", 404), ("acme", "*/mail", 404),
                                  ("acme", "*/*", 404), ("bolt", "bolt/mail", 200),
                                  ("bolt", "acme/*", 404), ("read", "bolt/mail", 200),
                                  ("read", "*/*", 200)):
            with self.subTest(name=name, key=key):
                answer = self.of(name).get(f"/v1/cells/{key}")
                self.assertEqual(answer.status, status, answer)
                if status == 404:
                    self.assertEqual(answer.body, missing.body)

    def test_a_bound_token_pages_through_its_cells(self):
        everything = self.of("read").get("/v1/cells", limit=1000).json["items"]
        self.assertGreater(len(everything), 3)
        page = self.of("acme").get("/v1/cells", limit=1).json
        self.assertEqual([cell["product"] for cell in page["items"]], ["*"])
        page = self.of("acme").get("/v1/cells", limit=1, cursor=page["next_cursor"]).json
        self.assertEqual([cell["product"] for cell in page["items"]], ["mail"])
        self.assertIsNone(page["next_cursor"])
        # A cursor of another customer reveals nothing: one that sorts before the customer's cells
        # leads to all of them, one that sorts after leads to none.
        def products_after(key):
            cursor = key.encode().hex()
            answer = self.of("acme").get("/v1/cells", cursor=cursor)
            self.assertEqual(answer.status, 200, answer)
            return [cell["product"] for cell in answer.json["items"]]
        self.assertEqual(products_after("*/*"), ["*", "mail"])
        self.assertEqual(products_after("aardvark/x"), ["*", "mail"])
        self.assertEqual(products_after("acme/*"), ["mail"])
        self.assertEqual(products_after("bolt/*"), [])

    def test_a_bound_token_resizes_its_customers_cells_only(self):
        missing = self.of("acme").put("/v1/admin/cells/unknown/*/pool", {"size": 3})
        self.assert_problem(missing, 404, "not-found")
        for key in ("bolt/dns", "*/mail", "*/*"):
            with self.subTest(key=key):
                path = f"/v1/admin/cells/{key}/pool"
                for answer in (self.of("acme").put(path, {"size": 3}), self.of("acme").delete(path)):
                    self.assertEqual((answer.status, answer.body), (404, missing.body))
                cell = self.of("read").get(f"/v1/cells/{key}").json
                self.assertEqual((cell["pool"]["target"], cell["overrides"]), (4, {}))
        answer = self.of("acme").put("/v1/admin/cells/acme/*/pool", {"size": 3})
        self.assertEqual((answer.status, answer.json["pool"]["target"]), (202, 3), answer)
        answer = self.of("acme").delete("/v1/admin/cells/acme/*/pool")
        self.assertEqual((answer.status, answer.json["pool"]["target"]), (202, 4), answer)

    # --- Secrets ---------------------------------------------------------------------------------

    def test_a_token_is_in_no_answer_and_no_file(self):
        answers = [self.of("acme").post("/v1/jobs", a_job(), Prefer="wait=30"),
                   self.of("acme").get("/v1/jobs"), self.of("read").get("/v1/cells"),
                   self.of("read").post("/v1/jobs", a_job()), self.of("unknown").get("/v1/jobs"),
                   self.of("admin").request("PATCH", "/v1/jobs"), self.of("admin").get("/nowhere")]
        for answer in answers:
            self.assertNotIn("secret-token", repr(answer))
        self.assertEqual(self.daemon.stop(), 0)
        for directory, _, names in os.walk(self.directory):
            for name in names:
                with self.subTest(name=name):
                    with open(os.path.join(directory, name), "rb") as file:
                        self.assertNotIn(b"secret-token", file.read())
        for call in self.provider.calls_of():
            self.assertNotIn("secret-token", repr(vars(call)))


class Startup(EndToEnd):
    """Startup with and without tokens, and `celld token`."""

    def run_celld(self, *arguments, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CELLD_")}
        env.update(environment)
        return subprocess.run([os.environ["CELLD_BINARY"], *arguments], env=env, text=True,
                              cwd=self.directory, capture_output=True, timeout=DEADLINE_S,
                              check=False)

    def write(self, config):
        path = os.path.join(self.directory, "celld.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        return path

    def test_without_tokens_only_loopback_is_served(self):
        path = self.write(a_config(self.provider, listen={"host": "0.0.0.0", "port": 0}))
        plain = self.write_as("plain.json", a_config(self.provider))
        for arguments, environment in ((["--config", path], {}),
                                       (["--config", path, "--check"], {}),
                                       (["--config", plain, "--listen", "0.0.0.0:0"], {}),
                                       (["--config", plain, "--listen", "[::]:0", "--check"], {}),
                                       (["--config", plain], {"CELLD_LISTEN": "0.0.0.0:0"})):
            with self.subTest(arguments=arguments):
                done = self.run_celld(*arguments, **environment)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                self.assertRegex(done.stderr, "/listen/host: .*must be a loopback address")

    def write_as(self, name, config):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        return path

    def test_with_tokens_any_host_may_be_configured(self):
        path = self.write(a_config(self.provider, listen={"host": "0.0.0.0", "port": 0},
                                   auth=the_auth()))
        done = self.run_celld("--config", path, "--check")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), done)

    def test_celld_warns_of_tokens_that_travel_unencrypted(self):
        for host, warnings in (("127.0.0.1", 0), ("0.0.0.0", 1)):
            with self.subTest(host=host):
                daemon = Daemon(a_config(self.provider, auth=the_auth()), self.directory,
                                ["--listen", f"{host}:0", "--data",
                                 os.path.join(self.directory, "data")])
                daemon.start()
                self.assertEqual(daemon.stop(), 0)
                self.assertEqual(daemon.log().count("tokens travel unencrypted to 0.0.0.0: "),
                                 warnings, daemon.log())
                self.assertEqual(daemon.log().count("tokens travel unencrypted"), warnings)

    def test_auth_without_tokens_is_refused_with_a_reason(self):
        for auth in ({}, {"tokens": []}):
            with self.subTest(auth=auth):
                done = self.run_celld("--config", self.write(a_config(self.provider, auth=auth)))
                self.assertEqual(done.returncode, 2, done)
                self.assertRegex(done.stderr, "/auth/tokens: .*would admit no client")

    def test_a_token_given_as_digest_is_not_printed(self):
        auth = {"tokens": [{"name": "a", "sha256": "celld_s3cret", "scopes": ["read"]}]}
        done = self.run_celld("--config", self.write(a_config(self.provider, auth=auth)))
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("/auth/tokens/0/sha256", done.stderr)
        self.assertNotIn("s3cret", done.stderr)

    def test_without_tokens_every_authorization_header_is_accepted(self):
        client = self.start()
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eDp5"}):
            self.assertEqual(client.request("GET", "/v1/jobs", None, headers).status, 200)

    def made(self, *arguments):
        done = self.run_celld("token", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        token, line = done.stdout.splitlines()
        self.assertRegex(token, r"^celld_[A-Za-z0-9_-]{43}$")
        made = json.loads(line)
        self.assertEqual(made["sha256"], sha256(token))
        return token, made

    def test_a_token_made_by_celld_admits_its_client(self):
        token, made = self.made("--name", "portal", "--scope", "submit", "--scope", "read",
                                "--customer", "acme")
        self.assertEqual({k: v for k, v in made.items() if k != "sha256"},
                         {"name": "portal", "scopes": ["submit", "read"], "customer": "acme"})
        reader, of_reader = self.made("--name", "reader", "--scopes", "read")
        self.start(a_config(self.provider, auth={"tokens": [made, of_reader]}))
        client = TokenClient(self.daemon.host, self.daemon.port, token)
        self.addCleanup(client.close)
        answer = client.post("/v1/jobs", a_job(), Prefer="wait=30")
        self.assertEqual((answer.status, answer.json["state"]), (200, "succeeded"), answer)
        self.assert_problem(client.post("/v1/jobs", a_job(customer="bolt")), 404)
        client.token = reader
        self.assertEqual(len(client.get("/v1/jobs").json["items"]), 1)
        self.assert_problem(client.post("/v1/jobs", a_job()), 403, "missing-scope")
        client.token = token[:-1]
        self.assert_problem(client.get("/v1/jobs"), 401, "unauthorized")

    def test_tokens_are_unique_and_need_no_configuration(self):
        tokens = {self.made()[0] for _ in range(5)}
        self.assertEqual(len(tokens), 5)
        self.assertEqual(self.made()[1]["scopes"], ["submit", "read"])
        self.assertEqual(self.made()[1]["name"], "client")
        self.assertNotIn("customer", self.made()[1])
        self.assertEqual(self.made("--scopes", "admin,read,admin")[1]["scopes"], ["read", "admin"])

    def test_a_token_for_services_leases_only_their_jobs(self):
        token, made = self.made("--scopes", "work", "--services", "vm,db,vm", "--customer", "acme")
        self.assertEqual({k: v for k, v in made.items() if k != "sha256"},
                         {"name": "client", "scopes": ["work"], "services": ["db", "vm"],
                          "customer": "acme"})
        pulled = {name: {"type": "pull"} for name in ("vm", "db", "other")}
        self.start(a_config(self.provider, services=pulled, auth={"tokens": [made]}))
        client = TokenClient(self.daemon.host, self.daemon.port, token)
        self.addCleanup(client.close)
        for service, status in (("vm", 200), ("db", 200), ("other", 404)):
            answer = client.post(f"/v1/services/{service}/leases", {"worker": "host-1"})
            self.assertEqual(answer.status, status, answer)
        self.assertNotIn("services", self.made("--scopes", "work")[1])

    def test_json_output_has_token_and_entry_in_one_document(self):
        done = self.run_celld("token", "--json", "--scopes", "work")
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 1), done)
        document = json.loads(done.stdout)
        self.assertEqual(sorted(document), ["entry", "token"])
        self.assertEqual(document["entry"], {"name": "client", "scopes": ["work"],
                                             "sha256": sha256(document["token"])})

    def test_bad_arguments_for_a_token_exit_with_2_and_print_none(self):
        for arguments in (["--scope", "root"], ["--scopes", "read,,x"], ["--scopes", ""],
                          ["--scope"], ["--name", "a b"], ["--name", ""], ["--name"],
                          ["--customer", "*"], ["--customer", ""], ["--customer"], ["extra"],
                          ["--config", "x"], ["--what"], ["--scope", "read", "submit"],
                          ["--services", "vm"], ["--scopes", "work", "--services", ""],
                          ["--scopes", "work", "--services", "a b"],
                          ["--scopes", "work", "--services"]):
            with self.subTest(arguments=arguments):
                done = self.run_celld("token", *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                self.assertTrue(done.stderr.strip())

    def test_a_token_that_cannot_be_printed_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([os.environ["CELLD_BINARY"], "token"], stdout=full,
                                  stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertTrue(done.stderr.strip())

    def test_help_lists_the_token_command_and_serving_needs_a_configuration(self):
        done = self.run_celld("--help")
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, r"(?m)^ +token +\w")
        done = self.run_celld("token", "--help")
        self.assertEqual(done.returncode, 0, done)
        for word in ("--name", "--scope", "--services", "--customer", "--json"):
            self.assertIn(word, done.stdout)
        done = self.run_celld()
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("--config", done.stderr)

    def test_the_configured_limits_apply(self):
        client = self.start(a_config(self.provider, limits={
            "max_head_bytes": 2048, "max_uri_bytes": 256, "max_headers": 10,
            "max_body_bytes": 2048, "max_connections": 3}))
        for request, status in ((("GET", "/v1/jobs?cursor=" + "x" * 300), 414),
                                (("GET", "/livez", None, {"X": "x" * 3000}), 431),
                                (("GET", "/livez", None, {f"X-{i}": "x" for i in range(10)}), 431),
                                (("POST", "/v1/jobs", b"x" * 3000), 413)):
            with self.subTest(status=status):
                self.assert_problem(client.request(*request), status)
                client.close()
        # A refused request's connection may count until its close is noticed, and so may take the
        # place of one of the three.
        wait_until(self.is_fourth_connection_refused, "a fourth connection is refused")

    def is_fourth_connection_refused(self):
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(socket.create_connection((self.daemon.host, self.daemon.port)))
            client = self.daemon.client()
            stack.callback(client.close)
            return client.get("/livez").status == 503


if __name__ == "__main__":
    unittest.main()
