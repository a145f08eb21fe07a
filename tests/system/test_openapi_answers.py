"""celld can give every answer that openapi.json describes, and gives it as described."""

import contextlib
import hashlib
import http.client
import itertools
import json
import os
import signal
import socket
import unittest

from daemon import DEADLINE_S, Client, EndToEnd, a_config, a_job, wait_until
from openapi_document import document, problem_types
from provider import answer, succeed

# Internal faults, faults of the disk, and problems that take a hundred thousand cells or ten
# thousand schedules.
OUT_OF_REACH = {"internal-error", "starting", "store-unavailable", "too-many-cells",
                "too-many-schedules"}
# test_compensation.py shows these.
STATES_OF_COMPENSATION = {"compensating"}
STEPS_OF_COMPENSATION = {"undone", "undo_failed"}
TOKENS = {"all": ["submit", "read", "work", "admin"], "acme": ["submit", "read", "work", "admin"],
          "submit": ["submit"], "read": ["read"], "work": ["work"], "admin": ["admin"]}
NO_JOB = "0000000000001"
WITH_BODY = ("POST", "PUT")


def a_schedule(**changes):
    return {"cron": "0 0 1 1 *", "job": a_job("scheduled", **changes)}


def a_token(name):
    entry = {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(),
             "scopes": TOKENS[name]}
    return entry | ({"customer": "acme"} if name == "acme" else {})


class TokenClient(Client):
    """Sends a token with each request, and records the answers."""

    def __init__(self, daemon, token, seen):
        super().__init__(daemon.host, daemon.port)
        self.token = token
        self.seen = seen

    def request(self, method, path, body=None, headers=None):
        shown = {"Authorization": "Bearer " + self.token} if self.token else {}
        got = super().request(method, path, body, {**shown, **(headers or {})})
        note(self.seen, document().operation(method, path), got)
        return got


class RawAnswer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = b""

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:500]!r}"

# Endpoints that refuse every token that is bound to a customer.
OF_ALL = ("/v1/services/{service}", "/v1/admin/services/{service}/reset")


