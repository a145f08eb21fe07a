"""Bombs: small request bodies that would exhaust a careless parser."""

import gzip
import json
import unittest

import wire
from siege import Siege
from wire import JSON, request

MIB = 1 << 20


def with_parameters(text):
    return (b'{"customer": "acme", "product": "dns", "action": "create", '
            b'"entity": {"type": "zone", "id": "bomb"}, "services": ["demo"], '
            b'"parameters": ' + text + b"}")


def fill(piece, head=b"[", tail=b"]", size=MIB - 1000):
    """As many of the pieces as fit, separated by commas."""
    return head + b",".join([piece] * ((size - len(head) - len(tail)) // (len(piece) + 1))) + tail


BOMBS = [
    ("arrays in arrays", 400, b"[" * (MIB - 10)),
    ("arrays in arrays, closed again", 400, b"[" * 500_000 + b"]" * 500_000),
    ("objects in objects", 400, b'{"a":' * 200_000),
    ("arrays in parameters", 400, with_parameters(b"[" * 65 + b"]" * 65)),
    ("a million small values", 413, fill(b"0")),
    ("a third of a million empty objects", 413, fill(b"{}")),
    ("many empty arrays in parameters", 413, with_parameters(fill(b"[]", b'{"a":[', b"]}"))),
    ("a key of a million bytes", 422, b'{"' + b"k" * 1_000_000 + b'": 1}'),
    ("a key of a million escapes", 422, b'{"' + b"\\u00e9" * 160_000 + b'": 1}'),
    ("ninety thousand members", 413,
     b"{" + b",".join(b'"%x":1' % i for i in range(90_000)) + b"}"),
    ("forty-nine thousand unknown members", 422,
     b"{" + b",".join(b'"%x":1' % i for i in range(49_000)) + b"}"),
    ("a string of a million bytes as a customer", 422,
     b'{"customer": "' + b"c" * 1_000_000 + b'"}'),
    ("a number of a million digits", 422, with_parameters(b'{"a": ' + b"9" * 1_000_000 + b"}")),
    ("a fraction of a million digits", 202, with_parameters(b'{"a": 0.' + b"1" * 1_000_000 + b"}")),
    ("numbers that are too large", 422, with_parameters(fill(b"1e999", b'{"a":[', b"]}", 200_000))),
    ("2^64+1", 422, with_parameters(b'{"a": 18446744073709551617}')),
    ("2^64+1 as a priority", 422,
     with_parameters(b"{}")[:-1] + b', "priority": 18446744073709551617}'),
    ("NaN", 400, with_parameters(b'{"a": NaN}')),
    ("Infinity", 400, with_parameters(b'{"a": -Infinity}')),
    ("a NUL", 400, with_parameters(b'{"a": "\0"}')),
    ("an escaped NUL", 400, with_parameters(b'{"a": "\\u0000"}')),
    ("NULs", 400, b"\0" * MIB),
    ("invalid UTF-8", 400, with_parameters(b'{"a": "\xff\xfe"}')),
    ("an overlong slash", 400, with_parameters(b'{"a": "\xc0\xaf"}')),
    ("a lone surrogate", 400, with_parameters(b'{"a": "\\ud800"}')),
    # RFC 8259, section 8.1: a parser may ignore it.
    ("a byte order mark", 202, b"\xef\xbb\xbf" + with_parameters(b"{}")),
    ("UTF-16", 400, with_parameters(b"{}").decode().encode("utf-16")),
    ("a key twice", 400, b'{"customer": "a", "customer": "b"}'),
    ("a key twice, once escaped", 400, b'{"customer": "a", "\\u0063ustomer": "b"}'),
    ("the same key very often", 400, fill(b'"a":1', b"{", b"}")),
    ("40,000 services", 422,
     json.dumps(dict(json.loads(with_parameters(b"{}")), services=["demo"] * 40_000)).encode()),
    ("30,000 labels", 422,
     json.dumps(dict(json.loads(with_parameters(b"{}")),
                     labels={str(i): "x" for i in range(30_000)})).encode()),
    ("an endless string", 400, b'{"a": "' + b"x" * (MIB - 100)),
    ("endless escapes", 400, b'{"a": "' + b"\\" * (MIB - 100)),
    ("endless spaces", 400, b" " * MIB),
]


class Bombs(Siege):
    def test_each_bomb_is_answered_as_documented(self):
        self.start_siege()
        for what, status, body in BOMBS:
            with self.subTest(what):
                outcome = wire.talk(self.daemon, request("POST", "/v1/jobs", body, JSON),
                                    half_close=True)
                self.assertEqual((outcome.statuses, outcome.end), ([status], wire.CLOSED), outcome)
                if status >= 400:
                    wire.check_problem(outcome.answers[0])
                    self.assertLess(len(outcome.answers[0].body), 2 * MIB)

    def test_a_series_of_bombs_does_no_harm(self):
        self.start_siege()
        data = [request("POST", "/v1/jobs", body, JSON) for _, status, body in BOMBS
                if status != 202]
        with self.siege():
            for i in self.waves(1.5):
                wire.talk(self.daemon, data[i % len(data)], half_close=True)

    def test_encoded_bodies_are_never_decompressed(self):
        self.start_siege()
        bomb = gzip.compress(bytes(200 * MIB))
        with self.siege():
            for i in self.waves():
                outcome = wire.talk(self.daemon, request(
                    "POST", "/v1/jobs", bomb, JSON,
                    f"Content-Encoding: {('gzip', 'deflate', 'br', 'x-gzip')[i % 4]}"))
                self.assert_refused(outcome, 415)

    def test_an_answer_is_not_much_larger_than_the_body_it_quotes(self):
        self.start_siege()
        for body in (b'{"' + b"\\u0001" * 170_000 + b'": 1}',
                     b"{" + b",".join(b'"%x%b":1' % (i, b"~/" * 400) for i in range(1200)) + b"}"):
            outcome = wire.talk(self.daemon, request("POST", "/v1/jobs", body, JSON),
                                half_close=True)
            self.assertEqual(outcome.statuses, [422])
            self.assertLess(len(outcome.answers[0].body), 3 * MIB)
        query = "&".join(f"{i:x}=1" for i in range(600))
        outcome = wire.talk(self.daemon, request("GET", "/v1/jobs?" + query), half_close=True)
        self.assertEqual(outcome.statuses, [422])

    def test_numbers_are_returned_as_they_were_sent(self):
        self.start_siege()
        for text in ("18446744073709551615", "-9223372036854775808", "9007199254740993", "0.1"):
            outcome = wire.talk(self.daemon, request(
                "POST", "/v1/jobs", with_parameters(b'{"n": %b}' % text.encode()), JSON),
                half_close=True)
            self.assertEqual(outcome.statuses, [202], text)
            self.assertIn(b'"n":' + text.encode(), outcome.answers[0].body)


if __name__ == "__main__":
    unittest.main()
