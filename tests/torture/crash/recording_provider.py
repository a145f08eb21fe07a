"""A fast HTTP provider that records when each call began and ended.

The document alone determines the answer, so that a test knows how each job must end.
`parameters.outcome` is `ok` or `slow` (200), `reject` (422), `flaky` (500 at the first attempt),
`busy` (429 at the first call of a step) or `hang` (no answer). `parameters.latency_ms` is the
duration of a call. The optional header `X-Life` names the life of celld that makes the call.

Run as a program, it prints its port, serves until its standard input closes, and then prints its
log: one JSON array per line with the members of a Call.
"""

import asyncio
import dataclasses
import json
import re
import select
import sys
import time

import calls

REASONS = {200: b"OK", 422: b"Unprocessable Content", 429: b"Too Many Requests",
           500: b"Internal Server Error", 503: b"Service Unavailable"}
LIFE = re.compile(rb"\r\nx-life: *(\d+)")
KEY = re.compile(rb"\r\nidempotency-key: *([^\r]*)")


class Provider:
    def __init__(self):
        self.log = []
        self.seen = set()
        self.port = None
        self.under_way = {}    # By descriptor: the connections with an unanswered call.
        self.poll = select.poll()
        self.polled_at = 0.0   # Just before the last poll, which saw every call broken by then.

    async def serve(self):
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(self), "127.0.0.1", 0, backlog=4096)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def watch(self, connection):
        descriptor = connection.descriptor()
        self.under_way[descriptor] = connection
        self.poll.register(descriptor, select.POLLRDHUP)

    def unwatch(self, connection):
        descriptor = connection.descriptor()
        if self.under_way.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)

    def end_broken_calls(self):
        """Ends the calls that celld has hung up on by now. Thus, when a call is noted, all other
        calls without an end are under way at the same moment."""
        now = time.monotonic()
        for descriptor, _ in self.poll.poll(0):
            self.under_way[descriptor].end(broken=True)
        self.polled_at = now

    def began(self):
        """A call has begun, and is noted."""

    def status_of(self, document):
        outcome = document["parameters"]["outcome"]
        step = (document["job"], document["service"])
        first = step not in self.seen
        self.seen.add(step)
        if outcome == "reject":
            return 422
        if outcome == "flaky" and document["attempt"] == 1:
            return 500
        if outcome == "busy" and first:
            return 429
        return 200


class Connection(asyncio.Protocol):
    def __init__(self, provider):
        self.provider = provider
        self.received = b""
        self.call = self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        head_end = self.received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = self.received[:head_end].lower()
        key = KEY.search(head)
        length = int(head.split(b"\r\ncontent-length:", 1)[1].split(b"\r\n", 1)[0])
        body_at = head_end + 4
        if len(self.received) < body_at + length:
            return
        document = json.loads(self.received[body_at:body_at + length])
        self.received = self.received[body_at + length:]
        self.begin(document, int(LIFE.search(head)[1]) if b"\r\nx-life:" in head else 0,
                   key[1].decode() if key else "")

    def begin(self, document, life, key):
        self.provider.watch(self)
        self.provider.end_broken_calls()
        self.call = calls.began(document, life, key)
        self.provider.log.append(self.call)
        self.provider.began()
        if self.descriptor() not in self.provider.under_way:  # So it overlaps no other call.
            self.call.ended_at, self.call.broken, self.call = self.call.began_at, True, None
            return
        if document["parameters"]["outcome"] != "hang":
            asyncio.get_running_loop().call_later(document["parameters"]["latency_ms"] / 1000,
                                                  self.answer, document, self.call)

    def answer(self, document, call):
        self.provider.end_broken_calls()
        if self.call is not call:
            return
        status = self.provider.status_of(document)
        body = json.dumps({"properties": {document["service"]: document["job"]}}).encode()
        # Before the answer leaves: celld may start its next call as soon as it has read the answer.
        call.succeeded = status == 200
        self.end(broken=False)
        self.transport.write(b"HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n%s" % (
            status, REASONS[status], len(body), body))

    def descriptor(self):
        return self.transport.get_extra_info("socket").fileno()

    def end(self, broken):
        self.provider.unwatch(self)
        if self.call is not None:
            self.call.ended_at, self.call.broken = time.monotonic(), broken
            self.call.alive_at = max(self.call.began_at, self.provider.polled_at)
            self.call = None

    def eof_received(self):
        self.end(broken=True)

    def connection_lost(self, _):
        self.end(broken=True)


async def main():
    provider = Provider()
    await provider.serve()
    print(provider.port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for call in provider.log:
        print(json.dumps(dataclasses.astuple(call)))


if __name__ == "__main__":
    asyncio.run(main())
