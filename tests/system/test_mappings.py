"""Services with a mapping: the requests that a REST API receives, and what is made of its answers."""

import json
import os
import subprocess

from daemon import DEADLINE_S, EndToEnd, a_config, a_job
from rest_api import RestApi

SECRET = "s3cret/of+the:mapping"


class Mappings(EndToEnd):
    variables = {"API_SECRET": SECRET}

    def setUp(self):
        super().setUp()
        self.api = RestApi()
        self.addCleanup(self.api.close)

    def config(self, actions, **mapping):
        service = {"type": "http", "url": self.api.url, "headers": {"X-Plain": "env:API_SECRET"},
                   "mapping": {"secrets": {"key": "env:API_SECRET"}, "actions": actions,
                               **mapping}}
        return a_config(self.provider, services={"dns": service, "run": {"type": "simulated"}})

    def end_of(self, job):
        return self.wait_for_end(self.submit(job))

    def run_celld(self, config, *arguments, stdin=""):
        path = os.path.join(self.directory, "checked.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CELLD_")}
        environment.update(self.variables)
        return subprocess.run([os.environ["CELLD_BINARY"], "--config", path, *arguments],
                              input=stdin, env=environment, text=True, capture_output=True,
                              timeout=DEADLINE_S, check=False)

    def explain(self, config, job, service="dns"):
        return self.run_celld(config, "--check", "--explain", service,
                              stdin=job if isinstance(job, str) else json.dumps(job))

    def test_an_action_becomes_the_requests_of_its_mapping(self):
        self.api.answer = lambda method, path, count: (201, b'{"id": "z/1", "note": "slow"}')
        self.start(self.config({"create": [
            {"method": "POST", "path": "/zones", "body": {"name": "{{entity.id}}", "ttl":
             "{{parameters.ttl}}", "sub": "{{entity.subtype | optional}}"},
             "answer": {"properties": {"zone": "/id"}, "messages": {"/note": "warning"}}},
            {"method": "PUT", "path": "/zones/{{properties.zone}}/owner",
             "query": {"by": "{{customer}} & co"},
             "headers": {"Authorization": "Basic {{secrets.key | base64}}"},
             "form": {"owner": "{{customer}}"}}]}))
        job = self.end_of(a_job(entity_id="a/b ü", parameters={"ttl": 300}))
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(job["properties"], {"zone": "z/1"})
        self.assertEqual([(m["severity"], m["text"]) for m in job["messages"]],
                         [("warning", "slow")])
        self.assertEqual(self.api.lines(),
                         ["POST /api/zones", "PUT /api/zones/z%2F1/owner?by=acme%20%26%20co"])
        first, second = self.api.requests
        self.assertEqual(json.loads(first[3]), {"name": "a/b ü", "ttl": 300})
        self.assertEqual(first[2]["content-type"], "application/json")
        self.assertEqual(first[2]["x-plain"], SECRET)
        self.assertEqual(first[2]["idempotency-key"], f"{job['id']}.dns")
        self.assertEqual(second[2]["idempotency-key"], f"{job['id']}.dns:2")
        self.assertEqual(second[2]["authorization"], "Basic czNjcmV0L29mK3RoZTptYXBwaW5n")
        self.assertEqual(second[3], b"owner=acme")

    def test_the_next_attempt_begins_with_the_first_request(self):
        def answer(method, path, count):
            if path.endswith("/a"):
                return (201 if count == 0 else 409), b""
            return (503 if count == 0 else 200), b""
        self.api.answer = answer
        self.start(self.config({"create": [
            {"method": "POST", "path": "/a", "answer": {"done": [201], "already_done": [409]}},
            {"method": "PUT", "path": "/b"}]}))
        job = self.end_of(a_job())
        self.assertEqual((job["state"], job["steps"][0]["attempts"]), ("succeeded", 2), job)
        self.assertEqual(self.api.lines(), ["POST /api/a", "PUT /api/b"] * 2)

    def test_a_job_that_the_mapping_cannot_express_fails_and_sends_nothing(self):
        self.start(self.config({"create": [{"method": "PUT", "path": "/a"},
                                           {"method": "PUT", "path": "/{{parameters.id}}"}]}))
        for changes, words in (
                ({"action": "explode"}, 'has no action "explode"; it has "create"'),
                ({}, "`parameters.id` is missing"),
                ({"parameters": {"id": "../x"}}, "`parameters.id` has `.` or `..`"),
                ({"parameters": {"id": ""}}, "a segment of the path would be empty"),
                ({"parameters": {"id": ["x"]}}, "`parameters.id` is an array")):
            with self.subTest(words):
                job = self.end_of(a_job(**changes))
                self.assertEqual((job["state"], job["error"]["code"], job["steps"][0]["attempts"]),
                                 ("failed", "provider_rejected", 1), job)
                self.assertIn(words, job["error"]["message"])
        self.assertEqual(self.api.requests, [])

    def test_a_failure_has_the_code_and_the_words_of_the_api_without_secrets(self):
        self.api.answer = lambda *_: (400, json.dumps(
            {"errors": [{"code": 1013, "text": f"bad {SECRET}"}]}).encode())
        self.start(self.config({"create": {"method": "GET", "path": ""}},
                               error={"code": "/errors/0/code", "message": "/errors/0/text"}))
        job = self.end_of(a_job())
        self.assertEqual((job["error"]["code"], job["error"]["message"]), ("1013", "bad ***"), job)

    def test_explain_prints_the_requests_and_makes_none(self):
        config = self.config({"create": [
            {"method": "POST", "path": "/zones", "body": {"name": "{{entity.id}}"},
             "headers": {"X-Login": "Basic {{secrets.key | base64}}"},
             "answer": {"properties": {"zone": "/id"}}},
            {"method": "DELETE", "path": "/zones/{{properties.zone}}/{{properties.old}}",
             "body": "{{properties}}"}]})
        done = self.explain(config, {**a_job(), "properties": {"old": "x y"}})
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(done.stdout, f"""\
# Request 1
POST {self.api.url}/zones
Idempotency-Key: 0000000000000.dns
Accept: application/json
User-Agent: celld
X-Plain: ***
X-Login: Basic ***
Content-Type: application/json

{{"name":"example.com"}}
# ANSWER-1-zone stands for the property "zone", which the answer to request 1 sets.

# Request 2
DELETE {self.api.url}/zones/ANSWER-1-zone/x%20y
Idempotency-Key: 0000000000000.dns:2
Accept: application/json
User-Agent: celld
X-Plain: ***
Content-Type: application/json

{{"old":"x y","zone":"ANSWER-1-zone"}}
""")
        self.assertEqual(self.api.requests, [])

    def test_explain_says_where_the_url_of_a_poll_comes_from(self):
        for url, where in ((("/links/self"), "at `/links/self`"),
                           ({"header": "Location"}, "in its header Location")):
            config = self.config({"create": {
                "method": "POST", "path": "/zones",
                "poll": {"url": url, "answer": {"pending": [202]}}}})
            done = self.explain(config, a_job())
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            self.assertIn(f"""
# URL-FROM-ANSWER-1 stands for the URL that the answer to request 1 has {where}.

# Then every 1000 ms, until the operation has ended:
GET URL-FROM-ANSWER-1
Accept: application/json
""", done.stdout)

    def test_explain_shows_how_a_job_that_compensates_would_be_undone(self):
        config = self.config({"create": {"method": "PUT", "path": "/{{entity.id}}"}},
                             undo={"create": {"method": "DELETE", "path": "/{{entity.id}}"}})
        done = self.explain(config, a_job(on_failure="compensate"))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        made, _, undone = done.stdout.partition("\n# To undo the step:\n\n")
        self.assertTrue(made.startswith(f"PUT {self.api.url}/example.com\n"), done.stdout)
        self.assertTrue(undone.startswith(f"DELETE {self.api.url}/example.com\n"), done.stdout)

    def test_explain_says_why_a_step_could_not_be_undone(self):
        config = self.config({"create": {"method": "PUT", "path": "/z"}}, undo={
            "create": {"method": "DELETE", "path": "/z/{{properties.zone}}"}})
        done = self.explain(config, a_job(on_failure="compensate"))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertRegex(done.stdout, "\n# The step could not be undone with these properties: .*"
                                      "`properties.zone` is missing")

    def test_explain_shows_the_requests_of_a_later_step(self):
        config = self.config({"create": {"method": "PUT", "path": "/z"}})
        done = self.explain(config, a_job(services=["run", "dns"]))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertIn("\nIdempotency-Key: 0000000000000.dns\n", done.stdout)

    def test_explain_says_that_an_action_without_requests_succeeds(self):
        done = self.explain(self.config({"create": []}), a_job())
        self.assertEqual((done.returncode, done.stdout),
                         (0, "# No request: the action succeeds at once.\n"), done)

    def test_explain_names_no_property_that_no_request_can_use(self):
        config = self.config({"create": {"method": "POST", "path": "/zones",
                                         "answer": {"properties": {"zone": "/id"}}}})
        done = self.explain(config, a_job())
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertNotIn("stands for", done.stdout)

    def test_explain_refuses_a_job_that_no_cell_takes(self):
        config = {**self.config({"create": []}), "cells": [{"customer": "bolt"}]}
        done = self.explain(config, a_job())
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("celld: the job: The configuration has no cell", done.stderr)

    def test_explain_refuses_a_number_out_of_range(self):
        job = json.dumps(a_job(parameters={"ttl": 0})).replace('"ttl": 0', '"ttl": 1e999')
        done = self.explain(self.config({"create": []}), job)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("celld: the job: /parameters/ttl: ", done.stderr)

    def test_explain_shows_the_document_of_a_service_without_a_mapping(self):
        config = self.config({"create": []})
        del config["services"]["dns"]["mapping"]
        done = self.explain(config, a_job())
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue(done.stdout.startswith(f"POST {self.api.url}\nContent-Type: "), done.stdout)
        self.assertIn("\nX-Plain: ***\n", done.stdout)
        self.assertNotIn(SECRET, done.stdout)
        body = json.loads(done.stdout.partition("\n\n")[2])
        self.assertEqual((body["service"], body["entity"]["id"]), ("dns", "example.com"))

    def test_explain_refuses_what_would_not_be_sent_with_2(self):
        config = self.config({"create": {"method": "PUT", "path": "/{{parameters.id}}"}},
                             undo={"create": {"method": "DELETE", "path": "/{{entity.id}}"}})
        for job, service, words in (
                (a_job(), "dns", "the job would fail with provider_rejected: The request of the "
                                 "action \"create\" at dns cannot be made: `parameters.id` is "
                                 "missing."),
                (a_job("..", on_failure="compensate", parameters={"id": "x"}), "dns",
                 "the job would fail with provider_rejected: The request of the undo of the action "
                 "\"create\" at dns cannot be made: `entity.id` has `.` or `..` as part of a path."),
                (a_job(), "mail", "--explain: mail is not a configured service"),
                (a_job(), "run", "--explain: run is not a service of type http"),
                (a_job(services=["run"]), "dns", "the job: /services: does not name dns"),
                (a_job(priority=10), "dns", "the job: /priority: "),
                (a_job(services=["dns", "gone"], idempotency_key="k"), "dns",
                 "the job: /services/1: is not a configured service"),
                ({**a_job(), "properties": 1}, "dns", "the job: /properties: must be an object"),
                ("{", "dns", "the job: line 1, column 2: ")):
            with self.subTest(words):
                done = self.explain(config, job, service)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                self.assertIn("celld: " + words, done.stderr)
        done = self.run_celld(config, "--explain", "dns")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--explain requires --check", done.stderr)

    def test_check_reports_the_faults_of_a_mapping_by_their_pointers(self):
        config = self.config({"create": {"method": "HEAD", "path": "zones/{{id}}",
                                         "headers": {"Host": "x"}, "poll": {},
                                         "answer": {"done": [99]}}})
        config["services"]["dns"]["url"] += "?a=b"
        done = self.run_celld(config, "--check")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        create = "/services/dns/mapping/actions/create"
        for pointer in ("/services/dns/url", f"{create}/method", f"{create}/path",
                        f"{create}/headers/Host", f"{create}/poll/path", f"{create}/answer/done/0"):
            self.assertIn(f": {pointer}: ", done.stderr)

    def test_a_reload_changes_a_mapping_and_the_configuration_shows_no_secret(self):
        self.start(self.config({"create": {"method": "PUT", "path": "/old"}}))
        self.end_of(a_job())
        self.daemon.write_config(self.config({
            "create": {"method": "PUT", "path": "/new", "query": {"token": "hunter2"},
                       "body": "{{secrets.key}}"}}))
        answer = self.client.request("POST", "/v1/admin/reload")
        self.assertEqual(answer.json["changed"]["services"]["changed"], ["dns"], answer)
        self.end_of(a_job())
        self.assertEqual(self.api.lines(), ["PUT /api/old", "PUT /api/new?token=hunter2"])
        shown = self.client.get("/v1/admin/config")
        self.assertEqual(shown.json["services"]["dns"]["mapping"], {
            "secrets": {"key": "env:API_SECRET"},
            "actions": {"create": {"method": "PUT", "path": "/new", "query": {"token": "***"},
                                   "body": "{{secrets.key}}"}}})
        self.assertNotIn(SECRET, json.dumps(shown.json))
