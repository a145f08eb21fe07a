"""Bad answers to services with a mapping: to a request, or to a poll of the operation it began.

Polls GET the path that requests POST to, so one rule of the provider answers both. The Call of a
poll has no idempotency key, and its `index` counts the polls before it.
"""

import dataclasses

from answers import (ANSWERS, ANY_REDIRECT, OK, PROVIDER_ERROR, TOO_MANY_PROPERTIES, cut, flood,
                     stall, trickle)
from connections import CONNECTIONS
from hostility import (BROKEN, NOT_JSON, OUT_OF_TIME, POLL_INTERVAL_MS, SUCCESS, TOO_LARGE,
                       HostileBehaviour, status)
from provider import answer, hang

# --- Mappings ------------------------------------------------------------------------------------


def mapping(*requests, **members):
    """The body of each request has `job`, as it does without a mapping."""
    body = {"job": "{{job}}", "text": "{{parameters.text}}"}
    return {"actions": {"create": [{"method": "POST", "path": "", "body": body, **request}
                                   for request in requests]}, **members}


def operation(**poll):
    return mapping({"answer": {"done": [202]}, "poll": {"interval_ms": POLL_INTERVAL_MS, **poll}})


UNTIL = {"value": "/status", "done": ["ready"], "failed": ["broken"]}
VALUE = {"answer": {"properties": {"id": "/list/0/id"}}}
WITH_VALUE = mapping(VALUE)
WITH_VALUE_IN_A_PATH = mapping(VALUE, {"path": "/zones/{{properties.id}}"})
WITH_MESSAGES = mapping({"answer": {"messages": {"/notes": "warning", "/note/text": "error"}}})
WITH_STATUS = mapping({"answer": {"done": [201]}})
WITH_ERROR = mapping({}, error={"code": "/error/code", "message": "/error/text"})
POLLED = operation(path="", until=UNTIL, answer={"properties": {"ip": "/ip"},
                                                 "error": {"message": "/why"}})
POLLED_AT_HEADER = operation(url={"header": "Location"}, until=UNTIL)
POLLED_AT_POINTER = operation(url="/links/self", until=UNTIL)
# The properties are whole answers.
WITH_ALL = mapping({"answer": {"properties": {"all": ""}}})
POLLED_FOR_ALL = mapping({"answer": {"properties": {"first": ""}},
                          "poll": {"interval_ms": POLL_INTERVAL_MS, "path": "",
                                   "answer": {"pending": [202], "properties": {"last": ""}}}})

# --- Ends ----------------------------------------------------------------------------------------

MAPPED_NOT_JSON = "invalid_response", r"{} answered with a body that is not JSON\."
OPERATION_LATE = "timeout", r"(?s)The operation at {} did not end in time(: at its last poll, .+)?\."
LATE = (OPERATION_LATE, OUT_OF_TIME)
UNMADE = "provider_rejected", r'Request 2 of the action "create" at {} cannot be made: .+\.'
REFUSED = "provider_rejected", r"{} refused the request with HTTP status \d+\."
REFUSED_IN_WORDS = "provider_rejected", r"(?s).{1,4096}"


def invalid(text):
    return "invalid_response", r"{} answered " + text + r"\."


# --- Behaviours ----------------------------------------------------------------------------------


def any_of(*values, code=200):
    """Answers with one of these documents; bytes are sent as they are."""
    return lambda rng: answer(code, rng.choice(values))


def polled(act, begun=answer(202, b"{}")):
    """Begins an operation, answers up to two polls as it should, and the next ones as `act`."""
    def make(rng):
        poll, good_polls, good = act(rng), rng.randrange(3), answer(202, {"status": "busy"})

        def behave(call, connection):
            if call.method == "POST":
                return begun(call, connection)
            return (good if call.index < good_polls else poll)(call, connection)
        return behave
    return make


def at_once(act):
    """Answers the request as `act`, and any polls as it should."""
    def make(rng):
        begun, good = act(rng), answer(200, b"{}")
        return lambda call, connection: (begun if call.method == "POST" else good)(call, connection)
    return make


def at_any_time(act):
    return lambda rng: rng.choice((at_once, polled))(act)(rng)


def at_url(*urls):
    """Says that the operation is at one of these URLs, in which {} is the port of this provider.
    If celld polls there, the job succeeds, which it must not."""
    def make(rng):
        url = rng.choice(urls)

        def behave(call, connection):
            if call.method != "POST":
                return answer(200, {"status": "ready"})(call, connection)
            there = url.replace("{}", str(connection.getsockname()[1]))
            body = {"links": {"self": there}}
            return answer(202, body, ["Location: " + there])(call, connection)
        return behave
    return make


