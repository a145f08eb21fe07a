"""Requests against openapi.json: celld accepts what the document allows and refuses the rest.

The tests derive values from the document, on both sides of each bound. celld must accept exactly
those that the document allows.
"""

import unittest
import urllib.parse

from daemon import EndToEnd
from openapi_document import document
from openapi_values import Candidates, text_candidates

SERVICES = [f"s{i}" for i in range(18)]  # One more than a job may name.
HOUR_MS = 3600000
TIMEOUT_MAX_MS = document().json["components"]["schemas"]["JobRequest"]["properties"][
    "timeout_ms"]["maximum"]


class Requests(EndToEnd):
    def setUp(self):
        super().setUp()
        services = {name: {"type": "simulated", "undo": {}} for name in SERVICES}
        self.start(services=services | {"vm": {"type": "pull"}},
                   defaults={"timeout_max_ms": TIMEOUT_MAX_MS},
                   cells=[{"product": "mail", "per": ["customer"]}, {}])

    def a_job(self):
        """A job with every field, except `run_at`, which excludes `delay_ms`."""
        return {"customer": "acme", "product": "dns", "action": "create",
                "entity": {"type": "zone", "subtype": "primary", "id": "example.com"},
                "services": SERVICES[:2], "parameters": {}, "priority": 5, "delay_ms": HOUR_MS,
                "expires_at": "2036-11-20T22:42:56.123Z", "timeout_ms": 30000,
                "retry": {"max_attempts": 5}, "labels": {"ticket": "T-1"}, "on_failure": "stop",
                "idempotency_key": "order-1"}

    def target(self, operation):
        return operation.path.format(id="0000000000001", customer="*", product="*", service="vm",
                                     lease="guessed", name="nightly")

    def operation(self, name):
        [found] = [each for each in document().operations if each.node["operationId"] == name]
        return found

    def try_body(self, operation, target, body, good_statuses):
        faults = document().schemas.faults(operation.body_schema, body)
        answer = self.client.request(operation.method, target, body if body is not None else b"null")
        if not faults:
            self.assertIn(answer.status, good_statuses, (body, answer))
            return True
        self.assert_problem(answer, 422, "invalid-request")
        expected = {fault.partition(": ")[0] for fault in faults}
        for pointer in answer.pointers:
            self.assertTrue(any(pointer.startswith(each) for each in expected),
                            (expected, body, answer))
        return False

    def try_all(self, operation, target, bodies, good_statuses, at_least):
        """`at_least`: more bodies than this must be valid, and more than this invalid."""
        outcomes = [self.try_body(operation, target, body, good_statuses) for body in bodies]
        self.assertGreater(outcomes.count(True), at_least[0])
        self.assertGreater(outcomes.count(False), at_least[1])

    # --- Bodies ----------------------------------------------------------------------------------

    def test_a_submission_is_accepted_exactly_when_the_document_allows_it(self):
        operation = self.operation("submitJob")
        bodies = list(Candidates(document().schemas, SERVICES).of(operation.body_schema,
                                                                  self.a_job()))
        for i, body in enumerate(bodies):  # A new key for each, unless the key itself is varied.
            if isinstance(body, dict) and body.get("idempotency_key") == "order-1":
                body["idempotency_key"] = f"order-{i}"
            if isinstance(body, dict) and "run_at" in body:
                body.pop("delay_ms", None)
        self.try_all(operation, "/v1/jobs", bodies, (200, 202), (1500, 600))

    def test_every_field_of_a_submission_may_be_omitted_unless_it_is_required(self):
        operation = self.operation("submitJob")
        schema = document().schemas.resolve(operation.body_schema)
        self.assertEqual(set(schema["properties"]) - set(self.a_job()), {"run_at"})
        job = self.a_job()
        # The key goes first, because each of these is a different request.
        for name in reversed(list(job)):
            if name not in schema["required"]:
                del job[name]
                self.assertTrue(self.try_body(operation, "/v1/jobs", job, (200, 202)))

    def test_run_at_and_delay_exclude_each_other(self):
        operation = self.operation("submitJob")
        self.assertFalse(self.try_body(operation, "/v1/jobs",
                                       self.a_job() | {"run_at": "2036-11-20T22:42:56Z"}, ()))

    def test_a_pool_size_is_accepted_exactly_when_the_document_allows_it(self):
        operation = self.operation("resizePool")
        good = {"size": 1, "burst": 100000, "weight": 2}  # No burst is below this size.
        bodies = Candidates(document().schemas, SERVICES).of(operation.body_schema, good)
        # A template has no workers, so that the test need not start a hundred thousand.
        template = operation.path.format(customer="*", product="mail")
        self.try_all(operation, template, bodies, (202,), (4, 20))

    def test_a_schedule_is_accepted_exactly_when_the_document_allows_it(self):
        operation = self.operation("putSchedule")
        job = {name: value for name, value in self.a_job().items()
               if name not in ("delay_ms", "idempotency_key")}
        bodies = []
        for timing in ({"every_ms": HOUR_MS}, {"cron": "0 3 * * mon", "time_zone": "UTC"}):
            schedule = {**timing, "job": job, "overlap": "skip", "catch_up": "one", "paused": False}
            tried = [body for body in Candidates(document().schemas, SERVICES).of(
                operation.body_schema, schedule) if self.is_judged_by_the_document(body)]
            if bodies:  # They have varied the job already.
                tried = [body for body in tried
                         if not isinstance(body, dict) or body.get("job") == job]
            bodies += tried
        self.try_all(operation, self.target(operation), bodies, (200, 201), (300, 300))

    def is_judged_by_the_document(self, body):
        """What a cron expression or the name of a time zone means, the document cannot say; nor
        how many bytes the parameters take."""
        if not isinstance(body, dict):
            return True
        return (body.get("cron") in (None, "0 3 * * mon") and
                body.get("time_zone") in (None, "UTC"))

    def test_an_operation_without_fields_accepts_only_an_empty_object(self):
        for name, status in (("cancelJob", 404), ("retryJob", 404), ("reload", 200)):
            operation = self.operation(name)
            bodies = Candidates(document().schemas, SERVICES).of(operation.body_schema, {})
            self.try_all(operation, self.target(operation), [*bodies, {"force": True}], (status,),
                         (0, 5))

    def test_each_body_must_be_json_and_present_if_required(self):
        for operation in document().operations:
            if operation.body_schema is None:
                continue
            with self.subTest(operation=operation.name):
                target = self.target(operation)
                malformed = self.client.request(operation.method, target, b"{")
                if operation.path == "/v1/batches":  # Its lines are judged one by one.
                    self.assertEqual(malformed.json["errors"][0]["status"], 400)
                else:
                    self.assert_problem(malformed, 400, "malformed-json")
                other = self.client.request(operation.method, target, b"{}",
                                            {"Content-Type": "text/plain"})
                self.assert_problem(other, 415, "unsupported-media-type")
                absent = self.client.request(operation.method, target)
                required = operation.node["requestBody"]["required"]
                self.assertEqual(absent.status in (400, 415), required, absent)

    # --- Parameters ------------------------------------------------------------------------------

    def status(self, operation, query=(), headers=None):
        """The status of a request. Only the head of a stream is requested: the rest has no end."""
        method = operation.method
        if "text/event-stream" in operation.responses.get(200, {}).get("content", {}):
            method = "HEAD"
        target = self.target(operation) + ("?" + urllib.parse.urlencode(query) if query else "")
        body = None
        if operation.method in ("POST", "PUT"):
            body = {"size": 2} if operation.method == "PUT" else {}
            job = {"customer": "acme", "product": "dns", "action": "create",
                   "entity": {"type": "zone", "id": "x"}, "services": ["s0"]}
            if operation.path == "/v1/jobs":
                body = job
            if operation.path == "/v1/schedules/{name}":
                body = {"every_ms": HOUR_MS, "job": job}
        return self.client.request(method, target, body, headers).status

    def test_a_query_is_accepted_exactly_when_the_document_allows_it(self):
        outcomes = []
        for operation in document().operations:
            for parameter in operation.parameters_in("query"):
                if parameter.get("style") == "form":
                    continue  # Labels have a test of their own.
                schema = document().schemas.resolve(parameter["schema"])
                if schema.get("type") == "integer":
                    values = ["", "x", "1.5", "0", "-1", "1", "999999999999999999999"]
                    values += [str(schema[bound] + by) for bound in ("minimum", "maximum")
                               for by in (-1, 0, 1)]
                else:
                    values = text_candidates(document().schemas, schema)
                for value in values:
                    is_number = value.isascii() and value.lstrip("-").isdigit()
                    typed = int(value) if schema["type"] == "integer" and is_number else value
                    good = not document().schemas.faults(schema, typed)
                    # Only celld knows which cursors are valid.
                    if parameter["name"] == "cursor" and good:
                        continue
                    status = self.status(operation, {parameter["name"]: value})
                    self.assertEqual(status != 422, good,
                                     (operation.name, parameter["name"], value, status))
                    outcomes.append(good)
        self.assertGreater(outcomes.count(True), 500)
        self.assertGreater(outcomes.count(False), 500)

    def test_label_filters_are_accepted_as_the_document_describes(self):
        operation = self.operation("listJobs")
        [parameter] = [each for each in operation.parameters_in("query") if "style" in each]
        self.assertEqual((parameter["style"], parameter["explode"]), ("form", True))
        queries = [{f"label.k{i}": "" for i in range(size)} for size in (1, 16, 17)]
        queries += [{"label." + "k" * length: "v"} for length in (0, 1, 256, 257)]
        queries += [{"label.k": "v" * length} for length in (0, 1, 256, 257)]
        queries += [{"label.a b/é=&\n": "x?&="}, {"label": "x"}, {"labels": "x"}, {"label.": "x"},
                    {"Label.k": "x"}]
        for query in queries:
            with self.subTest(query=query):
                good = not document().schemas.faults(parameter["schema"], query)
                self.assertEqual(self.status(operation, query), 200 if good else 422)

    def test_an_undescribed_or_repeated_parameter_is_refused_everywhere(self):
        for operation in document().operations:
            known = {each["name"] for each in operation.parameters_in("query")}
            names = {each["name"] for other in document().operations
                     for each in other.parameters_in("query")} - {"labels"}
            for name in names | {"x", "batch", "label.k"}:
                # The document describes all label filters as one parameter, `labels`.
                good = name in known or (name == "label.k" and "labels" in known)
                with self.subTest(operation=operation.name, name=name):
                    if not good:
                        self.assertEqual(self.status(operation, {name: "1"}), 422)
                    else:
                        self.assertEqual(self.status(operation, [(name, "1")] * 2), 422)

    def test_a_header_is_accepted_exactly_when_the_document_allows_it(self):
        printable = [chr(code) for code in range(0x21, 0x7f)]
        for operation in document().operations:
            for parameter in operation.parameters_in("header"):
                schema = document().schemas.resolve(parameter["schema"])
                values = text_candidates(document().schemas, schema, printable)
                for value in [*values, parameter["example"], "a b", ""]:
                    good = not document().schemas.faults(schema, value)
                    status = self.status(operation, headers={parameter["name"]: value})
                    self.assertEqual(status != 422, good,
                                     (operation.name, parameter["name"], value, status))


if __name__ == "__main__":
    unittest.main()