def begin(connection):
    """The head of an answer, and the response to read its body from."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return RawAnswer(response), response


def note(seen, operation, got):
    if operation is None:
        return
    is_problem = got.headers.get("content-type") == "application/problem+json"
    slug = got.json["type"].removeprefix("/problems/") if is_problem and got.body else None
    seen.add((operation.name, got.status, slug))


class Answers(EndToEnd):
    def setUp(self):
        super().setUp()
        self.seen = set()
        self.numbers = itertools.count()
        self.provider.always("/billing", answer(400))

    def start_with(self, **changes):
        config = a_config(self.provider, auth={"tokens": [a_token(name) for name in TOKENS]},
                          cells=[{"customer": "acme", "queue": {"max_jobs": 4}},
                                 {"customer": "bolt"}, {"product": "mail", "per": ["customer"]}],
                          schedules={"configured": a_schedule()}, **changes)
        config["services"]["vm"] = {"type": "pull"}
        self.start(config)
        self.client = self.of("all")
        self.lease = self.leased("bolt") if "limits" not in changes else "guessed"
        return config

    def of(self, token):
        client = TokenClient(self.daemon, token, self.seen)
        self.addCleanup(client.close)
        return client

    def leased(self, customer):
        """The name of a lease that is live."""
        self.submit(a_job(f"leased-{next(self.numbers)}", customer=customer, services=["vm"]))
        # celld may answer a submission just before it offers the job to workers.
        got = self.client.post("/v1/services/vm/leases", {"worker": "host-1", "wait_ms": 60000})
        [lease] = got.json["leases"]
        return lease["lease"]

    def target(self, operation, customer="acme", product="*"):
        """Of a job, a service or a lease that celld does not show if `product` is unknown."""
        known = product == "*"
        return operation.path.format(id=NO_JOB, customer=customer, product=product,
                                     service="vm" if known else "unknown",
                                     lease="guessed" if known else self.lease,
                                     name="nightly" if known else "unknown")

    def send(self, operation, head="", target="", version="HTTP/1.1", method=None):
        """Sends a request as no library would, and checks its answer against the operation."""
        method = method or operation.method
        target = target or self.target(operation)
        text = (f"{method} {target} {version}\r\nHost: x\r\n"
                f"Authorization: Bearer all\r\n{head}\r\n")
        with socket.create_connection((self.daemon.host, self.daemon.port), DEADLINE_S) as s:
            s.sendall(text.encode())
            got = self.receive(s)
        self.check(operation, got, method)
        return got

    def receive(self, connection):
        got, response = begin(connection)
        got.body = response.read()
        return got

    def check(self, operation, got, method=None):
        self.assertIn(got.status, operation.responses, operation.name)
        faults = document().faults(method or operation.method, self.target(operation), got.status,
                                   got.headers, got.body)
        self.assertEqual(faults, [], (operation.name, got))
        note(self.seen, operation, got)

    # --- Answers ---------------------------------------------------------------------------------

    def test_celld_gives_every_described_answer(self):
        self.provoke_refusals_by_the_server()
        self.provoke_refusals_by_token()
        self.make_regular_requests()
        self.provoke_refusals_during_shutdown()
        described = {(operation.name, status, slug)
                     for operation in document().operations
                     for status, response in operation.responses.items()
                     for slug in problem_types(response) or {None}}
        within_reach = {each for each in described if each[2] not in OUT_OF_REACH}
        self.assertEqual(sorted(within_reach - self.seen, key=str), [])

    def provoke_refusals_by_the_server(self):
        self.start_with(limits={"body_timeout_ms": 200, "max_connections": 20})
        for operation in document().operations:
            with self.subTest(operation=operation.name):
                for status, head in ((400, "Host: y\r\n"), (408, "Content-Type: application/json\r\n"
                                     "Content-Length: 9\r\n"),
                                     (413, "Content-Length: 9000000\r\n"),
                                     (415, "Content-Length: 1\r\nContent-Encoding: gzip\r\n"),
                                     (431, "A: b\r\n" * 2000)):
                    if status in operation.responses:
                        self.assertEqual(self.send(operation, head).status, status)
                self.assertEqual(self.send(operation, version="HTTP/3.0").status, 505)
                self.assertEqual(self.send(operation, method="PATCH").status, 405)
                long = self.target(operation) + "?" + "x" * 20000
                self.assertEqual(self.send(operation, target=long).status, 414)
        held, refused = [], None
        while refused is None or refused.status == 200:
            self.assertLess(len(held), 30)
            held.append(socket.create_connection((self.daemon.host, self.daemon.port), DEADLINE_S))
            with contextlib.suppress(ConnectionError):  # celld may have refused it already.
                held[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            refused = self.receive(held[-1])
        for connection in held:
            connection.close()
        for operation in document().operations:
            self.check(operation, refused)
        self.end()

    def provoke_refusals_by_token(self):
        self.start_with()
        for operation in document().operations:
            target = self.target(operation)
            body = {} if operation.method in WITH_BODY else None
            with self.subTest(operation=operation.name):
                foreign = self.client.request(operation.method, target, body,
                                              {"Origin": "http://evil.example"})
                self.assert_problem(foreign, 403, "foreign-origin")
                for token in (None, "unknown", "submit", "read", "work", "admin"):
                    method = "HEAD" if operation.path == "/v1/events" else operation.method
                    status = self.of(token).request(method, target, body).status
                    if operation.scope is None:
                        self.assertEqual(status, 200)
                    elif token in TOKENS:
                        self.assertEqual(status == 403, token != operation.scope, (token, status))
                    else:
                        self.assertEqual(status, 401)
                if operation.path == "/v1/events":
                    self.of(None).request("GET", target)
                    self.of("work").request("GET", target)
        self.end()

    def make_regular_requests(self):
        config = self.start_with()
        post = self.client.post
        for operation in document().operations:
            body = {} if operation.method in WITH_BODY else None
            if operation.method == "PUT":
                body = ({"queue": {"max_jobs": 1000}} if operation.path.endswith("/quota")
                        else {"size": 2})
            target = self.target(operation)
            self.assert_problem(self.client.request(operation.method, target + "?x=1", body), 422)
            if operation.body_schema and not operation.path.endswith("/batches"):
                self.assert_problem(self.client.request(operation.method, target, b"{"), 400)
            if 404 in operation.responses:
                target = self.target(operation, customer="bolt", product="no-such-product")
                body = {"/v1/jobs": a_job(customer="bolt"),
                        "/v1/leases/{lease}/fail": {"code": "no"}}.get(operation.path, body)
                if (operation.method, operation.path) == ("PUT", "/v1/schedules/{name}"):
                    body = a_schedule(customer="bolt")
                asks = self.client if operation.path in OF_ALL else self.of("acme")
                self.assert_problem(asks.request(operation.method, target, body), 404)
            elif operation.method == "GET" and operation.path != "/v1/events":
                self.assertEqual(self.client.get(target).status, 200)
        # /v1/events never ends, so only its head is requested here.
        self.assertEqual(self.client.request("HEAD", "/v1/events").status, 200)
        self.assertEqual(self.client.put("/v1/admin/cells/acme/*/pool", {"size": 3}).status, 202)
        self.assertEqual(self.client.get("/v1/cells/acme/*").json["overrides"], {"pool.size": 3})
        self.assert_problem(self.client.request("DELETE", "/v1/admin/cells/acme/*/pool",
                                                {"size": 12}), 422, "invalid-request")
        self.assertEqual(self.client.delete("/v1/admin/cells/acme/*/pool").status, 202)

        self.change_the_state_of_a_cell()
        self.work_outside()

        keyed = {"Idempotency-Key": "k", "Prefer": "wait=30"}
        done = post("/v1/jobs", a_job(), **keyed)
        self.assertEqual((done.status, done.headers["preference-applied"]), (200, "wait=30"))
        again = post("/v1/jobs", a_job(), **keyed)
        self.assertEqual((again.status, again.headers["idempotent-replayed"]), (200, "true"))
        self.assert_problem(post("/v1/jobs", a_job("b"), **keyed), 422, "idempotency-key-reused")
        self.assert_problem(post("/v1/jobs", a_job(customer="unknown")), 422, "no-cell")
        self.assertEqual(self.client.get(f"/v1/jobs/{done.json['id']}").status, 200)
        self.cancel_and_retry_jobs(done.json["id"])
        self.submit_batches()
        self.change_schedules()
        self.follow_events(done.json["id"])
        self.provoke_backup_failures()
        self.reload(config)
        self.retry_a_job_without_a_cell(config)
        self.end()

    def change_the_state_of_a_cell(self):
        failed = self.submit(a_job(services=["billing"]))
        self.wait_for_state(failed, "failed")
        for order, state in (("pause", "paused"), ("drain", "draining"), ("resume", "active")):
            cell = self.client.request("POST", f"/v1/admin/cells/acme/*/{order}")
            self.assertEqual((cell.status, cell.json["state"]), (200, state))
            template = self.client.request("POST", f"/v1/admin/cells/*/mail/{order}")
            self.assert_problem(template, 409, "is-template")
            if state == "draining":
                self.assert_problem(self.client.post("/v1/jobs", a_job()), 503, "cell-draining")
                retried = self.client.request("POST", f"/v1/jobs/{failed}/retry")
                self.assert_problem(retried, 503, "cell-draining")

    def work_outside(self):
        lease = "/v1/leases/" + self.leased("acme")
        self.assertEqual(self.client.post(lease + "/heartbeat", {"progress": 0.5}).status, 200)
        self.assertEqual(self.client.post(lease + "/complete", {}).status, 200)
        failure = {"code": "no", "retryable": False}
        for action, body in (("heartbeat", {}), ("fail", failure)):
            self.assert_problem(self.client.post(f"{lease}/{action}", body), 409, "lease-lost")
        lease = "/v1/leases/" + self.leased("acme")
        self.assertEqual(self.client.post(lease + "/fail", failure).status, 200)
        self.assert_problem(self.client.post(lease + "/complete", {}), 409, "lease-lost")
        reports = [{"lease": self.leased("acme"), "outcome": "complete"}]
        self.assertEqual(self.client.post("/v1/leases/report", reports).status, 200)
        self.assertEqual(self.client.get("/v1/admin/leases").status, 200)

    def cancel_and_retry_jobs(self, done):
        """Cancels and reopens jobs, and fills a queue."""
        self.assert_problem(self.client.request("POST", f"/v1/jobs/{done}/cancel"), 409)
        self.assert_problem(self.client.request("POST", f"/v1/jobs/{done}/retry"), 409)
        failed = self.submit(a_job(services=["billing"]))
        self.wait_for_state(failed, "failed")
        waiting = [self.submit(a_job(delay_ms=3600000)) for _ in range(4)]
        self.assert_problem(self.client.post("/v1/jobs", a_job()), 429, "queue-full")
        retry = f"/v1/jobs/{failed}/retry"
        self.assert_problem(self.client.request("POST", retry), 429, "queue-full")
        for each in waiting:
            self.assertEqual(self.client.request("POST", f"/v1/jobs/{each}/cancel").status, 200)
        self.exceed_the_quota_of_a_customer(retry)
        self.assertEqual(self.client.request("POST", retry).status, 202)
        self.wait_for_state(failed, "failed")

    def exceed_the_quota_of_a_customer(self, retry):
        quota = "/v1/admin/cells/acme/*/quota"
        changed = self.client.put(quota, {"customers": {"quota": {"max_jobs": 1}}})
        self.assertEqual(changed.status, 202)
        waiting = self.submit(a_job(delay_ms=3600000))
        self.assert_problem(self.client.post("/v1/jobs", a_job()), 429, "quota-exceeded")
        self.assert_problem(self.client.request("POST", retry), 429, "quota-exceeded")
        self.assertEqual(self.client.request("POST", f"/v1/jobs/{waiting}/cancel").status, 200)
        self.assertEqual(self.client.delete(quota).status, 202)

    def submit_batches(self):
        waited = self.client.post("/v1/batches", [a_job("in-batch")], Prefer="wait=30")
        self.assertEqual((waited.status, waited.headers["preference-applied"]), (200, "wait=30"))
        batch = waited.headers["location"]
        self.assertEqual(self.client.get(batch).json["progress"], 1)
        self.assertEqual(self.client.get("/v1/batches", limit=1).json["items"][0]["total"], 1)
        self.assertEqual(self.client.request("POST", f"{batch}/cancel").status, 202)
        delayed = [a_job(f"in-batch-{n}", delay_ms=3600000) for n in range(5)]
        ended = self.client.post("/v1/batches", [*delayed, {}])
        self.assertEqual((ended.status, ended.json["stopped_at_line"]), (202, 5), ended)
        self.client.request("POST", f"{ended.headers['location']}/cancel")
        wait_until(lambda: self.client.get(ended.headers["location"]).json["finished_at"],
                   "all jobs of the batch are cancelled")

    def change_schedules(self):
        for status in (201, 200):
            self.assertEqual(self.client.put("/v1/schedules/nightly", a_schedule()).status, status)
        self.assertEqual(self.client.get("/v1/schedules/nightly").status, 200)
        self.assertEqual(self.client.delete("/v1/schedules/nightly").status, 200)
        configured = "/v1/schedules/configured"
        self.assert_problem(self.client.put(configured, a_schedule()), 409, "schedule-configured")
        self.assert_problem(self.client.delete(configured), 409, "schedule-configured")

    def follow_events(self, done):
        events = self.client.get(f"/v1/jobs/{done}/events")
        self.assertEqual(events.status, 200)
        [last] = [line.removeprefix("id: ") for line in events.body.decode().splitlines()
                  if line.startswith("id: ")]
        gone = self.client.request("GET", f"/v1/jobs/{done}/events", None, {"Last-Event-ID": last})
        self.assertEqual(gone.status, 204)
        # The stream of all jobs: a gap, then a change of a job.
        with socket.create_connection((self.daemon.host, self.daemon.port), DEADLINE_S) as s:
            s.sendall(b"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\n"
                      b"Last-Event-ID: of-another-run\r\n\r\n")
            got, response = begin(s)
            self.submit(a_job("watched"))
            kinds = set()
            while kinds != {"gap", "job.state"} or not got.body.endswith(b"\n\n"):
                line = response.readline()
                self.assertTrue(line, "the stream continues")
                got.body += line
                if line.startswith(b"event: "):
                    kinds.add(line.decode().strip().removeprefix("event: "))
        self.check(document().operation("GET", "/v1/events"), got)

    def provoke_backup_failures(self):
        in_the_way = os.path.join(self.daemon.data, "celld-backup.partial")
        os.mkdir(in_the_way)
        self.assert_problem(self.client.get("/v1/admin/backup"), 503, "backup-failed")
        os.rmdir(in_the_way)
        for number in range(120):  # More data than socket buffers hold.
            big = self.submit(a_job(f"big-{number}", delay_ms=60_000, parameters={"x": "x" * 100_000}))
            self.assertEqual(self.client.request("POST", f"/v1/jobs/{big}/cancel").status, 200)
        with socket.create_connection((self.daemon.host, self.daemon.port), DEADLINE_S) as taker:
            taker.sendall(b"GET /v1/admin/backup HTTP/1.1\r\nHost: x\r\n"
                          b"Authorization: Bearer all\r\n\r\n")
            self.assertTrue(taker.recv(100).startswith(b"HTTP/1.1 200"))
            self.assert_problem(self.client.get("/v1/admin/backup"), 409, "backup-under-way")

    def reload(self, config):
        same = self.client.request("POST", "/v1/admin/reload")
        self.assertEqual((same.status, same.json["masked"]), (200, []), same)
        self.daemon.write_config(config | {"cells": [{"x": 1}]})
        faulty = self.client.request("POST", "/v1/admin/reload", {})
        self.assert_problem(faulty, 422, "invalid-configuration")
        self.assertEqual(faulty.pointers, ["/cells/0/x"])

    def retry_a_job_without_a_cell(self, config):
        failed = self.submit(a_job(customer="bolt", services=["billing"]))
        self.wait_for_state(failed, "failed")
        self.assertEqual(self.daemon.stop(), 0)
        config["cells"] = [{"customer": "acme"}]
        self.restart(config)
        self.client = self.of("all")
        self.assert_problem(self.client.request("POST", f"/v1/jobs/{failed}/retry"), 422, "no-cell")

    def provoke_refusals_during_shutdown(self):
        self.start_with()
        failed = self.submit(a_job(services=["billing"]))
        self.wait_for_state(failed, "failed")
        gate = self.provider.hold("/dns")
        self.submit(a_job())
        wait_until(self.provider.running, "the job runs")
        self.daemon.signal(signal.SIGTERM)
        wait_until(lambda: self.client.get("/readyz").status == 503, "celld shuts down")
        self.assert_problem(self.client.get("/readyz"), 503, "draining")
        self.assert_problem(self.client.post("/v1/jobs", a_job()), 503, "draining")
        retried = self.client.request("POST", f"/v1/jobs/{failed}/retry")
        self.assert_problem(retried, 503, "draining")
        self.assert_problem(self.client.get("/v1/admin/backup"), 503, "draining")
        self.assert_problem(self.client.post("/v1/batches", [a_job()]), 503, "draining")
        reloaded = self.client.request("POST", "/v1/admin/reload")
        self.assert_problem(reloaded, 503, "draining")
        gate.let_all()
        self.assertEqual(self.daemon.wait(), 0)

    # --- States ----------------------------------------------------------------------------------

    def test_jobs_and_steps_are_in_every_state_but_those_of_a_compensation(self):
        self.start(defaults={"pool": {"size": 1}, "timeout_ms": 20000,
                             "retry": {"max_attempts": 2, "backoff_ms": 60000,
                                       "backoff_max_ms": 60000}})
        both = ["dns", "billing"]
        ids = {"failed": self.submit(a_job("a", services=["billing", "dns"]))}
        ids["succeeded"] = self.submit(a_job("b", labels={"k": "v"},
                                             entity={"type": "t", "subtype": "s", "id": "b"}))
        for state in ("failed", "succeeded"):
            self.wait_for_state(ids[state], state)
        self.provider.always("/dns", answer(500))
        ids["retrying"] = self.submit(a_job("c"))
        self.wait_for_state(ids["retrying"], "retrying")
        self.provider.hold("/dns")
        ids["running"] = self.submit(a_job("d", services=both))
        self.wait_for_state(ids["running"], "running")
        ids["queued"] = self.submit(a_job("e"))
        ids["scheduled"] = self.submit(a_job("f", delay_ms=3600000))
        ids["cancelled"] = self.submit(a_job("g", delay_ms=3600000, services=both))
        self.client.request("POST", f"/v1/jobs/{ids['cancelled']}/cancel")
        schemas = document().json["components"]["schemas"]
        self.assertEqual(set(ids), set(schemas["JobState"]["enum"]) - STATES_OF_COMPENSATION)
        steps = set()
        for state, job_id in ids.items():
            self.assertEqual(self.job(job_id)["state"], state)
            self.assertEqual([job["id"] for job in
                              self.client.get("/v1/jobs", state=state).json["items"]], [job_id])
            steps |= {step["state"] for step in self.job(job_id)["steps"]}
        self.assertEqual(steps, set(schemas["StepState"]["enum"]) - STEPS_OF_COMPENSATION)
        self.assertEqual(self.cell()["queue"]["retrying"], 1)

    def test_results_messages_and_errors_are_as_described(self):
        self.start(a_config(self.provider, cells=[{"product": "mail", "per": ["customer"]}, {}]))
        self.provider.always("/dns", succeed({"a": {"b": [1, None]}, "c": 1.5}, [
            {"severity": severity, "text": "x"} for severity in ("info", "warning", "error")]))
        told = self.wait_for_end(self.submit(a_job()))
        severities = document().json["components"]["schemas"]["Message"]["properties"]["severity"]
        self.assertEqual([each["severity"] for each in told["messages"]], severities["enum"])
        waiting = self.submit(a_job("waiting", delay_ms=3600000))
        self.client.request("POST", f"/v1/jobs/{waiting}/cancel")
        self.assertIsNone(self.job(waiting)["error"]["service"])
        self.provider.always("/dns", answer(400, {"code": "taken", "message": "no"}))
        own = self.wait_for_end(self.submit(a_job("own", product="mail")))
        self.assertEqual((own["error"]["code"], own["error"]["service"]), ("taken", "dns"))
        # Cells, templates, and pages with a cursor.
        for path in ("/v1/cells/acme/mail", "/v1/cells/*/mail", "/v1/cells/*/*"):
            self.assertIn(self.client.get(path).status, (200, 404))
        for path in ("/v1/cells", "/v1/jobs"):
            page = self.client.get(path, limit=1)
            self.assertIsNotNone(page.json["next_cursor"])
            self.assertEqual(self.client.get(path, cursor=page.json["next_cursor"]).status, 200)


if __name__ == "__main__":
    unittest.main()
