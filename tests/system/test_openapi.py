"""openapi.json against celld's sources and endpoints: it describes all of them, and no others."""

import copy
import json
import os
import re
import unittest

from daemon import EndToEnd, a_config, a_job
from openapi_document import METHODS, ROOT, document, problem_types, status_of

EXAMPLES = {"id": "0000000000001", "customer": "acme", "product": "*", "service": "vm",
            "lease": "guessed", "name": "nightly"}


def source(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def example_of(path):
    return path.format(**EXAMPLES)


class Sources(unittest.TestCase):
    def test_exactly_the_endpoints_are_described_each_with_its_scope(self):
        endpoints = re.findall(r'^  add\.of_\w+\("(\w+)", "([^"]+)", (?:Scope::(\w+)|std::nullopt),',
                               source("src", "http", "api", "endpoints.cpp"), re.MULTILINE)
        self.assertEqual(len(endpoints),
                         source("src", "http", "api", "endpoints.cpp").count("  add."))
        described = [(each.method, re.sub(r"\{\w+\}", "{}", each.path), each.scope or "")
                     for each in document().operations]
        self.assertEqual(sorted(described), sorted(endpoints))

    def test_exactly_the_problems_are_described_each_with_title_and_status(self):
        table = re.findall(r'\{ProblemKind::\w+,\s*"([^"]+)",\s*"([^"]+)",\s*(\d+)\}',
                           source("src", "http", "api", "problem.cpp"))
        [count] = re.findall(r"problem_kind_count = (\d+)",
                             source("src", "http", "api", "problem.hpp"))
        self.assertEqual(len(table), int(count))
        described = [(each["const"].removeprefix("/problems/"), each["title"],
                      each["description"].partition(":")[0])
                     for each in document().json["components"]["schemas"]["ProblemType"]["oneOf"]]
        self.assertEqual(sorted(described), sorted(table))

    def test_each_problem_is_an_answer_of_its_status_unless_reserved(self):
        types = {each["const"].removeprefix("/problems/"): each["description"]
                 for each in document().json["components"]["schemas"]["ProblemType"]["oneOf"]}
        answered = set()
        for operation in document().operations:
            for status, response in operation.responses.items():
                if status < 400:
                    continue
                self.assertEqual(status_of(document().schemas, response), status, operation.name)
                self.assertTrue(problem_types(response), operation.name)
                answered |= problem_types(response)
                for slug in problem_types(response):
                    self.assertTrue(types[slug].startswith(f"{status}: "), slug)
        elsewhere = ("Reserved: ", "In the report on a batch only: ")
        self.assertEqual({slug for slug, words in types.items()
                          if not any(each in words for each in elsewhere)}, answered)

    def test_the_state_names_are_those_of_the_engine(self):
        schemas = document().json["components"]["schemas"]
        described = {"job_state_names": schemas["JobState"]["enum"],
                     "step_state_names": schemas["StepState"]["enum"],
                     "severity_names": schemas["Message"]["properties"]["severity"]["enum"],
                     "on_failure_names": schemas["Job"]["properties"]["on_failure"]["enum"]}
        for name, names in described.items():
            [listed] = re.findall(rf"\b{name} = \{{([^}}]*)\}}", source("cells", "model", "job.cpp"))
            self.assertEqual(names, re.findall(r'"(\w+)"', listed), name)

    def test_each_example_matches_its_schema(self):
        examples = 0
        pending = [document().json]
        while pending:
            node = pending.pop()
            pending += [each for each in (node.values() if isinstance(node, dict) else node)
                        if isinstance(each, (dict, list))]
            if isinstance(node, dict) and isinstance(node.get("schema"), dict):
                values = [node["example"]] if "example" in node else []
                values += [each["value"] for each in node.get("examples", {}).values()]
                for value in values:
                    examples += 1
                    self.assertEqual(document().schemas.faults(node["schema"], value), [], value)
        self.assertGreater(examples, 40)


class Checking(unittest.TestCase):
    """The checker that compares the answers of every system test with the document."""

    TARGET = "/v1/jobs/0000000000001"

    def faults(self, change=lambda job: None, status=200, headers=None, target=TARGET):
        [media] = document().operation("GET", self.TARGET).responses[200]["content"].values()
        job = copy.deepcopy(media["example"])
        change(job)
        return document().faults("GET", target, status,
                                 headers or {"content-type": "application/json"},
                                 json.dumps(job).encode())

    def test_an_answer_as_described_passes(self):
        self.assertEqual(self.faults(), [])

    def test_a_body_that_is_not_as_described_is_reported(self):
        for change in (lambda job: job.update(extra=1), lambda job: job.pop("error"),
                       lambda job: job["steps"][0].update(extra=1),
                       lambda job: job["steps"][0].pop("progress"),
                       lambda job: job.update(state="lost"), lambda job: job.update(priority=10),
                       lambda job: job.update(priority="5"), lambda job: job.update(priority=True),
                       lambda job: job.update(created_at="2026-11-21T07:58:48Z"),
                       lambda job: job.update(created_at="2026-02-30T07:58:48.000Z"),
                       lambda job: job.update(error={"code": "x"}),
                       lambda job: job.update(messages=[{}])):
            self.assertEqual(len(self.faults(change)) > 0, True, change)

    def test_an_undescribed_status_header_or_type_is_reported(self):
        json_type = {"content-type": "application/json"}
        self.assertTrue(self.faults(status=201))
        self.assertTrue(self.faults(headers={**json_type, "location": "/v1/jobs/1"}))
        self.assertTrue(self.faults(headers={"content-type": "text/plain"}))
        self.assertTrue(self.faults(target="/v1/job/1"))

    def test_a_problem_that_does_not_belong_to_its_status_is_reported(self):
        def faults(slug, status=404, **more):
            body = {"type": "/problems/" + slug, "title": "T", "status": status, "detail": "D"}
            return document().faults("GET", self.TARGET, 404,
                                     {"content-type": "application/problem+json"},
                                     json.dumps(body | more).encode())
        self.assertEqual(faults("not-found"), [])
        for wrong in (faults("no-cell"), faults("not-found", 400), faults("not-found", extra=1),
                      faults("no-such-problem"), faults("not-found", errors=[])):
            self.assertTrue(wrong)

    def test_a_schema_keyword_unknown_to_the_checker_is_an_error(self):
        with self.assertRaises(AttributeError):
            document().schemas.faults({"type": "integer", "exclusiveMinimum": 1}, 1)


class Endpoints(EndToEnd):
    def test_celld_serves_the_document_from_its_source_tree(self):
        served = self.start().get("/openapi.json")
        self.assertEqual(served.status, 200, served)
        self.assertEqual(served.body.decode(), document().text)
        self.assertRegex(served.json["openapi"], r"^3\.1\.\d+$")

    def test_a_path_has_exactly_the_described_methods(self):
        client = self.start()
        for path in document().json["paths"]:
            methods = document().methods(path)
            for method in sorted({each.upper() for each in METHODS} | {"BREW", "get"}):
                with self.subTest(path=path, method=method):
                    wanted = method if path != "/v1/events" or method != "GET" else "HEAD"
                    answer = client.request(wanted, example_of(path))
                    self.assertEqual(answer.status != 405, method in methods, answer)

    def test_each_path_with_get_also_has_head(self):
        client = self.start()
        for operation in document().operations:
            if operation.method != "GET" or operation.path == "/v1/events":
                continue
            with self.subTest(path=operation.path):
                path = example_of(operation.path)
                whole, head = client.get(path), client.request("HEAD", path)
                for answer in whole, head:
                    self.assertRegex(answer.headers.pop("date"), r", [0-9]{2} [A-Z][a-z]{2} .* GMT$")
                if path == "/metrics":  # The metrics differ each time.
                    del whole.headers["content-length"], head.headers["content-length"]
                self.assertEqual((head.status, head.headers, head.body),
                                 (whole.status, whole.headers, b""))

    def test_a_path_that_is_not_described_does_not_exist(self):
        client = self.start()
        paths = [example_of(path) for path in document().json["paths"]]
        near = {path + "/x" for path in paths} | {path + "/" for path in paths}
        near |= {path.rpartition("/")[0] or "/" for path in paths}
        near |= {"/v2" + path for path in paths} | {"/v1" + path for path in paths}
        near |= {"/", "/v1/schedule", "/v1/services", "/v1/admin/config",
                 "/v1/admin/reload", "/openapi.yaml"}
        near = {path for path in near if document().path_of(path) is None}
        self.assertGreater(len(near), 30)
        for path in sorted(near):
            for method in ("GET", "POST", "PUT", "DELETE"):
                with self.subTest(path=path, method=method):
                    self.assert_problem(client.request(method, path), 404, "not-found")

    def test_celld_accepts_the_examples_of_the_document(self):
        config = a_config(self.provider)
        config["services"]["vm"] = {"type": "pull"}
        client = self.start(config)
        for operation in document().operations:
            if operation.body_schema is None:
                continue
            content = operation.node["requestBody"]["content"]["application/json"]
            values = [each["value"] for each in content.get("examples", {}).values()]
            job_id = self.submit(a_job(delay_ms=3600000)) if "{id}" in operation.path else ""
            if operation.path.startswith("/v1/batches/"):
                job_id = client.post("/v1/batches", [a_job()]).json["id"]
            if operation.path.endswith("/retry"):
                client.request("POST", f"/v1/jobs/{job_id}/cancel")
            lease = self.leased(client) if "{lease}" in operation.path else ""
            path = operation.path.format(id=job_id, customer="*", product="*", service="vm",
                                         lease=lease, name="nightly")
            for value in values or [content["example"]]:
                if "{service}/leases" in operation.path:  # So that no worker waits.
                    self.submit(a_job(str(value), services=["vm"]))
                with self.subTest(operation=operation.name, value=value):
                    answer = client.request(operation.method, path, value)
                    self.assertIn(answer.status, (200, 201, 202), answer)

    def leased(self, client):
        """The name of a lease that is live."""
        self.leases = getattr(self, "leases", 0) + 1
        self.submit(a_job(f"leased-{self.leases}", services=["vm"]))
        got = client.post("/v1/services/vm/leases", {"worker": "host-1"})
        return got.json["leases"][0]["lease"]


if __name__ == "__main__":
    unittest.main()
