"""Malformed requests: each gets its documented problem, its connection closes cleanly, and nothing
after it is executed."""

import gzip
import json
import unittest

import wire
from siege import Siege
from wire import JSON, request, submission

SMUGGLED = submission("smuggled")
BODY = json.dumps({"customer": "acme", "product": "dns", "action": "create",
                   "entity": {"type": "zone", "id": "smuggled"}, "services": ["demo"]}).encode()


def get_with(*fields):
    return request("GET", "/livez", b"", *fields)


def post_with(*fields, body=BODY):
    """A POST whose fields may or may not announce its body."""
    return request("POST", "/v1/jobs", b"", JSON, *fields) + body


def chunked(encoded):
    return post_with("Transfer-Encoding: chunked", body=encoded)


def with_length(value, body=BODY):
    return post_with(f"Content-Length: {value}", body=body)


def line_by_line(*lines):
    return b"\r\n".join(lines) + b"\r\n\r\n"


START = [
    ("a bare LF", 400, b"GET /livez HTTP/1.1\nHost: x\n\n"),
    ("a bare LF after a field", 400, b"GET /livez HTTP/1.1\r\nHost: x\nA: b\r\n\r\n"),
    ("a bare CR in a field", 400, get_with("A: b\rContent-Length: 5")),
    ("a bare CR after the request line", 400, b"GET /livez HTTP/1.1\rHost: x\r\n\r\n"),
    ("a NUL in a field", 400, get_with("A: b\0c")),
    ("a NUL in a name", 400, get_with("A\0: b")),
    ("a NUL in the target", 400, request("GET", "/livez\0")),
    ("a folded line", 400, get_with("A: b\r\n c")),
    ("a line folded with a tab", 400, get_with("A: b\r\n\tContent-Length: 5")),
    ("a space before the colon", 400, get_with("Content-Length : 5")),
    ("a tab before the colon", 400, get_with("A\t: b")),
    ("a space before the first field", 400, b"GET /livez HTTP/1.1\r\n Host: x\r\n\r\n"),
    ("no colon", 400, get_with("nothing")),
    ("no name", 400, get_with(": b")),
    ("a name in quotes", 400, get_with('"A": b')),
    ("a control character", 400, get_with("A: \x1b[31m")),
    ("a method that is not a token", 400, request("G{T", "/livez")),
    ("a method in brackets", 400, request("(GET)", "/livez")),
    ("a method that is too long", 400, request("G" * 1000, "/livez")),
    ("no method", 400, b" /livez HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("HTTP/0.9", 400, b"GET /livez\r\n\r\n"),
    ("HTTP/1.2", 505, request("GET", "/livez", version="HTTP/1.2")),
    ("HTTP/2.0", 505, request("GET", "/livez", version="HTTP/2.0")),
    ("HTTP/3", 400, request("GET", "/livez", version="HTTP/3")),
    ("HTTP/1.10", 400, request("GET", "/livez", version="HTTP/1.10")),
    ("HTTP/01.1", 400, request("GET", "/livez", version="HTTP/01.1")),
    ("ICY/1.1", 400, request("GET", "/livez", version="ICY/1.1")),
    ("http/1.1", 400, request("GET", "/livez", version="http/1.1")),
    ("two spaces", 400, b"GET  /livez HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("a tab in place of a space", 400, b"GET\t/livez HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("a space after the version", 400, b"GET /livez HTTP/1.1 \r\nHost: x\r\n\r\n"),
    ("the preface of HTTP/2", 505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("a TLS handshake", 400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    ("an SSH greeting", 400, b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    ("empty lines", 400, b"\r\n\r\n\r\n\r\n"),
]

HOSTS = [
    ("no Host", 400, request("GET", "/livez", host="")),
    ("two Hosts", 400, get_with("Host: x")),
    ("two different Hosts", 400, get_with("hOST: y")),
    ("a Host with a path", 400, request("GET", "/livez", host="Host: x/y")),
    ("a Host with a user", 400, request("GET", "/livez", host="Host: a@x")),
    ("a Host with a space", 400, request("GET", "/livez", host="Host: x y")),
    ("two Hosts in one field", 400, request("GET", "/livez", host="Host: x,y")),
    ("a Host with a query", 400, request("GET", "/livez", host="Host: x?y")),
]

TARGETS = [
    ("an absolute form without a host", 400, request("GET", "http:///livez")),
    ("an absolute form with a user", 400, request("GET", "http://evil@x/livez")),
    ("an absolute form of another protocol", 400, request("GET", "ftp://x/livez")),
    ("an absolute form with a fragment", 400, request("GET", "http://x/livez#a")),
    ("an authority form", 400, request("CONNECT", "x:80")),
    ("an asterisk form", 400, request("OPTIONS", "*")),
    ("no slash", 400, request("GET", "livez")),
    ("a fragment", 400, request("GET", "/livez#a")),
    ("an escaped NUL in the query", 400, request("GET", "/v1/jobs?customer=%00")),
    ("an escape beyond UTF-8", 400, request("GET", "/v1/jobs?customer=%ff")),
    ("an overlong escape", 400, request("GET", "/v1/jobs?customer=%c0%af")),
    ("a surrogate", 400, request("GET", "/v1/jobs?customer=%ed%a0%80")),
    ("a truncated escape", 400, request("GET", "/v1/jobs/%4")),
    ("an escape that is not hexadecimal", 400, request("GET", "/v1/jobs/%zz")),
    ("a raw non-ASCII byte", 400, request("GET", "/v1/jobs/\xff")),
    ("a huge URI", 414, request("GET", "/" + "a" * 100_000)),
    ("a huge query", 414, request("GET", "/v1/jobs?customer=" + "a" * 5000)),
    ("an endless URI", 414, b"GET /" + b"a" * 1_000_000),
]

LENGTHS = [(f"a Content-Length of {value!r}", 400, with_length(value)) for value in (
    "+5", "-1", "-0", "5 5", "5, 5", "5,5", "5;", "0x5", "0b1", "5.0", "1e3", "5a", '"5"', "", ",",
    "\xb2", "NaN", "9" * 100 + "a", "0 5")] + [
    (f"a Content-Length of {value}", 413, with_length(value)) for value in (
        1048577, 4294967295, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 5, 10**100)] + [
    ("two equal Content-Lengths", 400, post_with("Content-Length: 5", "Content-Length: 5")),
    ("two different Content-Lengths", 400, post_with("Content-Length: 0", "Content-Length: 5")),
    ("a second Content-Length in upper case", 400,
     post_with("Content-Length: 0", "CONTENT-LENGTH: 5")),
]

ENCODINGS = [(f"a Transfer-Encoding of {value!r}", 400,
              post_with(f"Transfer-Encoding: {value}", body=b"0\r\n\r\n")) for value in (
    "xchunked", "chunkedx", "chunked, identity", "identity, chunked", "identity", "gzip",
    "gzip, chunked", "chunked, chunked", "chunked;a=b", '"chunked"', "", ",chunked", "chunked,",
    "chunked chunked", "\x0bchunked")] + [
    ("a length and chunks", 400,
     post_with("Content-Length: 5", "Transfer-Encoding: chunked", body=b"0\r\n\r\n")),
    ("chunks and a length", 400,
     post_with("Transfer-Encoding: chunked", "Content-Length: 5", body=b"0\r\n\r\n")),
    ("an unknown encoding and a length", 400,
     post_with("Transfer-Encoding: xchunked", "Content-Length: 5", body=b"0\r\n\r\n")),
    ("two Transfer-Encodings", 400,
     post_with("Transfer-Encoding: chunked", "Transfer-Encoding: identity", body=b"0\r\n\r\n")),
    ("chunks in HTTP/1.0", 400,
     request("POST", "/v1/jobs", b"", JSON, "Transfer-Encoding: chunked", version="HTTP/1.0") +
     b"0\r\n\r\n"),
    ("a space before the colon of the encoding", 400,
     post_with("Transfer-Encoding : chunked", body=b"0\r\n\r\n")),
    ("a gzip body", 415,
     post_with("Content-Encoding: gzip", "Content-Length: 20", body=gzip.compress(b""))),
    ("a gzip bomb", 415, request("POST", "/v1/jobs", gzip.compress(bytes(64 << 20)), JSON,
                                 "Content-Encoding: gzip")),
    ("a body encoded twice", 415, post_with("Content-Encoding: gzip, gzip", "Content-Length: 5")),
    ("a multipart body", 415,
     request("POST", "/v1/jobs", b"--x\r\n\r\n\r\n--x--\r\n",
             "Content-Type: multipart/form-data; boundary=x")),
]

CHUNKS = [
    ("a negative chunk", 400, chunked(b"-2\r\n")),
    ("a chunk with a sign", 400, chunked(b"+2\r\nab\r\n0\r\n\r\n")),
    ("a chunk with 0x", 400, chunked(b"0x2\r\nab\r\n0\r\n\r\n")),
    ("a chunk without a size", 400, chunked(b"\r\nab\r\n0\r\n\r\n")),
    ("a chunk size of 17 digits", 400, chunked(b"1" + b"0" * 16 + b"\r\n")),
    ("a chunk size of 64 bits", 413, chunked(b"ffffffffffffffff\r\n")),
    ("a chunk size of 63 bits", 413, chunked(b"7fffffffffffffff\r\n")),
    ("a chunk over the limit", 413, chunked(b"100001\r\n")),
    ("garbage after the size", 400, chunked(b"2 ab\r\nab\r\n0\r\n\r\n")),
    ("a letter after the size", 400, chunked(b"2x\r\nab\r\n0\r\n\r\n")),
    ("a space before the size", 400, chunked(b" 2\r\nab\r\n0\r\n\r\n")),
    ("a huge chunk extension", 400, chunked(b"2;" + b"a" * 100_000 + b"\r\nab\r\n0\r\n\r\n")),
    ("an endless chunk extension", 400, chunked(b"2;" + b"a" * 1000)),
    ("a LF in a chunk extension", 400, chunked(b"2;a\nb\r\nab\r\n0\r\n\r\n")),
    ("a size line that ends in LF", 400, chunked(b"2\nab\r\n0\r\n\r\n")),
    ("a size line that ends in CR", 400, chunked(b"2\rab\r\n0\r\n\r\n")),
    ("no CR LF after a chunk", 400, chunked(b"2\r\nab0\r\n\r\n")),
    ("a LF after a chunk", 400, chunked(b"2\r\nab\n0\r\n\r\n")),
    ("a chunk that is longer than its size", 400, chunked(b"2\r\nabc\r\n0\r\n\r\n")),
    ("garbage for the last chunk", 400, chunked(b"2\r\nab\r\nz\r\n\r\n")),
    ("a trailer that is not a field", 400, chunked(b"0\r\nnothing\r\n\r\n")),
    ("a folded trailer", 400, chunked(b"0\r\nA: b\r\n c\r\n\r\n")),
    ("an endless trailer", 400, chunked(b"0\r\n" + b"A: b\r\n" * 10_000)),
]

SIZES = [
    ("an endless header line", 431, b"GET /livez HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 1_000_000),
    ("a thousand headers", 431, get_with(*["A: b"] * 1000)),
    ("65 headers", 431, get_with(*["A: b"] * 64)),
    ("endless headers", 431, b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 100_000),
    ("a head of 17 KiB", 431, get_with(*["A: " + "b" * 1000] * 17)),
    ("a body over a MiB", 413, request("POST", "/v1/jobs", b" " * ((1 << 20) + 1), JSON)),
    ("chunks over a MiB", 413,
     chunked(b"8000\r\n%b\r\n" % (b" " * 0x8000) * 40 + b"0\r\n\r\n")),
    ("an unknown expectation", 400, post_with("Expect: 200-ok", "Content-Length: 0", body=b"")),
]


class Framing(Siege):
    def check_all(self, refused):
        self.start_siege()
        for what, status, data in refused:
            with self.subTest(what):
                at_once = wire.talk(self.daemon, data + SMUGGLED, SMUGGLED, half_close=True)
                self.assert_refused(at_once, status, what)
        self.assert_no_jobs()

    def test_a_malformed_start_is_refused(self):
        self.check_all(START)

    def test_a_missing_or_invalid_host_is_refused(self):
        self.check_all(HOSTS)

    def test_a_target_that_is_not_a_valid_path_is_refused(self):
        self.check_all(TARGETS)

    def test_an_invalid_content_length_is_refused(self):
        self.check_all(LENGTHS)

    def test_unsupported_encodings_are_refused(self):
        self.check_all(ENCODINGS)

    def test_malformed_chunks_are_refused(self):
        self.check_all(CHUNKS)

    def test_requests_above_a_limit_are_refused(self):
        self.check_all(SIZES)

    def test_refusals_do_not_wait_for_the_end_of_the_request(self):
        """A client that keeps its connection open gets the refusal too."""
        self.start_siege()
        for what, status, data in SIZES + TARGETS + CHUNKS:
            with self.subTest(what):
                patient = wire.talk(self.daemon, data, until=lambda answers: answers)
                self.assertEqual(patient.statuses, [status], patient)

    def test_unusual_but_valid_requests_are_served(self):
        self.start_siege()
        for what, status, data in [
                ("a body in chunks", 202, chunked(b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY))),
                ("chunks with extensions and a trailer", 202, chunked(
                    b"%X;a=b\r\n%b\r\n000;c\r\nA: b\r\n\r\n" % (len(BODY), BODY))),
                ("zeros before the length", 202, with_length("0" * 30 + str(len(BODY)))),
                ("spaces around the length", 202, with_length(f" \t{len(BODY)} \t")),
                ("an empty line before", 200, b"\r\n" + get_with()),
                ("a field without value", 200, get_with("A:")),
                ("non-ASCII bytes in a value", 200, get_with("A: \xff\xfe")),
                ("64 headers", 200, get_with(*["A: b"] * 63)),
                ("a Host with a port", 200, request("GET", "/livez", host="Host: x:8080")),
                ("an IPv6 Host", 200, request("GET", "/livez", host="Host: [::1]:80")),
                ("an escaped path", 200, request("GET", "/%6civez")),
                ("HTTP/1.0 without Host", 200,
                 request("GET", "/livez", version="HTTP/1.0", host="")),
                ("dots in a path", 404, request("GET", "/v1/../livez")),
                ("more dots", 404, request("GET", "/../../etc/passwd")),
                ("escaped dots", 404, request("GET", "/v1/jobs/%2e%2e%2flivez")),
                ("two slashes", 404, request("GET", "//livez")),
                ("a path of 2,000 bytes", 404, request("GET", "/" + "a" * 2000)),
        ]:
            with self.subTest(what):
                outcome = wire.talk(self.daemon, data, half_close=True)
                self.assertEqual((outcome.statuses, outcome.end), ([status], wire.CLOSED), outcome)

    def test_incomplete_requests_are_refused(self):
        self.start_siege()
        for what, data in [("in the request line", b"GET /livez"), ("HTTP/0.9", b"GET /livez\r\n"),
                           ("in the head", b"GET /livez HTTP/1.1\r\nHost: x"),
                           ("in the body", with_length(len(BODY) + 1)),
                           ("in a chunk", chunked(b"ff\r\nab")),
                           ("before the last chunk", chunked(b"2\r\nab\r\n"))]:
            with self.subTest(what):
                self.assert_refused(wire.talk(self.daemon, data, half_close=True), 400, what)
        self.assert_no_jobs()


class Methods(Siege):
    def test_methods_are_answered_as_documented(self):
        self.start_siege()
        for method, target, status in [
                ("HEAD", "/livez", 200), ("HEAD", "/v1/jobs", 200), ("HEAD", "/nothing", 404),
                ("OPTIONS", "/livez", 405), ("TRACE", "/livez", 405), ("CONNECT", "/livez", 405),
                ("get", "/livez", 405), ("BREW", "/livez", 405), ("POST", "/livez", 405)]:
            with self.subTest(f"{method} {target}"):
                outcome = wire.talk(self.daemon, request(method, target, b"", "A: secret-1"),
                                    half_close=True)
                self.assertEqual((outcome.statuses, outcome.end), ([status], wire.CLOSED), outcome)
                answer = outcome.answers[0]
                self.assertNotIn(b"secret-1", answer.body)
                if method == "HEAD":
                    self.assertEqual((answer.body, outcome.rest), (b"", b""))
                    self.assertGreater(int(answer.headers["content-length"]), 0)
                elif status == 405:
                    wire.check_problem(answer)


class Expectations(Siege):
    def test_expect_100_continue_is_answered_in_unusual_requests(self):
        self.start_siege()
        expect = "Expect: 100-continue"
        for what, statuses, data in [
                ("without a body", [200], get_with(expect)),
                ("with an empty body", [400], post_with(expect, "Content-Length: 0", body=b"")),
                ("in another case", [202],
                 post_with("eXPECT: 100-Continue", f"Content-Length: {len(BODY)}")),
                ("with its body at once", [202], post_with(expect, f"Content-Length: {len(BODY)}")),
                ("with too long a body", [413], post_with(expect, "Content-Length: 1048577",
                                                          body=b"")),
                ("twice", [202], post_with(expect, expect, f"Content-Length: {len(BODY)}")),
                ("with a second request after it", [200, 200], get_with(expect) + get_with()),
                ("for an unsupported method", [405],
                 request("PUT", "/v1/jobs", BODY, JSON, expect))]:
            with self.subTest(what):
                outcome = wire.talk(self.daemon, data, half_close=True)
                self.assertEqual((outcome.statuses, outcome.end), (statuses, wire.CLOSED), outcome)

    def test_an_http_1_0_client_never_gets_a_100(self):
        self.start_siege()
        head = request("POST", "/v1/jobs", b"", JSON, "Expect: 100-continue",
                       f"Content-Length: {len(BODY)}", version="HTTP/1.0")
        early = wire.talk(self.daemon, head, until=lambda answers: answers, patience_s=0.3)
        self.assertEqual(early.statuses, [], "an HTTP/1.0 client does not understand 100")
        self.assertEqual(wire.talk(self.daemon, head + BODY, half_close=True).statuses, [202])

    def test_a_client_that_expects_100_and_never_sends_gets_a_408(self):
        self.start_siege(body_timeout_ms=300)
        outcome = wire.talk(self.daemon, post_with("Expect: 100-continue", "Content-Length: 9",
                                                   body=b""))
        self.assertEqual((outcome.statuses, outcome.end), ([100, 408], wire.CLOSED), outcome)


if __name__ == "__main__":
    unittest.main()
