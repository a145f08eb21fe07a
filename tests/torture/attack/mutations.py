"""Conversations: valid requests with random mutations, repeatable from a seed and an index.

A Conversation is what a client does with one connection: it sends pieces with pauses between them,
and ends in some way. Whatever it receives must be valid answers.
"""

import random
import selectors
import socket
import time

import wire
from wire import JSON, request, submission

KNOWN_STATUSES = {100, 200, 202, 204, 400, 401, 403, 404, 405, 408, 409, 411, 413, 414, 415, 422,
                  429, 431, 503, 505}
PATIENCE_S = 2.5  # Longer than the daemon's own timeouts in this test.

SEEDS = [
    request("GET", "/livez"),
    request("HEAD", "/readyz"),
    request("GET", "/v1/jobs?limit=3&state=queued"),
    request("GET", "/v1/jobs?customer=acme&label.K=V&created_after=2026-11-20T22:42:56.123Z"),
    request("GET", "/v1/jobs/1m7y89v8p0000"),
    request("GET", "/v1/cells"),
    request("GET", "/v1/cells/*/*"),
    request("GET", "/v1/events?customer=absent", b"", "Last-Event-ID: 1-1"),
    request("GET", "/v1/jobs/1m7y89v8p0000/events"),
    request("GET", "/v1/batches?limit=3"),
    request("GET", "/v1/batches/1m7y89v8p0000"),
    request("POST", "/v1/batches/1m7y89v8p0000/cancel"),
    request("POST", "/v1/batches", b'[{"customer": "a"}, {"b": [1, "]"]}]', JSON),
    request("POST", "/v1/batches", b'{"customer": "a"}\n\n[]\nx', "Content-Type: application/x-ndjson"),
    request("POST", "/v1/batches", b"", "Content-Type: application/x-ndjson",
            "Transfer-Encoding: chunked") + b"5\r\n{}\n{}\r\n3\r\n\n\nx\r\n0\r\n\r\n",
    request("GET", "/v1/schedules?limit=3&cursor=a"),
    request("GET", "/v1/schedules/mutant"),
    request("DELETE", "/v1/schedules/mutant"),
    request("PUT", "/v1/schedules/mutant",
            b'{"cron": "*/5 0-3 1,2 jan mon-fri", "time_zone": "Europe/Berlin", "paused": true,'
            b' "overlap": "skip", "job": {"customer": "acme"}}', JSON),
    request("POST", "/v1/jobs/1m7y89v8p0000/cancel"),
    request("POST", "/v1/jobs/1m7y89v8p0000/retry", b"{}", JSON),
    request("PUT", "/v1/admin/cells/*/*/pool", b'{"burst": 9, "weight": 2, "sizes": 3}', JSON),
    request("DELETE", "/v1/admin/cells/*/*/pool"),
    request("PUT", "/v1/admin/cells/*/*/quota", b'{"queue": {"max_job": 3}}', JSON),
    request("DELETE", "/v1/admin/cells/*/*/quota"),
    request("OPTIONS", "/v1/jobs", b"", "Origin: http://x"),
    request("GET", "/livez", version="HTTP/1.0"),
    request("GET", "/livez", b"", "Connection: keep-alive, close", "Accept: */*"),
    submission("mutant"),
    submission("mutant", "Idempotency-Key: k-1", parameters={"a": [1, 2.5, None, "\u00e9"]}),
    submission("mutant", "Prefer: wait=1", priority=9, labels={"a": "b"}),
    submission("mutant", "Expect: 100-continue", delay_ms=50, timeout_ms=1000),
    submission("mutant", "Traceparent: 00-" + "a" * 32 + "-" + "b" * 16 + "-01",
               retry={"max_attempts": 2}, on_failure="stop"),
    submission("mutant", parameters={"text": "x" * 5000}),
    request("POST", "/v1/jobs", b"", JSON, "Transfer-Encoding: chunked") +
    b'5;a=b\r\n{"cus\r\n00c\r\ntomer": "a"}\r\n0\r\nTrailer: x\r\n\r\n',
    request("GET", "/livez", b"", "Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\n\r\n",
    b"\r\n" + request("GET", "/livez"),
]

TOKENS = [b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0", b" ", b"\t", b":", b",", b";", b"%00", b"%ff",
          b"%2f", b"%", b"?", b"&", b"#", b"/", b"..", b"//", b"*", b"\xff", b"\xc3\xa9",
          b"\xef\xbb\xbf", b'"', b"{", b"}", b"[", b"]", b"\\u0000", b"\\ud800", b"1e999", b"-1",
          b"18446744073709551617", b"NaN", b"null", b"chunked", b"gzip", b"identity",
          b"\r\nContent-Length: 5", b"\r\nTransfer-Encoding: chunked", b"\r\nHost: y",
          b"\r\nConnection: close", b"\r\nExpect: 100-continue", b"\r\nContent-Encoding: gzip",
          b"\r\n folded", b"HTTP/1.0", b"HTTP/1.1", b"HTTP/2.0", b"HEAD", b"GET", b"POST", b"PUT",
          b"DELETE", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"-2\r\n", b"a" * 5000, b"[" * 200,
          b"A: b\r\n" * 70, b" " * 1000]


def flip_bit(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]


def insert_token(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(TOKENS) + data[at:]


def replace_by_token(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + rng.choice(TOKENS) + data[at + rng.randrange(1, 12):]


def delete_slice(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 1, 2, 5, 30)):]


def repeat_slice(rng, data):
    at = rng.randrange(len(data))
    piece = data[at:at + rng.choice((1, 4, 20, 100))]
    return data[:at] + piece * rng.choice((2, 2, 3, 50)) + data[at + len(piece):]


def swap_lines(rng, data):
    lines = data.split(b"\r\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\r\n".join(lines)


def repeat_line(rng, data):
    lines = data.split(b"\r\n")
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"\r\n".join(lines)


def change_digit(rng, data):
    places = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return data
    at = rng.choice(places)
    return data[:at] + rng.choice(b"0123456789ax-+ ").to_bytes(1, "big") + data[at + 1:]


def change_case(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + data[at:at + 10].swapcase() + data[at + 10:]


def truncate(rng, data):
    return data[:rng.randrange(1, len(data) + 1)]


def bare_line_end(rng, data):
    at = data.find(b"\r\n", rng.randrange(len(data)))
    return data if at < 0 else data[:at] + rng.choice((b"\n", b"\r", b"\r\r\n")) + data[at + 2:]


MUTATIONS = [flip_bit, insert_token, insert_token, replace_by_token, delete_slice, repeat_slice,
             swap_lines, repeat_line, change_digit, change_digit, change_case, truncate,
             bare_line_end]


class Plan:
    """What conversation `index` of `seed` does."""

    def __init__(self, seed, index):
        rng = random.Random(f"{seed}:{index}")
        messages = [rng.choice(SEEDS) for _ in range(rng.choice((1, 1, 1, 2, 3, 8)))]
        for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
            at = rng.randrange(len(messages))
            messages[at] = rng.choice(MUTATIONS)(rng, messages[at]) or b"\r\n"
        data = b"".join(messages)
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 0, 1, 3, 10))))
        self.pieces = [piece for piece in map(lambda a, b: data[a:b], [0, *cuts],
                                              [*cuts, len(data)]) if piece]
        self.pause_s = rng.choice((0, 0, 0.001, 0.02))
        self.end = rng.choice(("half_close",) * 6 + ("wait", "close", "reset"))
        if b"/events" in data:
            self.end = "reset"  # celld notices a plain close only at the next heartbeat.


