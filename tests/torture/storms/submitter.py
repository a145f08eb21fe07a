"""A cheap client that submits jobs at a fixed rate, whatever celld answers.

Requests are pipelined over a few keep-alive connections and do not wait for answers. A connection
pauses only while celld owes it PIPELINE_MAX answers.
"""

import asyncio
import collections
import json
import re
import time

HEAD = re.compile(rb"HTTP/1\.1 (\d+) [^\r]*\r\n(.*?)\r\n\r\n", re.S)
LENGTH = re.compile(rb"(?i)content-length: (\d+)")
LOCATION = re.compile(rb"(?i)location: /v1/jobs/(\S+)")
RETRY_AFTER = re.compile(rb"(?i)retry-after: (\d+)")
PIPELINE_MAX = 100
TICK_S = 0.01


def submission(number, product="any"):
    body = json.dumps({"customer": "acme", "product": product, "action": "create",
                       "entity": {"type": "zone", "id": f"e-{number}"},
                       "services": ["demo"]}).encode()
    return (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body)) + body


class Connection(asyncio.Protocol):
    """Calls `answered` with each answer: status, head, body."""

    def __init__(self, answered):
        self.answered = answered
        self.received = b""
        self.unanswered = 0

    def connection_made(self, transport):
        self.transport = transport

    def ask(self, request):
        self.unanswered += 1
        self.transport.write(request)

    def data_received(self, data):
        self.received += data
        at = 0
        while head := HEAD.match(self.received, at):
            end = head.end() + int(LENGTH.search(head[2])[1])
            if end > len(self.received):
                break
            self.unanswered -= 1
            self.answered(int(head[1]), head[2], self.received[head.end():end])
            at = end
        self.received = self.received[at:]

    def connection_lost(self, exc):
        if self.unanswered:
            self.answered(0, b"", repr(exc).encode())


class Submitter:
    """`rate`, in jobs per second, may change at any time; 0 submits nothing."""

    def __init__(self, daemon, product_of=lambda number: "any", connections=16):
        self.refused = lambda wait_s: None
        self.daemon = daemon
        self.product_of = product_of
        self.count = connections
        self.rate = 0
        self.number = 0
        self.sent = 0
        self.statuses = collections.Counter()
        self.accepted = []  # Ids.
        self.waits = collections.Counter()  # How often each Retry-After was received.
        self.unexpected = []  # The first ten answers that no client should receive.

    async def open(self):
        loop = asyncio.get_running_loop()
        self.connections = [
            (await loop.create_connection(lambda: Connection(self.note), "127.0.0.1",
                                          self.daemon.port))[1] for _ in range(self.count)]
        self.task = asyncio.create_task(self.run())

    async def run(self):
        last = time.monotonic()
        owed = 0.0
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            owed = min(owed + self.rate * (now - last), self.rate)
            last = now
            for _ in range(int(owed)):
                self.submit_next()
            owed -= int(owed)

    def submit_next(self):
        self.number += 1
        connection = self.connections[self.number % self.count]
        if connection.unanswered >= PIPELINE_MAX:
            return
        self.sent += 1
        connection.ask(submission(self.number, self.product_of(self.number)))

    def note(self, status, head, body):
        self.statuses[status] += 1
        if status == 202:
            self.accepted.append(LOCATION.search(head)[1].decode())
            return
        wait = RETRY_AFTER.search(head)
        if status in (429, 503) and wait and 1 <= int(wait[1]) <= 3600:
            self.waits[int(wait[1])] += 1
            self.refused(int(wait[1]))
        elif len(self.unexpected) < 10:
            self.unexpected.append((status, head, body[:500]))

    async def quiet(self):
        """Stops submitting and waits for the answers that are due."""
        self.rate = 0
        while any(connection.unanswered for connection in self.connections):
            await asyncio.sleep(TICK_S)

    async def close(self):
        self.task.cancel()
        for connection in self.connections:
            connection.transport.close()
