"""openapi.json for the tests: lists its operations, and checks answers against it."""

import functools
import json
import os
import re

from openapi_schema import Schemas

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PATH = os.path.join(ROOT, "src", "http", "api", "openapi.json")
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# Headers that every answer may have.
OF_HTTP = {"content-type", "content-length", "transfer-encoding", "connection", "date"}
# Responses to requests for no operation: the path, the method or the framing is wrong.
WITHOUT_OPERATION = ("BadRequest", "NotFound", "MethodNotAllowed", "RequestTimeout",
                     "ContentTooLarge", "UriTooLong", "UnsupportedMediaType", "HeadersTooLarge",
                     "InternalError", "TooManyConnections", "VersionNotSupported")


class Operation:
    def __init__(self, document, method, path, item):
        self.method = method.upper()
        self.path = path
        self.node = item[method]
        self.parameters = [document.schemas.resolve(each) for each in
                           item.get("parameters", []) + self.node.get("parameters", [])]
        self.responses = {int(status): document.schemas.resolve(each)
                          for status, each in self.node["responses"].items()}

    @property
    def name(self):
        return f"{self.method} {self.path}"

    @property
    def scope(self):
        """The scope that a token needs; None when no token is needed."""
        security = self.node["security"]
        return security[0]["bearer"][0] if security else None

    def parameters_in(self, place):
        return [each for each in self.parameters if each["in"] == place]

    @property
    def body_schema(self):
        body = self.node.get("requestBody")
        return body and body["content"]["application/json"]["schema"]


class Document:
    def __init__(self, text):
        self.text = text
        self.json = json.loads(text)
        self.schemas = Schemas(self.json)
        self.operations = [Operation(self, method, path, item)
                           for path, item in self.json["paths"].items()
                           for method in METHODS if method in item]
        self.paths = {path: re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)) + r"\Z")
                      for path in self.json["paths"]}
        responses = self.json["components"]["responses"]
        self.without_operation = {status_of(self.schemas, responses[name]): responses[name]
                                  for name in WITHOUT_OPERATION}

    def path_of(self, target):
        """The described path that matches a request's target, if any."""
        path = target.partition("?")[0]
        if path in self.paths:
            return path
        return next((each for each, form in self.paths.items() if form.match(path)), None)

    def methods(self, path):
        """The methods of a path."""
        methods = {each.method for each in self.operations if each.path == path}
        return methods | ({"HEAD"} if "GET" in methods else set())

    def operation(self, method, target):
        path = self.path_of(target)
        wanted = "GET" if method == "HEAD" else method
        return next((each for each in self.operations
                     if (each.method, each.path) == (wanted, path)), None)

    def faults(self, method, target, status, headers, body):
        """How an answer differs from its description. `headers` has lower-case names."""
        operation = self.operation(method, target)
        described = (operation.responses if operation else self.without_operation).get(status)
        if described is None:
            return [f"status {status} is not described"]
        found = self._header_faults(described, headers)
        if status == 405:
            allowed = set(headers.get("allow", "").split(", "))
            if allowed != self.methods(self.path_of(target)) or method in allowed:
                found.append(f"Allow: {allowed} is not as described")
        return found + self._content_faults(described.get("content", {}), method, headers, body)

    def _header_faults(self, described, headers):
        found = []
        known = {name.lower(): self.schemas.resolve(each)
                 for name, each in described.get("headers", {}).items()}
        found += [f"header {name}: is not described"
                  for name in headers.keys() - known.keys() - OF_HTTP]
        for name, header in known.items():
            if name in headers:
                value = headers[name]
                if header["schema"]["type"] == "integer" and value.isdigit():
                    value = int(value)
                found += self.schemas.faults(header["schema"], value, "header " + name)
            elif header.get("required"):
                found.append(f"header {name}: is missing")
        return found

    def _content_faults(self, content, method, headers, body):
        kind = headers.get("content-type")
        if not content:
            return [f"content of type {kind} is not described"] if body or kind else []
        if kind not in content:
            return [f"content of type {kind} is not described"]
        if method == "HEAD":
            return ["HEAD: there is a body"] if body else []
        media = content[kind]
        if kind == "text/event-stream":
            return self._event_faults(media["x-events"], body.decode())
        if kind == "application/vnd.sqlite3":
            return [] if body.startswith(b"SQLite format 3\0") else ["the body is not a database"]
        value = body.decode() if kind.startswith("text/plain") else json.loads(body)
        return self.schemas.faults(media["schema"], value)

    def _event_faults(self, described, text):
        found = []
        for lines in (block.splitlines() for block in text.split("\n\n")):
            fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
            if set(fields) <= {"id"}:  # Not an event, only an id to resume from.
                continue
            if set(fields) != {"id", "event", "data"} or fields["event"] not in described:
                found.append(f"an event of this kind is not described: {fields}")
            else:
                found += self.schemas.faults(described[fields["event"]],
                                             json.loads(fields["data"]), fields["event"])
        return found


def status_of(schemas, response):
    """The status of a problem response."""
    [media] = response["content"].values()
    schema = media["schema"]
    return schemas.properties(schema.get("oneOf", [schema])[0])["status"]["const"]


def problem_types(response):
    """The slugs of the problems that a response may be; empty when it is not a problem."""
    schema = response.get("content", {}).get("application/problem+json", {}).get("schema")
    if schema is None:
        return set()
    return {name.removeprefix("/problems/") for each in schema.get("oneOf", [schema])
            for name in each["properties"]["type"]["enum"]}


@functools.cache
def document():
    with open(PATH, encoding="utf-8") as file:
        return Document(file.read())


def check(method, target, answer):
    """Fails when an answer does not match openapi.json."""
    faults = document().faults(method, target, answer.status, answer.headers, answer.body)
    if faults:
        raise AssertionError(f"{method} {target}: the answer does not match openapi.json: "
                             f"{faults[:10]}\n{answer}")