def redirect_here(rng):
    """Redirects to this server under another name, so that a celld that follows makes one call too
    many."""
    code = rng.choice((301, 302, 303, 307, 308))

    def behave(call, connection):
        port = connection.getsockname()[1]
        return answer(code, b"", [f"Location: http://localhost:{port}/"])(call, connection)
    return behave


def followed_by_a_poll_answer(call, connection):
    """Answers the request, and sends one more answer, which must not count for the first poll."""
    answer(202, b"{}")(call, connection)
    return answer(200, {"status": "ready", "ip": "192.0.2.1"})(call, connection)


NO_JSON = (b"", b"{", b"{}{}", b"\xff\xfe", b"'x'", b"<html>", b'{"status": "ready", "ip": ',
           b'{"list": [{"id": NaN}]}', b'{"list": [{"id": "\xff"}]}', b'{"list": [{"id": 1}]',
           b"[" * 300_000)
ELSEWHERE = ("http://localhost:{}/", "//localhost:{}/", "https://127.0.0.1:{}/",
             "http://127.0.0.1/", "http://127.0.0.1:1/", "http://[::1]:{}/", "ftp://127.0.0.1:{}/",
             "file:///etc/passwd")
NO_URLS = ("", "//[", "http://[::1", "http://user:word@127.0.0.1:{}/", "/a b", "/\x7f",
           "/\x01", "http://127.0.0.1:99999/", "a" * 9000, "http://127.0.0.1:{}" + "/a" * 5000)