class Conversation:
    def __init__(self, daemon, plan):
        self.plan = plan
        self.queue = [memoryview(piece) for piece in plan.pieces]
        self.received = b""
        self.end = wire.OPEN
        self.next_at = time.monotonic()
        self.give_up_at = self.next_at + PATIENCE_S
        self.socket = wire.connect(daemon)
        self.socket.setblocking(False)

    def send(self, now):
        """Sends what is due; true while there is more to send."""
        if not self.queue or now < self.next_at:
            return bool(self.queue)
        try:
            self.queue[0] = self.queue[0][self.socket.send(self.queue[0]):]
        except BlockingIOError:
            return True
        except OSError:
            self.queue = []  # celld has closed its side; an answer may still have arrived.
            return False
        if not self.queue[0]:
            self.queue.pop(0)
            self.next_at = now + self.plan.pause_s
        if not self.queue:
            self.end_sending()
        return bool(self.queue)

    def end_sending(self):
        if self.plan.end == "half_close":
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        elif self.plan.end != "wait":
            self.give_up_at = time.monotonic()

    def receive(self):
        try:
            piece = self.socket.recv(1 << 16)
        except ConnectionResetError:
            self.end = wire.RESET
            return
        except BlockingIOError:
            return
        self.received += piece
        if not piece:
            self.end = wire.CLOSED

    def over(self, now):
        return self.end != wire.OPEN or now >= self.give_up_at

    def leave(self):
        if self.plan.end == "reset" and self.end == wire.OPEN:
            wire.reset(self.socket)
        self.socket.close()

    def fault(self):
        """What celld did wrong; None when nothing."""
        try:
            answers, rest = wire.read_answers(self.received)
            for answer in answers:
                if answer.status not in KNOWN_STATUSES:
                    return f"an unknown status: {answer}"
                if answer.status >= 400 and answer.body:
                    wire.check_problem(answer)
        except (AssertionError, ValueError) as error:
            return f"not a valid answer: {error!r}"
        if self.end == wire.RESET:
            return f"a reset after {[answer.status for answer in answers]}"
        if self.end == wire.CLOSED and rest:
            return f"an answer that was cut off: {rest[:300]!r}"
        if self.end == wire.OPEN and self.plan.end == "half_close" and not answers:
            return "no answer at all"
        return None


def converse(daemon, seed, seconds, at_once=64):
    """Runs conversations for `seconds`. Returns their number, the count of each status, and the
    first faults, each with what it takes to repeat it."""
    index, statuses, faults, running = 0, {}, [], {}
    until = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        while running or time.monotonic() < until:
            while len(running) < at_once and time.monotonic() < until and len(faults) < 20:
                talking = Conversation(daemon, Plan(seed, index))
                running[talking] = index
                selector.register(talking.socket, selectors.EVENT_READ, talking)
                index += 1
            for key, _ in selector.select(0.002):
                key.data.receive()
            now = time.monotonic()
            for talking in list(running):
                talking.send(now)
                if not talking.over(now):
                    continue
                selector.unregister(talking.socket)
                talking.leave()
                number = running.pop(talking)
                fault = talking.fault()
                if fault:
                    faults.append(f"conversation {seed}:{number}: {fault}\n  "
                                  f"{talking.plan.end} after {talking.plan.pieces}"[:3000])
                else:
                    for answer in wire.read_answers(talking.received)[0]:
                        statuses[answer.status] = statuses.get(answer.status, 0) + 1
            if len(faults) >= 20 and not running:
                break
    return index, dict(sorted(statuses.items())), faults
