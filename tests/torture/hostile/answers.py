"""Bad HTTP answers, each made from a Random."""

import gzip
import json
import socket
import struct
import time

from hostility import (BROKEN, NOT_HTTP, NOT_JSON, OUT_OF_TIME, SUCCESS, TOO_LARGE,
                       HostileBehaviour, status)
from provider import answer, drip, hang, hung_up, raw, response

FLOOD_BYTES = 256 << 20
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


# --- Behaviours: how the bytes of an answer arrive -----------------------------------------------


def flood(begin, piece, end=b""):
    """Sends `piece` repeatedly, until celld closes the connection or 256 MB are sent."""
    piece *= max(1, (1 << 16) // len(piece))

    def behave(call, connection):
        connection.sendall(begin)
        for _ in range(FLOOD_BYTES // len(piece)):
            connection.sendall(piece)
        call.end()
        connection.sendall(end)
        return False
    return behave


def trickle(begin, piece, gap_s):
    """Sends `piece` slowly, without end."""
    def behave(call, connection):
        connection.sendall(begin)
        while not hung_up(connection):
            connection.sendall(piece)
            time.sleep(gap_s)
        call.aborted = True
        call.end()
        return False
    return behave


def cut(data, with_reset):
    """Sends these bytes and closes the connection."""
    def behave(call, connection):
        connection.sendall(data)
        if with_reset:
            time.sleep(0.02)  # A reset discards what has not been read yet.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        call.end()
        return False
    return behave


def stall(data):
    """Sends these bytes, then nothing."""
    def behave(call, connection):
        connection.sendall(data)
        return hang()(call, connection)
    return behave


def afterwards(data, pause_s):
    """Answers correctly, and later sends more on the kept connection, unasked."""
    def behave(call, connection):
        connection.sendall(response(200, b"{}"))
        call.end()
        time.sleep(pause_s)
        connection.sendall(data)
        return True
    return behave


# --- Bodies --------------------------------------------------------------------------------------


# 256 MB of JSON: one long string, in sixteen members of a gzip file.
GZIP_BOMB = (gzip.compress(b'{"properties": {"x": "') +
             gzip.compress(b"a" * (16 << 20)) * (FLOOD_BYTES >> 24) +
             gzip.compress(b'"}}'))
PROPERTIES_BOMB = json.dumps({"properties": {f"p{i}": "x" * 1000 for i in range(300)}}).encode()
MESSAGES_FLOOD = json.dumps({"messages": [{"text": "m" * 60} for _ in range(8000)]}).encode()
NODES_BOMB = b'{"properties": {"x": [' + b"{}," * 340_000 + b"{}]}}"
DEPTH_BOMB = b'{"properties": {"x": ' + b"[" * 500_000 + b"]" * 500_000 + b"}}"
WORDS = [b"HTTP/1.1 200 OK\r\n", b"HTTP/2 200\r\n", b"\r\n", b"\r\n\r\n", b"\0", b"{}", b"\xff",
         b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b":", b" ", b"0\r\n\r\n"]


def garbage(rng):
    return b"".join(rng.choice([*WORDS, rng.randbytes(rng.choice((1, 30, 3000)))])
                    for _ in range(rng.randrange(1, 40)))


def not_http(rng):
    """Random bytes that cannot be a status line, however many of them are read."""
    return raw(b"\x16\x03" + rng.randbytes(rng.choice((10, 1000, 100_000))))


def with_length(value, body=b"{}", keep=False):
    return lambda rng: raw(OK + b"Content-Length: " + value + b"\r\n\r\n" + body, keep)


def redirect(rng):
    code = rng.choice((301, 302, 303, 307, 308))
    target = rng.choice(("/elsewhere", "http://127.0.0.1:1/", "file:///etc/passwd", "//[", "\x01"))
    return raw(f"HTTP/1.1 {code} Moved\r\nContent-Length: 0\r\nLocation: {target}\r\n"
               "\r\n".encode())


ANY_REDIRECT = status(r"30[12378]")
PROVIDER_ERROR = "provider_error", r"{} answered with HTTP status \d+(: .*|\.)"
TOO_MANY_PROPERTIES = "invalid_response", r"{} answered with more than 256 KiB of properties\."
ANYTHING = (SUCCESS, OUT_OF_TIME, BROKEN, NOT_HTTP, TOO_LARGE, NOT_JSON, PROVIDER_ERROR,
            ("provider_rejected", ".*"), status(r"\d+"))


ANSWERS = [HostileBehaviour(*row[:3], **(row[3] if len(row) > 3 else {})) for row in (
    # Time.
    ("hangs", lambda rng: hang(), (OUT_OF_TIME,)),
    ("drips-its-body", lambda rng: drip(rng.choice((0.001, 0.02, 0.1))), (OUT_OF_TIME,)),
    ("drips-its-head", lambda rng: trickle(OK + b"X-Slow: ", b"a", rng.choice((0.001, 0.02))),
     (OUT_OF_TIME,)),
    ("drips-headers", lambda rng: trickle(OK, b"X: y\r\n", 0.01), (OUT_OF_TIME,)),
    ("drips-chunks", lambda rng: trickle(CHUNKED, b"1\r\n \r\n", 0.01), (OUT_OF_TIME,)),
    ("drips-interim-answers", lambda rng: trickle(b"", b"HTTP/1.1 102 Wait\r\n\r\n", 0.01),
     (OUT_OF_TIME,)),
    ("stalls-in-its-status-line", lambda rng: stall(OK[:rng.randrange(len(OK))]), (OUT_OF_TIME,)),
    ("stalls-in-its-body", lambda rng: stall(OK + b"Content-Length: 3\r\n\r\n{}"), (OUT_OF_TIME,)),
    ("announces-more-chunks", lambda rng: stall(CHUNKED + b"2\r\n{}\r\n"), (OUT_OF_TIME,)),

    # Size.
    ("floods-a-header", lambda rng: flood(OK + b"X: ", b"a"), (TOO_LARGE,)),
    ("floods-headers", lambda rng: flood(OK, b"X-Flood: aaaaaaaaaaaaaaaaaaaaaaa\r\n"),
     (TOO_LARGE,)),
    ("floods-its-status-line", lambda rng: flood(b"HTTP/1.1 200 ", b"a"), (TOO_LARGE,)),
    ("floods-its-body", lambda rng: flood(OK + b"\r\n", b" "), (TOO_LARGE,)),
    ("floods-an-announced-body", lambda rng: flood(
        OK + b"Content-Length: %d\r\n\r\n" % FLOOD_BYTES, b" "), (TOO_LARGE,)),
    ("floods-chunks", lambda rng: flood(CHUNKED, b"8\r\n        \r\n"), (TOO_LARGE,)),
    ("floods-one-chunk", lambda rng: flood(CHUNKED + b"%x\r\n" % FLOOD_BYTES, b" "),
     (TOO_LARGE,)),
    ("floods-a-chunk-extension", lambda rng: flood(CHUNKED + b"2;a=", b"a"),
     (OUT_OF_TIME, TOO_LARGE, BROKEN)),
    ("floods-trailers", lambda rng: flood(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: yyyyyyyyyyyy\r\n"),
     (TOO_LARGE,)),
    ("floods-interim-answers", lambda rng: flood(b"", b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"),
     (TOO_LARGE,)),
    ("floods-continues", lambda rng: flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (TOO_LARGE,)),
    ("floods-after-its-answer", lambda rng: flood(response(200, b"{}"), b"x" * 997), (SUCCESS,)),

    # Bombs.
    ("sends-a-gzip-bomb", lambda rng: answer(200, GZIP_BOMB, ["Content-Encoding: gzip"]),
     (NOT_JSON,)),
    ("sends-a-bomb-in-a-bomb", lambda rng: answer(
        200, gzip.compress(GZIP_BOMB), ["Content-Encoding: gzip, gzip, deflate, br"]),
     (NOT_JSON,)),
    ("sends-a-gzip-bomb-as-its-transfer", lambda rng: raw(
        OK + b"Transfer-Encoding: gzip\r\n\r\n" + GZIP_BOMB), (TOO_LARGE, BROKEN, NOT_HTTP)),
    ("sends-a-million-values", lambda rng: answer(200, NODES_BOMB), (TOO_MANY_PROPERTIES,)),
    ("sends-a-million-brackets", lambda rng: answer(200, DEPTH_BOMB), (NOT_JSON,)),
    ("sends-too-many-properties", lambda rng: answer(200, PROPERTIES_BOMB), (TOO_MANY_PROPERTIES,)),
    ("sends-too-many-messages", lambda rng: answer(200, MESSAGES_FLOOD), (SUCCESS,)),

    # Lengths.
    ("announces-too-much", with_length(b"100"), (BROKEN,)),
    ("announces-too-little", with_length(b"2", b"{}" + b" HTTP/1.1 200 OK\r\n" * 9, True),
     (SUCCESS,)),
    ("announces-less-than-nothing", with_length(b"-2"), (NOT_HTTP,)),
    ("announces-no-number", with_length(b"2, 2"), (NOT_HTTP,)),
    ("announces-beyond-64-bits", with_length(b"18446744073709551617"), (TOO_LARGE,)),
    ("announces-two-lengths", with_length(b"2\r\nContent-Length: 3", b"{} "), (NOT_HTTP,)),
    ("announces-a-length-and-chunks", with_length(
        b"7\r\nTransfer-Encoding: chunked", b"2\r\n{}\r\n0\r\n\r\n"),
     (SUCCESS, NOT_HTTP, BROKEN)),
    ("announces-bad-chunks", lambda rng: raw(CHUNKED + rng.choice(
        (b"-2", b"zz", b"", b"ffffffffffffffffff", b"0x2")) + b"\r\n{}\r\n0\r\n\r\n"),
     (BROKEN, NOT_HTTP, TOO_LARGE)),

    # Protocol violations.
    ("is-not-http", not_http, (NOT_HTTP,)),
    ("is-garbage", lambda rng: raw(garbage(rng)), ANYTHING),
    ("speaks-http-9", lambda rng: raw(b"HTTP/9.9 200 OK\r\n\r\n{}"), (NOT_HTTP, BROKEN)),
    ("has-a-status-of-its-own", lambda rng: raw(b"HTTP/1.1 999 Fine\r\n\r\n{}"),
     (status(999), NOT_HTTP)),
    ("switches-protocols", lambda rng: stall(
        b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
     (NOT_HTTP,)),
    ("redirects", redirect, (ANY_REDIRECT, BROKEN)),
    ("never-wants-to-be-asked-again", lambda rng: answer(
        503, b"", ["Retry-After: 99999999999999999999"]), (PROVIDER_ERROR,)),
    ("answers-unasked", lambda rng: afterwards(
        response(500, b"{}"), rng.choice((0, 0.02))), (SUCCESS,)),

    # Connections that end early, after the request was read.
    ("closes-before-it-answers", lambda rng: cut(b"", False), (BROKEN,)),
    ("closes-in-its-head", lambda rng: cut(OK + b"Content-Ty", False), (BROKEN,)),
    ("closes-in-its-body", lambda rng: cut(OK + b"Content-Length: 9\r\n\r\n{}", False), (BROKEN,)),
    ("closes-in-a-chunk", lambda rng: cut(CHUNKED + b"9\r\n{}", False), (BROKEN,)),
    ("resets-before-it-answers", lambda rng: cut(b"", True), (BROKEN,)),
    ("resets-in-its-head", lambda rng: cut(OK + b"Content-Ty", True), (BROKEN,)),
    ("resets-in-its-body", lambda rng: cut(OK + b"Content-Length: 9\r\n\r\n{}", True), (BROKEN,)),
    ("resets-in-a-chunk", lambda rng: cut(CHUNKED + b"9\r\n{}", True), (BROKEN,)),
)]