OF_MAPPINGS = [HostileBehaviour(name, act, ends, mapping=rules) for name, rules, act, ends in (
    # Answers to a request.
    ("lacks-a-value", WITH_VALUE, any_of(
        {}, [], None, 3, "list", {"list": []}, {"list": {}}, {"list": "0"}, {"list": None},
        {"list": [[]]}, {"list": [{"ID": 1}]}, {"list": {"00": {"id": 1}}}),
     (invalid("without `/list/0/id`, the property `id`"),)),
    ("sends-no-json", WITH_VALUE, any_of(*NO_JSON), (MAPPED_NOT_JSON,)),
    ("sends-a-number-out-of-range", WITH_VALUE, any_of(
        b'{"list": [{"id": 1e999}]}', b'{"list": [{"id": {"a": [-1e999]}}]}'),
     (invalid("with a number in its properties that is out of range"),)),
    ("sends-a-huge-value", WITH_VALUE, any_of(
        {"list": [{"id": "x" * 300_000}]}, {"list": [{"id": ["x" * 1000] * 300}]},
        b'{"list": [{"id": [' + b"{}," * 340_000 + b"{}]}]}"),
     (TOO_MANY_PROPERTIES,)),
    ("sends-a-value-unfit-for-a-path", WITH_VALUE_IN_A_PATH, any_of(
        *({"list": [{"id": value}]} for value in (
            None, [], {}, ["x"], "", "..", "a\nb", "\x7f", "x" * 9000))), (UNMADE,)),
    ("sends-odd-messages", WITH_MESSAGES, any_of(
        {"notes": ["m" * 60] * 12_000}, {"notes": [1, None, {}, ["n"], "m" * 900_000]},
        {"notes": {"text": 1}, "note": "text"}), (SUCCESS,)),
    ("sends-an-unlisted-success", WITH_STATUS, lambda rng: answer(
        rng.choice((200, 202, 203, 204, 205, 206, 226, 299))),
     (invalid(r"with HTTP status 2\d\d, which its mapping does not expect"),)),
    ("sends-an-unlisted-status", WITH_STATUS, lambda rng: answer(
        rng.choice((300, 304, 306, 399, 400, 404, 410, 499, 500, 502, 599))),
     (status(r"3\d\d"), REFUSED, PROVIDER_ERROR)),
    ("redirects-to-itself", WITH_STATUS, redirect_here, (ANY_REDIRECT,)),
    ("refuses-with-garbage", WITH_ERROR, any_of(
        3, [], {"error": 3}, {"error": {"code": {"a": 1}, "text": ["x"]}},
        {"error": {"code": "no code", "text": 3}}, {"error": {"code": "", "text": " "}},
        {"error": {"code": "c" * 65, "text": "m" * 900_000}},
        {"error": {"code": "a\nb", "text": "\r\n\x1b[2J"}}, code=422), (REFUSED_IN_WORDS,)),
    ("never-ends-its-json", WITH_VALUE, lambda rng: trickle(
        OK + b'\r\n{"list": [{"id": "', b"a", rng.choice((0.001, 0.02))), (OUT_OF_TIME,)),

    # Answers to a poll.
    ("never-ends-its-operation", POLLED, polled(lambda rng: answer(200, {"status": rng.choice(
        ("busy", None, {}, [], 0, True, "READY", "ready ", ["ready"], {"ready": "ready"}))},
        rng.choice(((), ["Retry-After: 99999999999999999999"], ["Retry-After: -1"])))), LATE),
    ("lacks-a-state", POLLED, polled(any_of({}, [], None, "ready", {"Status": "ready"})),
     (invalid("without `/status`, which says whether the operation has ended"),)),
    ("answers-a-poll-without-json", POLLED, polled(any_of(*NO_JSON)), (MAPPED_NOT_JSON,)),
    ("ends-its-operation-without-a-value", POLLED, polled(any_of({"status": "ready"})),
     (invalid("without `/ip`, the property `ip`"),)),
    ("fails-its-operation-with-garbage", POLLED, polled(any_of(
        *({"status": "broken", "why": why} for why in (
            None, 3, [], {}, "", "\r\n\x1b[2J", "m" * 900_000)))), (REFUSED_IN_WORDS,)),
    ("hangs-at-a-poll", POLLED, polled(lambda rng: rng.choice((hang(), stall(OK)))), LATE),
    ("breaks-off-at-a-poll", POLLED, polled(lambda rng: cut(
        rng.choice((b"", OK, OK + b"Content-Length: 99\r\n\r\n{")), rng.random() < 0.5)),
     (BROKEN,)),
    ("floods-a-poll", POLLED, polled(lambda rng: flood(OK + b'\r\n{"status": "', b"a")),
     (TOO_LARGE,)),
    ("redirects-a-poll", POLLED, polled(redirect_here), (ANY_REDIRECT,)),
    ("answers-a-poll-unasked", POLLED, polled(any_of({"status": "broken"}),
                                              followed_by_a_poll_answer),
     (("provider_rejected", r'The operation at {} has failed: `/status` is "broken"\.'),)),

    # Where the operation is.
    ("sends-no-location", POLLED_AT_HEADER, any_of({}, [], None, {"Location": "/"}, code=202),
     (invalid("without the header `Location`, the URL of its operation"),)),
    ("sends-a-location-elsewhere", POLLED_AT_HEADER, at_url(*ELSEWHERE),
     (invalid("with a URL of its operation at .+ instead of .+"),)),
    ("sends-a-garbage-location", POLLED_AT_HEADER, at_url(*NO_URLS, "/a\r\nLocation: /b"),
     (invalid("with a URL of its operation that .+"),)),
    ("links-to-nothing", POLLED_AT_POINTER, any_of(
        {}, [], None, {"links": "self"}, {"links": ["self"]}, code=202),
     (invalid("without `/links/self`, the URL of its operation"),)),
    ("links-to-a-wrong-type", POLLED_AT_POINTER, any_of(
        *({"links": {"self": value}} for value in (None, 3, True, ["/"], {"href": "/"})), code=202),
     (invalid(r"with a `/links/self`, the URL of its operation, that is not a string"),)),
    ("links-elsewhere", POLLED_AT_POINTER, at_url(*ELSEWHERE),
     (invalid("with a URL of its operation at .+ instead of .+"),)),
    ("links-to-garbage", POLLED_AT_POINTER, at_url(*NO_URLS),
     (invalid("with a URL of its operation that .+"),)),
)]

# --- Behaviours that services without a mapping meet as well --------------------------------------


def ends_of(behaviour):
    """Whole answers become properties, messages included."""
    if behaviour.name == "sends-too-many-messages":
        return (TOO_MANY_PROPERTIES,)
    ends = tuple(MAPPED_NOT_JSON if end is NOT_JSON else end for end in behaviour.ends)
    return ends + (OPERATION_LATE,) * (OUT_OF_TIME in ends)


def mapped(behaviour, **changes):
    return dataclasses.replace(behaviour, name="mapped-" + behaviour.name,
                               ends=ends_of(behaviour), **changes)


MAPPED_ANSWERS = [mapped(each, act=at_any_time(each.act), mapping=POLLED_FOR_ALL)
                  for each in ANSWERS]
MAPPED_CONNECTIONS = [mapped(each, mapping=WITH_ALL) for each in CONNECTIONS]
